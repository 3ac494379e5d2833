// Directories that are refused, and start again after a repair with everything that can be read.
#include "storage/data_repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "storage/wal_format.h"
#include "tests/storage/model_workload.h"
#include "tests/storage/repair_fixture.h"
#include "tests/storage/worked_disk.h"

namespace segue::storage {
namespace {

using ::testing::HasSubstr;
using End = WorkedDisk::End;

/// The start is refused; a rehearsal tells of repairs and changes nothing; after the repair the
/// start goes well. What was told.
std::string refuse_and_repair(WorkedDisk& disk) {
  EXPECT_EQ(disk.start().code(), Code::kCorruption);
  const auto before = contents(disk.files);
  const Repaired rehearsed = rehearse(disk.files);
  EXPECT_TRUE(rehearsed.status.is_ok()) << rehearsed.status.message();
  EXPECT_GT(rehearsed.totals.repairs, 0u);
  EXPECT_TRUE(contents(disk.files) == before);
  const Repaired repaired = repair(disk.files);
  EXPECT_TRUE(repaired.status.is_ok()) << repaired.status.message();
  EXPECT_EQ(repaired.totals.left, 0u) << repaired.text;
  EXPECT_EQ(repaired.text, rehearsed.text);
  const Status started = disk.start();
  EXPECT_TRUE(started.is_ok()) << started.message() << "\n" << repaired.text;
  return repaired.text;
}

std::uint64_t count(const Model& model) {
  std::uint64_t messages = 0;
  for (const auto& [queue, held] : model) messages += held.size();
  return messages;
}

/// Messages of `whole` that `held` lacks; none may be there that is not in `whole`.
std::uint64_t lost(const Model& whole, const Model& held) {
  std::uint64_t found = 0;
  for (const auto& [queue, messages] : held) {
    for (const auto& [sequence, body] : messages) {
      const auto in = whole.find(queue);
      const bool known =
          in != whole.end() && in->second.contains(sequence) && in->second.at(sequence) == body;
      EXPECT_TRUE(known) << queue << "/" << sequence;
      ++found;
    }
  }
  return count(whole) - found;
}

TEST(DataRepair, HasNothingToDoOnAWholeDirectory) {
  for (const End end : {End::kStopped, End::kKilled}) {
    WorkedDisk disk(end);
    const auto before = contents(disk.files);
    const Repaired done = repair(disk.files);
    EXPECT_TRUE(done.status.is_ok()) << done.status.message();
    EXPECT_EQ(done.totals.repairs + done.totals.left, 0u) << done.text;
    EXPECT_TRUE(contents(disk.files) == before);
  }
}

TEST(DataRepair, MakesADamagedCheckpointAnewAndLosesNothing) {
  for (const End end : {End::kStopped, End::kKilled}) {
    for (const bool at_end : {true, false}) {
      WorkedDisk disk(end, at_end);
      const MemoryDisk::Image image = disk.files.image();
      const std::string path = WorkedDisk::checkpoint(1);
      const std::string damaged = disk.files.content(path);
      for (const std::uint64_t bit : {8 * 9ul, 8 * 70ul, 8 * damaged.size() - 1}) {
        disk.files.restore(image);
        disk.files.flip_bit(path, bit);
        disk.files.flip_bit(path, bit - 9);
        const std::string kept = disk.files.content(path);
        EXPECT_THAT(refuse_and_repair(disk), HasSubstr("shards/1/checkpoint: "));
        EXPECT_EQ(disk.held(), disk.whole);
        EXPECT_EQ(disk.files.content("/data/repair-now/shards/1/checkpoint"), kept);
      }
    }
  }
}

TEST(DataRepair, SetsADamagedByteOfACheckpointRight) {
  WorkedDisk disk(End::kKilled, false);
  const MemoryDisk::Image image = disk.files.image();
  const std::string path = WorkedDisk::checkpoint(1);
  const std::string whole = disk.files.content(path);
  for (std::uint64_t at = 0; at < whole.size(); ++at) {
    for (const char mask : {'\x01', '\x80', '\x5a'}) {
      disk.files.restore(image);
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      disk.files.set_content(path, damaged);
      const Repaired done = repair(disk.files);
      ASSERT_EQ(done.totals.repairs, 1u) << at << " " << done.text;
      EXPECT_FALSE(done.totals.loss.any());
      EXPECT_THAT(done.text, HasSubstr("at offset " + std::to_string(at) + ": it is set right"));
      EXPECT_EQ(disk.files.content(path), whole) << at;
      EXPECT_EQ(disk.files.content("/data/repair-now/shards/1/checkpoint"), damaged);
    }
  }
}

/// What a checkpoint that nobody can read any more named, nobody knows.
TEST(DataRepair, WithoutACheckpointNobodySaysThatNothingIsLost) {
  for (const bool lost : {true, false}) {
    WorkedDisk disk(End::kStopped);
    if (lost) {
      ASSERT_TRUE(disk.files.remove(WorkedDisk::checkpoint(1)).is_ok());
    } else {
      disk.files.flip_bit(WorkedDisk::checkpoint(1), 8 * 70);
      disk.files.flip_bit(WorkedDisk::checkpoint(1), 8 * 90);
    }
    const Repaired done = repair(disk.files);
    EXPECT_TRUE(done.totals.loss.more) << done.text;
    EXPECT_EQ(done.totals.loss.messages, 0u);
    EXPECT_THAT(done.text, HasSubstr("nothing tells whether all of the queues' files are there"));
    EXPECT_THAT(done.text, testing::Not(HasSubstr("end of the log are lost")));
    EXPECT_EQ(disk.held(), disk.whole);
  }
}

TEST(DataRepair, MakesALostCheckpointAnew) {
  WorkedDisk disk(End::kKilled, false);
  ASSERT_TRUE(disk.files.remove(WorkedDisk::checkpoint(2)).is_ok());
  EXPECT_THAT(refuse_and_repair(disk), HasSubstr("shards/0/checkpoint: is missing"));
  EXPECT_EQ(disk.held(), disk.whole);
}

TEST(DataRepair, GoesOnWithoutShardsThatAreGone) {
  WorkedDisk disk(End::kStopped);
  disk.remove_all("/data/shards");
  EXPECT_THAT(refuse_and_repair(disk),
              HasSubstr("the messages that stood in files, and not in the log, are "));
  EXPECT_GT(lost(disk.whole, *disk.held()), 0u);  // what the log has is there
}

TEST(DataRepair, GoesOnWithoutALogThatIsGone) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  disk.remove_all("/data/wal");
  EXPECT_THAT(refuse_and_repair(disk), HasSubstr("log_ends, which tells of them"));
  EXPECT_EQ(lost(disk.whole, *disk.held()), 40u);  // those of the last round
}

TEST(DataRepair, WritesADamagedLogAnewWithAllRecordsThatCanBeRead) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  const MemoryDisk::Image image = disk.files.image();
  std::size_t refused = 0;
  for (const std::string& path : disk.paths_in("/data/wal/")) {
    if (!path.ends_with(".wal")) continue;
    disk.files.restore(image);
    const std::size_t size = disk.files.content(path).size();
    for (std::uint64_t offset = 17; offset < size; offset += kWalBlock) {
      disk.files.restore(image);
      disk.files.flip_bit(path, offset * 8);
      if (disk.start().is_ok()) continue;
      ++refused;
      disk.files.restore(image);
      disk.files.flip_bit(path, offset * 8);
      const std::string text = refuse_and_repair(disk);
      EXPECT_THAT(text, HasSubstr("A log is written of"));
      const auto held = disk.held();
      ASSERT_TRUE(held);
      // A group has one record; all of a file are lost only with its header.
      EXPECT_LE(lost(disk.whole, *held), offset < kWalBlock ? 40u : 20u) << path << " " << offset;
      EXPECT_TRUE(disk.files.exists("/data/repair-now" + path.substr(5)));
    }
  }
  EXPECT_GT(refused, 2u);
}

