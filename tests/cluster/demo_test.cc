// The demo as people run it: real processes, killed and restarted in the middle, over small files.

#include <gtest/gtest.h>

#include "tests/fakes/process.h"

namespace segue {
namespace {

using std::chrono::seconds;

std::string packages(int count) {
  const char* sections[] = {"libs", "libdevel", "python", "devel", "utils", "contrib/net"};
  const char* priorities[] = {"optional", "required", "important", "standard", "optional"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "Package: package-" + std::to_string(i) + "\nPriority: " + priorities[i % 5] +
            "\nSection: " + sections[i % 6] + "\nDescription: number " + std::to_string(i) + "\n " +
            std::string(static_cast<std::size_t>(i * 7 % 900), 'x') + "\n\n";
  }
  return text;
}

// Runs `segue demo` and returns what it printed; it must end by itself.
std::string run_demo(std::vector<std::string> arguments, int exit_code) {
  arguments.insert(arguments.begin(), "demo");
  Process demo("segue", arguments);
  const auto code = demo.wait(seconds(280));
  const std::string text = demo.stdout_text() + demo.stderr_text();
  EXPECT_EQ(code, exit_code) << text;
  return text;
}

TEST(Demo, PackagesSurviveANodesDeathAndARoutersRestart) {
  const TempDir directory;
  const std::string file = directory.write("status", packages(150));
  const std::string text = run_demo({file, "--messages", "6000", "--deadline", "240s"}, 0);
  EXPECT_NE(text.find("SIGKILL for node"), std::string::npos) << text;
  EXPECT_NE(text.find("router r1 was stopped"), std::string::npos) << text;
  EXPECT_NE(text.find("6,000 messages confirmed"), std::string::npos) << text;
  EXPECT_NE(text.find("\nOK\n"), std::string::npos) << text;
}

TEST(Demo, TakesAnyTextAndAnyNode) {
  const TempDir directory;
  const std::string file = directory.write("words", "one\n\ntwo\nthree\r\n\n" + packages(1));
  // n1 leads the catalog.
  const std::string text =
      run_demo({file, "--messages", "3000", "--kill", "n1", "--deadline", "240s"}, 0);
  EXPECT_NE(text.find("SIGKILL for node n1"), std::string::npos) << text;
  EXPECT_NE(text.find("\nOK\n"), std::string::npos) << text;
}

TEST(Demo, SaysWhatIsWrongWithAFile) {
  const TempDir directory;
  const std::string empty = directory.write("empty", "");
  EXPECT_NE(run_demo({empty}, 74).find("is empty"), std::string::npos);
  EXPECT_NE(run_demo({directory.path() + "/none"}, 74).find("No such file"), std::string::npos);
  EXPECT_NE(run_demo({directory.path()}, 74).find("is a directory"), std::string::npos);
}

TEST(Demo, EndsWhenItsTimeIsUp) {
  const TempDir directory;
  const std::string file = directory.write("status", packages(10));
  const std::string text =
      run_demo({file, "--messages", "1000000", "--rate", "10", "--deadline", "5s"}, 75);
  EXPECT_NE(text.find("not done within 5.0 s"), std::string::npos) << text;
}

}  // namespace
}  // namespace segue
