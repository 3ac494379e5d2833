// Arrivals in segments, and looking for expired messages.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "segue/v1/types.pb.h"
#include "storage/segment_collector.h"
#include "tests/storage/segment_fixture.h"

namespace segue::storage {
namespace {

const QueueId kQueue{7};

/// Messages from `first` on that arrived together; -1: without an expiration.
MessageRun timed_run(std::uint64_t first, std::int64_t arrived_ms,
                     const std::vector<std::int64_t>& expirations) {
  MessageBatchBuilder builder;
  std::string bodies;
  for (std::size_t i = 0; i < expirations.size(); ++i) {
    v1::MessageHeader header;
    header.set_routing_key("k");
    if (expirations[i] >= 0) {
      header.mutable_properties()->set_expiration(std::to_string(expirations[i]));
    }
    const std::string body = body_of(first + i);
    builder.add(header.SerializeAsString(), SharedBytes::from(body));
    bodies += body;
  }
  const auto batch = MessageBatch::parse(SharedBytes::from(builder.take().batch),
                                         SharedBytes::from(std::move(bodies)))
                         .value();
  return {Sequence{first}, batch, 0, batch->count(), arrived_ms};
}

ExpiryScan scan_at(std::int64_t now_ms, std::int64_t ttl_ms = kNoExpiration,
                   std::uint64_t from = 1) {
  ExpiryScan scan;
  scan.rule = {ttl_ms, 1'000'000};
  scan.now_ms = now_ms;
  scan.from = Sequence{from};
  return scan;
}

/// All that have expired, in as many looks as it takes.
std::vector<std::uint64_t> expired(SegmentLife& life, ExpiryScan scan) {
  std::vector<std::uint64_t> sequences;
  for (bool more = true; more;) {
    std::optional<Result<ExpiredMessages>> found;
    life.store().find_expired(kQueue, scan,
                              [&](Result<ExpiredMessages> result) { found = std::move(result); });
    life.poll_until([&] { return found.has_value(); });
    EXPECT_TRUE(found->is_ok()) << found->status().to_string();
    if (!found->is_ok()) return sequences;
    for (const NumberRange& range : (*found)->ranges) {
      for (std::uint64_t s = range.first; s <= range.last; ++s) sequences.push_back(s);
    }
    more = (*found)->more;
    scan.from = (*found)->scanned_through.next();
  }
  return sequences;
}

bool due(SegmentLife& life, const ExpiryScan& scan) {
  const SegmentTable* const table = life.store().table(kQueue);
  return table != nullptr && table->any_expired(scan);
}

/// The arrival of each message, as it is read.
std::map<std::uint64_t, std::int64_t> arrivals(SegmentLife& life) {
  std::map<std::uint64_t, std::int64_t> found;
  for (std::uint64_t from = 1; from < 1000;) {
    const auto loaded = life.get(kQueue, from, 1000);
    EXPECT_TRUE(loaded.is_ok());
    if (!loaded.is_ok()) break;
    for (const MessageRun& run : loaded->runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) found[run.first.value + i] = run.arrived_ms;
    }
    from = loaded->scanned_through.value + 1;
  }
  return found;
}

std::size_t segments(SegmentLife& life) {
  return life.store().table(kQueue)->segments().size();
}

TEST(SegmentExpiry, ArrivalsAreReadBackAndOutliveARestart) {
  FaultyFileSystem files;
  const std::map<std::uint64_t, std::int64_t> expected{{1, 500}, {2, 500}, {3, 700}, {4, 0}};
  {
    SegmentLife life(files);
    ASSERT_TRUE(
        life.put(kQueue, {timed_run(1, 500, {-1, 30}), timed_run(3, 700, {-1}), run_of(4, 4)})
            .is_ok());
    EXPECT_EQ(arrivals(life), expected);
    ASSERT_TRUE(life.checkpoint().is_ok());
  }
  SegmentLife life(files);
  ASSERT_TRUE(life.recovery().is_ok()) << life.recovery().to_string();
  EXPECT_EQ(arrivals(life), expected);
  EXPECT_EQ(expired(life, scan_at(529)), (std::vector<std::uint64_t>{}));
  EXPECT_EQ(expired(life, scan_at(530)), (std::vector<std::uint64_t>{2}));
  // Appending goes on in the file's own way.
  ASSERT_TRUE(life.put(kQueue, {timed_run(5, 800, {1})}).is_ok());
  EXPECT_EQ(expired(life, scan_at(801)), (std::vector<std::uint64_t>{2, 5}));
}

TEST(SegmentExpiry, FilesWithoutArrivalsAreAsTheyWere) {
  FaultyFileSystem files;
  SegmentLife life(files, 1 << 20);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 10)}).is_ok());
  const Segment& plain = *life.store().table(kQueue)->segments()[0];
  EXPECT_FALSE(plain.timed);
  EXPECT_EQ(plain.disk_bytes(), plain.data_bytes + IndexEntry::place(10));
  // The first message with an arrival begins a segment, which takes all that follow.
  ASSERT_TRUE(life.put(kQueue, {timed_run(11, 500, {-1}), run_of(12, 20)}).is_ok());
  ASSERT_TRUE(life.put(kQueue, {timed_run(21, 600, {7}), run_of(22, 30)}).is_ok());
  EXPECT_EQ(segments(life), 2u);
  EXPECT_TRUE(life.store().table(kQueue)->segments()[1]->timed);
}

