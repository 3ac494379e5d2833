#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "storage/checkpoint_file.h"
#include "storage/segment_salvage.h"
#include "storage/wal_format.h"
#include "tests/storage/model_workload.h"
#include "tests/storage/repair_fixture.h"

namespace segue::storage {

/// A node that was killed, and what its queues held.
struct KilledNode {
  explicit KilledNode(std::uint64_t seed) : random(seed) {
    Workload workload(seed, Workload::Kind::kLikely);
    {
      ModelNode node(files, 4096, [&] { return static_cast<int>(random.below(4)); });
      const int age = 20 + static_cast<int>(random.below(100));
      for (int i = 0; i < 160; i += 10) {
        workload.run(node, 10);
        if (i <= age) older = contents(files);
      }
      held = *node.held();
    }
    files.kill_process();
  }

  std::vector<std::string> paths(const std::string& directory, const std::string& end) const {
    std::vector<std::string> found;
    for (const std::string& path : files.paths()) {
      if (path.starts_with(directory) && path.ends_with(end)) found.push_back(path);
    }
    return found;
  }
  void remove(const std::string& path) { EXPECT_TRUE(files.remove(path).is_ok()); }
  void remove_log(bool first, std::size_t count) {
    const auto log = paths("/data/wal/", ".wal");
    for (std::size_t i = 0; i < std::min(count, log.size()); ++i) {
      remove(first ? log[i] : log[log.size() - 1 - i]);
    }
  }
  /// The .data files that the checkpoints name, there or not.
  std::vector<std::string> named() {
    std::vector<std::string> names;
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) {
      const std::string shard = path.substr(0, path.rfind('/'));
      const auto checkpoint = read_checkpoint(files, shard);
      if (!checkpoint.is_ok() || !checkpoint->has_value()) continue;
      for (const CheckpointQueue& queue : (*checkpoint)->queues) {
        for (const CheckpointSegment& segment : queue.segments) {
          names.push_back(shard + "/queues/" + queue.directory + "/" +
                          segment_file_name(segment.name(), ".data"));
        }
      }
    }
    return names;
  }
  void remove_segments() {
    const auto data = paths("/data/shards/", ".data");
    for (std::size_t i = 0; i < 3 && !data.empty(); ++i) {
      const std::string& path = data[random.below(data.size())];
      remove(path);
      remove(path.substr(0, path.size() - 5) + ".index");
    }
  }
  void age_checkpoints() {
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) {
      const auto old = older.find(path);
      if (old != older.end()) files.set_content(path, old->second);
    }
  }
  void lose_checkpoints() {
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) remove(path);
  }
  void damage_checkpoints() {
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) {
      files.flip_bit(path, 8 * 40);
      files.flip_bit(path, 8 * 41);
    }
  }
  void damage_a_byte_of_checkpoints() {
    for (const std::string& path : paths("/data/shards/", "/checkpoint")) {
      files.flip_bit(path, random.below(8 * files.content(path).size()));
    }
  }
  void damage_log(bool header) {
    const auto log = paths("/data/wal/", ".wal");
    if (log.empty()) return;
    const std::string& path = log[random.below(log.size())];
    const std::uint64_t blocks = files.content(path).size() / kWalBlock;
    if (blocks < 2) return;
    const std::uint64_t block = header ? 0 : 1 + random.below(blocks - 1);
    files.flip_bit(path, (block * kWalBlock + 41) * 8);
  }

  /// Messages that must be there, and stand in a segment's file.
  Model in_files() {
    Model found;
    for (const std::string& path : paths("/data/shards/", ".data")) {
      const std::size_t slash = path.rfind('/');
      const std::string directory = path.substr(0, slash);
      const auto id = queue_of_directory_name(directory.substr(directory.rfind('/') + 1));
      const auto name = segment_of_file_name(path.substr(slash + 1), ".data");
      if (!id || !name || !held.contains(id->value)) continue;
      const auto segment = salvage_segment(files, *id, directory, *name, name->generation > 0);
      if (!segment.is_ok() || !segment->has_value()) continue;
      const auto intact = find_intact(files, *id, directory, **segment);
      const ModelQueue& queue = held.at(id->value);
      for (std::size_t i = 0; i < (*segment)->entries.size(); ++i) {
        const auto message = queue.find((*segment)->sequence(i).value);
        if (message != queue.end() && (*intact)[i]) found[id->value].insert(*message);
      }
    }
    return found;
  }

  SeededRandom random;
  FaultyFileSystem files;
  std::map<std::string, std::string> older;  // files, at some time
  Model held;
};

/// Repairs the node again and again from where it is, and takes the power away at each call of the
/// file system, from shortly before the repair changes anything to its end; `test(nth)` looks at
/// what that left. How many times.
template <typename Test>
std::size_t interrupt_repairs(KilledNode& killed, Test test) {
  constexpr std::uint64_t kStride = 50;  // while it only reads
  const MemoryDisk::Image image = killed.files.image();
  const auto before = contents(killed.files);
  std::size_t interrupted = 0;
  bool changes = false;
  for (std::uint64_t nth = kStride; !testing::Test::HasFailure(); nth += changes ? 1 : kStride) {
    killed.files.restore(image);
    killed.files.halt_at(nth);
    const bool done = repair(killed.files).status.is_ok() && !killed.files.halted();
    const bool changed = done || contents(killed.files) != before;
    killed.files.crash(killed.random);
    if (changed && !changes) {
      changes = true;
      nth -= kStride;
      continue;
    }
    if (done) break;
    ++interrupted;
    test(nth);
  }
  return interrupted;
}

/// What `held` lacks of `wanted`.
inline std::string lacks(const Model& held, const Model& wanted) {
  std::ostringstream text;
  for (const auto& [queue, messages] : wanted) {
    const auto found = held.find(queue);
    for (const auto& [sequence, body] : messages) {
      if (found == held.end() || !found->second.contains(sequence)) {
        text << " " << queue << "/" << sequence;
      } else if (found->second.at(sequence) != body) {
        text << " " << queue << "/" << sequence << " (another body)";
      }
    }
  }
  return text.str();
}

/// Segment files that are gone must be in the repair's folder, as they were.
inline std::string not_kept(const std::map<std::string, std::string>& before,
                            FaultyFileSystem& files) {
  std::string text;
  for (const auto& [path, content] : before) {
    const bool segment = path.starts_with("/data/shards/") && path.ends_with(".data");
    if (!segment || files.exists(path)) continue;
    const std::string kept = "/data/repair-now" + path.substr(5);
    if (!files.exists(kept) || files.content(kept) != content) text += " " + path;
  }
  return text;
}

}  // namespace segue::storage
