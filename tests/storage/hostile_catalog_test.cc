// Check and repair of a directory whose catalog.db may hold anything: what is wrong is told, and
// nothing else happens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "storage/catalog_db.h"
#include "storage/posix_file_system.h"
#include "tests/storage/check_fixture.h"
#include "tests/storage/repair_fixture.h"
#include "tests/storage/worked_disk.h"

namespace segue::storage {
namespace {

constexpr const char* kCatalog = "/data/catalog.db";

/// The bytes of a catalog with some of everything.
std::string catalog_bytes() {
  std::string directory = std::filesystem::temp_directory_path() / "segue_hostile.XXXXXX";
  EXPECT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/catalog.db";
  {
    std::vector<v1::CatalogEntry> entries(1);
    entries[0].set_index(1);
    for (std::uint64_t id = 1; id <= 20; ++id) {
      auto* const queue = entries[0].add_changes()->mutable_queue_created();
      queue->set_id(id);
      queue->set_vhost("/");
      queue->set_name("queue " + std::to_string(id));
      queue->set_shard(static_cast<std::uint32_t>(id % 2));
      queue->set_durable(true);
    }
    EXPECT_TRUE(CatalogDb::open(path).value()->apply(entries).is_ok());
    EXPECT_TRUE(copy_catalog(path, directory + "/copy").is_ok());
  }
  PosixFileSystem posix;
  auto file = posix.open(directory + "/copy", OpenMode::kRead).value();
  std::string bytes(static_cast<std::size_t>(file->size().value()), '\0');
  EXPECT_TRUE(file->read(0, bytes.data(), bytes.size()).is_ok());
  std::filesystem::remove_all(directory);
  return bytes;
}

struct HostileCatalog : testing::Test {
  HostileCatalog() : disk(WorkedDisk::End::kStopped), whole(catalog_bytes()) {
    disk.files.set_content(kCatalog, whole);
    image = disk.files.image();
  }
  /// Whether the catalog is told to be damaged; the repair moves it away then.
  bool is_told(const std::string& bytes, const std::string& what) {
    disk.files.restore(image);
    disk.files.set_content(kCatalog, bytes);
    const Checked found = check(disk.files, "/data", true);
    EXPECT_TRUE(found.status.is_ok()) << what << found.status.to_string();
    const bool damaged = found.text().find("problem: catalog.db") != std::string::npos;
    const Repaired done = repair(disk.files);
    EXPECT_TRUE(done.status.is_ok()) << what << done.status.to_string();
    if (done.totals.left > 0) {  // it may be a newer program's
      EXPECT_THAT(done.text, testing::HasSubstr("has format version")) << what;
      EXPECT_TRUE(damaged) << what;
      return true;
    }
    EXPECT_EQ(done.totals.repairs, damaged ? 1u : 0u) << what << done.text << found.text();
    EXPECT_EQ(disk.files.exists(kCatalog), !damaged) << what;
    EXPECT_EQ(check(disk.files, "/data", true).totals.problems, 0u) << what;
    return damaged;
  }

  WorkedDisk disk;
  std::string whole;
  MemoryDisk::Image image;
};

TEST_F(HostileCatalog, AChangedNameOfAColumnIsDamage) {
  EXPECT_FALSE(is_told(whole, "whole"));
  for (const char* const name : {"auto_delete", "checksum", "CREATE TABLE", "queues"}) {
    const std::size_t at = whole.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    std::string changed = whole;
    changed[at + 1] ^= 0x04;
    EXPECT_TRUE(is_told(changed, name)) << name;
  }
}

TEST_F(HostileCatalog, AnyFlippedBitIsToldOrMeansNothing) {
  SeededRandom random(5);
  std::size_t told = 0;
  constexpr std::size_t kPage = 4096;
  for (int i = 0; i < 1'500; ++i) {
    // The schema stands in the first page.
    const std::size_t bytes = i % 2 == 0 ? kPage : whole.size();
    const std::uint64_t bit = random.below(8 * bytes);
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    told += is_told(changed, "bit " + std::to_string(bit) + ": ");
    if (HasFailure()) break;
  }
  EXPECT_GT(told, 100u);
}

TEST_F(HostileCatalog, AnythingElseIsTold) {
  SeededRandom random(6);
  for (int i = 0; i < 60; ++i) {
    std::string changed = whole.substr(0, random.below(whole.size()));
    for (int k = 0; k < 30 && !changed.empty(); ++k) {
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    }
    (void)is_told(changed, "case " + std::to_string(i) + ": ");
    if (HasFailure()) break;
  }
  for (const std::string& bytes : {std::string("x"), std::string(100, 'x'), whole + whole}) {
    (void)is_told(bytes, std::to_string(bytes.size()) + " bytes: ");
  }
}

}  // namespace
}  // namespace segue::storage
