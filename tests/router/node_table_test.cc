#include "router/node_table.h"

#include <gtest/gtest.h>

namespace segue::router {
namespace {

TEST(NodeTable, SaysOnceWhyANodeIsNotReachable) {
  Node node;
  node.id = "n3";
  node.endpoint = "ipc://n3";
  const auto because = [&](const char* reason) {
    node.down_reason = reason;
    return node.unreachable();
  };
  EXPECT_EQ(node.unreachable(), "node n3 is not reachable: not connected yet");
  EXPECT_EQ(because("node n3 at ipc://n3 is gone: the connection ended"),
            "node n3 is not reachable: the connection ended (ipc://n3)");
  EXPECT_EQ(because("node n3 at ipc://n3 cannot be reached: no such name"),
            "node n3 is not reachable: no such name (ipc://n3)");
  EXPECT_EQ(because("node n3 at ipc://n3 does not answer"),
            "node n3 is not reachable: it does not answer (ipc://n3)");
  EXPECT_EQ(because("node n3 ended the link: it stops"),
            "node n3 is not reachable: it ended the link: it stops");
}

}  // namespace
}  // namespace segue::router
