#include "storage/catalog_db.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/catalog_state.h"
#include "storage/posix_file_system.h"

namespace segue::storage {
namespace {

class CatalogDbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "segue_catalog.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/catalog.db"; }
  std::unique_ptr<CatalogDb> open() {
    auto catalog = CatalogDb::open(path());
    EXPECT_TRUE(catalog.is_ok()) << catalog.status().to_string();
    return std::move(*catalog);
  }

  std::string directory_;
};

v1::CatalogEntry entry_of(std::uint64_t index) {
  v1::CatalogEntry entry;
  entry.set_index(index);
  return entry;
}

v1::QueueDefinition queue_of(std::uint64_t id, const std::string& name) {
  v1::QueueDefinition queue;
  queue.set_id(id);
  queue.set_vhost("/");
  queue.set_name(name);
  queue.set_shard(static_cast<std::uint32_t>(id % 32));
  queue.set_durable(true);
  return queue;
}

/// One of everything, with names that are awkward.
v1::CatalogEntry everything() {
  v1::CatalogEntry entry = entry_of(5);
  auto* created = entry.add_changes()->mutable_cluster_created();
  created->set_cluster("prod");
  created->set_shard_count(2);
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    auto* assigned = entry.add_changes()->mutable_shard_assigned();
    assigned->set_shard(shard);
    assigned->set_node("n" + std::to_string(shard));
  }
  auto* vhost = entry.add_changes()->mutable_vhost_set();
  vhost->set_name("shop");
  vhost->set_max_queues(0);
  auto* exchange = entry.add_changes()->mutable_exchange_created();
  exchange->set_vhost("/");
  exchange->set_name("e'; DROP TABLE queues");
  exchange->set_type("topic");
  exchange->set_durable(true);
  (*exchange->mutable_arguments())["x"].set_int_value(-3);
  *entry.add_changes()->mutable_queue_created() = queue_of(7, std::string("nul\0inside", 10));
  v1::QueueDefinition exclusive = queue_of(1ull << 62, "queue \xF0\x9F\x98\x80");
  exclusive.set_exclusive(true);
  exclusive.mutable_owner()->set_router_id("r1");
  exclusive.mutable_owner()->set_session_id(99);
  (*exclusive.mutable_arguments())["x-max-length"].set_int_value(10);
  *entry.add_changes()->mutable_queue_created() = exclusive;
  auto* binding = entry.add_changes()->mutable_binding_created();
  binding->set_number(3);
  binding->set_vhost("/");
  binding->set_exchange("e'; DROP TABLE queues");
  binding->set_queue("queue \xF0\x9F\x98\x80");
  binding->set_routing_key("a.*.#");
  auto* policy = entry.add_changes()->mutable_policy_set();
  policy->set_vhost("/");
  policy->set_name("p';");
  policy->set_pattern("^q");
  policy->set_apply_to("queues");
  policy->set_priority(-7);
  (*policy->mutable_definition())["max-length"].set_int_value(5);
  auto* used = entry.add_changes()->mutable_numbers_used();
  used->set_last_queue_id(1ull << 62);
  used->set_last_binding_number(40);
  return entry;
}

TEST_F(CatalogDbTest, BeginsEmpty) {
  auto catalog = open();
  EXPECT_EQ(catalog->applied(), CatalogIndex{0});
  EXPECT_EQ(catalog->load()->changes_size(), 0);
}

TEST_F(CatalogDbTest, GivesEverythingBackAfterReopening) {
  const v1::CatalogEntry entry = everything();
  ASSERT_TRUE(open()->apply(std::span(&entry, 1)).is_ok());
  auto catalog = open();
  EXPECT_EQ(catalog->applied(), CatalogIndex{5});
  const auto loaded = catalog->load();
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded->DebugString(), entry.DebugString());
}

