// Changes that are rehearsed read as if they had been made, and none is made.
#include "storage/rehearsal_file_system.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {
namespace {

std::string text(Result<std::vector<std::string>> names) {
  if (!names.is_ok()) return names.status().code() == Code::kNotFound ? "not found" : "failed";
  std::string all;
  for (const std::string& name : *names) all += name + " ";
  return all;
}

std::string content(FileSystem& files, const std::string& path) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return "cannot be opened";
  std::string bytes(static_cast<std::size_t>(*(*file)->size()), '?');
  const auto read = (*file)->read(0, bytes.data(), bytes.size());
  EXPECT_TRUE(read.is_ok());
  EXPECT_EQ(*read, bytes.size());
  return bytes;
}

const std::vector<std::string> kDirectories{"/d", "/d/a", "/d/b", "/d/a/c", "/d/new", "/d/new/x"};

std::vector<std::string> all_paths() {
  std::vector<std::string> paths;
  for (const std::string& directory : kDirectories) {
    for (const char* const name : {"1", "2", "3"}) paths.push_back(directory + "/" + name);
  }
  return paths;
}

void expect_alike(FileSystem& rehearsed, FileSystem& real) {
  for (const std::string& directory : kDirectories) {
    EXPECT_EQ(text(rehearsed.list(directory)), text(real.list(directory))) << directory;
    EXPECT_EQ(rehearsed.exists(directory), real.exists(directory)) << directory;
  }
  for (const std::string& path : all_paths()) {
    EXPECT_EQ(rehearsed.exists(path), real.exists(path)) << path;
    EXPECT_EQ(content(rehearsed, path), content(real, path)) << path;
  }
}

/// Does the same to both.
class Twins {
 public:
  Twins(FileSystem& rehearsed, FileSystem& real, std::uint64_t seed)
      : files_{&rehearsed, &real}, random_(seed) {}

  void step() {
    const std::vector<std::string> paths = all_paths();
    const std::string& path = paths[random_.below(paths.size())];
    const std::string& other = paths[random_.below(paths.size())];
    switch (random_.below(8)) {
      case 0:
        return both([&](FileSystem& files) { return files.remove(path).is_ok(); });
      case 1: {
        const std::string& directory = kDirectories[random_.below(kDirectories.size())];
        return both([&](FileSystem& files) { return files.make_directories(directory).is_ok(); });
      }
      case 2:
      case 3:
        return both([&](FileSystem& files) { return files.rename(path, other).is_ok(); });
      case 4: {
        const std::uint64_t size = random_.below(40);
        return change(path, [&](File& file) { return file.truncate(size).is_ok(); });
      }
      default: {
        const std::uint64_t offset = random_.below(30);
        const std::string bytes(1 + random_.below(12), random_.below(3) == 0 ? '\0' : letter());
        const std::string_view pieces[] = {bytes, "-"};
        return change(path, [&](File& file) { return file.write(offset, pieces).is_ok(); });
      }
    }
  }

 private:
  template <typename Act>
  void both(Act act) {
    const bool rehearsed = act(*files_[0]);
    EXPECT_EQ(rehearsed, act(*files_[1]));
  }
  template <typename Act>
  void change(const std::string& path, Act act) {
    both([&](FileSystem& files) {
      auto file = files.open(path, OpenMode::kReadWrite);
      return file.is_ok() && act(**file);
    });
  }
  char letter() { return static_cast<char>('a' + random_.below(26)); }

  FileSystem* files_[2];
  SeededRandom random_;
};

void fill(FaultyFileSystem& files) {
  ASSERT_TRUE(files.make_directories("/d/a/c").is_ok());
  ASSERT_TRUE(files.make_directories("/d/b").is_ok());
  for (const char* const path : {"/d/1", "/d/a/1", "/d/a/2", "/d/a/c/1", "/d/b/3"}) {
    auto file = files.open(path, OpenMode::kReadWrite);
    const std::string_view pieces[] = {"this is ", path, " of those below"};
    ASSERT_TRUE((*file)->write(0, pieces).is_ok());
  }
}

TEST(RehearsalFileSystem, ShowsWhatWasChangedAndChangesNothingBelow) {
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultyFileSystem below;
    FaultyFileSystem real;
    fill(below);
    fill(real);
    std::map<std::string, std::string> before;
    for (const std::string& path : below.paths()) before[path] = below.content(path);
    RehearsalFileSystem rehearsed(below);
    Twins twins(rehearsed, real, seed);
    for (int i = 0; i < 60; ++i) twins.step();
    expect_alike(rehearsed, real);
    std::map<std::string, std::string> after;
    for (const std::string& path : below.paths()) after[path] = below.content(path);
    EXPECT_EQ(after, before);
  }
}

TEST(RehearsalFileSystem, ADirectoryMovesWithAllThatIsInIt) {
  FaultyFileSystem below;
  fill(below);
  RehearsalFileSystem files(below);
  ASSERT_TRUE(files.rename("/d/a", "/d/new").is_ok());
  EXPECT_FALSE(files.exists("/d/a"));
  EXPECT_FALSE(files.exists("/d/a/c/1"));
  EXPECT_EQ(text(files.list("/d/a")), "not found");
  EXPECT_EQ(text(files.list("/d/new")), "1 2 c ");
  EXPECT_EQ(content(files, "/d/new/c/1"), "this is /d/a/c/1 of those below");
  EXPECT_FALSE(files.remove_directory("/d/new").is_ok());
  EXPECT_TRUE(below.exists("/d/a/c/1"));
}

}  // namespace
}  // namespace segue::storage
