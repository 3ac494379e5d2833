#include "client/router_link.h"

#include <gtest/gtest.h>

#include "tests/fakes/process.h"

namespace segue::client {
namespace {

using std::chrono::seconds;

TEST(RouterLink, WhatWasSentWhereNobodyListenedDoesNotArriveLater) {
  const TempDir directory;
  const std::string endpoint = "ipc://" + directory.path() + "/r";
  Wakeup wakeup;
  RouterLink link(wakeup, 1 << 20);
  ASSERT_TRUE(link.connect(endpoint).is_ok());
  ASSERT_TRUE(link.send("given up", {}, false));
  while (link.broken().empty()) link.wait(seconds(10));

  ASSERT_TRUE(link.connect(endpoint).is_ok());
  ZmqContext context;
  ZmqSocket router(context, ZmqSocket::Kind::kRouter, {});
  ASSERT_TRUE(router.bind(endpoint).is_ok());
  ASSERT_TRUE(link.send("meant", {}, false));
  Poller poller;
  poller.add(router);
  WireMessage message;
  while (!router.receive(message)) poller.wait(seconds(10));
  EXPECT_EQ(message.header.view(), "meant");
  // The former connection had 200 ms to be made after all.
  poller.wait(std::chrono::milliseconds(400));
  EXPECT_FALSE(router.receive(message)) << message.header.view();
}

}  // namespace
}  // namespace segue::client