TEST_F(CatalogDbTest, DeletesAndRemembersTheNumbersThatWereUsed) {
  std::vector<v1::CatalogEntry> entries;
  entries.push_back(entry_of(1));
  *entries[0].add_changes()->mutable_queue_created() = queue_of(9, "q");
  entries[0].add_changes()->mutable_binding_created()->set_number(4);
  entries[0].add_changes()->mutable_exchange_created()->set_name("e");
  entries.push_back(entry_of(2));
  entries[1].add_changes()->set_binding_deleted(4);
  entries[1].add_changes()->mutable_exchange_deleted()->set_name("e");
  entries[1].add_changes()->set_queue_deleted(9);
  ASSERT_TRUE(open()->apply(entries).is_ok());
  const auto loaded = open()->load();
  ASSERT_EQ(loaded->changes_size(), 1);
  EXPECT_EQ(loaded->changes(0).numbers_used().last_queue_id(), 9u);
  EXPECT_EQ(loaded->changes(0).numbers_used().last_binding_number(), 4u);
}

TEST_F(CatalogDbTest, PoliciesAndVirtualHostsAreReplacedAndDeleted) {
  std::vector<v1::CatalogEntry> entries{everything(), entry_of(6), entry_of(7)};
  auto* policy = entries[1].add_changes()->mutable_policy_set();
  policy->set_vhost("/");
  policy->set_name("p';");
  policy->set_pattern("other");
  entries[1].add_changes()->mutable_vhost_set()->set_name("shop");
  ASSERT_TRUE(open()->apply(std::span(entries).first(2)).is_ok());
  CatalogState state;
  state.apply(*open()->load());
  EXPECT_EQ(state.policies().find("/", "p';")->pattern(), "other");
  EXPECT_FALSE(state.find_vhost("shop")->has_max_queues());
  entries[2].add_changes()->mutable_policy_deleted()->set_vhost("/");
  entries[2].mutable_changes(0)->mutable_policy_deleted()->set_name("p';");
  entries[2].add_changes()->set_vhost_deleted("shop");
  ASSERT_TRUE(open()->apply(std::span(entries).last(1)).is_ok());
  CatalogState after;
  after.apply(*open()->load());
  EXPECT_EQ(after.policies().count(), 0u);
  EXPECT_EQ(after.find_vhost("shop"), nullptr);
}

/// Makes the file one of the version before policies.
void make_older(const std::string& path) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database,
                         "DROP TABLE policies; DROP TABLE vhosts; PRAGMA user_version=2; "
                         "PRAGMA wal_checkpoint(TRUNCATE);",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
}

TEST_F(CatalogDbTest, AFileOfTheVersionBeforePoliciesIsTaken) {
  v1::CatalogEntry entry = entry_of(5);
  *entry.add_changes()->mutable_queue_created() = queue_of(7, "q");
  ASSERT_TRUE(open()->apply(std::span(&entry, 1)).is_ok());
  make_older(path());
  // Who only looks leaves it as it is.
  PosixFileSystem files;
  const auto peeked = CatalogDb::peek(files, path());
  ASSERT_TRUE(peeked.is_ok()) << peeked.status().to_string();
  EXPECT_EQ(peeked->changes(0).queue_created().name(), "q");
  auto catalog = open();
  EXPECT_EQ(catalog->applied(), CatalogIndex{5});
  EXPECT_EQ(catalog->load()->changes(0).queue_created().name(), "q");
  v1::CatalogEntry next = entry_of(6);
  next.add_changes()->mutable_policy_set()->set_name("p");
  ASSERT_TRUE(catalog->apply(std::span(&next, 1)).is_ok());
  catalog.reset();
  EXPECT_EQ(open()->load()->changes_size(), 3);  // the queue, the policy, the numbers
}

TEST_F(CatalogDbTest, LeavesOutWhatWasAppliedBefore) {
  auto catalog = open();
  const v1::CatalogEntry entry = everything();
  ASSERT_TRUE(catalog->apply(std::span(&entry, 1)).is_ok());
  v1::CatalogEntry again = entry_of(5);
  again.add_changes()->set_queue_deleted(7);
  ASSERT_TRUE(catalog->apply(std::span(&again, 1)).is_ok());
  EXPECT_EQ(catalog->load()->DebugString(), entry.DebugString());
}

TEST_F(CatalogDbTest, AQueueDeclaredAgainTakesThePlaceOfItsNamesake) {
  std::vector<v1::CatalogEntry> entries{entry_of(1), entry_of(2)};
  *entries[0].add_changes()->mutable_queue_created() = queue_of(1, "q");
  *entries[1].add_changes()->mutable_queue_created() = queue_of(2, "q");
  auto catalog = open();
  ASSERT_TRUE(catalog->apply(entries).is_ok());
  EXPECT_EQ(catalog->load()->changes(0).queue_created().id(), 2u);
}

