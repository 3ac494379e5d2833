#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "common/routing/topic_trie.h"

namespace segue {
namespace {

std::vector<RouteTarget> match(TopicTrie& trie, std::string_view key) {
  std::vector<RouteTarget> queues{QueueId(999)};  // what was there before is replaced
  trie.match(key, queues);
  return queues;
}

bool matches(std::string_view pattern, std::string_view key) {
  TopicTrie trie;
  trie.add(pattern, QueueId(1));
  return !match(trie, key).empty();
}

TEST(TopicTrie, MatchesWordsAndWildcards) {
  EXPECT_TRUE(matches("a.b", "a.b"));
  EXPECT_FALSE(matches("a.b", "a"));
  EXPECT_FALSE(matches("a.b", "a.b.c"));
  EXPECT_FALSE(matches("a.b", "A.b"));
  EXPECT_TRUE(matches("*", "a"));
  EXPECT_FALSE(matches("*", "a.b"));
  EXPECT_TRUE(matches("a.*.c", "a.b.c"));
  EXPECT_FALSE(matches("a.*.c", "a.c"));
  EXPECT_TRUE(matches("#", "a"));
  EXPECT_TRUE(matches("#", "a.b.c"));
  EXPECT_TRUE(matches("a.#", "a"));
  EXPECT_TRUE(matches("a.#", "a.b.c"));
  EXPECT_FALSE(matches("a.#", "b"));
  EXPECT_TRUE(matches("#.c", "c"));
  EXPECT_TRUE(matches("#.c", "a.b.c"));
  EXPECT_TRUE(matches("#.c", "c.c"));
  EXPECT_FALSE(matches("#.c", "c.d"));
  EXPECT_TRUE(matches("a.#.c", "a.c"));
  EXPECT_TRUE(matches("a.#.c", "a.b.c.b.c"));
  EXPECT_FALSE(matches("a.#.c", "a.c.b"));
  EXPECT_TRUE(matches("#.#", "a"));
  EXPECT_TRUE(matches("#.*", "a"));
  EXPECT_TRUE(matches("#.*.#", "a.b"));
  EXPECT_TRUE(matches("*.#", "a"));
}

TEST(TopicTrie, TheEmptyKeyHasNoWords) {
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("#", ""));
  EXPECT_TRUE(matches("#.#", ""));
  EXPECT_FALSE(matches("*", ""));
  EXPECT_FALSE(matches("#.*", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("", "."));
}

TEST(TopicTrie, EmptyWordsBetweenDotsAreWords) {
  EXPECT_TRUE(matches("a..b", "a..b"));
  EXPECT_FALSE(matches("a..b", "a.b"));
  EXPECT_TRUE(matches("a.*.b", "a..b"));
  EXPECT_TRUE(matches("*.*", "."));
  EXPECT_FALSE(matches("*", "."));
  EXPECT_TRUE(matches(".", "."));
  EXPECT_TRUE(matches("a.*", "a."));
}

TEST(TopicTrie, WildcardsInsideAWordMeanThemselves) {
  EXPECT_TRUE(matches("a*", "a*"));
  EXPECT_FALSE(matches("a*", "ab"));
  EXPECT_TRUE(matches("x#y.*", "x#y.z"));
  EXPECT_FALSE(matches("#b", "a.b"));
  EXPECT_TRUE(matches("**", "**"));
  EXPECT_FALSE(matches("**", "a"));
}

TEST(TopicTrie, WildcardsInAKeyAreOrdinaryWords) {
  EXPECT_TRUE(matches("*", "*"));
  EXPECT_TRUE(matches("*", "#"));
  EXPECT_FALSE(matches("a", "*"));
  EXPECT_FALSE(matches("a.b", "a.#"));
  EXPECT_TRUE(matches("#", "#.*"));
}

TEST(TopicTrie, TakesAnyBytes) {
  const std::string zero("a\0.b", 4);
  EXPECT_TRUE(matches(zero, zero));
  EXPECT_FALSE(matches("a.b", zero));
  EXPECT_TRUE(matches("\xFF.*", "\xFF.\xC3"));
}

TEST(TopicTrie, AQueueComesOnceHoweverManyPatternsMatch) {
  TopicTrie trie;
  trie.add("a.#", QueueId(7));
  trie.add("#.b", QueueId(7));
  trie.add("*.*", QueueId(7));
  trie.add("a.b", QueueId(3));
  EXPECT_EQ(match(trie, "a.b"), (std::vector<RouteTarget>{QueueId(3), QueueId(7)}));
}

TEST(TopicTrie, TheSamePatternTwiceNeedsTwoRemovals) {
  TopicTrie trie;
  trie.add("a.*", QueueId(1));
  trie.add("a.*", QueueId(1));
  trie.remove("a.*", QueueId(1));
  EXPECT_EQ(match(trie, "a.b").size(), 1u);
  trie.remove("a.*", QueueId(1));
  EXPECT_TRUE(match(trie, "a.b").empty());
}

TEST(TopicTrie, RemovalFreesWhatNobodyElseNeeds) {
  TopicTrie trie;
  trie.add("a.b.c.#", QueueId(1));
  trie.add("a.b", QueueId(2));
  EXPECT_EQ(trie.node_count(), 5u);
  trie.remove("a.b.c.#", QueueId(1));
  EXPECT_EQ(trie.node_count(), 3u);
  EXPECT_EQ(match(trie, "a.b"), std::vector<RouteTarget>{QueueId(2)});
  trie.remove("a.b", QueueId(2));
  EXPECT_EQ(trie.node_count(), 1u);
  trie.add("#.z", QueueId(3));
  EXPECT_EQ(match(trie, "a.b.z"), std::vector<RouteTarget>{QueueId(3)});
  EXPECT_TRUE(match(trie, "a.b").empty());
}

TEST(TopicTrie, RemovalOfWhatIsNotThereChangesNothing) {
  TopicTrie trie;
  trie.add("a.b", QueueId(1));
  trie.remove("a.c", QueueId(1));
  trie.remove("a.b.c.d", QueueId(1));
  trie.remove("a.b", QueueId(2));
  EXPECT_EQ(match(trie, "a.b"), std::vector<RouteTarget>{QueueId(1)});
}

// With a recursive matcher this takes longer than the universe has.
TEST(TopicTrie, ManyHashesAreNotExponential) {
  TopicTrie trie;
  std::string pattern = "#";
  for (int i = 0; i < 60; ++i) pattern += ".a.#";
  trie.add(pattern + ".b", QueueId(1));
  std::string key = "a";
  for (int i = 0; i < 126; ++i) key += ".a";
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(match(trie, key).empty());
  EXPECT_EQ(match(trie, key + ".b").size(), 1u);
}

TEST(TopicTrie, AMillionWordsAreNoProblem) {
  TopicTrie trie;
  const std::string dots(1'000'000, '.');
  trie.add(dots, QueueId(1));
  EXPECT_EQ(match(trie, dots).size(), 1u);
  trie.remove(dots, QueueId(1));
  EXPECT_EQ(trie.node_count(), 1u);
}

// ---- against a matcher that is too simple to be wrong

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  std::string word;
  for (const char letter : text) {
    if (letter == '.') {
      words.push_back(word);
      word.clear();
    } else {
      word += letter;
    }
  }
  words.push_back(word);
  return words;
}

bool naive_match(const std::vector<std::string>& pattern, std::size_t p,
                 const std::vector<std::string>& key, std::size_t k) {
  if (p == pattern.size()) return k == key.size();
  if (pattern[p] == "#") {
    return naive_match(pattern, p + 1, key, k) ||
           (k < key.size() && naive_match(pattern, p, key, k + 1));
  }
  return k < key.size() && (pattern[p] == "*" || pattern[p] == key[k]) &&
         naive_match(pattern, p + 1, key, k + 1);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : ".") + words[i];
  return text;
}

