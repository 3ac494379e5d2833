#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/storage/model_node.h"

namespace segue::storage {

/// A disk whose log has let go of its beginning: 400 messages each in queues 1 and 2, in shards 1
/// and 0; the last 20 of each are in the log alone if the node is killed.
struct WorkedDisk {
  enum class End { kStopped, kKilled };

  explicit WorkedDisk(End end, bool checkpoint_at_end = true) {
    ModelNode node(files);
    for (std::uint64_t round = 0; round < 20; ++round) {
      for (const std::uint64_t queue : {1, 2}) {
        const std::uint64_t first = node.next_sequence(queue);
        EXPECT_TRUE(node.run(queue, "E " + std::to_string(queue) + " " + std::to_string(first) +
                                        " " + std::to_string(first + 19) + " " +
                                        std::string(3000, 'x')));
      }
      if (round == 19 && !checkpoint_at_end) break;
      for (const std::uint64_t queue : {1, 2}) {
        EXPECT_TRUE(node.checkpoint(ModelNode::shard_of(queue)));
        if (round == 5) older[queue] = files.content(checkpoint(queue));
      }
      for (int i = 0; i < 5; ++i) node.poll();
    }
    whole = *node.held();
    if (end == End::kStopped) {
      node.stop();
    } else {
      files.kill_process();
    }
  }

  static std::string checkpoint(std::uint64_t queue) {
    return "/data/shards/" + std::to_string(queue % ModelNode::kShards) + "/checkpoint";
  }
  std::vector<std::string> paths_in(const std::string& directory) const {
    std::vector<std::string> found;
    for (const std::string& path : files.paths()) {
      if (path.starts_with(directory)) found.push_back(path);
    }
    return found;
  }
  void remove_all(const std::string& directory) {
    for (const std::string& path : paths_in(directory)) EXPECT_TRUE(files.remove(path).is_ok());
  }
  Status start() { return ModelNode(files).opened(); }
  /// As after a start; nothing if it is refused.
  std::optional<Model> held() {
    ModelNode node(files);
    return node.opened().is_ok() ? node.held() : std::nullopt;
  }

  FaultyFileSystem files;
  std::map<std::uint64_t, std::string> older;  // checkpoints, by queue
  Model whole;
};

}  // namespace segue::storage
