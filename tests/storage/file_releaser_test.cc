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

TEST(FileReleaser, ARemovedFileLosesItsNameAtOnceAndItsSpaceLater) {
  std::string directory =
      (std::filesystem::temp_directory_path() / "segue.releaser.XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/large";
  auto files = std::make_unique<PosixFileSystem>();
  {
    auto file = files->open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(file);
    const std::string bytes(4u << 20, 'x');
    const std::array<std::string_view, 1> pieces = {bytes};
    ASSERT_TRUE((*file)->write(0, pieces));
  }
  const int held = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(held, 0);
  EXPECT_TRUE(files->remove(path));
  EXPECT_FALSE(files->exists(path));
  EXPECT_TRUE(files->remove(path));  // nothing is there
  files.reset();
  struct stat about {};
  ASSERT_EQ(::fstat(held, &about), 0);
  EXPECT_EQ(about.st_nlink, 0u);
  ::close(held);
  EXPECT_EQ(::rmdir(directory.c_str()), 0);
}

}  // namespace
}  // namespace segue::storage
