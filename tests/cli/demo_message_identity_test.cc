#include "cli/demo/message_identity.h"

#include <gtest/gtest.h>

namespace segue::cli::demo {
namespace {

TEST(DemoMessageIdentity, ComesBackFromTheHeader) {
  const RecordFile file =
      RecordFile::parse("Package: a\nSection: net\nPriority: x\n\nPackage: b\n", "test").value();
  const PublishPlan plan(2, 2, 6);
  const client::MessageHeader header = message_header(file, plan, 1, 3);
  EXPECT_EQ(header.exchange, "packages");
  EXPECT_EQ(header.routing_key, "unknown.unknown");
  const Arrival arrival = read_headers(header.properties.headers);
  EXPECT_EQ(arrival.producer, 1u);
  EXPECT_EQ(arrival.seq, 3u);
  EXPECT_EQ(arrival.pass, 3u);
  EXPECT_EQ(arrival.record, 1u);
}

TEST(DemoMessageIdentity, ForeignHeadersAreThoseOfNoMessage) {
  for (const client::Table& headers :
       {client::Table{}, client::Table{{"producer", "x"}, {"seq", true}},
        client::Table{{"producer", 0}, {"seq", -5}, {"record", 0}, {"pass", 0}}}) {
    const Arrival arrival = read_headers(headers);
    EXPECT_EQ(arrival.producer, UINT64_MAX);
    EXPECT_EQ(arrival.seq, 0u);
    EXPECT_EQ(arrival.record, UINT64_MAX);
    EXPECT_EQ(arrival.pass, 0u);
  }
}

}  // namespace
}  // namespace segue::cli::demo
