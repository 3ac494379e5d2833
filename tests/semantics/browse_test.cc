// `segue browse` through real processes.

#include "tests/semantics/tool_fixture.h"

namespace segue::client {
namespace {

using Browse = ToolSemantics;

TEST_F(Browse, Line23ShowsEachMessageWithItsPlaceAndChangesNothing) {
  queue("q");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("q", 6));
  ASSERT_TRUE(next_of("q").ack_confirmed().get());
  const Delivery held = next_of("q");               // 1
  ASSERT_TRUE(next_of("q").ack_confirmed().get());  // 2
  const Ran all = segue({"browse", "q"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.out,
            "#2  key q  1 B  {\"headers\":{\"odd\":1}}\n  1\n"
            "#4  key q  1 B  {\"headers\":{\"odd\":1}}\n  3\n"
            "#5  key q  1 B  {\"headers\":{\"odd\":0}}\n  4\n"
            "#6  key q  1 B  {\"headers\":{\"odd\":1}}\n  5\n");
  EXPECT_EQ(segue({"browse", "q"}).out, all.out);
  const QueueDescription status = admin().queue_status("q").value();
  EXPECT_EQ(status.ready, 3u);
  EXPECT_EQ(status.unacked, 1u);
  const Delivery next = next_of("q");
  EXPECT_EQ(next.body(), "3");
  EXPECT_FALSE(next.redelivered());
}

TEST_F(Browse, Line23TakesAFilterAPlaceAndANumber) {
  queue("q");
  ASSERT_NO_FATAL_FAILURE(publish_numbers("q", 6));
  EXPECT_EQ(
      segue({"browse", "q", "--filter", "header.odd=1", "--after", "2", "--headers-only"}).out,
      "#4  key q  1 B  {\"headers\":{\"odd\":1}}\n#6  key q  1 B  {\"headers\":{\"odd\":1}}\n");
  EXPECT_EQ(segue({"browse", "q", "--max", "1", "--ndjson"}).out,
            "{\"queue\":\"q\",\"place\":1,\"exchange\":\"\",\"routing_key\":\"q\",\"properties\":"
            "{\"headers\":{\"odd\":0}},\"body_bytes\":1,\"body\":\"0\"}\n");
  EXPECT_EQ(segue({"browse", "q", "--filter", "header.odd=2"}).code, 3);
  const Ran wrong = segue({"browse", "q", "--filter", "odd"});
  EXPECT_EQ(wrong.code, 64);
  EXPECT_NE(wrong.err.find("position 1"), std::string::npos) << wrong.err;
  const Ran none = segue({"browse", "none"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("NOT_FOUND"), std::string::npos) << none.err;
}

TEST_F(Browse, Line23PlacesOfALongQueueWithGapsAreExact) {
  queue("q");
  constexpr int kMessages = 3000;
  ASSERT_NO_FATAL_FAILURE(publish_numbers("q", kMessages));
  // Number 0 to 2999 are at 1 to 3000; some in the middle go.
  ConsumerOptions all_at_once;
  all_at_once.prefetch = 0;
  Consumer consumer = connection().subscribe("q", all_at_once).value();
  for (int i = 0; i < 1200; ++i) {
    const auto delivery = consumer.next(kLong);
    ASSERT_TRUE(delivery);
    if (i % 100 == 3) {
      ASSERT_TRUE(delivery->ack_confirmed().get());
    }
  }
  const Ran shown = segue({"browse", "q"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::string expected;
  for (int i = 0; i < kMessages; ++i) {
    if (i < 1200 && i % 100 == 3) continue;
    const std::string body = std::to_string(i);
    expected += "#" + std::to_string(i + 1) + "  key q  " + std::to_string(body.size()) +
                " B  {\"headers\":{\"odd\":" + std::to_string(i % 2) + "}}\n  " + body + "\n";
  }
  EXPECT_EQ(shown.out, expected);
}

TEST_F(Browse, Line23GoesFromTheHighestPriorityDown) {
  queue("p", {{"x-max-priority", 3}});
  for (const std::uint32_t priority : {1u, 3u, 0u, 3u}) {
    Message message = Message::to_queue("p", "of " + std::to_string(priority));
    message.header.properties.priority = priority;
    ASSERT_TRUE(publish(std::move(message)).confirmed);
  }
  const Ran all = segue({"browse", "p", "--ndjson"});
  std::size_t at = 0;
  for (const char* const body : {"of 3", "of 3", "of 1", "of 0"}) {
    at = all.out.find(body, at + 1);
    EXPECT_NE(at, std::string::npos) << body << " in " << all.out;
  }
}

}  // namespace
}  // namespace segue::client
