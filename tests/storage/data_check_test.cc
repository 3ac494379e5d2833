// What a check of a data directory says: nothing of a healthy one, also after crashes, and
// something of any damage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "storage/catalog_db.h"
#include "storage/data_check.h"
#include "storage/queue_check.h"
#include "storage/wal_format.h"
#include "storage/wal_reader.h"
#include "tests/storage/check_fixture.h"
#include "tests/storage/model_workload.h"

namespace segue::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A small directory that has some of everything: sealed segments, one that is not, copies, settled
/// messages, and a log behind the checkpoints.
struct SmallDisk {
  SmallDisk() {
    ModelNode node(files, 1500);
    for (int round = 0; round < 3; ++round) {
      for (const std::uint64_t queue : {1, 2}) {
        const std::uint64_t first = node.next_sequence(queue);
        run(node, queue, "E", first, first + 24);
        node.store(queue, ~std::size_t{0});
        node.poll();
        // The second queue's holes are small: nothing is copied.
        run(node, queue, "S", first + 2, first + (queue == 1 ? 11 : 3));
        run(node, queue, "S", first + 13, first + (queue == 1 ? 23 : 14));
        EXPECT_TRUE(node.checkpoint(ModelNode::shard_of(queue)));
      }
      for (int i = 0; i < 20; ++i) {
        node.poll();
        for (const ShardId shard : node.disk().take_wanted_checkpoints()) {
          EXPECT_TRUE(node.checkpoint(shard));
        }
      }
    }
    run(node, 1, "E", node.next_sequence(1), node.next_sequence(1) + 3);
    copies = node.disk().stats().gc.copies;
    node.stop();
  }
  static void run(ModelNode& node, std::uint64_t queue, const std::string& kind,
                  std::uint64_t first, std::uint64_t last) {
    EXPECT_TRUE(node.run(queue, kind + " " + std::to_string(queue) + " " + std::to_string(first) +
                                    " " + std::to_string(last)));
  }

  FaultyFileSystem files;
  std::uint64_t copies = 0;
};

TEST(DataCheck, FindsNothingInAHealthyDirectoryAndChangesNothing) {
  SmallDisk disk;
  ASSERT_GT(disk.copies, 0u);
  const auto before = disk.files.image();
  const std::uint64_t changes =
      disk.files.calls(FaultyFileSystem::kWrite) + disk.files.calls(FaultyFileSystem::kTruncate) +
      disk.files.calls(FaultyFileSystem::kRename) + disk.files.calls(FaultyFileSystem::kRemove);
  const Checked checked = check(disk.files);
  EXPECT_TRUE(checked.status.is_ok()) << checked.text();
  EXPECT_THAT(checked.problems, IsEmpty()) << checked.text();
  EXPECT_THAT(checked.notes, IsEmpty()) << checked.text();
  EXPECT_EQ(checked.totals.nodes, 1u);
  EXPECT_GT(checked.totals.files, 6u);
  EXPECT_GT(checked.totals.messages, 50u);
  EXPECT_GT(checked.totals.log_records, 0u);
  EXPECT_GT(checked.totals.bytes, 1000u);
  const auto after = disk.files.image();
  EXPECT_TRUE(before.files == after.files);
  EXPECT_TRUE(before.directories == after.directories);
  EXPECT_EQ(changes, disk.files.calls(FaultyFileSystem::kWrite) +
                         disk.files.calls(FaultyFileSystem::kTruncate) +
                         disk.files.calls(FaultyFileSystem::kRename) +
                         disk.files.calls(FaultyFileSystem::kRemove));
}

