// What clients send that no client should, byte by byte over a plain socket, to a real router: the
// right answer comes, the session ends where it must, the router lives and others go on.

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "common/status.h"
#include "tests/fakes/process_figures.h"
#include "tests/fakes/steady_traffic.h"
#include "tests/fakes/zmtp_client.h"

namespace segue {
namespace {

std::uint32_t number(Code code) {
  return static_cast<std::uint32_t>(code);
}

class HostileClients : public testing::Test {
 protected:
  static constexpr std::uint64_t kMaxFrame = 1 << 20;

  void SetUp() override {
    cluster_.start_all();
    ASSERT_TRUE(cluster_.wait_ready()) << cluster_.logs();
    traffic_.emplace(cluster_);
    ASSERT_TRUE(traffic_->goes_on()) << traffic_->failure();
  }
  void TearDown() override {
    EXPECT_TRUE(traffic_->goes_on()) << traffic_->failure();
    EXPECT_EQ(traffic_->reconnects(), 0u);
    EXPECT_TRUE(cluster_.check().empty()) << cluster_.logs();
  }
  std::string router() const { return cluster_.endpoint("r1"); }

  static v1::ClientFrame heartbeat() {
    v1::ClientFrame frame;
    frame.mutable_heartbeat();
    return frame;
  }
  // After Hello, `frames` as one message are answered with Close and `code`, and nothing is
  // answered after that but that the session is unknown.
  void expect_close(ZmtpClient& client, Code code, const std::string& what) {
    EXPECT_EQ(client.next_close(), number(code)) << what << ": " << client.last_text();
    EXPECT_FALSE(client.last_text().empty()) << what;
    client.send(heartbeat());
    EXPECT_EQ(client.next_close(), number(Code::kStaleEpoch)) << what;
  }
  void expect_close(const std::vector<std::string>& frames, Code code, const std::string& what) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open()) << what;
    client.send_message(frames);
    expect_close(client, code, what);
  }

  TestCluster cluster_{{.nodes = 1,
                        .shards = 4,
                        .yaml = "limits:\n  max_frame_bytes: 1MiB\n  max_message_bytes: 256KiB\n"
                                "  publish_credit_bytes: 512KiB\n  max_unconfirmed: 1000\n"}};
  std::optional<SteadyTraffic> traffic_;
};

TEST_F(HostileClients, BytesThatAreNotZeroMqAtAllAreIgnored) {
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(i * 7919 >> 3);
  for (const std::string& bytes :
       {noise, std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100, '\xff'),
        std::string(10, '\0'), std::string("\xff")}) {
    ZmtpClient client(router());
    client.send_bytes(bytes);
    client.vanish();
  }
  // A greeting cut anywhere.
  const std::string greeting = std::string("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16) +
                               std::string(48, '\0') + std::string("\x04\x1a\x05READY", 8);
  for (std::size_t size = 0; size <= greeting.size(); ++size) {
    ZmtpClient(router()).send_bytes(greeting.substr(0, size));
  }
}

TEST_F(HostileClients, AMessageCutOffAnywhereLeavesNothingBehind) {
  ZmtpClient probe(router());
  const std::string whole =
      ZmtpClient::frame(probe.stamped(heartbeat()).SerializeAsString(), true) +
      ZmtpClient::frame(std::string(300, 'b'), false);
  for (std::size_t size = 0; size < whole.size(); size += size < 40 ? 1 : 29) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open(100));
    client.send_bytes(whole.substr(0, size));
  }
}

TEST_F(HostileClients, FramesWithoutHelloAreToldThatTheSessionIsUnknown) {
  ZmtpClient client(router());
  ASSERT_TRUE(client.greet());
  ASSERT_TRUE(client.publish("steady", 1, 1, "not let in"));
  EXPECT_EQ(client.next_close(), number(Code::kStaleEpoch));
  // The same socket may begin properly.
  ZmtpClient later(router());
  EXPECT_TRUE(later.open());
}

