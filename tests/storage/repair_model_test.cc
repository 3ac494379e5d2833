// Nodes that did anything, were killed, and lost something: after a repair a start finds every
// message that is still there, and all that the repair did not need is in its folder.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/segment_salvage.h"
#include "storage/wal_format.h"
#include "tests/storage/check_fixture.h"
#include "tests/storage/model_workload.h"
#include "tests/storage/repair_fixture.h"

namespace segue::storage {
namespace {

/// A node that was killed, and what its queues held.
struct KilledNode {
  explicit KilledNode(std::uint64_t seed) : random(seed) {
    Workload workload(seed, Workload::Kind::kLikely);
    {
      ModelNode node(files, 4096, [&] { return static_cast<int>(random.below(4)); });
      const int age = 20 + static_cast<int>(random.below(100));
      for (int i = 0; i < 160; i += 10) {
        workload.run(node, 10);
        if (i <= age) older = contents(files);
      }
      held = *node.held();
    }
    files.kill_process();
  }

  std::vector<std::string> paths(const std::string& directory, const std::string& end) const {
    std::vector<std::string> found;
    for (const std::string& path : files.paths()) {
      if (path.starts_with(directory) && path.ends_with(end)) found.push_back(path);
    }
    return found;
  }
  void remove(const std::string& path) { EXPECT_TRUE(files.remove(path).is_ok()); }
  void remove_log(bool first, std::size_t count) {
    const auto log = paths("/data/wal/", ".wal");
    for (std::size_t i = 0; i < std::min(count, log.size()); ++i) {
      remove(first ? log[i] : log[log.size() - 1 - i]);
    }
  }
  void age_checkpoints() {
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) {
      const auto old = older.find(path);
      if (old != older.end()) files.set_content(path, old->second);
    }
  }
  void lose_checkpoints() {
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) remove(path);
  }
  void damage_log(bool header) {
    const auto log = paths("/data/wal/", ".wal");
    if (log.empty()) return;
    const std::string& path = log[random.below(log.size())];
    const std::uint64_t blocks = files.content(path).size() / kWalBlock;
    if (blocks < 2) return;
    const std::uint64_t block = header ? 0 : 1 + random.below(blocks - 1);
    files.flip_bit(path, (block * kWalBlock + 41) * 8);
  }

  /// Messages that must be there, and stand in a segment's file.
  Model in_files() {
    Model found;
    for (const std::string& path : paths("/data/shards/", ".data")) {
      const std::size_t slash = path.rfind('/');
      const std::string directory = path.substr(0, slash);
      const auto id = queue_of_directory_name(directory.substr(directory.rfind('/') + 1));
      const auto name = segment_of_file_name(path.substr(slash + 1), ".data");
      if (!id || !name || !held.contains(id->value)) continue;
      const auto segment = salvage_segment(files, *id, directory, *name, name->generation > 0);
      if (!segment.is_ok() || !segment->has_value()) continue;
      const auto intact = find_intact(files, *id, directory, **segment);
      const ModelQueue& queue = held.at(id->value);
      for (std::size_t i = 0; i < (*segment)->entries.size(); ++i) {
        const auto message = queue.find((*segment)->sequence(i).value);
        if (message != queue.end() && (*intact)[i]) found[id->value].insert(*message);
      }
    }
    return found;
  }

  SeededRandom random;
  FaultyFileSystem files;
  std::map<std::string, std::string> older;  // files, at some time
  Model held;
};

using Damage = void (*)(KilledNode&);

const std::map<std::string, Damage> kDamages{
    {"nothing", [](KilledNode&) {}},
    {"older checkpoints", [](KilledNode& node) { node.age_checkpoints(); }},
    {"the log's first file is lost", [](KilledNode& node) { node.remove_log(true, 1); }},
    {"the log's first files are lost",
     [](KilledNode& node) { node.remove_log(true, 1 + node.random.below(6)); }},
    {"the log's last files are lost",
     [](KilledNode& node) { node.remove_log(false, 1 + node.random.below(4)); }},
    {"the log is lost", [](KilledNode& node) { node.remove_log(true, 1000); }},
    {"the log and what tells of it is lost",
     [](KilledNode& node) {
       node.remove_log(true, 1000);
       node.remove("/data/log_ends");
     }},
    {"checkpoints and log are lost",
     [](KilledNode& node) {
       node.lose_checkpoints();
       node.remove_log(true, 1000);
       node.remove("/data/log_ends");
     }},
    {"checkpoints and the log's first files are lost",
     [](KilledNode& node) {
       node.lose_checkpoints();
       node.remove_log(true, 1 + node.random.below(6));
     }},
    {"older checkpoints, and the log's first files are lost",
     [](KilledNode& node) {
       node.age_checkpoints();
       node.remove_log(true, 1 + node.random.below(6));
     }},
    {"the log is damaged", [](KilledNode& node) { node.damage_log(false); }},
    {"a file of the log is damaged", [](KilledNode& node) { node.damage_log(true); }},
    {"older checkpoints, and the log is damaged",
     [](KilledNode& node) {
       node.age_checkpoints();
       node.damage_log(false);
     }},
};