TEST(DataRepair, KeepsWhatIsLeftOfAFileOfTheLogThatWasCutOff) {
  WorkedDisk disk(End::kKilled, /*checkpoint_at_end=*/false);
  const MemoryDisk::Image image = disk.files.image();
  std::size_t refused = 0;
  for (const std::string& path : disk.paths_in("/data/wal/")) {
    if (!path.ends_with(".wal")) continue;
    disk.files.restore(image);
    const std::string whole = disk.files.content(path);
    if (whole.size() < 3 * kWalBlock) continue;
    disk.files.set_content(path, whole.substr(0, whole.size() - kWalBlock));
    ++refused;
    const std::string text = refuse_and_repair(disk);
    EXPECT_THAT(text, HasSubstr("the end is missing"));
    EXPECT_LE(lost(disk.whole, *disk.held()), 20u) << path;  // one group
  }
  EXPECT_GT(refused, 0u);
}

TEST(DataRepair, ADamagedLogAndCheckpointTogether) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  disk.files.flip_bit(WorkedDisk::checkpoint(1), 8 * 70);
  for (const std::string& path : disk.paths_in("/data/wal/")) {
    if (path.ends_with(".wal")) {
      disk.files.flip_bit(path, (kWalBlock + 50) * 8);
      break;
    }
  }
  refuse_and_repair(disk);
  EXPECT_LE(lost(disk.whole, *disk.held()), 20u);
}

