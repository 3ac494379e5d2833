#include "cli/command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/exit_codes.h"
#include "cli/input_file.h"
#include "tests/cli/captured_console.h"

namespace segue::cli {
namespace {

using Words = std::vector<std::string>;

class Echo final : public Command {
 public:
  void declare(OptionTable& options) override {
    options.positional(text_, {"TEXT", "what to print"});
    options.choice(kind_, {"kind", 'k', "KIND", "it's a kind"}, {"plain", "bold"});
  }
  Status check(const OptionTable& /*options*/) override {
    return text_ == "bad" ? Status(Code::kInvalidConfig, "bad is bad") : Status::ok();
  }
  int run(Console& console) override {
    console.write(kind_ + text_ + "\n");
    return text_ == "fail" ? kExitRefused : kExitOk;
  }

 private:
  std::string text_;
  std::string kind_;
};

std::vector<CommandEntry> table() {
  const auto make = [] { return std::make_unique<Echo>(); };
  return {{"echo", "prints", "An example.\n", make},
          {"queue make", "makes", "", make},
          {"queue drop", "drops", "", make}};
}

struct Ran {
  int code;
  std::string output;
  std::string errors;
};

Ran run(const Words& words) {
  CapturedConsole captured;
  const int code = run_command(words, captured.console, table());
  return {code, captured.output(), captured.errors()};
}

TEST(RunCommand, RunsCommandsOfOneAndOfTwoWords) {
  EXPECT_EQ(run({"echo", "hi"}).output, "hi\n");
  EXPECT_EQ(run({"queue", "drop", "-k", "bold", "x"}).output, "boldx\n");
  EXPECT_EQ(run({"echo", "fail"}).code, kExitRefused);
}

TEST(RunCommand, ShowsHelpInEveryForm) {
  for (const Words& words : {Words{"help"}, Words{"--help"}, Words{"-h"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, kExitOk);
    EXPECT_NE(ran.output.find("queue make"), std::string::npos);
  }
  for (const Words& words : {Words{"help", "echo"}, Words{"echo", "--help"}, Words{"echo", "-h"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, kExitOk);
    EXPECT_NE(ran.output.find("Usage: segue echo [OPTIONS] TEXT"), std::string::npos);
    EXPECT_NE(ran.output.find("An example."), std::string::npos);
  }
  EXPECT_NE(run({"queue", "--help"}).output.find("queue drop"), std::string::npos);
  EXPECT_NE(run({"help", "queue", "make"}).output.find("Usage: segue queue make"),
            std::string::npos);
}

TEST(RunCommand, SaysItsVersion) {
  EXPECT_EQ(run({"--version"}).output, "segue 0.1.0\n");
}

TEST(RunCommand, RefusesUnknownCommandsAndSuggests) {
  Ran ran = run({"ehco"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.errors, "segue: no command 'ehco'\n  did you mean: segue echo\n");
  ran = run({"queue", "mak"});
  EXPECT_EQ(ran.errors, "segue: no command 'queue mak'\n  did you mean: segue queue make\n");
  EXPECT_EQ(run({}).code, kExitUsage);
  EXPECT_EQ(run({"queue"}).code, kExitUsage);
}

TEST(RunCommand, SaysThatOptionsFollowTheCommand) {
  const Ran ran = run({"--kind", "bold", "echo"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_NE(ran.errors.find("options follow the command"), std::string::npos) << ran.errors;
}

TEST(RunCommand, TellsWrongArgumentsInASentenceWithAHint) {
  Ran ran = run({"echo"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.errors, "segue: argument TEXT is missing (what to print)\n  segue echo --help\n");
  EXPECT_EQ(run({"echo", "bad"}).code, kExitUsage);
  EXPECT_EQ(ran.output, "");
}

TEST(RunCommand, NoticesAClosedOutput) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  ::signal(SIGPIPE, SIG_IGN);
  {
    Console console({.in = 0, .out = ends[1], .error = 2, .stop = -1, .take_signal = {}});
    EXPECT_EQ(run_command(Words{"echo", "x"}, console, table()), kExitOutputClosed);
    EXPECT_EQ(console.output_error(), EPIPE);
  }
  ::close(ends[1]);
}

TEST(Completion, OffersEveryCommandOptionAndWord) {
  for (const std::string& script :
       {bash_completion(table()), zsh_completion(table()), fish_completion(table())}) {
    for (const char* word : {"echo", "make", "drop", "kind", "plain bold"}) {
      EXPECT_NE(script.find(word), std::string::npos) << word << " in\n" << script;
    }
  }
}

TEST(InputFile, ReadsTheInputToItsEnd) {
  CapturedConsole captured("some\0text");
  Result<InputFile> input = InputFile::open(captured.console, "-");
  ASSERT_TRUE(input.is_ok());
  std::string block;
  ASSERT_TRUE(input->read(block).is_ok());
  EXPECT_EQ(block, "some");
  ASSERT_TRUE(input->read(block).is_ok());
  EXPECT_EQ(block, "");
}

TEST(InputFile, NamesTheFileItCannotRead) {
  CapturedConsole captured;
  const Result<InputFile> input = InputFile::open(captured.console, "/no/such/file");
  ASSERT_FALSE(input.is_ok());
  EXPECT_EQ(input.status().message(), "cannot read /no/such/file: No such file or directory");
  Result<InputFile> directory = InputFile::open(captured.console, "/");
  ASSERT_TRUE(directory.is_ok());
  std::string block;
  EXPECT_EQ(directory->read(block).code(), Code::kIoError);
}

}  // namespace
}  // namespace segue::cli
