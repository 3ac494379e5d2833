#include "storage/segment_sequences.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>

#include "storage/segment_sizes.h"
#include "storage/segment_validity.h"

namespace segue::storage {
namespace {

void expect_equal(const SegmentSequences& sequences, const std::vector<std::uint64_t>& model) {
  RC_ASSERT(sequences.count() == model.size());
  for (std::uint32_t i = 0; i < model.size(); ++i) {
    RC_ASSERT(sequences.at(i).value == model[i]);
    for (const std::uint64_t probe : {model[i] - 1, model[i], model[i] + 1}) {
      const auto below = std::lower_bound(model.begin(), model.end(), probe) - model.begin();
      RC_ASSERT(sequences.lower_bound(Sequence{probe}) == static_cast<std::uint32_t>(below));
    }
  }
  if (!model.empty()) RC_ASSERT(sequences.last().value == model.back());
}

RC_GTEST_PROP(SegmentSequences, BehavesAsASortedList, ()) {
  SegmentSequences sequences;
  std::vector<std::uint64_t> model;
  std::uint64_t next = *rc::gen::inRange<std::uint64_t>(1, 200'000);
  const int steps = *rc::gen::inRange(1, 30);
  for (int i = 0; i < steps; ++i) {
    const auto gap = *rc::gen::element<std::uint64_t>(0, 0, 1, 5, 700, 65'536, 1'000'000);
    const auto length = *rc::gen::inRange<std::uint32_t>(1, 40);
    // A comb of single sequences, long enough to become a bitmap now and then.
    const auto teeth = *rc::gen::element<std::uint32_t>(0, 0, 0, 3, 2500);
    next += gap;
    sequences.append(Sequence{next}, length);
    for (std::uint32_t j = 0; j < length; ++j) model.push_back(next++);
    for (std::uint32_t tooth = 0; tooth < teeth; ++tooth) {
      next += 2;
      sequences.append(Sequence{next}, 1);
      model.push_back(next++);
    }
    if (*rc::gen::inRange(0, 8) == 0) {
      const auto keep = *rc::gen::inRange<std::size_t>(0, model.size() + 1);
      sequences.truncate(static_cast<std::uint32_t>(keep));
      model.resize(keep);
      if (!model.empty()) next = model.back() + 1;
    }
  }
  expect_equal(sequences, model);
}

TEST(SegmentSequences, IsSmallWithoutHolesAndBoundedWithThem) {
  SegmentSequences dense;
  for (std::uint64_t i = 0; i < 1'000'000; i += 100) dense.append(Sequence{1 + i}, 100);
  EXPECT_LT(dense.memory_bytes(), 4096u);
  SegmentSequences comb;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) comb.append(Sequence{1 + 2 * i}, 1);
  EXPECT_LT(comb.memory_bytes(), 300'000u);  // 2.2 bits per message
  EXPECT_EQ(comb.at(999'999), Sequence{1'999'999});
}

RC_GTEST_PROP(SegmentValidity, BehavesAsAListOfFlags, ()) {
  SegmentValidity validity;
  std::vector<bool> model;
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    const int action = *rc::gen::inRange(0, 10);
    if (action < 4 || model.empty()) {
      const auto count = *rc::gen::inRange<std::uint32_t>(1, 200);
      validity.append(count);
      model.insert(model.end(), count, true);
    } else if (action < 9) {
      const auto first =
          *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(model.size()));
      const auto end = first + *rc::gen::inRange<std::uint32_t>(0, 150);
      std::uint32_t cleared = 0;
      validity.clear(first, end, [&](std::uint32_t a, std::uint32_t b) {
        for (std::uint32_t k = a; k < b; ++k) {
          RC_ASSERT(model[k]);
          model[k] = false;
          ++cleared;
        }
      });
      for (std::uint32_t k = first; k < end && k < model.size(); ++k) RC_ASSERT(!model[k]);
    } else {
      const auto keep = *rc::gen::inRange<std::size_t>(0, model.size() + 1);
      validity.truncate(static_cast<std::uint32_t>(keep));
      model.resize(keep);
    }
    RC_ASSERT(validity.size() == model.size());
    RC_ASSERT(validity.valid() ==
              static_cast<std::uint32_t>(std::count(model.begin(), model.end(), true)));
    std::uint32_t next_valid = validity.size();
    std::uint32_t next_gap = validity.size();
    for (std::uint32_t k = validity.size(); k-- > 0;) {
      (model[k] ? next_valid : next_gap) = k;
      RC_ASSERT(validity.is_valid(k) == model[k]);
      RC_ASSERT(validity.next_valid(k) == next_valid);
      RC_ASSERT(validity.valid_end(k) == next_gap);
    }
  }
}

RC_GTEST_PROP(SegmentSizes, BehavesAsAListOfNumbers, ()) {
  SegmentSizes sizes;
  std::vector<std::uint32_t> model;
  const int steps = *rc::gen::inRange(1, 20);
  for (int i = 0; i < steps; ++i) {
    const auto count = *rc::gen::inRange<std::uint32_t>(0, 400);
    const auto base = *rc::gen::element<std::uint32_t>(0, 100, 1024, 0xFFFFFFFF);
    const auto spread = *rc::gen::element<std::uint32_t>(1, 2, 30, 100'000);
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t size = base - (k * 2654435761u) % spread % (base + 1ull);
      sizes.append(size);
      model.push_back(size);
    }
    if (*rc::gen::inRange(0, 5) == 0) {
      const auto keep = *rc::gen::inRange<std::size_t>(0, model.size() + 1);
      sizes.truncate(static_cast<std::uint32_t>(keep));
      model.resize(keep);
    }
  }
  RC_ASSERT(sizes.count() == model.size());
  std::uint64_t total = 0;
  for (std::uint32_t k = 0; k < model.size(); ++k) {
    RC_ASSERT(sizes.at(k) == model[k]);
    total += model[k];
  }
  RC_ASSERT(sizes.sum(0, sizes.count()) == total);
  if (model.size() > 10) {
    const auto a = static_cast<std::uint32_t>(model.size() / 3);
    const auto b = static_cast<std::uint32_t>(model.size() * 2 / 3);
    std::uint64_t part = 0;
    for (std::uint32_t k = a; k < b; ++k) part += model[k];
    RC_ASSERT(sizes.sum(a, b) == part);
  }
}

TEST(SegmentSizes, CostsHalfABitForEqualSizes) {
  SegmentSizes sizes;
  for (int i = 0; i < 1'000'000; ++i) sizes.append(1024);
  EXPECT_LT(sizes.memory_bytes(), 140'000u);
}

}  // namespace
}  // namespace segue::storage