TEST(DataRepair, AnIndexThatIsGoneBringsSettledMessagesBackOnlyWhenAsked) {
  FaultyFileSystem files;
  Model whole;
  {
    ModelNode node(files, 1 << 20);
    ASSERT_TRUE(node.run(1, "E 1 1 100"));
    ASSERT_TRUE(node.checkpoint(ShardId{1}));
    ASSERT_TRUE(node.run(1, "S 1 10 19"));
    ASSERT_TRUE(node.checkpoint(ShardId{1}));
    whole = *node.held();
    node.stop();
  }
  for (const std::string& path : files.paths()) {
    if (path.ends_with(".index")) {
      ASSERT_TRUE(files.remove(path).is_ok());
    }
  }
  const Status refused = ModelNode(files).opened();
  EXPECT_EQ(refused.code(), Code::kCorruption);
  EXPECT_THAT(refused.message(), HasSubstr("check --repair"));
  const Repaired done = repair(files);
  EXPECT_THAT(done.text, HasSubstr("so that 10 settled ones come back"));
  ModelNode node(files, 1 << 20);
  ASSERT_TRUE(node.opened().is_ok()) << node.opened().message();
  EXPECT_EQ(count(*node.held()), 100u);
  EXPECT_EQ(count(whole), 90u);
}

TEST(DataRepair, SaysWhatItCannotDo) {
  WorkedDisk disk(End::kStopped);
  disk.files.flip_bit("/data/identity", 80);
  const Repaired done = repair(disk.files);
  EXPECT_TRUE(done.status.is_ok());
  EXPECT_EQ(done.totals.repairs, 0u);
  EXPECT_EQ(done.totals.left, 1u);
  EXPECT_THAT(done.text, HasSubstr("NOT identity: "));
}

TEST(DataRepair, MayBeInterruptedAnywhereAndRunAgain) {
  WorkedDisk disk(End::kStopped, /*checkpoint_at_end=*/false);
  disk.files.flip_bit(WorkedDisk::checkpoint(1), 8 * 70);
  for (const std::string& path : disk.paths_in("/data/wal/")) {
    if (path.ends_with(".wal")) {
      disk.files.flip_bit(path, (kWalBlock + 50) * 8);
      break;
    }
  }
  const MemoryDisk::Image image = disk.files.image();
  SeededRandom random(7);
  for (std::uint64_t nth = 1; nth < 3'000; nth += 2) {
    disk.files.restore(image);
    disk.files.halt_at(nth);
    const bool whole = repair(disk.files).status.is_ok() && !disk.files.halted();
    disk.files.crash(random);
    if (whole) break;
    const Repaired again = repair(disk.files);
    ASSERT_TRUE(again.status.is_ok()) << nth << " " << again.status.message();
    const auto held = disk.held();
    ASSERT_TRUE(held) << nth << " " << disk.start().message() << "\n" << again.text;
    ASSERT_LE(lost(disk.whole, *held), 20u) << nth << "\n" << again.text;
  }
}

