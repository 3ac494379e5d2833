#include "common/logging.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/fakes/capture_logger.h"

namespace segue {
namespace {

using std::string_literals::operator""s;

TEST(Logging, WritesOneLineOfKeysAndValues) {
  CaptureLogger log;
  log.logger().info("node_started", {{"node", "n1"},
                                     {"shards", 32},
                                     {"port", std::uint16_t{7411}},
                                     {"offset", std::int64_t{-5}},
                                     {"direct", true},
                                     {"ratio", 0.5},
                                     {"queue", QueueId(7)},
                                     {"code", Code::kNoSpace}});
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(
      log.lines()[0],
      "2023-11-14T22:13:20.000Z INFO event=node_started node=n1 shards=32 port=7411 offset=-5 "
      "direct=true ratio=0.5 queue=7 code=NO_SPACE");
}

TEST(Logging, WritesJson) {
  CaptureLogger log(0, LogFormat::kJson);
  log.logger().error("disk_full", {{"path", "a\"b"}, {"free", 12u}, {"ok", false}});
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.lines()[0],
            R"({"time":"2023-11-14T22:13:20.000Z","level":"error","event":"disk_full",)"
            R"("path":"a\"b","free":12,"ok":false})");
}

TEST(Logging, TakesStatusesAsTheirMessage) {
  CaptureLogger log;
  log.logger().warn("refused", {{"reason", Status(Code::kNotFound, "no queue 'a'")}});
  EXPECT_TRUE(log.contains("WARN event=refused reason=\"no queue 'a'\""));
}

TEST(Logging, LeavesOutLevelsBelowItsOwn) {
  CaptureLogger log(0, LogFormat::kText, LogLevel::kWarn);
  log.logger().debug("a");
  log.logger().info("b");
  log.logger().warn("c");
  log.logger().error("d");
  ASSERT_EQ(log.lines().size(), 2u);
  EXPECT_FALSE(log.logger().enabled(LogLevel::kInfo));
  EXPECT_TRUE(log.logger().enabled(LogLevel::kError));
}

TEST(Logging, OffWritesNothing) {
  CaptureLogger log(0, LogFormat::kText, LogLevel::kOff);
  log.logger().error("d");
  EXPECT_TRUE(log.lines().empty());
}

TEST(Logging, AValueCannotStartANewLineOrAField) {
  CaptureLogger log;
  log.logger().info("client", {{"name", "x\n2026 ERROR event=fake a=b\r\t\x1b[31m\x7f"s + '\0'}});
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.lines()[0],
            "2023-11-14T22:13:20.000Z INFO event=client "
            "name=\"x\\n2026 ERROR event=fake a=b\\r\\t\\x1b[31m\\x7f\\x00\"");
}

