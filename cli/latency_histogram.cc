#include "cli/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace segue::cli {

namespace {

// Values below 2^8 have a bucket each; every doubling above is cut into 2^7 buckets.
constexpr int kExactBits = 8;
constexpr int kStepBits = kExactBits - 1;
constexpr std::size_t kExact = std::size_t{1} << kExactBits;
constexpr std::size_t kSteps = std::size_t{1} << kStepBits;
constexpr std::size_t kBuckets = kExact + (64 - kExactBits) * kSteps;

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(kBuckets, 0) {}

std::size_t LatencyHistogram::bucket_count() {
  return kBuckets;
}

std::size_t LatencyHistogram::bucket_of(std::uint64_t value) {
  if (value < kExact) return static_cast<std::size_t>(value);
  const int shift = std::bit_width(value) - kExactBits;  // 1 for the first doubling
  const auto step = static_cast<std::size_t>(value >> shift) - kSteps;
  return kExact + static_cast<std::size_t>(shift - 1) * kSteps + step;
}

std::uint64_t LatencyHistogram::bucket_top(std::size_t bucket) {
  if (bucket < kExact) return bucket;
  const std::size_t shift = (bucket - kExact) / kSteps + 1;
  const std::uint64_t step = (bucket - kExact) % kSteps + kSteps;
  // The last bucket's end is 2^64 - 1: adding one before shifting would overflow.
  return (step << shift) + ((std::uint64_t{1} << shift) - 1);
}

void LatencyHistogram::record(std::uint64_t value, std::uint64_t times) {
  if (times == 0) return;
  counts_[bucket_of(value)] += times;
  count_ += times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

void LatencyHistogram::clear() {
  *this = LatencyHistogram();
}

double LatencyHistogram::mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::uint64_t LatencyHistogram::quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_);
  const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::min(bucket_top(i), max_);
  }
  return max_;
}

}  // namespace segue::cli