TEST(SegmentExpiry, LooksOnlyWhereSomethingIsDue) {
  FaultyFileSystem files;
  SegmentLife life(files, 4096);
  for (std::uint64_t first = 1; first < 300; first += 10) {
    ASSERT_TRUE(life.put(kQueue, {timed_run(first, static_cast<std::int64_t>(first) * 100,
                                            std::vector<std::int64_t>(10, 1000))})
                    .is_ok());
  }
  ASSERT_GT(segments(life), 3u);
  EXPECT_FALSE(due(life, scan_at(1099)));
  EXPECT_TRUE(due(life, scan_at(1100)));
  std::vector<std::uint64_t> first_ten;
  for (std::uint64_t s = 1; s <= 10; ++s) first_ten.push_back(s);
  EXPECT_EQ(expired(life, scan_at(1100)), first_ten);
  // What was found counts as on its way out, unless it is asked for again.
  EXPECT_FALSE(due(life, scan_at(1100)));
  ExpiryScan again = scan_at(1100);
  again.again_first = Sequence{3};
  again.again_last = Sequence{4};
  EXPECT_TRUE(due(life, again));
  EXPECT_EQ(expired(life, again), first_ten);
  life.settle(kQueue, 1, 10);
  EXPECT_FALSE(due(life, scan_at(2099)));
  EXPECT_TRUE(due(life, scan_at(2100)));
}

TEST(SegmentExpiry, GoesByTheQueuesTimeToLiveAsItIsAtTheLook) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {timed_run(1, 500, {-1, 30, 900})}).is_ok());
  EXPECT_EQ(expired(life, scan_at(599, 100)), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(expired(life, scan_at(600, 100)), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(SegmentExpiry, WhatWasStoredWithoutAnArrivalGoesByWhenItWasHeardOf) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {run_of(1, 5)}).is_ok());
  life.settle(kQueue, 3, 3);
  EXPECT_FALSE(due(life, scan_at(1'000'099, 100)));
  EXPECT_EQ(expired(life, scan_at(1'000'100, 100)), (std::vector<std::uint64_t>{1, 2, 4, 5}));
  EXPECT_FALSE(due(life, scan_at(kNever - 1)));
}

