#include "common/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace segue {
namespace {

TEST(Pattern, IsFoundAnywhereUnlessItSaysWhere) {
  EXPECT_TRUE(Pattern::compile("b.")->matches("abc"));
  EXPECT_FALSE(Pattern::compile("^b")->matches("abc"));
  EXPECT_TRUE(Pattern::compile("^a.*c$")->matches("abc"));
  EXPECT_TRUE(Pattern::compile("")->matches("anything"));
  EXPECT_TRUE(Pattern::compile("^.$")->matches("\xC3\xA4"));  // one character
}

TEST(Pattern, SaysWhatIsWrong) {
  for (const char* expression : {"(", "a**", "[", "(?=x)", "(a)\\1", "\xff"}) {
    const auto pattern = Pattern::compile(expression);
    ASSERT_FALSE(pattern.is_ok()) << expression;
    EXPECT_EQ(pattern.status().code(), Code::kPreconditionFailed);
    EXPECT_NE(pattern.status().message().find("regular expression"), std::string::npos);
  }
}

TEST(Pattern, IsBoundedInSize) {
  EXPECT_TRUE(Pattern::compile(std::string(Pattern::kMaxBytes, 'a')).is_ok());
  EXPECT_FALSE(Pattern::compile(std::string(Pattern::kMaxBytes + 1, 'a')).is_ok());
  // Small as a text, large compiled.
  EXPECT_FALSE(Pattern::compile("((a{100}){100}){100}").is_ok());
  const auto costly = Pattern::compile("(.?){999}x{999}$");
  ASSERT_FALSE(costly.is_ok());
  EXPECT_NE(costly.status().message().find("at most 3000"), std::string::npos)
      << costly.status().message();
  EXPECT_TRUE(Pattern::compile("^[\\pL\\pN_]+-\\pL+$").is_ok());
}

TEST(Pattern, WhatWouldBacktrackForeverDoesNot) {
  const auto pattern = Pattern::compile("^(a+)+(a|aa)*$");
  ASSERT_TRUE(pattern.is_ok());
  EXPECT_FALSE(pattern->matches(std::string(254, 'a') + "b"));
}

}  // namespace
}  // namespace segue