TEST_F(HostileClients, AnotherVersionIsToldWhichOneIsSpokenHere) {
  for (const std::uint32_t version : {0u, 2u, 1u << 31}) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.greet());
    v1::ClientFrame frame;
    frame.mutable_hello()->set_protocol_version(version);
    ASSERT_TRUE(client.send(frame));
    EXPECT_EQ(client.next_close(), number(Code::kNotImplemented));
    EXPECT_NE(client.last_text().find("version 1"), std::string::npos) << client.last_text();
  }
}

TEST_F(HostileClients, BrokenFramesEndTheSessionWithFrameError) {
  ZmtpClient names(router());
  const std::string good = names.stamped(heartbeat()).SerializeAsString();
  expect_close({"\xff\xff\xff\xff"}, Code::kFrameError, "no protobuf");
  expect_close({good, "bodies"}, Code::kFrameError, "bodies behind a heartbeat");
  expect_close({good, "", "third"}, Code::kFrameError, "a third frame");
  expect_close(std::vector<std::string>(100, "x"), Code::kFrameError, "a hundred frames");
}

TEST_F(HostileClients, AnEmptyMessageOrAFrameFromElsewhereIsAnsweredToo) {
  ZmtpClient client(router());
  ASSERT_TRUE(client.open());
  // Not of this session, as far as anybody can tell; the session goes on.
  ASSERT_TRUE(client.send_message({""}));
  EXPECT_EQ(client.next_close(), number(Code::kStaleEpoch));
  v1::Request request;
  request.mutable_cluster_status();
  ASSERT_TRUE(client.request(5, request));
  EXPECT_EQ(client.next().reply().request_id(), 5u);
}

TEST_F(HostileClients, AnUnknownKindOfFrameEndsTheSessionAnUnknownFieldDoesNot) {
  ZmtpClient client(router());
  ASSERT_TRUE(client.open());
  // Field 200 of a heartbeat: a newer client may say more than this router knows.
  const std::string unknown_field("\xc2\x0c\x03new", 6);
  ASSERT_TRUE(
      client.send_message({client.stamped(heartbeat()).SerializeAsString() + unknown_field}));
  v1::Request request;
  request.mutable_cluster_status();
  ASSERT_TRUE(client.request(1, request));
  EXPECT_TRUE(client.next().reply().has_cluster_status_ok());
  // An operation that this version does not know fails by itself.
  ASSERT_TRUE(client.request(2, {}));
  EXPECT_EQ(client.next().reply().error().code(), number(Code::kNotImplemented));
  // A frame of which nothing is known cannot be left out.
  ASSERT_TRUE(client.send_message({client.stamped({}).SerializeAsString() + unknown_field}));
  expect_close(client, Code::kFrameError, "an unknown kind");
}

TEST_F(HostileClients, LostAndRepeatedFramesEndTheSession) {
  for (const std::uint64_t sequence : {1ull, 3ull, ~0ull, 0ull}) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open());
    v1::ClientFrame frame = client.stamped(heartbeat());
    frame.mutable_link()->set_sequence(sequence);
    ASSERT_TRUE(client.send_message({frame.SerializeAsString()}));
    expect_close(client, Code::kStaleEpoch, "sequence " + std::to_string(sequence));
  }
}

TEST_F(HostileClients, AFrameThatIsTooLargeIsToldOneFarTooLargeIsNotEvenRead) {
  expect_close({std::string(kMaxFrame + 1, 'h')}, Code::kFrameError, "header of 1 MiB + 1");
  ZmtpClient names(router());
  const std::string good = names.stamped(heartbeat()).SerializeAsString();
  expect_close({good, std::string(kMaxFrame + 1, 'b')}, Code::kFrameError, "bodies of 1 MiB + 1");
  const ProcessFigures before = ProcessFigures::of(cluster_.process("r1").pid());
  for (const std::uint64_t size : {std::uint64_t{1} << 32, std::uint64_t{1} << 40,
                                   ~std::uint64_t{0} >> 1, ~std::uint64_t{0}}) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open());
    client.send_bytes(std::string("\x02", 1) + ZmtpClient::size_field(size) + "xxxx");
    EXPECT_TRUE(client.wait_ended()) << size;
  }
  const ProcessFigures after = ProcessFigures::of(cluster_.process("r1").pid());
  EXPECT_LT(after.resident_kib, before.resident_kib + 32 * 1024);
}

