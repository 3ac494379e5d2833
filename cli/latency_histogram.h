#pragma once

#include <cstdint>
#include <vector>

namespace segue::cli {

/// Counts values (nanoseconds, or what one likes) in buckets whose width grows with the value:
/// exact below 256, within 1/128 (0.8 %) above, for the whole range of 64 bits. 58 KiB of memory,
/// no allocation after construction, recording costs some nanoseconds. One thread; merge() brings
/// several together.
class LatencyHistogram {
 public:
  LatencyHistogram();

  void record(std::uint64_t value, std::uint64_t times = 1);
  void merge(const LatencyHistogram& other);
  void clear();

  std::uint64_t count() const { return count_; }
  /// The smallest and the largest value recorded, exact; 0 when nothing was.
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  double mean() const;
  /// The value that a share of `quantile` (0 to 1) of the recorded values does not exceed: the
  /// upper end of its bucket, at most max(). 0 when nothing was recorded.
  std::uint64_t quantile(double quantile) const;

  /// Which bucket a value is counted in, and the largest value of a bucket.
  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t bucket_top(std::size_t bucket);
  static std::size_t bucket_count();

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace segue::cli
