// Runs the pages of docs/guide/: every program in them is compiled, every command is run, and what
// it prints is compared with what the page says.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/process.h"

namespace segue {
namespace {

constexpr std::chrono::milliseconds kLong{300'000};

/// A fenced block of the guide.
struct Block {
  std::string info;  // behind the fence, e.g. "console"
  std::string file;  // named in the comment above it: "<!-- file: send.cc -->"
  std::vector<std::string> lines;
  int line = 0;  // where it begins
};

std::vector<Block> blocks_of(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::vector<Block> blocks;
  std::optional<Block> open;
  std::string file;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string mark = "<!-- file: ";
    if (!open && line.starts_with("```")) {
      open = Block{line.substr(3), file, {}, number};
      file.clear();
    } else if (open && line == "```") {
      blocks.push_back(*std::move(open));
      open.reset();
    } else if (open) {
      open->lines.push_back(line);
    } else if (line.starts_with(mark)) {
      file = line.substr(mark.size(), line.find(" -->") - mark.size());
    }
  }
  EXPECT_FALSE(open) << "a block without an end";
  return blocks;
}

/// What the guide shows, where "..." stands for anything in a line, and alone for any lines.
std::string pattern_of(const std::vector<std::string>& shown) {
  std::string pattern;
  for (const std::string& line : shown) {
    if (line == "...") {
      pattern += "(?:.*\\n)*";
      continue;
    }
    std::string escaped = std::regex_replace(line, std::regex(R"([.^$|()\[\]{}*+?\\])"), R"(\$&)");
    for (std::size_t at = 0; (at = escaped.find("\\.\\.\\.", at)) != std::string::npos;) {
      escaped.replace(at, 6, ".*");
    }
    pattern += escaped + "\\n";
  }
  return pattern;
}

/// A shell that runs one command after the other. One thread.
class Shell {
 public:
  Shell(const std::string& directory, const std::vector<std::string>& environment)
      : process_("/bin/bash", {"--norc", "-c", "cd " + directory + " && exec bash -s 2>&1"},
                 environment) {}

  /// What the command printed, with its errors; its exit code.
  std::string run(const std::string& command, int& code) {
    const std::string mark = "@@ end " + std::to_string(++count_) + " of ";
    process_.write_input(command + "\necho \"" + mark + "$?\"\n");
    const std::size_t begin = process_.stdout_text().size();
    code = -1;
    if (!process_.wait_for_stdout(mark, kLong) || !process_.wait_for_stdout("\n", kLong)) {
      return process_.stdout_text().substr(begin);
    }
    const std::string& text = process_.stdout_text();
    const std::size_t end = text.find(mark, begin);
    code = std::stoi(text.substr(end + mark.size()));
    return text.substr(begin, end - begin);
  }

 private:
  Process process_;
  int count_ = 0;
};

class Guide : public ::testing::Test {
 protected:
  Guide() {
    // The guide calls it ~/segue/build/release.
    const std::filesystem::path bin = SEGUE_BIN_DIR;
    std::filesystem::create_directories(dir_.path() + "/segue/build");
    std::filesystem::create_symlink(bin.parent_path(), dir_.path() + "/segue/build/release");
    environment_ = {"HOME=" + dir_.path(), "SEGUE_ROUTER=" + router(), "CXX=" SEGUE_CXX,
                    "CXXFLAGS=" SEGUE_CXX_FLAGS,
                    "PATH=" + bin.string() + ":/usr/local/bin:/usr/bin:/bin"};
    shell_ = std::make_unique<Shell>(dir_.path(), environment_);
  }
  ~Guide() override {
    for (auto& terminal : terminals_) terminal->terminate();
  }

  std::string router() const { return "ipc://" + dir_.path() + "/router"; }

  void run_page(const std::string& page, std::size_t least_blocks) {
    page_ = page;
    const auto blocks = blocks_of(std::string(SEGUE_SOURCE_DIR) + "/" + page);
    ASSERT_GE(blocks.size(), least_blocks);
    for (const Block& block : blocks) ASSERT_NO_FATAL_FAILURE(run(block));
  }

 private:
  void run(const Block& block) {
    const std::string where = page_ + ":" + std::to_string(block.line);
    if (!block.file.empty()) return write(block);
    if (block.info == "console terminal") return start(block, where);
    ASSERT_EQ(block.info, "console") << where << ": a block that nobody runs";
    for (std::size_t i = 0; i < block.lines.size();) {
      ASSERT_TRUE(block.lines[i].starts_with("$ ")) << where;
      const std::string command = block.lines[i++].substr(2);
      std::vector<std::string> shown;
      while (i < block.lines.size() && !block.lines[i].starts_with("$ ")) {
        shown.push_back(block.lines[i++]);
      }
      int code = 0;
      const std::string printed = shell_->run(command, code);
      ASSERT_EQ(code, 0) << where << ": " << command << "\n" << printed;
      ASSERT_TRUE(std::regex_match(printed, std::regex(pattern_of(shown))))
          << where << ": " << command << "\nprinted:\n"
          << printed;
    }
  }

  void write(const Block& block) {
    std::ofstream out(dir_.path() + "/guide/" + block.file);
    ASSERT_TRUE(out) << block.file;
    for (const std::string& line : block.lines) out << line << "\n";
  }

  /// A command that goes on in a terminal of its own; the last line shown says that it is ready.
  void start(const Block& block, const std::string& where) {
    ASSERT_GE(block.lines.size(), 2u) << where;
    std::string command = block.lines[0].substr(2);
    if (command.starts_with("segue up")) command += " --endpoint " + router();
    terminals_.push_back(std::make_unique<Process>(
        "/bin/bash",
        std::vector<std::string>{"-c", "cd " + dir_.path() + "/guide && exec " + command},
        environment_));
    std::string ready = block.lines.back();
    if (const auto dots = ready.find("..."); dots != std::string::npos) ready.resize(dots);
    ASSERT_TRUE(terminals_.back()->wait_for_stdout(ready, kLong))
        << where << ": " << terminals_.back()->stdout_text() << terminals_.back()->stderr_text();
  }

  TempDir dir_;
  std::string page_;
  std::vector<std::string> environment_;
  std::unique_ptr<Shell> shell_;
  std::vector<std::unique_ptr<Process>> terminals_;
};

TEST_F(Guide, EveryCommandAndProgramDoesWhatItSays) {
  run_page("docs/guide/README.md", 16);
}

TEST_F(Guide, WhoComesFromRabbitMqFindsItAsThePageSays) {
  run_page("docs/guide/from-rabbitmq.md", 9);
}

}  // namespace
}  // namespace segue