TEST_F(HostileClients, AMessageThatIsTooLargeIsRejectedAndTheSessionGoesOn) {
  ZmtpClient client(router());
  ASSERT_TRUE(client.open());
  ASSERT_TRUE(client.publish("steady-2", 1, 1, std::string((256 << 10) + 1, 'x')));
  const v1::RouterFrame rejected = client.next();
  ASSERT_EQ(rejected.confirm().rejected_size(), 1) << rejected.ShortDebugString();
  EXPECT_EQ(rejected.confirm().rejected(0).error().code(), number(Code::kContentTooLarge));
  ASSERT_TRUE(client.publish("steady-2", 2, 1, "small"));
  EXPECT_EQ(client.next().confirm().confirmed(0).first(), 2u);
}

TEST_F(HostileClients, OverrunningTheCreditEndsTheSession) {
  {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open());
    ASSERT_TRUE(client.publish("steady-2", 1, 3, std::string(200 << 10, 'x')));
    expect_close(client, Code::kNoCredit, "600 KiB of 512 KiB");
  }
  ZmtpClient client(router());
  ASSERT_TRUE(client.open());
  ASSERT_TRUE(client.publish("steady-2", 1, 1001, "x"));
  expect_close(client, Code::kNoCredit, "1,001 unconfirmed of 1,000");
}

TEST_F(HostileClients, BatchesThatDoNotAddUpEndTheSession) {
  const auto batch = [](std::uint32_t size) {
    v1::ClientFrame frame;
    frame.mutable_publish()->set_first_seq(1);
    frame.mutable_publish()->mutable_batch()->add_headers()->set_routing_key("steady-2");
    frame.mutable_publish()->mutable_batch()->add_sizes(size);
    return frame;
  };
  for (const std::uint32_t size : {0u, 3u, 5u, ~0u}) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open());
    ASSERT_TRUE(client.send(batch(size), "four"));
    expect_close(client, Code::kFrameError, "size " + std::to_string(size) + " of 4 bytes");
  }
  v1::ClientFrame frame = batch(4);
  frame.mutable_publish()->mutable_batch()->add_header_index(7);
  ZmtpClient client(router());
  ASSERT_TRUE(client.open());
  ASSERT_TRUE(client.send(frame, "four"));
  expect_close(client, Code::kFrameError, "header 7 of 1");
}

TEST_F(HostileClients, EveryCutAndEveryFlippedBitOfAPublishIsSurvived) {
  v1::ClientFrame frame;
  frame.mutable_publish()->set_first_seq(1);
  frame.mutable_publish()->mutable_batch()->add_headers()->set_routing_key("nowhere");
  frame.mutable_publish()->mutable_batch()->add_sizes(4);
  const auto attack = [&](const std::function<void(std::string&)>& change) {
    ZmtpClient client(router());
    ASSERT_TRUE(client.open(100));
    std::string bytes = client.stamped(frame).SerializeAsString();
    change(bytes);
    ASSERT_TRUE(client.send_message({bytes, "four"}));
    // Either the session ended, or it took the message or left it alone, and goes on.
    v1::Request request;
    request.mutable_cluster_status();
    client.request(1, request);
    const v1::RouterFrame answer = client.next();
    EXPECT_NE(answer.body_case(), v1::RouterFrame::BODY_NOT_SET) << "no answer at all";
  };
  ZmtpClient probe(router());
  ASSERT_TRUE(probe.greet());
  ASSERT_TRUE(probe.send_hello());
  const std::size_t size = probe.stamped(frame).SerializeAsString().size();
  for (std::size_t cut = 0; cut < size; ++cut) {
    attack([&](std::string& bytes) { bytes.resize(cut); });
  }
  for (std::size_t bit = 0; bit < 8 * size; ++bit) {
    attack([&](std::string& bytes) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    });
  }
}

}  // namespace
}  // namespace segue
