#include "node/catalog_file.h"

#include <gtest/gtest.h>

#include "tests/fakes/capture_logger.h"
#include "tests/fakes/fake_catalog_db.h"
#include "tests/fakes/fake_disk_data_center.h"

namespace segue::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CatalogFileTest : public testing::Test {
 protected:
  CatalogFileTest()
      : owned_(std::make_unique<storage::FakeCatalogDb>(stored_)),
        db_(owned_.get()),
        file_(std::move(owned_), state_, disk_, log_,
              [this](CatalogIndex index) { durable_ = index; }) {
    file_.on_turn(clock_.now());
  }

  void add_queue() {
    v1::CatalogEntry entry;
    entry.set_index(state_.index().value + 1);
    entry.add_changes()->mutable_queue_created()->set_id(entry.index());
    entry.mutable_changes(0)->mutable_queue_created()->set_name(std::to_string(entry.index()));
    state_.apply(entry);
    file_.add(entry);
  }
  void turn(Duration later, bool at_once = false) {
    clock_.advance(later);
    file_.on_turn(clock_.now(), at_once);
    disk_.poll();
  }

  ManualClock clock_;
  NullLogger log_;
  CatalogState state_;
  CatalogState stored_;
  storage::FakeDiskDataCenter disk_;
  std::unique_ptr<storage::FakeCatalogDb> owned_;
  storage::FakeCatalogDb* db_;
  CatalogIndex durable_;
  CatalogFile file_;
};

TEST_F(CatalogFileTest, CollectsEntriesIntoOneTransaction) {
  add_queue();
  add_queue();
  turn(milliseconds(0));
  EXPECT_EQ(db_->writes, 0);
  turn(milliseconds(200));
  EXPECT_EQ(db_->writes, 1);
  EXPECT_EQ(stored_.queue_count(), 2u);
  EXPECT_EQ(durable_, CatalogIndex(2));
  EXPECT_FALSE(file_.behind());
}

TEST_F(CatalogFileTest, WritesAtOnceWhenAsked) {
  add_queue();
  turn(milliseconds(0), true);
  EXPECT_EQ(durable_, CatalogIndex(1));
}

TEST_F(CatalogFileTest, TriesAgainWhatFailed) {
  db_->result = Status(Code::kNoSpace, "full");
  add_queue();
  turn(milliseconds(200));
  EXPECT_EQ(durable_, CatalogIndex(0));
  add_queue();
  turn(milliseconds(500));
  EXPECT_EQ(db_->writes, 1);
  db_->result = {};
  turn(seconds(1));
  EXPECT_EQ(durable_, CatalogIndex(2));
  EXPECT_EQ(stored_.queue_count(), 2u);
}

TEST_F(CatalogFileTest, ReplacesEverythingAfterASnapshot) {
  add_queue();
  turn(milliseconds(200));
  CatalogState other;
  v1::CatalogEntry entry;
  entry.set_index(9);
  entry.add_changes()->mutable_queue_created()->set_id(77);
  other.apply(entry);
  state_.reset(other.snapshot(), CatalogIndex(9));
  file_.replace();
  turn(milliseconds(200));
  EXPECT_EQ(stored_.index(), CatalogIndex(9));
  EXPECT_EQ(stored_.find_queue(QueueId(1)), nullptr);
  EXPECT_NE(stored_.find_queue(QueueId(77)), nullptr);
}

TEST_F(CatalogFileTest, DoesNotKeepEndlesslyWhatCannotBeWritten) {
  db_->result = Status(Code::kNoSpace, "full");
  for (int i = 0; i < 200'010; ++i) add_queue();
  turn(milliseconds(200));
  db_->result = {};
  turn(seconds(1));
  EXPECT_EQ(stored_.queue_count(), 200'010u);
  EXPECT_FALSE(file_.behind());
}

}  // namespace
}  // namespace segue::node