rc::Gen<std::string> some_pattern() {
  const auto word = rc::gen::element<std::string>("a", "b", "", "*", "#", "#", "a*");
  return rc::gen::map(rc::gen::resize(6, rc::gen::container<std::vector<std::string>>(word)), join);
}

rc::Gen<std::string> some_key() {
  const auto word = rc::gen::element<std::string>("a", "a", "b", "", "*", "#", "c");
  return rc::gen::map(rc::gen::resize(7, rc::gen::container<std::vector<std::string>>(word)), join);
}

RC_GTEST_PROP(TopicTrieProperty, AgreesWithANaiveMatcherWhileBindingsComeAndGo, ()) {
  struct Bound {
    std::string pattern;
    QueueId queue;
  };
  TopicTrie trie;
  std::vector<Bound> bound;
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    if (!bound.empty() && *rc::gen::inRange(0, 3) == 0) {
      const auto at =
          static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(bound.size())));
      trie.remove(bound[at].pattern, bound[at].queue);
      bound.erase(bound.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      bound.push_back({*some_pattern(), QueueId(*rc::gen::inRange<std::uint64_t>(1, 6))});
      trie.add(bound.back().pattern, bound.back().queue);
    }
    const std::string key = *some_key();
    std::vector<RouteTarget> expected;
    for (const Bound& binding : bound) {
      if (naive_match(split(binding.pattern), 0, split(key), 0)) expected.push_back(binding.queue);
    }
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    RC_ASSERT(match(trie, key) == expected);
  }
  for (const Bound& binding : bound) trie.remove(binding.pattern, binding.queue);
  RC_ASSERT(trie.node_count() == 1u);
}

}  // namespace
}  // namespace segue