TEST(Logging, QuotesWhatCouldBeMisread) {
  CaptureLogger log;
  log.logger().info("e", {{"empty", ""},
                          {"space", "a b"},
                          {"equals", "a=b"},
                          {"quote", "a\"b"},
                          {"backslash", "a\\b"},
                          {"plain", "tcp://127.0.0.1:7411"}});
  EXPECT_TRUE(log.contains(
      R"(empty="" space="a b" equals="a=b" quote="a\"b" backslash="a\\b" plain=tcp://127.0.0.1:7411)"));
}

TEST(Logging, KeepsUnicodeAndEscapesOtherBytesAndHiddenControls) {
  CaptureLogger log;
  log.logger().info("e", {{"name", "z\xC3\xBC \xF0\x9F\x90\xB0"}});
  EXPECT_TRUE(log.contains("name=\"z\xC3\xBC \xF0\x9F\x90\xB0\""));
  log.logger().info("e", {{"name", "\xFF\xC3(\xC2\x85\xE2\x80\xA8\xE2\x80\xAE"}});
  EXPECT_TRUE(log.contains(R"(name="\xff\xc3(\xc2\x85\xe2\x80\xa8\xe2\x80\xae")"));
}

TEST(Logging, JsonIsValidUtf8WhateverTheBytes) {
  CaptureLogger log(0, LogFormat::kJson);
  log.logger().info("e", {{"a", "\xFF\xC0\x80x\xED\xA0\x80\x01\xE2\x80\xA8"},
                          {"inf", std::numeric_limits<double>::infinity()}});
  ASSERT_EQ(log.lines().size(), 1u);
  const std::string replacement = "\xEF\xBF\xBD";
  std::string a = replacement + replacement + replacement + "x" + replacement + replacement +
                  replacement + "\\u0001\\u2028";
  EXPECT_TRUE(log.contains("\"a\":\"" + a + "\",\"inf\":null}")) << log.lines()[0];
}

TEST(Logging, WritesTimesBeforeTheEpochAndFarAhead) {
  EXPECT_EQ(format_text({LogLevel::kInfo, -1, "e", {}}), "1969-12-31T23:59:59.999Z INFO event=e");
  EXPECT_EQ(format_text({LogLevel::kInfo, 4102444800123, "e", {}}),
            "2100-01-01T00:00:00.123Z INFO event=e");
}

TEST(LogRateLimit, LeavesOutRepeatsAndTellsHowMany) {
  CaptureLogger log(3);
  for (int i = 0; i < 10; ++i) log.logger().info("link_reset", {{"i", i}});
  EXPECT_EQ(log.lines().size(), 3u);
  log.clock().advance(std::chrono::milliseconds(999));
  log.logger().info("link_reset");
  EXPECT_EQ(log.lines().size(), 3u);
  log.clock().advance(std::chrono::milliseconds(1));
  log.logger().info("link_reset", {{"i", 11}});
  ASSERT_EQ(log.lines().size(), 5u);
  EXPECT_NE(log.lines()[3].find("WARN event=log_events_suppressed of=link_reset suppressed=8"),
            std::string::npos);
  EXPECT_NE(log.lines()[4].find("event=link_reset i=11"), std::string::npos);
}

TEST(LogRateLimit, CountsEachNameByItself) {
  CaptureLogger log(1);
  log.logger().info("a");
  log.logger().info("b");
  log.logger().info("a");
  EXPECT_EQ(log.lines().size(), 2u);
}

TEST(LogRateLimit, FlushTellsWhatWasLeftOut) {
  CaptureLogger log(1);
  log.logger().info("a");
  log.logger().info("a");
  log.logger().flush();
  EXPECT_TRUE(log.contains("of=a suppressed=1"));
  log.logger().flush();
  EXPECT_EQ(log.lines().size(), 2u);
}

TEST(LogRateLimit, ZeroMeansNoLimit) {
  CaptureLogger log(0);
  for (int i = 0; i < 1000; ++i) log.logger().info("a");
  EXPECT_EQ(log.lines().size(), 1000u);
}

TEST(Logging, NamesOfLevelsGoBothWays) {
  for (const char* name : {"trace", "debug", "info", "warn", "error", "off"}) {
    ASSERT_TRUE(log_level_from_name(name).has_value());
    EXPECT_EQ(log_level_name(*log_level_from_name(name)), name);
  }
  EXPECT_FALSE(log_level_from_name("INFO").has_value());
}

TEST(Logging, ThreadsWriteWholeLinesToAFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("segue_log_" + std::to_string(getpid()));
  const SystemClock clock;
  {
    auto sink = file_log_sink(path.string(), LogFormat::kText);
    ASSERT_TRUE(sink.is_ok()) << sink.status().to_string();
    Logger logger(std::move(*sink), clock, {LogLevel::kInfo, 0});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&logger, t] {
        for (int i = 0; i < 100; ++i) logger.info("tick", {{"t", t}, {"i", i}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    ++lines;
    EXPECT_NE(line.find("Z INFO event=tick t="), std::string::npos) << line;
  }
  EXPECT_EQ(lines, 400);
  std::filesystem::remove(path);
}

TEST(Logging, AFileThatCannotBeOpenedIsAnError) {
  const auto sink = file_log_sink("/dev/null/no/such.log", LogFormat::kText);
  ASSERT_FALSE(sink.is_ok());
  EXPECT_EQ(sink.status().code(), Code::kIoError);
  EXPECT_NE(sink.status().message().find("/dev/null/no/such.log"), std::string::npos);
}

}  // namespace
}  // namespace segue
