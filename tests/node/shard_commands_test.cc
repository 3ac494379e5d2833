#include "node/shard_commands.h"

#include <gtest/gtest.h>

#include "segue/v1/shard_log.pb.h"
#include "tests/node/batches.h"

namespace segue::node {
namespace {

Result<ShardCommand> decode(const v1::ShardCommand& command, const std::string& bodies = "") {
  return decode_command(SharedBytes::from(command.SerializeAsString()), SharedBytes::from(bodies));
}

TEST(ShardCommands, AnEnqueueSurvivesTheLog) {
  EnqueueCommand command;
  command.time_ms = 17;
  command.producer_id = std::string("p\0q", 3);
  command.producer_session = 4;
  command.settled_below = 5;
  command.seqs = {{5, 7}};
  command.targets = {{QueueId{9}, Sequence{100}, {0, 2}, Sequence{101}},
                     {QueueId{10}, Sequence{1}, {}, Sequence{0}}};
  command.batch = make_batch({"a", "bb", "ccc"});
  const std::string bytes = encode_command(ShardCommand(command));
  auto back = decode_command(SharedBytes::from(bytes), SharedBytes::from("abbccc"));
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  const auto& same = std::get<EnqueueCommand>(*back);
  EXPECT_EQ(same.time_ms, 17);
  EXPECT_EQ(same.producer_id, command.producer_id);
  EXPECT_EQ(same.seqs, command.seqs);
  ASSERT_EQ(same.targets.size(), 2u);
  EXPECT_EQ(same.targets[0].places, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(same.targets[0].mark, Sequence{101});
  EXPECT_EQ(same.batch->body(1), "bb");
  EXPECT_EQ(encode_command(*back), bytes);
}

TEST(ShardCommands, SeqsThatAreOnlyNotedSurviveTheLog) {
  EnqueueCommand command;
  command.producer_id = "p";
  command.seqs = {{5, 7}};
  const std::string bytes = encode_command(ShardCommand(command));
  auto back = decode_command(SharedBytes::from(bytes), SharedBytes());
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(std::get<EnqueueCommand>(*back).seqs, command.seqs);
  EXPECT_EQ(std::get<EnqueueCommand>(*back).batch, nullptr);
  EXPECT_EQ(encode_command(*back), bytes);
}

TEST(ShardCommands, DeadFromTheBeginningSurvivesTheLog) {
  EnqueueCommand command;
  command.targets = {{QueueId{9}, Sequence{100}, {0, 2}, Sequence{0}}};
  command.targets[0].first_dead_number = 7;
  command.batch = make_batch({"a", "bb", "ccc"});
  auto back = decode_command(SharedBytes::from(encode_command(ShardCommand(command))),
                             SharedBytes::from("abbccc"));
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(std::get<EnqueueCommand>(*back).targets[0].first_dead_number, 7u);
  v1::ShardCommand odd;
  ASSERT_TRUE(odd.ParseFromString(encode_command(ShardCommand(command))));
  odd.mutable_enqueue()->mutable_targets(0)->set_first_dead_number(~std::uint64_t{0});
  EXPECT_FALSE(decode(odd, "abbccc").is_ok());
}

TEST(ShardCommands, TheOthersSurviveTheLog) {
  const std::vector<ShardCommand> commands = {
      SettleCommand{{{QueueId{1}, {{1, 5}, {9, 9}}}}}, RequeueCommand{{{QueueId{2}, {{7, 7}}}}},
      DeleteQueueCommand{QueueId{3}}, DeliveryMarkCommand{QueueId{4}, Sequence{77}},
      DeadLetterCommand{1234, v1::DEAD_REASON_EXPIRED, {{QueueId{5}, 17, {{4, 6}, {2, 2}}}}}};
  for (const ShardCommand& command : commands) {
    const std::string bytes = encode_command(command);
    auto back = decode_command(SharedBytes::from(bytes), {});
    ASSERT_TRUE(back.is_ok());
    EXPECT_EQ(back->index(), command.index());
    EXPECT_EQ(encode_command(*back), bytes);
  }
}

TEST(ShardCommands, DeadLettersThatMakeNoSenseAreCorruption) {
  v1::ShardCommand command;
  v1::DeadLetterCommand& dead = *command.mutable_dead_letter();
  v1::DeadSequences& queue = *dead.add_queues();
  v1::Range& range = *queue.add_sequences();
  range.set_first(5);
  range.set_last(9);
  queue.set_first_number(1);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);  // no reason
  dead.set_reason(v1::DEAD_REASON_REJECTED);
  EXPECT_TRUE(decode(command).is_ok());
  queue.set_first_number(0);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);
  queue.set_first_number(UINT64_MAX - 4);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);
  queue.set_first_number(1);
  range.set_first(0);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);
  range.set_first(10);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);
}

TEST(ShardCommands, WhatWouldTripAnApplyIsCorruption) {
  v1::ShardCommand command;
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);

  auto* range = command.mutable_settle()->add_queues()->add_sequences();
  range->set_first(5);
  range->set_last(4);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);
  range->set_last(UINT64_MAX);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);
  range->set_first(0);
  range->set_last(1);
  EXPECT_EQ(decode(command).status().code(), Code::kCorruption);

  const MessageBatchPtr batch = make_batch({"a", "b"});
  auto* enqueue = command.mutable_enqueue();
  enqueue->set_batch(std::string(batch->serialized().view()));
  auto* target = enqueue->add_targets();
  target->set_first_sequence(1);
  EXPECT_TRUE(decode(command, "ab").is_ok());
  EXPECT_EQ(decode(command, "abc").status().code(), Code::kCorruption);
  target->add_messages(2);
  EXPECT_EQ(decode(command, "ab").status().code(), Code::kCorruption);
  target->set_messages(0, 1);
  target->add_messages(1);
  EXPECT_EQ(decode(command, "ab").status().code(), Code::kCorruption);
  target->clear_messages();
  target->set_first_sequence(UINT64_MAX - 1);
  EXPECT_EQ(decode(command, "ab").status().code(), Code::kCorruption);
  EXPECT_EQ(decode_command(SharedBytes::from("\xff\xff"), {}).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace segue::node
