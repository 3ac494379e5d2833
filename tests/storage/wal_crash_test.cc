// The WAL against a model, with the power failing at every call that it makes, and processes
// killed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/wal_harness.h"

namespace segue::storage {
namespace {

struct Entry {
  std::string text;
  std::uint64_t place = 0;  // in the order of appending
};

/// Drives a WAL with random operations and knows what must be, and what may be, in it.
class WalModel {
 public:
  enum class Durability { kSync, kInterval, kMixed };

  WalModel(std::uint64_t seed, Durability durability, std::size_t inline_bytes)
      : random_(seed), durability_(durability) {
    wal_.options.inline_bytes = inline_bytes;
    wal_.options.file_bytes = (4 + random_.below(8)) * kWalBlock;
    wal_.options.reserve_bytes = random_.below(2) * 2 * wal_.options.file_bytes;
    wal_.options.spare_files = static_cast<std::uint32_t>(random_.below(3));
    wal_.options.sync_interval = std::chrono::hours(1);  // so that only records decide about syncs
  }

  FaultyFileSystem& files() { return wal_.files; }

  /// Opens the log and works on it. Ends early when the power goes.
  void live(int steps) {
    if (!open()) return;
    for (int i = 0; i < steps && !wal_.files.halted(); ++i) step();
    if (!wal_.files.halted()) settle();
  }
  void stop() {
    if (wal_.wal == nullptr) return;  // live() has complained
    EXPECT_TRUE(wal_.wal->stop());
    note_committed();
    for (const auto& [shard, index] : written_) {
      EXPECT_EQ(noted_[shard], index) << "a clean stop makes all of it durable";
    }
    floor_ = written_;
    wal_.wal.reset();
  }
  void crash() {
    wal_.crash(random_);
    verify(floor_);
  }
  void kill() {
    // The process is killed between two calls, so nothing is in flight.
    settle();
    wal_.kill();
    verify(written_);
  }

 private:
  bool open() {
    const Status opened = wal_.open();
    if (!opened) {
      EXPECT_TRUE(wal_.files.halted()) << opened.to_string();
      return false;
    }
    note_durable();
    wal_.committed.clear();
    // Whatever was recovered was made durable by opening.
    for (const auto& [shard, entries] : model_) floor_[shard] = written_[shard] = entries.size();
    return true;
  }

  void step() {
    switch (random_.below(10)) {
      case 0:
        wal_.wal->prepare_files();
        break;
      case 1:
        settle();
        break;
      case 2:
        checkpoint();
        break;
      case 3:
      case 4:
        wal_.wal->flush();
        break;
      default:
        append();
        break;
    }
    note_committed();
  }

  void append() {
    const ShardId shard(static_cast<std::uint16_t>(1 + random_.below(3)));
    std::vector<Entry>& entries = model_[shard];
    const std::uint64_t size = random_.below(40) == 0 ? random_.below(60000) : random_.below(3000);
    LogRecord record =
        WalHarness::record(shard.value, entries.size() + 1,
                           std::string(size, static_cast<char>('a' + random_.below(26))));
    record.sync = durability_ == Durability::kSync ||
                  (durability_ == Durability::kMixed && random_.below(3) == 0);
    entries.push_back({WalHarness::text(record), ++places_});
    const std::pair<ShardId, std::uint64_t> which(shard, entries.size());
    if (record.sync) sync_waits_.push_back({places_, which});
    const Status appended = wal_.wal->append(std::move(record));
    if (!appended) {
      EXPECT_TRUE(wal_.files.halted()) << appended.to_string();
    }
  }

  /// What the log says to be durable may be written down elsewhere, and is held against it then.
  void note_durable() {
    for (const auto& [shard, index] : wal_.wal->durable_ends()) {
      noted_[shard] = std::max(noted_[shard], index.value);
    }
  }

  /// Waits until all that was appended is committed.
  void settle() {
    wal_.wal->flush();
    for (const auto& [shard, entries] : model_) {
      if (entries.empty() || written_[shard] >= entries.size()) continue;
      const bool done = wal_.wait_for({shard, LogIndex(entries.size())});
      EXPECT_TRUE(done || wal_.files.halted());
      if (!done) break;
      note_committed();
    }
  }

  void note_committed() {
    for (const Committed& done : wal_.wal->poll()) wal_.committed[done.shard] = done.up_to;
    note_durable();
    for (const auto& [shard, index] : wal_.committed) {
      EXPECT_LE(index.value, model_[shard].size());
      written_[shard] = std::max(written_[shard], index.value);
    }
    // A committed record that was synced takes everything before it along.
    for (const auto& [place, which] : sync_waits_) {
      if (written_[which.first] < which.second) continue;
      for (const auto& [shard, entries] : model_) {
        for (std::uint64_t i = floor_[shard]; i < entries.size() && entries[i].place <= place;
             ++i) {
          floor_[shard] = i + 1;
        }
      }
    }
    std::erase_if(sync_waits_, [this](const auto& wait) {
      return written_[wait.second.first] >= wait.second.second;
    });
  }

