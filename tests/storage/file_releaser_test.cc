#include "storage/file_releaser.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "storage/posix_file_system.h"

namespace segue::storage {
namespace {

/// A pipe's reading end sees its end when the last writing end is closed, whoever does that.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
  ~Pipe() { ::close(ends[0]); }
  bool is_at_end() const {  // waits
    char byte = 0;
    return ::read(ends[0], &byte, 1) == 0;
  }
  std::array<int, 2> ends{};
};

TEST(FileReleaser, ClosesWhatItIsGiven) {
  Pipe pipe;
  FileReleaser releaser;
  releaser.release(FileDescriptor(pipe.ends[1]));
  EXPECT_TRUE(pipe.is_at_end());
}

TEST(FileReleaser, ClosesMoreThanMayWait) {
  std::array<Pipe, FileReleaser::kMostWaiting * 2> pipes;
  FileReleaser releaser;
  for (const Pipe& pipe : pipes) releaser.release(FileDescriptor(pipe.ends[1]));
  for (const Pipe& pipe : pipes) EXPECT_TRUE(pipe.is_at_end());
}

TEST(FileReleaser, ClosesWhatIsLeftWhenItEnds) {
  std::array<Pipe, 8> pipes;
  {
    FileReleaser releaser;
    for (const Pipe& pipe : pipes) releaser.release(FileDescriptor(pipe.ends[1]));
  }
  for (const Pipe& pipe : pipes) {
    ASSERT_EQ(::fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK), 0);
    EXPECT_TRUE(pipe.is_at_end());
  }
}

TEST(FileReleaser, DrainsBeforeItGoesOn) {
  std::array<Pipe, 8> pipes;
  FileReleaser releaser;
  releaser.drain();  // nothing to wait for
  for (const Pipe& pipe : pipes) releaser.release(FileDescriptor(pipe.ends[1]));
  releaser.drain();
  for (const Pipe& pipe : pipes) {
    ASSERT_EQ(::fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK), 0);
    EXPECT_TRUE(pipe.is_at_end());
  }
}

class RemovedFile : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBytes = 8 << 20;

  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "segue.releaser.XXXXXX").string();
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/large";
    auto file = files_->open(path_, OpenMode::kReadWrite);
    ASSERT_TRUE(file);
    const std::string bytes(kBytes, 'x');
    const std::array<std::string_view, 1> pieces = {bytes};
    ASSERT_TRUE((*file)->write(0, pieces));
    held_ = ::open(path_.c_str(), O_PATH | O_CLOEXEC);  // does not count as open
    ASSERT_GE(held_, 0);
  }
  void TearDown() override {
    ::close(held_);
    std::filesystem::remove_all(directory_);
  }
  struct stat about() const {
    struct stat about {};
    EXPECT_EQ(::fstat(held_, &about), 0);
    return about;
  }

  std::unique_ptr<PosixFileSystem> files_ = std::make_unique<PosixFileSystem>();
  std::string directory_;
  std::string path_;
  int held_ = -1;
};

TEST_F(RemovedFile, LosesItsNameAtOnceAndItsSpaceBiteByBite) {
  const int alone = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  const bool leases = ::fcntl(alone, F_SETLEASE, F_WRLCK) == 0;
  ::close(alone);
  if (!leases) GTEST_SKIP() << "the file system does not tell who else has a file open";
  EXPECT_TRUE(files_->remove(path_));
  EXPECT_FALSE(files_->exists(path_));
  EXPECT_TRUE(files_->remove(path_));  // nothing is there
  while (about().st_size == kBytes) std::this_thread::yield();
  files_.reset();
  EXPECT_EQ(about().st_nlink, 0u);
}

TEST_F(RemovedFile, IsNotCutWhileSomebodyReadsIt) {
  auto reader = files_->open(path_, OpenMode::kRead);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(files_->remove(path_));
  EXPECT_TRUE(files_->remove_directory(directory_));  // waits
  EXPECT_EQ(about().st_size, kBytes);
  std::string bytes(kBytes, '\0');
  const auto read = (*reader)->read(0, bytes.data(), bytes.size());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, bytes.size());
  EXPECT_EQ(bytes, std::string(kBytes, 'x'));
}

TEST_F(RemovedFile, IsNotCutWhenItHasAnotherName) {
  const std::string other = directory_ + "/other";
  ASSERT_TRUE(files_->link(path_, other));
  EXPECT_TRUE(files_->remove(path_));
  files_.reset();
  EXPECT_EQ(about().st_size, kBytes);
}

TEST_F(RemovedFile, LeavesTheFolderReadyToBeRemoved) {
  EXPECT_TRUE(files_->remove(path_));
  EXPECT_TRUE(files_->remove_directory(directory_));
  EXPECT_FALSE(files_->exists(directory_));
}

}  // namespace
}  // namespace segue::storage