/// Whatever a node was doing: with copies, removals and stores that a checkpoint does not name, and
/// after losses of power.
TEST(DataRepair, ALostCheckpointOfAnyWorkloadLosesNothingAndBringsNothingBack) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    FaultyFileSystem files;
    SeededRandom random(seed);
    Workload workload(seed, Workload::Kind::kLikely);
    {
      ModelNode node(files, 4096, [&] { return static_cast<int>(random.below(4)); });
      ASSERT_TRUE(node.opened().is_ok());
      workload.run(node, 150);
      if (seed % 2 == 0) {
        files.halt_at(1 + random.below(200));
        workload.run(node, 150);
      }
    }
    files.halted() ? files.crash(random) : files.kill_process();
    std::size_t damaged = 0;
    for (const std::string& path : files.paths()) {
      if (!path.ends_with("/checkpoint")) continue;
      files.flip_bit(path, 8 * 40);
      files.flip_bit(path, 8 * 41);
      ++damaged;
    }
    if (damaged == 0) continue;
    const Repaired done = repair(files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    ModelNode node(files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << "seed " << seed << " " << node.opened().message();
    EXPECT_EQ(workload.difference(node), "") << "seed " << seed << "\n" << done.text;
  }
}

TEST(DataRepair, ADamagedCopyIsLeftOutOrStandsForItsSources) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    FaultyFileSystem files;
    SeededRandom random(seed);
    Workload workload(seed, Workload::Kind::kLikely);
    Model whole;
    {
      ModelNode node(files, 4096, [&] { return static_cast<int>(random.below(3)); });
      workload.run(node, 100 + static_cast<int>(random.below(60)));
      whole = *node.held();
    }
    files.kill_process();
    for (const std::string& path : files.paths()) {
      const auto name = segment_of_file_name(path.substr(path.rfind('/') + 1), ".data");
      if (!name || name->generation == 0) continue;
      files.flip_bit(path, seed % 2 == 0 ? 8 * 20 : files.content(path).size() * 8 - 100);
    }
    if (ModelNode(files).opened().is_ok()) continue;
    ++refused;
    const Repaired done = repair(files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    ModelNode node(files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << "seed " << seed << " " << node.opened().message();
    const auto held = node.held();
    ASSERT_TRUE(held);
    EXPECT_EQ(*held, whole) << "seed " << seed << "\n" << done.text;
  }
  EXPECT_GT(refused, 3u);
}

TEST(DataRepair, FilesOfTheLogThatChangedPlacesGetTheirNamesBack) {
  WorkedDisk disk(End::kKilled, /*checkpoint_at_end=*/false);
  const MemoryDisk::Image image = disk.files.image();
  std::vector<std::string> log;
  for (const std::string& path : disk.paths_in("/data/wal/")) {
    if (path.ends_with(".wal")) log.push_back(path);
  }
  ASSERT_GT(log.size(), 2u);
  const std::string spare = "/data/wal/" + wal_file_name(900);
  using Move = std::pair<std::string, std::string>;
  const std::vector<std::vector<Move>> damages{
      {{log[0], spare}, {log[1], log[0]}, {spare, log[1]}},                     // swapped
      {{log[0], spare}},                                                        // renamed
      {{log[0], spare}, {log[1], log[0]}, {log[2], log[1]}, {spare, log[2]}}};  // in a circle
  for (const auto& moves : damages) {
    disk.files.restore(image);
    for (const auto& [from, to] : moves) ASSERT_TRUE(disk.files.rename(from, to).is_ok());
    const std::string text = refuse_and_repair(disk);
    EXPECT_THAT(text, HasSubstr("as its header says"));
    EXPECT_THAT(text, testing::Not(HasSubstr("A log is written")));
    EXPECT_EQ(disk.held(), disk.whole);
  }
}

TEST(DataRepair, ALogFilesNameIsNotTakenFromAnother) {
  WorkedDisk disk(End::kKilled, /*checkpoint_at_end=*/false);
  const std::vector<std::string> paths = disk.paths_in("/data/wal/");
  disk.files.set_content("/data/wal/" + wal_file_name(900), disk.files.content(paths[0]));
  refuse_and_repair(disk);
  EXPECT_EQ(disk.held(), disk.whole);
}