/// Random work, then a loss of power, at random calls; then the same again on what it left.
TEST(DataCheck, FindsNothingAfterCrashes) {
  std::uint64_t notes = 0;
  for (std::uint64_t seed = 1; seed <= 100 * effort(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultyFileSystem files;
    SeededRandom random(seed);
    Workload workload(seed, seed % 2 == 0 ? Workload::Kind::kMixed : Workload::Kind::kGarbage);
    for (int life = 0; life < 3; ++life) {
      const bool killed = random.below(4) == 0;
      if (!killed) files.halt_at(1 + random.below(600));
      {
        ModelNode node(files);
        if (!node.dead()) workload.run(node, 40);
      }
      if (killed) {
        files.kill_process();
      } else {
        files.crash(random);
      }
      if (!files.exists("/data")) continue;
      const Checked checked = check(files);
      if (!checked.status.is_ok()) {
        // It came no further than the directory.
        ASSERT_FALSE(files.exists("/data/wal")) << checked.text();
        continue;
      }
      ASSERT_THAT(checked.problems, IsEmpty()) << checked.text();
      notes += checked.notes.size();
    }
  }
  EXPECT_GT(notes, 0u);
}

// ---- damage

/// Where a flipped bit changes nothing that means anything.
class Meaningless {
 public:
  explicit Meaningless(FaultyFileSystem& files) {
    for (const std::string& path : files.paths()) {
      const std::string name = path.substr(path.rfind('/') + 1);
      const std::uint64_t size = files.content(path).size();
      // For people only; kept to be recycled; empty.
      if (name == "queue_stat" || is_wal_spare_name(name) || name == "node.lock") {
        mark(path, 0, size);
      }
      if (const auto number = parse_wal_file_name(name)) mark_wal(files, path, *number);
    }
    for (const ShardId shard : {ShardId{0}, ShardId{1}}) mark_segments(files, shard);
  }

  bool has(const std::string& path, std::uint64_t offset) const {
    const auto ranges = ranges_.find(path);
    if (ranges == ranges_.end()) return false;
    for (const auto& [begin, end] : ranges->second) {
      if (offset >= begin && offset < end) return true;
    }
    return false;
  }

 private:
  void mark(const std::string& path, std::uint64_t begin, std::uint64_t end) {
    if (begin < end) ranges_[path].emplace_back(begin, end);
  }

  /// Behind the file's header, behind each group up to the next block, behind the last group; and
  /// the mark at the end, which says only that what is before it was synced.
  void mark_wal(FaultyFileSystem& files, const std::string& path, std::uint64_t number) {
    auto reader = WalReader::open(files, path, number, wal_node_hash("c", "n"));
    ASSERT_TRUE(reader.is_ok()) << reader.status().to_string();
    mark(path, WalFileHeader::kBytes, kWalBlock);
    std::uint64_t offset = kWalBlock;
    std::uint64_t last_records = offset;  // where the last group with records ends
    while (true) {
      const auto group = (*reader)->group_at(offset);
      ASSERT_TRUE(group.is_ok());
      if (!*group) break;
      mark(path, offset + (*group)->header.bytes, (*group)->next_offset);
      offset = (*group)->next_offset;
      if ((*group)->header.records > 0) last_records = offset;
    }
    mark(path, last_records, (*reader)->size());
  }

  /// What stands behind the size that the checkpoint names.
  void mark_segments(FaultyFileSystem& files, ShardId shard) {
    const std::string directory = "/data/shards/" + std::to_string(shard.value);
    const auto checkpoint = read_checkpoint(files, directory);
    ASSERT_TRUE(checkpoint.is_ok() && checkpoint->has_value());
    for (const CheckpointQueue& queue : (*checkpoint)->queues) {
      const QueueFiles paths(queue.id, shard, directory + "/queues/" + queue.directory);
      for (const CheckpointSegment& segment : queue.segments) {
        mark(paths.data_path(segment.name()), segment.data_bytes, ~0ull);
        mark(paths.index_path(segment.name()), IndexEntry::place(segment.messages), ~0ull);
      }
    }
  }

  std::map<std::string, std::vector<std::pair<std::uint64_t, std::uint64_t>>> ranges_;
};

/// Where a file's structure is: all of its bits are flipped, of the other bytes one each.
bool is_structure(const std::string& path, std::uint64_t offset) {
  constexpr std::uint64_t kHeaders = 112;  // of a file; in the log, of a group and its first record
  return offset < kHeaders ||
         (path.find("/wal/") != std::string::npos && offset % kWalBlock < kHeaders);
}

TEST(DataCheck, FindsAnyFlippedBit) {
  SmallDisk disk;
  const Meaningless meaningless(disk.files);
  // Others in every run; what fails names its bit.
  const std::uint64_t seed = std::random_device()();
  std::uint64_t flipped = 0;
  std::uint64_t harmless = 0;
  for (const std::string& path : disk.files.paths()) {
    const std::uint64_t size = disk.files.content(path).size();
    for (std::uint64_t offset = 0; offset < size; ++offset) {
      if (meaningless.has(path, offset)) {
        ++harmless;
        continue;
      }
      // Under a sanitizer, some: it looks for errors in the code, and takes ten times as long.
      if (kSanitized && offset % 7 != 0) continue;
      for (std::uint64_t bit = offset * 8; bit < offset * 8 + 8; ++bit) {
        const std::uint64_t chosen = (offset / 7 + seed) % 8;
        if (bit % 8 != chosen && (kSanitized || !is_structure(path, offset))) continue;
        disk.files.flip_bit(path, bit);
        const Checked checked = check(disk.files);
        disk.files.flip_bit(path, bit);
        ++flipped;
        ASSERT_TRUE(!checked.problems.empty() || !checked.notes.empty())
            << path << " bit " << bit << " of " << size * 8;
        if (path.find("/wal/") == std::string::npos) {
          ASSERT_TRUE(checked.told(path) || path == "/data/identity")
              << path << " bit " << bit << "\n"
              << checked.text();
        }
      }
    }
  }
  EXPECT_GT(flipped, kSanitized ? 100u : 5'000u);
  EXPECT_GT(harmless, 10'000u);
}

TEST(DataCheck, FindsAnyTruncatedOrMissingFile) {
  SmallDisk disk;
  const Meaningless meaningless(disk.files);
  const auto whole = disk.files.image();
  for (const std::string& path : disk.files.paths()) {
    const std::string content = disk.files.content(path);
    const std::string name = path.substr(path.rfind('/') + 1);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, content.size() / 2, content.size() - 1}) {
      if (size >= content.size()) continue;
      bool harmless = true;
      for (std::uint64_t at = size; harmless && at < content.size(); ++at) {
        harmless = meaningless.has(path, at);
      }
      disk.files.set_content(path, content.substr(0, size));
      const Checked checked = check(disk.files);
      EXPECT_TRUE(harmless || !checked.problems.empty())
          << path << " cut to " << size << " of " << content.size() << "\n"
          << checked.text();
    }
    disk.files.restore(whole);
    // Made again at a start, which needs nothing of them; and files of the log without records.
    const bool spared = name == "log_ends" || name == "node.lock" || meaningless.has(path, 0) ||
                        (parse_wal_file_name(name) && meaningless.has(path, kWalBlock));
    ASSERT_TRUE(disk.files.remove(path).is_ok());
    const Checked checked = check(disk.files);
    EXPECT_TRUE(spared || !checked.problems.empty()) << path << "\n" << checked.text();
    disk.files.restore(whole);
  }
}

TEST(DataCheck, NamesFileQueueSequenceAndOffset) {
  SmallDisk disk;
  for (const std::string& path : disk.files.paths()) {
    if (!path.ends_with(".data") || path.find("/queues/-1/") == std::string::npos) continue;
    const std::string content = disk.files.content(path);
    const auto record = MessageRecord::decode(content.substr(SegmentHeader::kSize), QueueId{1});
    ASSERT_TRUE(record.has_value());
    // The last byte of the first message.
    const std::uint64_t end = SegmentHeader::kSize + record->record_bytes();
    disk.files.flip_bit(path, (end - 1) * 8);
    const Checked checked = check(disk.files);
    ASSERT_EQ(checked.problems.size(), 1u) << checked.text();
    EXPECT_EQ("/data/" + checked.problems[0].file, path);
    EXPECT_EQ(checked.problems[0].queue, "id 1");
    EXPECT_EQ(checked.problems[0].offset, SegmentHeader::kSize);
    EXPECT_EQ(checked.problems[0].sequence, record->sequence.value);
    EXPECT_EQ(checked.problems[0].messages, 1u);
    return;
  }
  std::string all;
  for (const std::string& path : disk.files.paths()) all += path + "\n";
  FAIL() << "queue 1 has no .data file:\n" << all;
}

TEST(DataCheck, TellsStrayFilesEverywhere) {
  SmallDisk disk;
  const auto names = disk.files.list("/data/shards/1/queues");
  ASSERT_TRUE(names.is_ok() && !names->empty());
  const std::vector<std::string> strays{"/data/notes.txt",
                                        "/data/wal/0000.old",
                                        "/data/shards/copy/x",
                                        "/data/shards/7/checkpoint",
                                        "/data/shards/1/checkpoint.bak",
                                        "/data/shards/1/queues/copy/x",
                                        "/data/shards/1/queues/" + names->front() + "/x.data~"};
  for (const std::string& stray : strays) disk.files.set_content(stray, "x");
  EXPECT_EQ(check(disk.files).problems.size(), strays.size()) << check(disk.files).text();
}

TEST(DataCheck, ChecksTheNodesBelowADirectory) {
  SmallDisk disk;
  for (const auto& [path, content] : disk.files.image().files) {
    disk.files.set_content("/up/n1" + path.substr(5), content);
    disk.files.set_content("/up/n2" + path.substr(5), content);
  }
  disk.files.set_content("/up/logs/n1.log", "x");
  ASSERT_TRUE(disk.files.remove("/up/n2/identity").is_ok());
  const Checked checked = check(disk.files, "/up/");
  EXPECT_EQ(checked.totals.nodes, 2u);
  ASSERT_EQ(checked.problems.size(), 1u) << checked.text();
  EXPECT_EQ(checked.problems[0].file, "n2/identity");
}

TEST(DataCheck, RefusesWhileANodeRunsAndWhereNoneIs) {
  SmallDisk disk;
  {
    ModelNode node(disk.files);
    const Checked checked = check(disk.files);
    EXPECT_EQ(checked.status.code(), Code::kInvalidConfig);
    EXPECT_THAT(checked.status.message(), HasSubstr("in use by another process"));
  }
  ASSERT_TRUE(disk.files.make_directories("/empty").is_ok());
  EXPECT_EQ(check(disk.files, "/empty").status.code(), Code::kInvalidConfig);
  EXPECT_EQ(check(disk.files, "/nowhere").status.code(), Code::kNotFound);
  const Checked file = check(disk.files, "/data/identity");
  EXPECT_EQ(file.status.code(), Code::kNotFound);
  EXPECT_THAT(file.status.message(), HasSubstr("is no directory"));
}

TEST(DataCheck, TellsAFileThatCannotBeReadAndGoesOn) {
  SmallDisk disk;
  std::string data;
  for (const std::string& path : disk.files.paths()) {
    if (path.ends_with(".data")) data = path;
  }
  disk.files.fail_path(data, FaultyFileSystem::kRead, Code::kIoError);
  const Checked checked = check(disk.files);
  EXPECT_TRUE(checked.told(data)) << checked.text();
  EXPECT_GT(checked.totals.messages, 20u);
}

TEST(DataCheck, TellsMessagesThatTheNextStartWouldRemove) {
  FaultyFileSystem files;
  {
    ModelNode node(files, 1500);
    ASSERT_TRUE(node.run(1, "E 1 1 100"));
    ASSERT_TRUE(node.checkpoint(ShardId{1}));
    ASSERT_TRUE(node.run(1, "E 1 101 200"));
    node.store(1, ~std::size_t{0});
    for (int i = 0; i < 10; ++i) node.poll();
  }
  files.kill_process();
  const Checked crashed = check(files);
  EXPECT_THAT(crashed.problems, IsEmpty()) << crashed.text();
  ASSERT_EQ(crashed.notes.size(), 1u) << crashed.text();
  EXPECT_THAT(crashed.notes[0].what, HasSubstr("the next start removes it"));
  for (const std::string& path : files.paths()) {
    if (path.starts_with("/data/wal/") || path == "/data/log_ends") {
      ASSERT_TRUE(files.remove(path).is_ok());
    }
  }
  const Checked lost = check(files);
  ASSERT_EQ(lost.problems.size(), 1u) << lost.text();
  EXPECT_EQ(lost.problems[0].messages, 100u);
  EXPECT_THAT(lost.problems[0].what,
              AllOf(HasSubstr("a start would remove them"), HasSubstr("--repair keeps them")));
  files.set_content("/data/wal/" + wal_file_name(1), std::string(8192, 'x'));
  const Checked refused = check(files);
  ASSERT_EQ(refused.notes.size(), 2u) << refused.text();
  EXPECT_THAT(refused.notes[0].file, HasSubstr("log_ends"));
  EXPECT_THAT(refused.notes[0].what, HasSubstr("is missing"));
  EXPECT_THAT(refused.notes[1].what, HasSubstr("as long as the start is refused"));
}

TEST(DataCheck, TellsAnOlderCopyOfAnIndex) {
  FaultyFileSystem files;
  std::map<std::string, std::string> older;
  {
    ModelNode node(files, 1 << 20);
    ASSERT_TRUE(node.run(1, "E 1 1 100"));
    ASSERT_TRUE(node.checkpoint(ShardId{1}));
    for (const std::string& path : files.paths()) {
      if (path.ends_with(".index")) older[path] = files.content(path);
    }
    ASSERT_TRUE(node.run(1, "S 1 10 19"));
    ASSERT_TRUE(node.checkpoint(ShardId{1}));
    node.stop();
  }
  EXPECT_THAT(check(files).problems, IsEmpty());
  ASSERT_EQ(older.size(), 1u);
  const auto& [path, content] = *older.begin();
  files.set_content(path, content);
  const Checked checked = check(files);
  ASSERT_EQ(checked.problems.size(), 1u) << checked.text();
  EXPECT_TRUE(checked.told(path));
  EXPECT_EQ(checked.problems[0].messages, 10u);
  EXPECT_THAT(checked.problems[0].what, HasSubstr("older copy"));
}

/// A message was met, set aside and settled: what is left of it in its file is known.
TEST(DataCheck, ADamagedMessageThatWasSetAsideIsANote) {
  for (const bool cut : {false, true}) {
    FaultyFileSystem files;
    {
      ModelNode node(files, 4096);
      ASSERT_TRUE(node.run(1, "E 1 1 200"));
      ASSERT_TRUE(node.checkpoint(ShardId{1}));
      node.stop();
    }
    const std::vector<std::string> paths = files.paths();
    const auto path = std::find_if(paths.begin(), paths.end(),
                                   [](const std::string& one) { return one.ends_with(".data"); });
    ASSERT_NE(path, paths.end());
    if (cut) {
      const std::string whole = files.content(*path);
      files.set_content(*path, whole.substr(0, whole.size() / 2));
    } else {
      files.flip_bit(*path, (SegmentHeader::kSize + MessageRecord::kSize + 9) * 8);
    }
    const Checked found = check(files);
    EXPECT_GT(found.totals.problems, 0u);
    EXPECT_GT(found.totals.lost_messages, 0u) << found.text();
    {
      ModelNode node(files, 4096);
      ASSERT_TRUE(node.opened().is_ok());
      for (Sequence from{1}; from < Sequence{200};) {
        std::optional<Result<LoadedMessages>> loaded;
        node.disk().load(QueueId{1}, from, Sequence{200}, 300,
                         [&](Result<LoadedMessages> result) { loaded = std::move(result); });
        for (int i = 0; i < 1000 && !loaded; ++i) node.poll();
        ASSERT_TRUE(loaded && loaded->is_ok());
        from = (*loaded)->scanned_through.next();
      }
      node.stop();
    }
    const Checked after = check(files);
    EXPECT_EQ(after.totals.problems, 0u) << after.text();
    EXPECT_EQ(after.totals.lost_messages, 0u) << after.text();
    EXPECT_THAT(after.text(), HasSubstr(cut ? "the file quarantine names it" : "it was set aside"));
  }
}

TEST(CheckReport, TellsTheFirstFindingsOfAFileAndHowManyThereAre) {
  std::vector<CheckFinding> found;
  CheckReport report("/d", [&](const CheckFinding& finding) { found.push_back(finding); }, {});
  for (int i = 0; i < 25; ++i) report.problem("/d/a", 1, "x");
  report.problem("/d/b", "y");
  report.finish();
  ASSERT_EQ(found.size(), CheckReport::kMostPerFile + 2);
  EXPECT_EQ(found[20].what, "and 5 more of the same file");
  EXPECT_EQ(found[21].file, "b");
  EXPECT_EQ(report.totals().problems, 26u);
}

TEST(DataCheck, ReadsTheNameOfAQueueInThatOfItsDirectory) {
  for (const char* const name : {"orders", "a/b", "A-b.c", ".x%41"}) {
    EXPECT_EQ(queue_name_of_directory(queue_directory_name(name, QueueId{7})), name);
  }
}

}  // namespace
}  // namespace segue::storage
