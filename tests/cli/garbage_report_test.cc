#include "cli/garbage_report.h"

#include <gtest/gtest.h>

#include "common/json_input.h"

namespace segue::cli {
namespace {

client::QueueSegments files() {
  client::QueueSegments made;
  made.node = "n1";
  made.segments = {{"sealed", 1, 1000, 1, 1 << 20, 1 << 19, 1000, 500},
                   {"compacting", 1001, 2000, 0, 1 << 20, 1100, 1000, 1},
                   {"merging", 2001, 3000, 0, 1 << 18, 1 << 18, 1000, 1000},
                   {"active", 3001, 3001, 0, 100, 100, 1, 1}};
  return made;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SegmentsText, DrawsABarForEachFile) {
  const std::string text = segments_text("orders\n", files());
  EXPECT_TRUE(has(text,
                  "Queue orders\\x0a on node n1: 4 segments, 2.3 MiB, 33 % of them valid; "
                  "1,502 of 3,001 messages left\n"))
      << text;
  EXPECT_TRUE(has(text, "500  ################................\n")) << text;
  // One message out of a thousand is seen, and so is a small file.
  EXPECT_TRUE(has(
      text, "compacting    1.0 MiB    0 %     1,000      1  #...............................\n"))
      << text;
  EXPECT_TRUE(has(text, "########\n")) << text;
  EXPECT_TRUE(has(text, "      1  #\n")) << text;
}

TEST(SegmentsText, SaysWhenThereIsNothingAndWhenItIsPaused) {
  client::QueueSegments none;
  none.node = "n1";
  none.paused = true;
  const std::string text = segments_text("q", none);
  EXPECT_TRUE(has(text, "no files")) << text;
  EXPECT_TRUE(has(text, "paused")) << text;
  EXPECT_FALSE(has(text, "FIRST")) << text;
}

TEST(SegmentsJson, HasAllNumbersAndTheirSums) {
  const auto json = parse_json(segments_json("q", files()));
  ASSERT_TRUE(json.is_ok()) << json.status().message();
  const std::string text = segments_json("q", files());
  EXPECT_TRUE(
      has(text, "\"bytes\":2359396,\"valid_bytes\":787632,\"messages\":3001,\"valid\":1502"))
      << text;
  EXPECT_TRUE(has(text, "{\"first\":1001,\"last\":2000,\"generation\":0,\"state\":\"compacting\""))
      << text;
}

TEST(GarbageText, IsIdleWhenNothingWaitsWhateverTheLastSecondCopied) {
  std::vector<client::GarbageDescription> nodes(1);
  nodes[0].node = "n1";
  nodes[0].bytes_per_second = 64 << 20;
  EXPECT_TRUE(has(garbage_text(nodes), "n1    idle")) << garbage_text(nodes);
  nodes[0].waiting_queues = 1;
  EXPECT_TRUE(has(garbage_text(nodes), "n1    collecting")) << garbage_text(nodes);
}

TEST(GarbageText, SaysWhetherAQueueIsPausedOrBeingCollected) {
  std::vector<client::GarbageDescription> nodes(1);
  nodes[0].node = "n1";
  QueueGarbage queue{"q", true, false};
  EXPECT_TRUE(has(garbage_text(nodes, &queue),
                  "\nQueue q: collecting its garbage is paused; "
                  "`segue gc resume q` goes on\n"));
  queue = {"q", false, true};
  EXPECT_TRUE(has(garbage_text(nodes, &queue), "\nQueue q: its garbage is being collected"));
  EXPECT_TRUE(has(garbage_json(nodes, &queue),
                  "\"queue\":\"q\",\"queue_paused\":false,\"queue_running\":true}"));
  nodes[0].paused = true;
  EXPECT_TRUE(has(garbage_text(nodes, &queue), "`segue gc resume` goes on, since the whole node"));
}

TEST(GarbageText, ShowsEachNodeAndWhyOneDidNotAnswer) {
  std::vector<client::GarbageDescription> nodes(3);
  nodes[0].node = "n1";
  nodes[0].debt_bytes = 5 << 20;
  nodes[0].bytes_per_second = 64 << 20;
  nodes[0].running = true;
  nodes[0].longest_pause = std::chrono::microseconds(14);
  nodes[1].node = "n2";
  nodes[1].paused = true;
  nodes[1].paused_queues = 3;
  nodes[1].last_pause = std::chrono::microseconds(1250);
  nodes[2].node = "n3";
  nodes[2].error = client::Error{client::ErrorCode::kShardUnavailable, "", "node n3 is down"};
  const std::string text = garbage_text(nodes);
  EXPECT_TRUE(has(text, "n1    collecting  5.0 MiB")) << text;
  EXPECT_TRUE(has(text, "64.0 MiB/s")) << text;
  EXPECT_TRUE(has(text, "14 us\n")) << text;
  EXPECT_TRUE(has(text, "n2    PAUSED")) << text;
  EXPECT_TRUE(has(text, "1.3 ms")) << text;
  EXPECT_TRUE(has(text, "LAST STALL  LONGEST STALL\n")) << text;
  EXPECT_TRUE(has(garbage_json(nodes), "\"paused_queues\":3,"));
  EXPECT_TRUE(has(text, "\nn3: node n3 is down\n")) << text;
  EXPECT_TRUE(has(garbage_json(nodes), "{\"node\":\"n3\",\"error\":\"node n3 is down\"}"));
}

TEST(GarbageText, TellsHowFarTheScrubberIs) {
  std::vector<client::GarbageDescription> nodes(2);
  nodes[0].node = "n1";
  nodes[0].scrub_bytes_per_second = 4 << 20;
  nodes[0].scrubbed_bytes = 5 << 20;
  nodes[1].node = "n2";
  std::string text = garbage_text(nodes);
  EXPECT_TRUE(has(text,
                  "\nn1 verified 5.0 MiB of files, 4.0 MiB/s at most; no pass over all of them has "
                  "ended; 0 damaged messages found\n"))
      << text;
  EXPECT_TRUE(has(text, "\nn2 verifies no files in the background")) << text;
  EXPECT_TRUE(has(garbage_json(nodes), "\"scrub_passes\":0,\"last_scrub_ago_ms\":null"));
  nodes[0].scrub_passes = 2;
  nodes[0].last_scrub_ago = std::chrono::minutes(5);
  nodes[0].scrub_found = 1;
  text = garbage_text(nodes);
  EXPECT_TRUE(has(text, "the last pass over all of them ended 5m ago; 1 damaged message found\n"))
      << text;
  EXPECT_TRUE(has(garbage_json(nodes), "\"last_scrub_ago_ms\":300000,\"scrub_found\":1"));
}

}  // namespace
}  // namespace segue::cli
