#include "common/config_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "common/suggestion.h"
#include "tests/common/config_text.h"

namespace segue {
namespace {

TEST(ConfigValues, Sizes) {
  EXPECT_EQ(*parse_size("0"), 0u);
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("1B"), 1u);
  EXPECT_EQ(*parse_size("2KB"), 2000u);
  EXPECT_EQ(*parse_size("2KiB"), 2048u);
  EXPECT_EQ(*parse_size("64MiB"), 64u << 20);
  EXPECT_EQ(*parse_size("1 GB"), 1'000'000'000u);
  EXPECT_EQ(*parse_size("3TiB"), 3ull << 40);
  EXPECT_EQ(*parse_size("18446744073709551615"), ~0ull);
  for (const char* wrong : {"", " ", "MiB", "-1", "+1", "1.5MiB", "1mib", "1MiBs", "1  MiB",
                            "1MiB ", "18446744073709551616", "16777216TiB", "0x10", "1e3"}) {
    EXPECT_FALSE(parse_size(wrong).is_ok()) << wrong;
  }
}

TEST(ConfigValues, Durations) {
  EXPECT_EQ(*parse_duration("0"), std::chrono::milliseconds(0));
  EXPECT_EQ(*parse_duration("500ms"), std::chrono::milliseconds(500));
  EXPECT_EQ(*parse_duration("30s"), std::chrono::seconds(30));
  EXPECT_EQ(*parse_duration("5m"), std::chrono::minutes(5));
  EXPECT_EQ(*parse_duration("2 h"), std::chrono::hours(2));
  for (const char* wrong : {"", "5", "5M", "-5s", "1.5s", "5s5", "9223372036854775808ms", "5 "}) {
    EXPECT_FALSE(parse_duration(wrong).is_ok()) << wrong;
  }
}

TEST(ConfigValues, WhatIsFormattedReadsBack) {
  for (const std::uint64_t bytes :
       {0ull, 1ull, 1000ull, 1024ull, 1536ull, 64ull << 20, 1'000'000'000ull, ~0ull}) {
    EXPECT_EQ(*parse_size(format_size(bytes)), bytes) << format_size(bytes);
  }
  EXPECT_EQ(format_size(64 << 20), "64MiB");
  EXPECT_EQ(format_size(1'000'000'000), "1GB");
  for (const int ms : {0, 1, 999, 1000, 90'000, 3'600'000}) {
    const std::chrono::milliseconds duration(ms);
    EXPECT_EQ(*parse_duration(format_duration(duration)), duration) << format_duration(duration);
  }
  EXPECT_EQ(format_duration(std::chrono::seconds(90)), "90s");
}

TEST(ConfigValues, Endpoints) {
  for (const char* good :
       {"tcp://localhost:1", "tcp://127.0.0.1:65535", "tcp://node-1.example_net:7400",
        "tcp://[::1]:7400", "tcp://[fe80::1%eth0]:7400", "ipc:///run/segue/r1",
        "ipc://relative.sock", "ipc://@abstract"}) {
    EXPECT_TRUE(check_endpoint(good, EndpointUse::kConnect).is_ok()) << good;
    EXPECT_TRUE(check_endpoint(good, EndpointUse::kListen).is_ok()) << good;
  }
  for (const char* listen_only : {"tcp://*:7400", "tcp://0.0.0.0:7400", "tcp://[::]:7400"}) {
    EXPECT_FALSE(check_endpoint(listen_only, EndpointUse::kConnect).is_ok()) << listen_only;
    EXPECT_TRUE(check_endpoint(listen_only, EndpointUse::kListen).is_ok()) << listen_only;
  }
  for (const char* bad : {"",
                          "tcp://",
                          "tcp://:7400",
                          "tcp://host",
                          "tcp://host:",
                          "tcp://host:0",
                          "tcp://host:65536",
                          "tcp://host:-1",
                          "tcp://host:+1",
                          "tcp://host:07",
                          "tcp://host:99999999999",
                          "tcp://host:7400/x",
                          "tcp://ho st:1",
                          "tcp://::1:7400",
                          "tcp://[]:1",
                          "tcp://[abc]:1",
                          "tcp://a;b:1",
                          "tcp://*:*",
                          "TCP://host:1",
                          "udp://host:1",
                          "inproc://x",
                          "host:1",
                          "ipc://",
                          "ipc://@",
                          "ipc://*",
                          "ipc://a\nb"}) {
    EXPECT_FALSE(check_endpoint(bad, EndpointUse::kListen).is_ok()) << bad;
  }
  EXPECT_TRUE(check_endpoint("ipc://" + std::string(107, 'p'), EndpointUse::kListen).is_ok());
  EXPECT_FALSE(check_endpoint("ipc://" + std::string(108, 'p'), EndpointUse::kListen).is_ok());
  EXPECT_FALSE(
      check_endpoint("tcp://" + std::string(254, 'h') + ":1", EndpointUse::kListen).is_ok());
}

TEST(ConfigValues, Ids) {
  for (const char* good : {"n1", "N-1_x", "7", "_"}) EXPECT_TRUE(check_id(good).is_ok()) << good;
  EXPECT_TRUE(check_id(std::string(64, 'a')).is_ok());
  for (const char* bad : {"", ".", "..", "a/b", "a b", "a.b", "z\xC3\xBC", "a\n"}) {
    EXPECT_FALSE(check_id(bad).is_ok()) << bad;
  }
  EXPECT_FALSE(check_id(std::string(65, 'a')).is_ok());
}

std::string expanded(std::string_view text) {
  const auto value = expand_environment(
      text,
      environment_of(
          {{"A", "1"}, {"EMPTY", ""}, {"DOLLAR", "${A}"}, {"LONG", std::string(40'000, 'x')}}));
  return value ? *value : "error: " + value.status().message();
}

TEST(ConfigValues, Environment) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("plain"), "plain");
  EXPECT_EQ(expanded("${A}"), "1");
  EXPECT_EQ(expanded("x${A}y${A}z"), "x1y1z");
  EXPECT_EQ(expanded("${EMPTY}"), "");
  EXPECT_EQ(expanded("${EMPTY:-d}"), "d");
  EXPECT_EQ(expanded("${NO:-}"), "");
  EXPECT_EQ(expanded("${NO:-tcp://h:1}"), "tcp://h:1");
  EXPECT_EQ(expanded("$$"), "$");
  EXPECT_EQ(expanded("$${A}"), "${A}");
  EXPECT_EQ(expanded("${DOLLAR}"), "${A}") << "what a variable holds is not expanded again";
  for (const char* wrong :
       {"$", "$A", "${", "${A", "${}", "${1A}", "${A B}", "${A-d}", "${NO}", "a$b"}) {
    EXPECT_TRUE(expanded(wrong).starts_with("error: ")) << wrong;
  }
  EXPECT_TRUE(expanded("${LONG}${LONG}").starts_with("error: expected at most 65536 bytes"));
}

TEST(Suggestion, FindsTheNearestAndNothingFar) {
  constexpr std::array<std::string_view, 4> kWords = {"shards", "storage", "max_sessions", "id"};
  EXPECT_EQ(closest_match("shard", kWords), "shards");
  EXPECT_EQ(closest_match("hsards", kWords), "shards");
  EXPECT_EQ(closest_match("SHARDS", kWords), "shards");
  EXPECT_EQ(closest_match("max-session", kWords), "max_sessions");
  EXPECT_EQ(closest_match("di", kWords), "id");
  EXPECT_EQ(closest_match("x", kWords), std::nullopt);
  EXPECT_EQ(closest_match("quorum", kWords), std::nullopt);
  EXPECT_EQ(closest_match("", kWords), std::nullopt);
  EXPECT_EQ(closest_match(std::string(100'000, 's'), kWords), std::nullopt);
}

}  // namespace
}  // namespace segue
