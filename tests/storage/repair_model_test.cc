// Nodes that did anything, were killed, and lost something: after a repair a start finds every
// message that is still there, and all that the repair did not need is in its folder.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/storage/check_fixture.h"
#include "tests/storage/killed_node.h"
#include "tests/storage/repair_fixture.h"

namespace segue::storage {
namespace {

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
    {"a byte of checkpoints is damaged",
     [](KilledNode& node) { node.damage_a_byte_of_checkpoints(); }},
    {"checkpoints are damaged", [](KilledNode& node) { node.damage_checkpoints(); }},
    {"checkpoints are lost", [](KilledNode& node) { node.lose_checkpoints(); }},
    {"a byte of checkpoints is damaged, and files of queues lost",
     [](KilledNode& node) {
       node.damage_a_byte_of_checkpoints();
       node.remove_segments();
     }},
    {"checkpoints are damaged, and files of queues lost",
     [](KilledNode& node) {
       node.damage_checkpoints();
       node.remove_segments();
     }},
    {"checkpoints and files of queues are lost",
     [](KilledNode& node) {
       node.lose_checkpoints();
       node.remove_segments();
     }},
    {"older checkpoints, and files of queues lost",
     [](KilledNode& node) {
       node.age_checkpoints();
       node.remove_segments();
     }},
    {"the log is damaged", [](KilledNode& node) { node.damage_log(false); }},
    {"a file of the log is damaged", [](KilledNode& node) { node.damage_log(true); }},
    {"older checkpoints, and the log is damaged",
     [](KilledNode& node) {
       node.age_checkpoints();
       node.damage_log(false);
     }},
};

std::uint64_t count(const Model& model) {
  std::uint64_t messages = 0;
  for (const auto& [queue, held] : model) messages += held.size();
  return messages;
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
    const Checked checked = check(killed.files);
    EXPECT_EQ(checked.text(), rehearsed_check);
    EXPECT_EQ(not_kept(before, killed.files), "") << done.text;
    repaired += done.totals.repairs > 0;
    ModelNode node(killed.files, 4096);
    ASSERT_TRUE(node.opened().is_ok()) << node.opened().message() << "\n" << done.text;
    const auto held = node.held();
    ASSERT_TRUE(held) << done.text;
    EXPECT_EQ(lacks(*held, wanted), "") << done.text;
    const std::string lost = lacks(*held, killed.held);
    if (!lost.empty() && done.totals.repairs > 0) {
      EXPECT_TRUE(done.totals.loss.any() || checked.totals.lost_messages > 0)
          << "not told:" << lost << "\n"
          << done.text;
    }
    if (GetParam().starts_with("a byte of checkpoints")) {
      // The checkpoints are whole again: what is lost is known to the message.
      EXPECT_FALSE(done.totals.loss.any()) << done.text;
      EXPECT_EQ(checked.totals.lost_messages, count(killed.held) - count(*held)) << done.text;
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
