#include "tests/fakes/process.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace segue {
namespace {

TEST(Process, CollectsOutputAndTheExitCode) {
  Process process("/bin/sh", {"-c", "echo one; echo two >&2; exit 3"});
  EXPECT_TRUE(process.wait_for_stderr("two"));
  EXPECT_EQ(process.wait(), 3);
  EXPECT_EQ(process.stdout_text(), "one\n");
}

TEST(Process, GivesInputAndTakesTheEnvironment) {
  Process process("/bin/sh", {"-c", "read line; echo \"$line-$WHO\""}, {"WHO=me"});
  EXPECT_TRUE(process.write_input("text\n"));
  EXPECT_TRUE(process.wait_for_stdout("text-me"));
}

TEST(Process, IsKilledByItsPid) {
  Process process("/bin/sh", {"-c", "echo up; read forever"});
  ASSERT_TRUE(process.wait_for_stdout("up"));
  process.kill_now();
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_FALSE(process.wait_for_stdout("never"));
}

TEST(Process, AMissingProgramIsToldOnStandardError) {
  Process process("/nonexistent/program");
  EXPECT_EQ(process.wait(), 127);
  EXPECT_NE(process.stderr_text().find("/nonexistent/program"), std::string::npos);
}

TEST(Process, ASanitizersReportFailsTheTest) {
  for (const char* line : {"WARNING: ThreadSanitizer: data race (pid=1)",
                           "==1==ERROR: AddressSanitizer: heap-use-after-free",
                           "a.cc:1:2: runtime error: signed integer overflow"}) {
    EXPECT_NONFATAL_FAILURE(
        {
          Process process("/bin/sh", {"-c", std::string("echo '") + line + "' >&2; read forever"});
          EXPECT_TRUE(process.wait_for_stderr("\n"));
        },
        line);
  }
}

}  // namespace
}  // namespace segue