TEST_F(CatalogDbTest, ReplacesAllByASnapshot) {
  auto catalog = open();
  v1::CatalogEntry old = entry_of(3);
  *old.add_changes()->mutable_queue_created() = queue_of(1, "old");
  ASSERT_TRUE(catalog->apply(std::span(&old, 1)).is_ok());
  CatalogState state;
  state.apply(everything());
  ASSERT_TRUE(catalog->replace_all(state.snapshot(2), CatalogIndex{8}).is_ok());
  EXPECT_EQ(catalog->applied(), CatalogIndex{8});
  const auto loaded = open()->load();
  EXPECT_EQ(loaded->index(), 8u);
  CatalogState again;
  again.apply(*loaded);
  ASSERT_EQ(again.snapshot().size(), 1u);
  v1::CatalogEntry before = state.snapshot()[0];
  before.set_index(8);
  EXPECT_EQ(again.snapshot()[0].DebugString(), before.DebugString());
}

TEST_F(CatalogDbTest, RefusesWhatIsNoCatalog) {
  { std::ofstream(path()) << std::string(5000, 'x'); }
  const auto catalog = CatalogDb::open(path());
  EXPECT_EQ(catalog.status().code(), Code::kCorruption);
  EXPECT_NE(catalog.status().message().find(path()), std::string::npos);
}

TEST_F(CatalogDbTest, NoFlippedBitGivesAnotherCatalog) {
  const v1::CatalogEntry entry = everything();
  ASSERT_TRUE(open()->apply(std::span(&entry, 1)).is_ok());
  std::string image;
  {
    std::ifstream in(path(), std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_GT(image.size(), 8192u);
  std::size_t refused = 0;
  // A prime step: every kind of place, in reasonable time.
  for (std::size_t bit = 0; bit < image.size() * 8; bit += 509) {
    std::string damaged = image;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    for (const char* extra : {"-wal", "-shm"}) std::filesystem::remove(path() + extra);
    std::ofstream(path(), std::ios::binary) << damaged;
    auto catalog = CatalogDb::open(path());
    if (!catalog.is_ok()) {
      ++refused;
      continue;
    }
    const auto loaded = (*catalog)->load();
    if (!loaded.is_ok()) {
      ++refused;
    } else {
      EXPECT_EQ(loaded->DebugString(), entry.DebugString()) << "bit " << bit;
    }
  }
  EXPECT_GT(refused, 5u);
}

TEST_F(CatalogDbTest, LoadsAHundredThousandQueuesQuickly) {
  auto catalog = open();
  for (std::uint64_t id = 1; id <= 100'000; id += 1000) {
    v1::CatalogEntry entry = entry_of(id);
    for (std::uint64_t i = id; i < id + 1000; ++i) {
      *entry.add_changes()->mutable_queue_created() = queue_of(i, "queue-" + std::to_string(i));
    }
    ASSERT_TRUE(catalog->apply(std::span(&entry, 1)).is_ok());
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto loaded = open()->load();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(loaded->changes_size(), 100'001);
  RecordProperty(
      "milliseconds",
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  EXPECT_LT(took, std::chrono::seconds(10));  // bounded; about 0.3 s in a release build
}

TEST_F(CatalogDbTest, HasThePermissionsOfAllOtherFiles) {
  const std::string other = directory_ + "/other";
  ASSERT_TRUE(PosixFileSystem().open(other, OpenMode::kReadWrite).is_ok());
  const auto catalog = open();
  ASSERT_TRUE(catalog->apply(std::vector{everything()}).is_ok());
  ASSERT_TRUE(copy_catalog(path(), directory_ + "/copy").is_ok());
  const auto wanted = std::filesystem::status(other).permissions();
  for (const std::string& file : {path(), path() + "-wal", directory_ + "/copy"}) {
    EXPECT_EQ(std::filesystem::status(file).permissions(), wanted) << file;
  }
}

}  // namespace
}  // namespace segue::storage