TEST(SegmentExpiry, ADamagedIndexIsMadeAgainWithItsArrivals) {
  FaultyFileSystem files;
  std::string index;
  {
    SegmentLife life(files);
    ASSERT_TRUE(life.put(kQueue, {timed_run(1, 500, {-1, 30, 900, 40})}).is_ok());
    ASSERT_TRUE(life.checkpoint().is_ok());
    life.settle(kQueue, 3, 3);
    ASSERT_TRUE(life.checkpoint(LogIndex{2}).is_ok());
  }
  for (const std::string& path : files.paths()) {
    if (path.ends_with(".index")) index = path;
  }
  const std::uint64_t bits = 8 * IndexEntry::place(4, true);
  for (std::uint64_t bit = 0; bit < bits; bit += 13) {
    files.flip_bit(index, bit);
    {
      SegmentLife life(files);
      ASSERT_TRUE(life.recovery().is_ok()) << bit << ": " << life.recovery().to_string();
      EXPECT_EQ(expired(life, scan_at(600, 1000)), (std::vector<std::uint64_t>{2, 4})) << bit;
      EXPECT_EQ(life.store().stored(kQueue).messages, 3u) << bit;
    }
  }
}

TEST(SegmentExpiry, ADamagedIndexIsMadeAgainDuringALook) {
  FaultyFileSystem files;
  SegmentLife life(files);
  ASSERT_TRUE(life.put(kQueue, {timed_run(1, 500, {-1, 30, 900, 40})}).is_ok());
  for (const std::string& path : files.paths()) {
    if (path.ends_with(".index")) files.flip_bit(path, 8 * IndexEntry::place(1, true) + 140);
  }
  EXPECT_EQ(expired(life, scan_at(600)), (std::vector<std::uint64_t>{2, 4}));
}

TEST(SegmentExpiry, FindsWhatAModelFindsWhateverHappensBetweenLooks) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t limit) { return random() % limit; };
    struct Message {
      std::int64_t arrived;
      std::int64_t own;
    };
    std::map<std::uint64_t, Message> model;
    FaultyFileSystem files;
    auto life = std::make_unique<SegmentLife>(files, 2048);
    std::uint64_t next = 1;
    std::int64_t now = 1000;
    for (int step = 0; step < 60; ++step) {
      now += below(200);
      switch (below(5)) {
        case 0:
        case 1: {
          std::vector<std::int64_t> expirations(1 + below(20));
          for (auto& own : expirations) own = below(3) == 0 ? -1 : static_cast<int>(below(2000));
          for (std::size_t i = 0; i < expirations.size(); ++i) {
            model[next + i] = {now, expirations[i]};
          }
          ASSERT_TRUE(life->put(kQueue, {timed_run(next, now, expirations)}).is_ok());
          next += expirations.size() + below(3);
          break;
        }
        case 2: {
          const std::uint64_t first = below(static_cast<std::uint32_t>(next));
          const std::uint64_t last = first + below(10);
          life->settle(kQueue, first, last);
          model.erase(model.lower_bound(first), model.upper_bound(last));
          break;
        }
        case 3:
          ASSERT_TRUE(life->checkpoint(LogIndex{static_cast<std::uint64_t>(step) + 1}).is_ok());
          if (below(2) == 0) {
            life.reset();
            life = std::make_unique<SegmentLife>(files, 2048);
            ASSERT_TRUE(life->recovery().is_ok());
          }
          break;
        default: {
          // A time to live that changes, as that of a queue can.
          const std::int64_t ttl = below(2) == 0 ? kNoExpiration : 500 + below(1000);
          ExpiryScan scan = scan_at(now, ttl);
          scan.max_ranges = 1 + below(5);
          // Every message may have come back since.
          scan.again_last = Sequence{below(4) == 0 ? next : 0};
          std::vector<std::uint64_t> expected;
          for (const auto& [sequence, message] : model) {
            if (scan.rule.due(message.arrived, message.own) <= now) expected.push_back(sequence);
          }
          EXPECT_EQ(expired(*life, scan), expected) << "seed " << seed << ", step " << step;
          for (const std::uint64_t sequence : expected) {
            life->settle(kQueue, sequence, sequence);
            model.erase(sequence);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace segue::storage
