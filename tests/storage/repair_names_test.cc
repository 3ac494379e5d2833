// Nodes that were killed, and whose queues' files then changed places or names: a repair brings
// them back, also where a checkpoint is lost, damaged or an older copy; the start after it goes
// well.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/segment_format.h"
#include "storage/segment_names.h"
#include "storage/start_trial.h"
#include "tests/storage/check_fixture.h"
#include "tests/storage/killed_node.h"
#include "tests/storage/repair_fixture.h"

namespace segue::storage {
namespace {

using Damage = void (*)(KilledNode&);

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}
std::string index_of(const std::string& data) {
  return data.substr(0, data.size() - 5) + ".index";
}

void exchange(KilledNode& node, const std::string& one, const std::string& other) {
  if (one == other || !node.files.exists(one) || !node.files.exists(other)) return;
  EXPECT_TRUE(node.files.rename(one, "/data/between").is_ok());
  EXPECT_TRUE(node.files.rename(other, one).is_ok());
  EXPECT_TRUE(node.files.rename("/data/between", other).is_ok());
}

/// Exchanges the files of some pairs of segments, of one queue or of two.
void exchange_some(KilledNode& node, bool of_two_queues, bool with_index) {
  const auto data = node.paths("/data/shards/", ".data");
  int left = 3;
  for (std::size_t i = 0; i < data.size() && left > 0; ++i) {
    for (std::size_t j = i + 1; j < data.size() && left > 0; ++j) {
      if ((directory_of(data[i]) == directory_of(data[j])) == of_two_queues) continue;
      if (node.random.below(2) == 0) continue;
      --left;
      exchange(node, data[i], data[j]);
      if (with_index) exchange(node, index_of(data[i]), index_of(data[j]));
    }
  }
}

/// Gives one segment of each queue another name.
template <typename Rename>
void rename_some(KilledNode& node, Rename rename) {
  std::map<std::string, std::vector<std::string>> queues;
  for (const std::string& path : node.paths("/data/shards/", ".data")) {
    queues[directory_of(path)].push_back(path);
  }
  for (const auto& [directory, paths] : queues) {
    const std::string& path = paths[node.random.below(paths.size())];
    SegmentName name = *segment_of_file_name(path.substr(directory.size() + 1), ".data");
    rename(node, name);
    const std::string to = directory + "/" + segment_file_name(name, ".data");
    if (node.files.exists(to)) continue;
    EXPECT_TRUE(node.files.rename(path, to).is_ok());
    if (node.random.below(2) == 0 && node.files.exists(index_of(path))) {
      EXPECT_TRUE(node.files.rename(index_of(path), index_of(to)).is_ok());
    }
  }
}

const std::map<std::string, Damage> kNames{
    {"data of two queues", [](KilledNode& node) { exchange_some(node, true, false); }},
    {"segments of two queues", [](KilledNode& node) { exchange_some(node, true, true); }},
    {"data of a queue", [](KilledNode& node) { exchange_some(node, false, false); }},
    {"segments of a queue", [](KilledNode& node) { exchange_some(node, false, true); }},
    {"another first message",
     [](KilledNode& node) {
       rename_some(node, [](KilledNode& its, SegmentName& name) {
         name.first = Sequence{1 + its.random.below(2 * name.first.value + 100)};
       });
     }},
    {"another generation",
     [](KilledNode& node) {
       rename_some(node, [](KilledNode& its, SegmentName& name) {
         // What is a copy stays one: a higher generation means that it was copied again.
         if (name.generation == 0)
           name.generation = 1 + static_cast<std::uint32_t>(its.random.below(4));
       });
     }},
    {"a copy under another name",
     [](KilledNode& node) {
       const auto data = node.paths("/data/shards/", ".data");
       for (const std::string& path : data) {
         const std::string to = directory_of(path) + "/" +
                                segment_file_name({Sequence{1 + node.random.below(500)}}, ".data");
         if (!node.files.exists(to)) node.files.set_content(to, node.files.content(path));
       }
     }},
    {"a copy under the name of a segment that is gone",
     [](KilledNode& node) {
       const auto data = node.paths("/data/shards/", ".data");
       for (const std::string& gone : node.named()) {
         if (node.files.exists(gone) || data.empty()) continue;
         node.files.set_content(gone, node.files.content(data[node.random.below(data.size())]));
       }
     }},
};

const std::map<std::string, Damage> kCheckpoints{
    {"whole", [](KilledNode&) {}},
    {"older", [](KilledNode& node) { node.age_checkpoints(); }},
    {"damaged", [](KilledNode& node) { node.damage_checkpoints(); }},
    {"lost", [](KilledNode& node) { node.lose_checkpoints(); }},
};

class RepairNames : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(RepairNames, EveryMessageIsThereAfterwards) {
  const auto& [names, checkpoints] = GetParam();
  std::size_t moved = 0;
  for (std::uint64_t seed = 1; seed <= seeds(12) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    KilledNode killed(seed);
    kCheckpoints.at(checkpoints)(killed);
    const Model wanted = killed.in_files();
    kNames.at(names)(killed);
    RehearsalFileSystem rehearsal(killed.files);
    const Repaired rehearsed = repair(rehearsal);
    const std::string rehearsed_check = check(rehearsal).text();
    const Repaired done = repair(killed.files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    EXPECT_EQ(done.totals.left, 0u) << done.text;
    EXPECT_EQ(done.text, rehearsed.text);
    EXPECT_EQ(check(killed.files).text(), rehearsed_check);
    moved += done.text.find("as it says itself") != std::string::npos;
    EXPECT_TRUE(try_start(killed.files, "/data").is_ok());
    ModelNode node(killed.files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().message() << "\n" << done.text;
    const auto held = node.held();
    ASSERT_TRUE(held) << done.text;
    EXPECT_EQ(lacks(*held, wanted), "") << done.text;
    if (checkpoints == "whole") {
      EXPECT_EQ(*held, killed.held) << done.text;
      EXPECT_FALSE(done.totals.loss.any()) << done.text;
    }
  }
  if (names.find("a copy") == std::string::npos) {
    EXPECT_GT(moved, kSanitized ? 0u : 3u);
  }
}

std::vector<std::pair<std::string, std::string>> all_pairs() {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [names, misname] : kNames) {
    for (const auto& [checkpoints, damage] : kCheckpoints) pairs.emplace_back(names, checkpoints);
  }
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Names, RepairNames, testing::ValuesIn(all_pairs()),
                         [](const auto& tested) {
                           std::string name;
                           for (const char c : tested.param.first + "_" + tested.param.second) {
                             name += std::isalnum(c) ? c : '_';
                           }
                           return name;
                         });

/// Where files do not even say what they are.
TEST_P(RepairNames, WithDamagedHeadersTheStartGoesWellOrNothingIsChanged) {
  const auto& [names, checkpoints] = GetParam();
  for (std::uint64_t seed = 1; seed <= seeds(8) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    KilledNode killed(seed);
    kCheckpoints.at(checkpoints)(killed);
    kNames.at(names)(killed);
    for (const std::string& path : killed.paths("/data/shards/", "")) {
      const std::uint64_t bytes = killed.files.content(path).size();
      if (path.ends_with("checkpoint") || bytes < 200 || killed.random.below(2) == 0) continue;
      killed.files.flip_bit(path, 8 * killed.random.below(SegmentHeader::kSize));
      if (killed.random.below(2) == 0) killed.files.flip_bit(path, 8 * bytes - 100);
    }
    const auto before = contents(killed.files);
    const Repaired done = repair(killed.files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    if (done.totals.left > 0) {
      EXPECT_TRUE(contents(killed.files) == before) << done.text;
      continue;
    }
    const Status started = ModelNode(killed.files, 4096).opened();
    EXPECT_TRUE(started.is_ok()) << started.message() << "\n" << done.text;
  }
}

/// A start sees what a trial of it sees.
TEST(StartTrial, IsRefusedForWhatAStartIsRefusedFor) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= seeds(20); ++seed) {
    for (const auto& [name, damage] : kCheckpoints) {
      KilledNode killed(seed);
      damage(killed);
      if (seed % 2 == 0) killed.damage_log(seed % 4 == 0);
      const auto before = contents(killed.files);
      const Status tried = try_start(killed.files, "/data");
      EXPECT_TRUE(contents(killed.files) == before);
      const Status started = ModelNode(killed.files, 4096).opened();
      EXPECT_EQ(tried.code(), started.code()) << tried.message() << "\n" << started.message();
      refused += !started.is_ok();
    }
  }
  EXPECT_GT(refused, 5u);
}

TEST(RepairNames, MayBeInterruptedAnywhereAndRunAgain) {
  std::unique_ptr<KilledNode> node_with_moves;
  for (std::uint64_t seed = 1; node_with_moves == nullptr; ++seed) {
    auto node = std::make_unique<KilledNode>(seed);
    exchange_some(*node, true, true);
    exchange_some(*node, false, false);
    const std::string steps = rehearse(node->files).text;
    const std::size_t first = steps.find("it is moved there");
    if (first != std::string::npos &&
        steps.find("it is moved there", first + 1) != std::string::npos) {
      node_with_moves = std::move(node);
    }
  }
  KilledNode& killed = *node_with_moves;
  const Model whole = killed.held;
  std::size_t on_their_way = 0;
  const std::size_t interrupted = interrupt_repairs(killed, [&](std::uint64_t nth) {
    // Until the repair has gone on, files of queues are missing in their places.
    if (killed.files.exists("/data/segments.named")) {
      ++on_their_way;
      const auto before = contents(killed.files);
      EXPECT_EQ(ModelNode(killed.files, 4096).opened().code(), Code::kCorruption) << nth;
      EXPECT_TRUE(contents(killed.files) == before) << nth;
      EXPECT_TRUE(check(killed.files).told("/data/segments.named")) << nth;
    }
    const Repaired again = repair(killed.files);
    ASSERT_TRUE(again.status.is_ok()) << nth << " " << again.status.message();
    EXPECT_FALSE(killed.files.exists("/data/segments.named"));
    ModelNode node(killed.files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << nth << " " << node.opened().message() << again.text;
    const auto held = node.held();
    ASSERT_TRUE(held) << nth << "\n" << again.text;
    EXPECT_EQ(*held, whole) << nth << "\n" << again.text;
  });
  EXPECT_GT(interrupted, 10u);
  EXPECT_GT(on_their_way, 10u);
}

TEST(RepairNames, AFileThatHidesACopyKeepsTheNodeFromStartingUntilARepair) {
  std::size_t hidden = 0;
  for (std::uint64_t seed = 1; seed <= seeds(40) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    KilledNode killed(seed);
    kNames.at("a copy under the name of a segment that is gone")(killed);
    const auto before = contents(killed.files);
    const Status started = try_start(killed.files, "/data");
    // Another such file may have kept it from starting before that one was looked at.
    if (started.message().find("hides a copy") == std::string::npos) continue;
    const std::string checked = check(killed.files).text();
    EXPECT_NE(checked.find("hides a copy"), std::string::npos) << checked;
    ++hidden;
    EXPECT_EQ(started.code(), Code::kCorruption);
    EXPECT_EQ(ModelNode(killed.files, 4096).opened().code(), Code::kCorruption);
    EXPECT_TRUE(contents(killed.files) == before);
    const Repaired done = repair(killed.files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    EXPECT_FALSE(done.totals.loss.any()) << done.text;
    ModelNode node(killed.files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().message() << "\n" << done.text;
    EXPECT_EQ(*node.held(), killed.held) << done.text;
  }
  EXPECT_GT(hidden, kSanitized ? 0u : 3u);
}

}  // namespace
}  // namespace segue::storage
