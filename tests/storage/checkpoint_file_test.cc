#include "storage/checkpoint_file.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {
namespace {

Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.shard = ShardId{3};
  checkpoint.applied = LogIndex{77};
  checkpoint.state = "the node's state";
  checkpoint.queues = {
      {QueueId{7},
       "a%2Fb-7",
       {{Sequence{1}, 3, Sequence{20}, 4000, 20, 3, true},
        {Sequence{25}, 0, Sequence{30}, 640, 6, 6, false}}},
      {QueueId{9}, "-9", {}},
  };
  return checkpoint;
}

std::string file_of(const Checkpoint& checkpoint) {
  return checkpoint.encode_head() + checkpoint.state;
}

TEST(CheckpointFile, GoesRound) {
  const auto decoded = Checkpoint::decode(file_of(example()));
  ASSERT_TRUE(decoded.is_ok()) << decoded.status().to_string();
  EXPECT_EQ(*decoded, example());
  EXPECT_EQ(*Checkpoint::decode(file_of(Checkpoint{})), Checkpoint{});
}

TEST(CheckpointFile, DetectsEveryFlippedBit) {
  std::string file = file_of(example());
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(Checkpoint::decode(file).is_ok()) << "bit " << bit;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(CheckpointFile, DetectsEveryCut) {
  const std::string file = file_of(example());
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_EQ(Checkpoint::decode(file.substr(0, size)).status().code(), Code::kCorruption) << size;
  }
  EXPECT_EQ(Checkpoint::decode(file + "x").status().code(), Code::kCorruption);
}

TEST(CheckpointFile, RefusesWhatItWouldNotWrite) {
  const auto refused = [](const std::function<void(CheckpointQueue&)>& change) {
    Checkpoint checkpoint = example();
    change(checkpoint.queues[0]);
    return Checkpoint::decode(file_of(checkpoint)).status().code() == Code::kCorruption;
  };
  EXPECT_FALSE(refused([](CheckpointQueue&) {}));
  EXPECT_TRUE(refused([](CheckpointQueue& queue) { queue.directory = "../x-7"; }));
  EXPECT_TRUE(refused([](CheckpointQueue& queue) { queue.directory = "a-8"; }));
  EXPECT_TRUE(refused([](CheckpointQueue& queue) { queue.segments[0].data_bytes = 100; }));
  EXPECT_TRUE(refused([](CheckpointQueue& queue) { queue.segments[1].first = Sequence{20}; }));
  EXPECT_TRUE(refused([](CheckpointQueue& queue) { queue.segments[1].last = Sequence{24}; }));
}

TEST(CheckpointFile, IsReplacedWholly) {
  FaultyFileSystem files;
  ASSERT_TRUE(files.make_directories("/s").is_ok());
  const auto no_fatal = [](const Status& status) { ADD_FAILURE() << status.to_string(); };
  EXPECT_FALSE(read_checkpoint(files, "/s")->has_value());
  ASSERT_TRUE(write_checkpoint(files, "/s", example(), no_fatal).is_ok());
  Checkpoint shorter = example();
  shorter.state = "x";
  shorter.queues.clear();
  ASSERT_TRUE(write_checkpoint(files, "/s", shorter, no_fatal).is_ok());
  EXPECT_EQ(**read_checkpoint(files, "/s"), shorter);
}

TEST(CheckpointFile, StaysWhenThereIsNoSpaceForTheNext) {
  FaultyFileSystem files;
  ASSERT_TRUE(files.make_directories("/s").is_ok());
  const auto no_fatal = [](const Status& status) { ADD_FAILURE() << status.to_string(); };
  ASSERT_TRUE(write_checkpoint(files, "/s", example(), no_fatal).is_ok());
  files.set_capacity(files.used_bytes() + 100);
  Checkpoint larger = example();
  larger.state = std::string(10'000, 's');
  EXPECT_EQ(write_checkpoint(files, "/s", larger, no_fatal).code(), Code::kNoSpace);
  EXPECT_EQ(**read_checkpoint(files, "/s"), example());
  EXPECT_FALSE(files.exists("/s/checkpoint.new"));
}

TEST(CheckpointFile, NamesFileAndOffsetOfDamage) {
  FaultyFileSystem files;
  std::string file = file_of(example());
  file.back() = static_cast<char>(file.back() ^ 1);
  files.set_content("/s/checkpoint", file);
  const auto read = read_checkpoint(files, "/s");
  EXPECT_EQ(read.status().code(), Code::kCorruption);
  EXPECT_NE(read.status().message().find("/s/checkpoint: "), std::string::npos);
  EXPECT_NE(read.status().message().find("at offset "), std::string::npos);
}

TEST(CheckpointFile, AFailedSyncIsFatal) {
  FaultyFileSystem files;
  ASSERT_TRUE(files.make_directories("/s").is_ok());
  files.fail_path("/s/checkpoint", FaultyFileSystem::kSync, Code::kIoError);
  int fatal = 0;
  EXPECT_FALSE(write_checkpoint(files, "/s", example(), [&](const Status&) { ++fatal; }).is_ok());
  EXPECT_EQ(fatal, 1);
}

}  // namespace
}  // namespace segue::storage
