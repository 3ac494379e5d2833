// A catalog that is read without being opened, whole and damaged.

#include "storage/catalog_image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "storage/catalog_db.h"
#include "storage/posix_file_system.h"
#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {
namespace {

constexpr const char* kPath = "/data/catalog.db";

/// A catalog's files as a killed process leaves them: the newest entries are in SQLite's log only.
class CatalogImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "segue_catalog.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    const std::string path = directory_ + "/catalog.db";
    { (void)CatalogDb::open(path).value()->apply(entries(1, 30)); }
    auto catalog = CatalogDb::open(path).value();
    for (std::uint64_t index = 31; index <= 34; ++index) {
      ASSERT_TRUE(catalog->apply(entries(index, index)).is_ok());
    }
    whole_ = catalog->load()->SerializeAsString();
    take(path, kPath);
    take(path + "-wal", std::string(kPath) + "-wal");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static std::vector<v1::CatalogEntry> entries(std::uint64_t first, std::uint64_t last) {
    std::vector<v1::CatalogEntry> all;
    for (std::uint64_t index = first; index <= last; ++index) {
      v1::CatalogEntry& entry = all.emplace_back();
      entry.set_index(index);
      auto* queue = entry.add_changes()->mutable_queue_created();
      queue->set_id(index);
      queue->set_vhost("/");
      queue->set_name("queue " + std::to_string(index) + std::string(index % 60, 'n'));
      queue->set_durable(true);
    }
    return all;
  }
  void take(const std::string& from, const std::string& to) {
    PosixFileSystem posix;
    auto file = posix.open(from, OpenMode::kRead).value();
    std::string bytes(static_cast<std::size_t>(file->size().value()), '\0');
    ASSERT_EQ(file->read(0, bytes.data(), bytes.size()).value(), bytes.size());
    ASSERT_GT(bytes.size(), 0u);
    files_.set_content(to, bytes);
  }
  /// The content; nothing if it is refused, or a part of the log is left out.
  std::optional<std::string> load() {
    const auto image = read_catalog_image(files_, kPath);
    if (!image.is_ok() || image->torn_at) return {};
    const auto catalog = CatalogDb::open_image(kPath, image->bytes);
    if (!catalog.is_ok()) return {};
    const auto content = (*catalog)->load();
    if (!content.is_ok()) return {};
    return content->SerializeAsString();
  }

  FaultyFileSystem files_;
  std::string directory_;
  std::string whole_;
};

TEST_F(CatalogImageTest, HoldsWhatFileAndLogHoldTogether) {
  EXPECT_EQ(load(), whole_);
}

TEST_F(CatalogImageTest, AFlippedBitIsFoundOrChangesNothing) {
  const std::string log = std::string(kPath) + "-wal";
  std::uint64_t found = 0;
  for (const std::string& path : {std::string(kPath), log}) {
    const std::uint64_t bits = files_.content(path).size() * 8;
    for (std::uint64_t bit = 0; bit < bits; bit += 97) {
      files_.flip_bit(path, bit);
      const auto content = load();
      files_.flip_bit(path, bit);
      found += !content;
      ASSERT_TRUE(!content || *content == whole_) << path << " bit " << bit;
    }
  }
  EXPECT_GT(found, 500u);
}

TEST_F(CatalogImageTest, DamageInFrontOfALaterTransactionIsCorruptionAndInTheLastOneATornEnd) {
  const std::string log = std::string(kPath) + "-wal";
  const std::uint64_t size = files_.content(log).size();
  files_.flip_bit(log, 100 * 8);  // in the first page
  const auto damaged = read_catalog_image(files_, kPath);
  EXPECT_EQ(damaged.status().code(), Code::kCorruption);
  EXPECT_NE(damaged.status().message().find("offset 32"), std::string::npos);
  files_.flip_bit(log, 100 * 8);
  files_.flip_bit(log, (size - 1) * 8);
  const auto torn = read_catalog_image(files_, kPath);
  ASSERT_TRUE(torn.is_ok());
  EXPECT_TRUE(torn->torn_at.has_value());
}

TEST_F(CatalogImageTest, AnEmptyFileBesideALogIsCorruption) {
  files_.set_content(kPath, "");
  for (const DamagedCatalogLog damaged :
       {DamagedCatalogLog::kTakeForEnd, DamagedCatalogLog::kRefuse}) {
    const auto image = read_catalog_image(files_, kPath, damaged);
    ASSERT_FALSE(image.is_ok());
    EXPECT_EQ(image.status().code(), Code::kCorruption);
    EXPECT_NE(image.status().message().find("catalog.db-wal"), std::string::npos);
  }
  // A start looks before SQLite does, which would remove the log.
  EXPECT_EQ(CatalogDb::peek(files_, kPath).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace segue::storage
