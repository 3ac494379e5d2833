#include "router/publish_ledger.h"

#include <gtest/gtest.h>

#include "router/errors.h"
#include "tests/router/router_fixture.h"

namespace segue::router {
namespace {

PublishLedger make_ledger() {
  PublishLedger::Options options;
  options.credit_bytes = 1000;
  options.max_unconfirmed = 10;
  options.max_batch_bytes = 100;
  return PublishLedger(options);
}

TEST(PublishLedger, GivesCreditBackWithTheAnswers) {
  PublishLedger ledger = make_ledger();
  ASSERT_TRUE(ledger.admit(1, 2, 900, 0).is_ok());
  EXPECT_EQ(ledger.admit(3, 1, 101, 0).code(), Code::kNoCredit);
  ledger.confirm(1, 1, 500, v1::DURABILITY_SYNC);
  EXPECT_EQ(ledger.granted_bytes(), 1500u);
  EXPECT_TRUE(ledger.admit(3, 1, 600, 0).is_ok());
  EXPECT_EQ(ledger.admit(4, 1, 1, 0).code(), Code::kNoCredit);
  EXPECT_EQ(ledger.unconfirmed(), 2u);
}

TEST(PublishLedger, BoundsTheUnconfirmed) {
  PublishLedger ledger = make_ledger();
  EXPECT_TRUE(ledger.admit(1, 10, 0, 0).is_ok());
  EXPECT_EQ(ledger.admit(11, 1, 0, 0).code(), Code::kNoCredit);
  ledger.confirm_unroutable(4, 0);
  EXPECT_TRUE(ledger.admit(11, 1, 0, 0).is_ok());
}

TEST(PublishLedger, WantsRisingSeqs) {
  PublishLedger ledger = make_ledger();
  EXPECT_EQ(ledger.admit(0, 1, 0, 0).code(), Code::kFrameError);
  EXPECT_TRUE(ledger.admit(7, 2, 0, 0).is_ok());
  EXPECT_EQ(ledger.admit(8, 1, 0, 0).code(), Code::kFrameError);
  EXPECT_TRUE(ledger.admit(9, 1, 0, 0).is_ok());
  EXPECT_TRUE(ledger.admit(20, 1, 0, 0).is_ok());
  EXPECT_EQ(ledger.admit(~0ull, 2, 0, 0).code(), Code::kFrameError);
}

TEST(PublishLedger, BoundsTheMemoryOfHeaders) {
  PublishLedger ledger = make_ledger();
  ASSERT_TRUE(ledger.admit(1, 1, 0, 60).is_ok());
  ledger.hold_batch_bytes(60);
  EXPECT_EQ(ledger.admit(2, 1, 0, 60).code(), Code::kResourceError);
  ledger.release_batch_bytes(60);
  EXPECT_TRUE(ledger.admit(2, 1, 0, 60).is_ok());
}

TEST(PublishLedger, JoinsAnswersThatCameInAnyOrder) {
  PublishLedger ledger = make_ledger();
  ASSERT_TRUE(ledger.admit(1, 9, 0, 0).is_ok());
  EXPECT_FALSE(ledger.has_answers());
  ledger.confirm(7, 9, 0, v1::DURABILITY_SYNC);
  ledger.confirm(1, 2, 0, v1::DURABILITY_INTERVAL);
  ledger.confirm(3, 3, 0, v1::DURABILITY_SYNC);
  const v1::Error full = make_error(Code::kQueueFull, "q", "full");
  ledger.reject(4, 4, 0, full, {"q"});
  ledger.reject(5, 5, 0, full, {"q"});
  ledger.reject(6, 6, 0, full, {"other"});
  ASSERT_TRUE(ledger.has_answers());
  v1::Confirm confirm;
  ledger.take_answers(confirm);
  EXPECT_EQ(text_of(confirm.confirmed()), "1-3,7-9");
  EXPECT_EQ(confirm.durability(), v1::DURABILITY_INTERVAL);
  ASSERT_EQ(confirm.rejected_size(), 2);
  EXPECT_EQ(confirm.rejected(0).seqs().last(), 5u);
  EXPECT_FALSE(ledger.has_answers());
  EXPECT_EQ(ledger.unconfirmed(), 0u);
}

}  // namespace
}  // namespace segue::router
