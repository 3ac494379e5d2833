#include "tests/router/request_path_fixture.h"

namespace segue::router {
namespace {

class ExclusiveQueuesTest : public RequestPathTest {
 protected:
  void create_mine(const std::string& name) {
    v1::SessionOwner owner;
    owner.set_router_id("r1");
    owner.set_router_incarnation(router->incarnation());
    owner.set_session_id(session_id);
    create_queue(name, 0, &owner);
  }
  void end_session() {
    v1::ClientFrame close;
    close.mutable_close();
    client->send(close);
  }
};

TEST_F(ExclusiveQueuesTest, AreDeletedWhenTheirSessionEnds) {
  create_mine("mine");
  create_queue("other", 0);
  end_session();
  const auto asked = n1.catalog_requests();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].operation().delete_queue().id(), queues["mine"].id());
  EXPECT_FALSE(asked[0].operation().has_asker());
  delete_queue("mine");
  v1::CatalogOutcome done;
  done.set_index(catalog_index);
  outcome(asked[0].request_id(), done);
  EXPECT_EQ(router->kept_for_sessions(), 0u);
}

TEST_F(ExclusiveQueuesTest, AreAskedForAgainUntilTheyAreGone) {
  create_mine("mine");
  down("n1");
  end_session();
  for (int i = 0; i < 20; ++i) advance(seconds(1));
  EXPECT_TRUE(n1.catalog_requests().empty());
  up("n1");
  advance(seconds(2));
  const auto asked = n1.catalog_requests();
  ASSERT_EQ(asked.size(), 1u);
  v1::CatalogOutcome failed;
  failed.mutable_error()->set_code(541);
  outcome(asked[0].request_id(), failed);
  advance(seconds(2));
  EXPECT_EQ(n1.catalog_requests().size(), 1u);
}

TEST_F(ExclusiveQueuesTest, AreDeletedWhenTheirDeclareFinishesAfterTheSession) {
  declare("late", true);
  end_session();
  n1.catalog_requests();
  create_mine("late");
  advance(seconds(1));
  ASSERT_EQ(n1.catalog_requests().size(), 1u);
}

TEST_F(ExclusiveQueuesTest, AreFoundInASnapshot) {
  create_mine("mine");
  end_session();
  n1.catalog_requests();
  start({});
  up("n1");
  // The new life of the router owns none of the old one's.
  create_cluster();
  advance(seconds(1));
  EXPECT_TRUE(n1.catalog_requests().empty());
}

}  // namespace
}  // namespace segue::router
