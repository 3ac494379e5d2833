#include "cli/demo/record_file.h"

#include <gtest/gtest.h>

#include "tests/fakes/process.h"

namespace segue::cli::demo {
namespace {

constexpr const char* kTwo =
    "Package: aa\n"
    "Status: install ok installed\n"
    "Priority: optional\n"
    "Section: contrib/net\n"
    "Description: first\n"
    " more of it\n"
    " .\n"
    " Section: not a field\n"
    "\n"
    "Package: bb\n"
    "section:libs  \n"
    "PRIORITY: required\n";

RecordFile parse(const std::string& text) {
  Result<RecordFile> file = RecordFile::parse(text, "test");
  EXPECT_TRUE(file) << file.status().to_string();
  return std::move(file).value();
}

TEST(DemoRecordFile, CutsPackagesByteForByte) {
  const RecordFile file = parse(kTwo);
  EXPECT_EQ(file.kind(), RecordFile::Kind::kPackages);
  ASSERT_EQ(file.records().size(), 2u);
  const std::string text = kTwo;
  const std::size_t blank = text.find("\n\n");
  EXPECT_EQ(file.records()[0].body, text.substr(0, blank + 1));
  EXPECT_EQ(file.records()[1].body, text.substr(blank + 2));
  EXPECT_EQ(file.bytes(), text.size() - 1);
}

TEST(DemoRecordFile, KeysPackagesBySectionAndPriority) {
  const RecordFile file = parse(kTwo);
  EXPECT_EQ(file.records()[0].key, "contrib-net.optional");
  EXPECT_EQ(file.records()[1].key, "libs.required");
}

TEST(DemoRecordFile, TakesAnyNumberOfBlankLinesAndALastLineWithoutNewline) {
  const RecordFile file = parse("\n \n\nPackage: a\n\n\t\n\r\nPackage: b\nSection: x");
  ASSERT_EQ(file.records().size(), 2u);
  EXPECT_EQ(file.records()[0].body, "Package: a\n");
  EXPECT_EQ(file.records()[0].key, "unknown.unknown");
  EXPECT_EQ(file.records()[1].body, "Package: b\nSection: x");
}

TEST(DemoRecordFile, TakesLineEndsOfTheOtherKind) {
  const RecordFile file = parse("Package: a\r\nSection: s\r\nPriority: p\r\n\r\nPackage: b\r\n");
  ASSERT_EQ(file.records().size(), 2u);
  EXPECT_EQ(file.records()[0].key, "s.p");
  EXPECT_EQ(file.records()[0].body, "Package: a\r\nSection: s\r\nPriority: p\r\n");
}

TEST(DemoRecordFile, CutsOtherTextIntoLines) {
  const RecordFile file = parse(std::string("one\n\ntwo\r\n\0x\nlast", 17));
  EXPECT_EQ(file.kind(), RecordFile::Kind::kLines);
  ASSERT_EQ(file.records().size(), 5u);
  EXPECT_EQ(file.records()[0].body, "one");
  EXPECT_EQ(file.records()[1].body, "");
  EXPECT_EQ(file.records()[2].body, "two\r");
  EXPECT_EQ(file.records()[3].body, std::string_view("\0x", 2));
  EXPECT_EQ(file.records()[4].body, "last");
  EXPECT_EQ(file.records()[4].key, "lines.plain");
}

TEST(DemoRecordFile, OneLineIsOneRecord) {
  EXPECT_EQ(parse("x").records().size(), 1u);
  EXPECT_EQ(parse("x\n").records().size(), 1u);
  EXPECT_EQ(parse("\n").records().size(), 1u);
}

TEST(DemoRecordFile, BodiesStayValidWhenItIsMoved) {
  RecordFile first = parse("ab");
  const RecordFile second = std::move(first);
  EXPECT_EQ(second.records()[0].body, "ab");
  EXPECT_EQ(second.records()[0].hash, body_hash("ab"));
}

TEST(DemoRecordFile, RefusesWhatIsEmptyMissingOrNoFile) {
  const Status empty = RecordFile::parse("", "nothing.txt").status();
  EXPECT_EQ(empty.code(), Code::kPreconditionFailed);
  EXPECT_NE(empty.message().find("nothing.txt"), std::string::npos);

  const TempDir directory;
  const Status missing = RecordFile::load(directory.path() + "/no-such").status();
  EXPECT_EQ(missing.code(), Code::kIoError);
  EXPECT_NE(missing.message().find("no-such"), std::string::npos);
  EXPECT_NE(missing.message().find("No such file"), std::string::npos);
  EXPECT_EQ(RecordFile::load(directory.path()).status().code(), Code::kIoError);
}

TEST(DemoRecordFile, RefusesARecordLargerThanAMessage) {
  const Status status =
      RecordFile::parse("small\n" + std::string(RecordFile::kMaxRecordBytes + 1, 'x'), "f")
          .status();
  EXPECT_EQ(status.code(), Code::kContentTooLarge);
  EXPECT_NE(status.message().find("record 2"), std::string::npos) << status.message();
}

TEST(DemoRecordFile, LoadsAFile) {
  const TempDir directory;
  const Result<RecordFile> file = RecordFile::load(directory.write("status", kTwo));
  ASSERT_TRUE(file) << file.status().to_string();
  EXPECT_EQ(file->records().size(), 2u);
}

}  // namespace
}  // namespace segue::cli::demo
