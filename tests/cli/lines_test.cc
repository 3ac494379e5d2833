#include "cli/lines.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace segue::cli {
namespace {

struct Cut {
  std::vector<std::string> lines;
  bool last_ended = true;

  // As `segue consume` puts them together again.
  std::string joined() const {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += lines[i];
      if (i + 1 < lines.size() || last_ended) text += '\n';
    }
    return text;
  }
};

// Cuts `text`, given to the splitter in blocks of `block` bytes.
Cut cut(const std::string& text, std::size_t block = 1 << 20) {
  LineSplitter splitter(std::size_t{4} << 20);
  Cut result;
  const auto take = [&] {
    while (const auto line = splitter.next()) {
      result.lines.emplace_back(line->text);
      result.last_ended = line->ended;
    }
  };
  for (std::size_t at = 0; at < text.size(); at += block) {
    splitter.add(std::string_view(text).substr(at, block));
    take();
  }
  splitter.finish();
  take();
  EXPECT_EQ(splitter.count(), result.lines.size());
  return result;
}

TEST(LineSplitter, CutsAtNewlines) {
  EXPECT_EQ(cut("a\nb\n").lines, (std::vector<std::string>{"a", "b"}));
}

TEST(LineSplitter, GivesNothingForAnEmptyFile) {
  EXPECT_TRUE(cut("").lines.empty());
}

TEST(LineSplitter, KeepsEmptyLines) {
  EXPECT_EQ(cut("\n\n\na\n\n").lines, (std::vector<std::string>{"", "", "", "a", ""}));
}

TEST(LineSplitter, TellsALastLineWithoutNewline) {
  const Cut result = cut("a\nb");
  EXPECT_EQ(result.lines, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(result.last_ended);
}

TEST(LineSplitter, KeepsEveryOtherByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != '\n') all += static_cast<char>(byte);
  }
  EXPECT_EQ(cut(all + "\n" + "\r\n" + std::string(3, '\0') + "\n").lines,
            (std::vector<std::string>{all, "\r", std::string(3, '\0')}));
}

TEST(LineSplitter, TakesLinesOfAMebibyteInSmallBlocks) {
  const std::string line(std::size_t{1} << 20, 'x');
  const Cut result = cut(line + "\n" + line + "\n", 4096);
  ASSERT_EQ(result.lines.size(), 2u);
  EXPECT_EQ(result.lines[0], line);
  EXPECT_EQ(result.lines[1], line);
}

TEST(LineSplitter, RefusesALongerLineThanAllowedAndNamesIt) {
  LineSplitter splitter(4);
  splitter.add("abcd\nabcde\nx\n");
  EXPECT_TRUE(splitter.next().has_value());
  EXPECT_FALSE(splitter.next().has_value());
  EXPECT_EQ(splitter.too_long(), std::size_t{2});
  EXPECT_FALSE(splitter.next().has_value());
}

TEST(LineSplitter, RefusesALongLineBeforeItsEndIsSeen) {
  LineSplitter splitter(4);
  splitter.add("abcdefgh");
  EXPECT_FALSE(splitter.next().has_value());
  EXPECT_EQ(splitter.too_long(), std::size_t{1});
}

RC_GTEST_PROP(LineSplitter, GivesBackWhateverItWasGiven, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('a', 'b', '\n', '\r', '\0', static_cast<char>(0xFF)));
  const auto block = *rc::gen::inRange<std::size_t>(1, 9);
  const Cut result = cut(text, block);
  RC_ASSERT(result.joined() == text);
}

}  // namespace
}  // namespace segue::cli
