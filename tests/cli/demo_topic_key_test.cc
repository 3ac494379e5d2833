#include "cli/demo/topic_key.h"

#include <gtest/gtest.h>

namespace segue::cli::demo {
namespace {

TEST(DemoTopicKey, MakesOneWordOfAnything) {
  EXPECT_EQ(topic_word("libs"), "libs");
  EXPECT_EQ(topic_word("contrib/net"), "contrib-net");
  EXPECT_EQ(topic_word("a.b*#c d"), "a-b--c-d");
  EXPECT_EQ(topic_word("c++_x-1"), "c++_x-1");
  EXPECT_EQ(topic_word("\xc3\xa4"), "--");
  EXPECT_EQ(topic_word(""), "unknown");
  EXPECT_EQ(topic_word(std::string(500, 'x')).size(), 100u);
}

TEST(DemoTopicKey, AKeyHasTwoWords) {
  EXPECT_EQ(topic_key("non-free/libs", "optional"), "non-free-libs.optional");
  EXPECT_EQ(topic_key("", ""), "unknown.unknown");
}

TEST(DemoTopicKey, MatchesAsTopicExchangesDo) {
  EXPECT_TRUE(topic_matches("libs.*", "libs.optional"));
  EXPECT_FALSE(topic_matches("libs.*", "libs"));
  EXPECT_FALSE(topic_matches("libs.*", "libs.a.b"));
  EXPECT_FALSE(topic_matches("libs.*", "oldlibs.optional"));
  EXPECT_TRUE(topic_matches("*.required", "admin.required"));
  EXPECT_FALSE(topic_matches("*.required", "required"));
  EXPECT_TRUE(topic_matches("#.required", "required"));
  EXPECT_TRUE(topic_matches("#.required", "a.b.required"));
  EXPECT_TRUE(topic_matches("python.#", "python"));
  EXPECT_TRUE(topic_matches("python.#", "python.a.b"));
  EXPECT_FALSE(topic_matches("python.#", "pythonx.a"));
  EXPECT_TRUE(topic_matches("#", ""));
  EXPECT_TRUE(topic_matches("#", "a.b"));
  EXPECT_TRUE(topic_matches("a.#.b", "a.b"));
  EXPECT_TRUE(topic_matches("a.#.b", "a.b.x.b"));
  EXPECT_FALSE(topic_matches("a.#.b", "a.b.x"));
  EXPECT_FALSE(topic_matches("", "a"));
  EXPECT_TRUE(topic_matches("", ""));
  EXPECT_TRUE(topic_matches("a.*.b", "a..b"));
}

TEST(DemoTopicKey, OneMatchingPatternIsEnough) {
  EXPECT_TRUE(any_topic_matches({"x.*", "*.plain"}, "lines.plain"));
  EXPECT_FALSE(any_topic_matches({"x.*", "*.y"}, "lines.plain"));
  EXPECT_FALSE(any_topic_matches({}, "lines.plain"));
}

}  // namespace
}  // namespace segue::cli::demo