/// A segment is being cut; the checkpoint is lost, and the segment damaged, of which some pieces
/// are there.
TEST(DataRepair, OfASegmentThatWasBeingCutNothingIsLostThatAPieceHas) {
  FaultyFileSystem files;
  Model whole;
  {
    ModelNode node(files, 1 << 20);
    ASSERT_TRUE(node.run(1, "E 1 1 400"));
    ASSERT_TRUE(node.checkpoint(ShardId{1}));
    whole = *node.held();
    node.stop();
  }
  const MemoryDisk::Image image = files.image();
  SeededRandom random(3);
  std::size_t tried = 0;
  std::size_t divided = 0;
  for (std::uint64_t nth = 1; nth < 2'000; ++nth) {
    files.restore(image);
    files.halt_at(nth);
    {
      ModelNode node(files, 4096);
      if (node.opened().is_ok() && node.run(1, "E 1 401 402")) {
        (void)node.checkpoint(ShardId{1});
        for (int i = 0; i < 20; ++i) node.poll();
      }
    }
    if (!files.halted()) break;
    files.crash(random);
    std::string source;
    std::vector<SegmentName> pieces;
    for (const std::string& path : files.paths()) {
      const auto name = segment_of_file_name(path.substr(path.rfind('/') + 1), ".data");
      if (!name) continue;
      if (*name == SegmentName(Sequence{1})) source = path;
      if (name->generation > 0) {
        pieces.push_back(*name);
      }
    }
    const bool first = std::any_of(pieces.begin(), pieces.end(), [](const SegmentName& piece) {
      return piece.first == Sequence{1};
    });
    if (source.empty() || !first) continue;
    ++tried;
    files.flip_bit(source, 8 * (SegmentHeader::kSize + MessageRecord::kSize + 5));
    files.flip_bit(source, 8 * (SegmentHeader::kSize + 17));
    const std::string index = source.substr(0, source.size() - 5) + ".index";
    ASSERT_TRUE(files.remove(index).is_ok());
    files.flip_bit(WorkedDisk::checkpoint(1), 8 * 40);
    files.flip_bit(WorkedDisk::checkpoint(1), 8 * 41);
    for (const std::string& path : files.paths()) {
      if (path.starts_with("/data/wal/")) {
        ASSERT_TRUE(files.remove(path).is_ok());
      }
    }
    const Repaired rehearsed = rehearse(files);
    const Repaired done = repair(files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    EXPECT_EQ(done.text, rehearsed.text);
    divided += done.text.find("lacks messages that a copy") != std::string::npos;
    EXPECT_TRUE(files.exists("/data/repair-now" + source.substr(5)));
    ModelNode node(files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().message() << "\n" << done.text;
    const auto held = node.held();
    ASSERT_TRUE(held) << done.text;
    for (const auto& [sequence, body] : whole.at(1)) {
      ASSERT_TRUE(held->at(1).contains(sequence)) << nth << " " << sequence << "\n" << done.text;
    }
  }
  EXPECT_GT(tried, 2u);
  EXPECT_GT(divided, 2u);
}

/// Any bit of any file but those of messages.
TEST(DataRepair, AfterAnyFlippedBitTheDirectoryStartsAgainWithAlmostEverything) {
  WorkedDisk disk(End::kKilled, /*checkpoint_at_end=*/false);
  const MemoryDisk::Image image = disk.files.image();
  std::vector<std::string> paths;
  for (const std::string& path : disk.files.paths()) {
    const bool left = path.ends_with(".data") || path.ends_with("/identity") ||
                      path.ends_with(".spare") || path.ends_with("queue_stat");
    if (!left && !disk.files.content(path).empty()) paths.push_back(path);
  }
  SeededRandom random(11);
  std::size_t refused = 0;
  for (int i = 0; i < 120; ++i) {
    disk.files.restore(image);
    const std::string& path = paths[random.next_u64() % paths.size()];
    const std::uint64_t bits = disk.files.content(path).size() * 8;
    const std::uint64_t bit = random.next_u64() % bits;
    disk.files.flip_bit(path, bit);
    if (!disk.start().is_ok()) {
      ++refused;
      disk.files.restore(image);
      disk.files.flip_bit(path, bit);
      refuse_and_repair(disk);
    }
    const auto held = disk.held();
    ASSERT_TRUE(held) << path << " bit " << bit;
    ASSERT_LE(lost(disk.whole, *held), 40u) << path << " bit " << bit;
  }
  EXPECT_GT(refused, 5u);
}

}  // namespace
}  // namespace segue::storage
