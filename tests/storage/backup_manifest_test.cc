#include "storage/backup_manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "common/checksum.h"
#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {
namespace {

BackupManifest example() {
  BackupManifest manifest;
  manifest.identity = {"a cluster", "n1", 32};
  manifest.taken_ms = 1'700'000'000'123;
  manifest.online = true;
  manifest.files = {{"wal/0000000000000001.wal", 4096, 1},
                    {"shards/7/queues/a b%2F-9/00000000000000000001.data", 123456789012, ~0ull},
                    {"identity", 77, 0xabcdef}};
  return manifest;
}

std::string with_checksum(std::string lines) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(xxh3_64(lines)));
  return lines + "checksum: " + text + "\n";
}

Code code_of(const std::string& text) {
  const auto parsed = parse_backup_manifest("/b/manifest", text);
  return parsed.is_ok() ? Code::kOk : parsed.status().code();
}

TEST(BackupManifest, IsReadAsItWasWritten) {
  const BackupManifest manifest = example();
  const auto read = parse_backup_manifest("/b/manifest", format_backup_manifest(manifest));
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(read->identity, manifest.identity);
  EXPECT_EQ(read->taken_ms, manifest.taken_ms);
  EXPECT_EQ(read->online, manifest.online);
  EXPECT_EQ(read->files, manifest.files);
  EXPECT_EQ(read->bytes(), 123456789012u + 4096 + 77);
}

TEST(BackupManifest, NoticesEveryFlippedBitAndEveryCut) {
  const std::string whole = format_backup_manifest(example());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(code_of(whole.substr(0, size)), Code::kOk) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_NE(code_of(damaged), Code::kOk) << at << " bit " << bit;
    }
  }
  EXPECT_EQ(code_of(whole + "\n"), Code::kCorruption);
  EXPECT_EQ(code_of(whole + whole), Code::kCorruption);
}

TEST(BackupManifest, RefusesANewerVersionByName) {
  std::string text = format_backup_manifest(example());
  text.replace(0, 15, "segue-backup 2\n");
  EXPECT_EQ(code_of(text), Code::kInvalidConfig);
}

TEST(BackupManifest, RefusesNamesThatLeadElsewhereThoughTheChecksumIsRight) {
  const std::string head =
      "segue-backup 1\ncluster: c\nnode: n\nshards: 1\ntaken ms: 1\nmode: offline\n";
  const auto with = [&](const std::string& path) {
    return with_checksum(head + "files: 2\nbytes: 3\nfile: 0000000000000001 1 " + path +
                         "\nfile: 0000000000000001 2 identity\n");
  };
  EXPECT_EQ(code_of(with("log_ends")), Code::kOk);
  for (const char* const path :
       {"/etc/passwd", "../x", "a/../../x", "a/..", "./a", "a//b", "a/", "", "identity"}) {
    EXPECT_EQ(code_of(with(path)), Code::kCorruption) << path;
  }
  EXPECT_EQ(code_of(with_checksum(head + "files: 0\nbytes: 0\n")), Code::kCorruption);
  EXPECT_EQ(code_of(with_checksum(head + "files: 99999999999999999999\nbytes: 0\n")),
            Code::kCorruption);
  EXPECT_EQ(code_of(with_checksum("segue-backup 1\n")), Code::kCorruption);
}

TEST(BackupManifest, IsThereWholeOrNotAtAllWhenThePowerGoes) {
  for (std::uint64_t nth = 1;; ++nth) {
    FaultyFileSystem files;
    ASSERT_TRUE(files.make_directories("/b"));
    ASSERT_TRUE(files.sync_directory("/"));
    files.halt_at(nth);
    const Status written = write_backup_manifest(files, "/b", example());
    if (written.is_ok()) break;
    SeededRandom random(nth);
    files.crash(random);
    const auto read = read_backup_manifest(files, "/b");
    if (!read.is_ok()) {
      EXPECT_EQ(read.status().code(), Code::kInvalidConfig) << read.status().to_string();
    }
  }
}

}  // namespace
}  // namespace segue::storage
