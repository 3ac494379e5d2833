#include "storage/posix_file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace segue::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "segue.posix.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string in(const std::string& name) const { return directory_ + "/" + name; }
  std::unique_ptr<File> open(const std::string& name, OpenMode mode = OpenMode::kReadWrite) {
    auto file = files_.open(in(name), mode);
    EXPECT_TRUE(file) << file.status().to_string();
    return std::move(*file);
  }
  static std::string read_all(File& file) {
    std::string text(1u << 20, '\0');
    auto size = file.read(0, text.data(), text.size());
    EXPECT_TRUE(size);
    text.resize(*size);
    return text;
  }

  PosixFileSystem files_;
  std::string directory_;
};

TEST_F(PosixFileSystemTest, WritesPiecesBackToBackAndReadsThem) {
  auto file = open("a");
  const std::vector<std::string_view> pieces = {"one", "", "two", "three"};
  ASSERT_TRUE(file->write(2, pieces));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(read_all(*file), std::string("\0\0onetwothree", 13));
  EXPECT_EQ(*file->size(), 13u);
  ASSERT_TRUE(file->truncate(5));
  EXPECT_EQ(read_all(*file), std::string("\0\0one", 5));
}

TEST_F(PosixFileSystemTest, WritesMorePiecesThanOneCallTakes) {
  std::vector<std::string> texts;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    texts.push_back(i % 7 == 0 ? "" : std::to_string(i));
    expected += texts.back();
  }
  const std::vector<std::string_view> pieces(texts.begin(), texts.end());
  auto file = open("a");
  ASSERT_TRUE(file->write(0, pieces));
  EXPECT_EQ(read_all(*file), expected);
  const std::vector<std::string_view> empty(3000);
  EXPECT_TRUE(file->write(0, empty));
  EXPECT_EQ(read_all(*file), expected);
}

// The kernel stops such a write in the middle (a short transfer), then refuses the rest.
TEST_F(PosixFileSystemTest, GoesOnAfterAShortWriteAndNamesTheOffsetOfTheFailure) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* old_handler = std::signal(SIGXFSZ, SIG_IGN);
  auto file = open("a");
  const rlimit small{10, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::string_view> pieces = {"12345", "67", "89abcdef", "g"};
  const Status status = file->write(0, pieces);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_THAT(status.message(), HasSubstr("write 6 bytes at offset 10"));
  EXPECT_THAT(status.message(), HasSubstr("File too large"));
  EXPECT_EQ(read_all(*file), "123456789a");
}

TEST_F(PosixFileSystemTest, SaysNoSpaceWhenTheDeviceIsFull) {
  auto file = files_.open("/dev/full", OpenMode::kReadWrite);
  if (!file) GTEST_SKIP() << "no /dev/full here";
  const std::string_view text = "x";
  const Status status = (*file)->write(0, std::span(&text, 1));
  EXPECT_EQ(status.code(), Code::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("/dev/full: write 1 bytes at offset 0"));
}

TEST_F(PosixFileSystemTest, TransfersPastThePageCacheWhereAllowed) {
  auto direct = files_.open(in("a"), OpenMode::kReadWriteDirect);
  if (!direct) {
    EXPECT_EQ(direct.status().code(), Code::kNotImplemented);
    GTEST_SKIP() << direct.status().message();
  }
  const std::unique_ptr<char, decltype(&std::free)> block(
      static_cast<char*>(std::aligned_alloc(4096, 4096)), &std::free);
  std::fill_n(block.get(), 4096, 'd');
  const std::string_view piece(block.get(), 4096);
  ASSERT_TRUE((*direct)->write(4096, std::span(&piece, 1)));
  ASSERT_TRUE((*direct)->sync());
  EXPECT_EQ(*(*direct)->size(), 8192u);
  auto again = open("a", OpenMode::kReadDirect);
  ASSERT_TRUE(again->read(4096, block.get(), 4096));
  EXPECT_EQ(std::string(block.get(), 4096), std::string(4096, 'd'));
  ASSERT_TRUE((*direct)->truncate(5000));
  EXPECT_EQ(*again->read(4096, block.get(), 4096), 904u);
}

TEST_F(PosixFileSystemTest, NamesAreMadeRenamedListedAndRemoved) {
  ASSERT_TRUE(files_.make_directories(in("x/y")));
  EXPECT_TRUE(files_.make_directories(in("x/y")));
  open("x/b");
  open("x/a");
  EXPECT_THAT(*files_.list(in("x")), ElementsAre("a", "b", "y"));
  ASSERT_TRUE(files_.rename(in("x/b"), in("x/c")));
  EXPECT_TRUE(files_.exists(in("x/c")));
  EXPECT_FALSE(files_.exists(in("x/b")));
  EXPECT_TRUE(files_.remove(in("x/c")));
  EXPECT_TRUE(files_.remove(in("x/c")));
  EXPECT_TRUE(files_.remove_directory(in("x/y")));
  EXPECT_TRUE(files_.remove_directory(in("x/y")));
  EXPECT_EQ(files_.remove_directory(in("x")).code(), Code::kIoError);
  EXPECT_TRUE(files_.sync_directory(in("x")));
  EXPECT_GT(*files_.free_bytes(directory_), 0u);
}

TEST_F(PosixFileSystemTest, FailuresNamePathActionAndReason) {
  const Status missing = files_.open(in("none"), OpenMode::kRead).status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("/none: open: No such file"));
  EXPECT_EQ(files_.list(in("none")).status().code(), Code::kNotFound);
  EXPECT_EQ(files_.sync_directory(in("none")).code(), Code::kNotFound);
  EXPECT_THAT(files_.rename(in("p"), in("q")).message(), HasSubstr("/p: rename to "));
  open("file");
  EXPECT_EQ(files_.make_directories(in("file/d")).code(), Code::kIoError);
  auto read_only = open("file", OpenMode::kRead);
  const std::string_view text = "x";
  EXPECT_THAT(read_only->write(7, std::span(&text, 1)).message(),
              HasSubstr("/file: write 1 bytes at offset 7: "));
}

TEST_F(PosixFileSystemTest, ALockIsHeldByOneUntilItIsDestroyed) {
  auto first = files_.lock(in("lock"));
  ASSERT_TRUE(first);
  const Status second = files_.lock(in("lock")).status();
  EXPECT_EQ(second.code(), Code::kResourceLocked);
  EXPECT_THAT(second.message(), HasSubstr("process " + std::to_string(::getpid()) + ", "));
  first->reset();
  EXPECT_TRUE(files_.lock(in("lock")));
}

}  // namespace
}  // namespace segue::storage