  void checkpoint() {
    for (const auto& [shard, index] : written_) {
      if (random_.below(2) == 0 || index == 0) continue;
      LogIndex& applied = wal_.applied[shard];
      applied = std::max(applied, LogIndex(index - random_.below(2)));
      wal_.wal->release(shard, applied);
    }
  }

  /// What is recovered is the model's log from the checkpoints on, up to some place behind what had
  /// to survive.
  void verify(const std::map<ShardId, std::uint64_t>& must) {
    const auto recovered = wal_.recover();
    ASSERT_TRUE(recovered) << recovered.status().to_string();
    std::uint64_t last_place = 0;
    for (const auto& [shard, records] : wal_.replayed) {
      std::uint64_t index = wal_.applied[shard].value;
      for (const ReplayedRecord& record : records) {
        ASSERT_EQ(record.index.value, ++index);
        ASSERT_LE(index, model_[shard].size()) << "a record that was never written";
        const Entry& entry = model_[shard][index - 1];
        ASSERT_EQ(WalHarness::text(record), entry.text) << "shard " << shard.value << " " << index;
        last_place = std::max(last_place, entry.place);
      }
    }
    for (auto& [shard, entries] : model_) {
      const std::uint64_t applied = wal_.applied[shard].value;
      const std::uint64_t end = applied + wal_.replayed[shard].size();
      ASSERT_GE(end, noted_[shard]) << "said to be durable, shard " << shard.value;
      const auto least = must.find(shard);
      if (least != must.end()) {
        ASSERT_GE(end, least->second) << "lost, shard " << shard.value;
      }
      if (end < entries.size()) {
        ASSERT_GT(entries[end].place, last_place) << "a record is missing before one that is there";
      }
      entries.resize(end);
    }
    sync_waits_.clear();
    floor_.clear();
    written_.clear();
    for (const auto& [shard, entries] : model_) floor_[shard] = written_[shard] = 0;
  }

  SeededRandom random_;
  Durability durability_;
  WalHarness wal_;
  std::map<ShardId, std::vector<Entry>> model_;
  std::uint64_t places_ = 0;
  std::map<ShardId, std::uint64_t> written_;  // committed: survives a killed process
  std::map<ShardId, std::uint64_t> floor_;    // committed and synced: survives a power loss
  std::map<ShardId, std::uint64_t> noted_;    // said to be durable, ever
  std::vector<std::pair<std::uint64_t, std::pair<ShardId, std::uint64_t>>> sync_waits_;
};

using Durability = WalModel::Durability;

/// Where a run can be made to fail: more with SEGUE_CRASH_SEEDS.
std::uint64_t seeds() {
  const char* text = std::getenv("SEGUE_CRASH_SEEDS");
  return text == nullptr ? 3 : std::strtoull(text, nullptr, 10);
}

class WalCrash : public ::testing::TestWithParam<std::pair<Durability, std::size_t>> {};

TEST_P(WalCrash, AtEveryCallOfAShortRunLosesNothingThatWasSynced) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    bool halted = true;
    for (std::uint64_t call = 1; halted; ++call) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", power lost at call " + std::to_string(call));
      WalModel model(seed, GetParam().first, GetParam().second);
      model.files().halt_at(call);
      model.live(40);
      halted = model.files().halted();
      model.crash();
      model.live(15);
      model.stop();
      model.crash();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(WalCrash, AgainAndAgainInManyLives) {
  for (std::uint64_t seed = 1; seed <= 8 * seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    WalModel model(seed, GetParam().first, GetParam().second);
    for (int life = 0; life < 12; ++life) {
      if (random.below(2) == 0) {
        model.files().halt_at(1 + random.below(80));
        model.live(50);
        model.crash();
      } else {
        model.live(30);
        random.below(2) == 0 ? model.kill() : model.crash();
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WalCrash,
                         ::testing::Values(std::pair(Durability::kSync, std::size_t{65536}),
                                           std::pair(Durability::kSync, std::size_t{0}),
                                           std::pair(Durability::kInterval, std::size_t{65536}),
                                           std::pair(Durability::kMixed, std::size_t{2000}),
                                           std::pair(Durability::kMixed, std::size_t{0})));

}  // namespace
}  // namespace segue::storage