/// What `held` lacks of `wanted`.
std::string lacks(const Model& held, const Model& wanted) {
  std::ostringstream text;
  for (const auto& [queue, messages] : wanted) {
    const auto found = held.find(queue);
    for (const auto& [sequence, body] : messages) {
      if (found == held.end() || !found->second.contains(sequence)) {
        text << " " << queue << "/" << sequence;
      } else if (found->second.at(sequence) != body) {
        text << " " << queue << "/" << sequence << " (another body)";
      }
    }
  }
  return text.str();
}

/// Segment files that are gone must be in the repair's folder, as they were.
std::string not_kept(const std::map<std::string, std::string>& before, FaultyFileSystem& files) {
  std::string text;
  for (const auto& [path, content] : before) {
    const bool segment = path.starts_with("/data/shards/") && path.ends_with(".data");
    if (!segment || files.exists(path)) continue;
    const std::string kept = "/data/repair-now" + path.substr(5);
    if (!files.exists(kept) || files.content(kept) != content) text += " " + path;
  }
  return text;
}

class RepairModel : public testing::TestWithParam<std::string> {};

TEST_P(RepairModel, EveryMessageThatIsThereIsThereAfterwards) {
  const Damage damage = kDamages.at(GetParam());
  // Some seeds' damage hits nothing that a repair must see: go on until enough were repaired.
  const bool damages = GetParam() != "nothing";
  const std::size_t enough = damages ? (kSanitized ? 1 : 4) : 0;
  std::size_t repaired = 0;
  for (std::uint64_t seed = 1;
       (seed <= seeds(25) || (repaired < enough && seed <= 40)) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    KilledNode killed(seed);
    damage(killed);
    const Model wanted = killed.in_files();
    const auto before = contents(killed.files);
    RehearsalFileSystem rehearsal(killed.files);
    const Repaired rehearsed = repair(rehearsal);
    const std::string rehearsed_check = check(rehearsal).text();
    ASSERT_TRUE(rehearsed.status.is_ok()) << rehearsed.status.message();
    ASSERT_TRUE(contents(killed.files) == before);
    const Repaired done = repair(killed.files);
    ASSERT_TRUE(done.status.is_ok()) << done.status.message();
    EXPECT_EQ(done.text, rehearsed.text);
    EXPECT_EQ(check(killed.files).text(), rehearsed_check);
    EXPECT_EQ(not_kept(before, killed.files), "") << done.text;
    repaired += done.totals.repairs > 0;
    ModelNode node(killed.files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().message() << "\n" << done.text;
    const auto held = node.held();
    ASSERT_TRUE(held) << done.text;
    EXPECT_EQ(lacks(*held, wanted), "") << done.text;
    const std::string lost = lacks(*held, killed.held);
    // Without a checkpoint nothing tells where the log began, and without anything that it ended.
    const bool tells = GetParam().find("checkpoints and") == std::string::npos || done.text.empty();
    if (!lost.empty() && tells && done.totals.repairs > 0) {
      EXPECT_TRUE(done.totals.loss.any()) << "not told:" << lost << "\n" << done.text;
    }
    if (GetParam() == "nothing") {
      EXPECT_EQ(done.text, "");
      EXPECT_EQ(*held, killed.held);
    }
  }
  EXPECT_GE(repaired, enough);
}

std::vector<std::string> names_of_damages() {
  std::vector<std::string> names;
  for (const auto& [name, damage] : kDamages) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Damages, RepairModel, testing::ValuesIn(names_of_damages()),
                         [](const auto& tested) {
                           std::string name;
                           for (const char c : tested.param) name += std::isalnum(c) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace segue::storage
