#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/sanitized.h"
#include "tests/storage/model_node.h"

namespace segue::storage {

/// A random workload on a node, and what the node must hold at any time.
class Workload {
 public:
  enum class Kind {
    kMixed,
    kGarbage,  // a lot is stored, and settled here and there
    kLikely,   // the same, but only what was there is settled, as by a real node
  };
  explicit Workload(std::uint64_t seed, Kind kind = Kind::kMixed) : random_(seed), kind_(kind) {}

  /// Does `steps` random things; stops when the node is dead.
  void run(ModelNode& node, int steps) {
    for (int i = 0; i < steps && !node.dead(); ++i) step(node);
    copies_ += node.disk().stats().gc.copies;
  }
  /// Copies of segments, of all nodes that it ran on.
  std::uint64_t copies() const { return copies_; }
  /// What the node must hold, but for the command whose commit was not heard of.
  const Model& model() const { return model_; }

  /// Empty if the node holds what it must; the command whose commit was not heard of may have
  /// happened.
  std::string difference(ModelNode& node) {
    const auto held = node.held();
    if (!node.losses().empty()) return "says that " + node.losses()[0].path + " was lost";
    if (!held) return "the disk could not be read: " + node.opened().to_string();
    if (*held == model_) {
      pending_.clear();
      return {};
    }
    if (!pending_.empty()) {
      Model with = model_;
      apply(with, pending_);
      if (*held == with) {
        model_ = std::move(with);
        pending_.clear();
        return {};
      }
    }
    return describe(*held);
  }

 private:
  void step(ModelNode& node) {
    if (kind_ != Kind::kMixed) return garbage_step(node);
    const std::uint64_t queue = 1 + random_.below(3) + 10 * generation_;
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::uint64_t first = node.next_sequence(queue);
        command(node, queue, "E", first, first + random_.below(20));
        break;
      }
      case 4:
      case 5:
      case 6: {
        const std::uint64_t next = node.next_sequence(queue);
        const std::uint64_t first = 1 + random_.below(next);
        command(node, queue, "S", first, first + random_.below(next));
        break;
      }
      case 7:
      case 8:
        node.store(queue, 1 + random_.below(30));
        break;
      case 9:
        (void)node.checkpoint(ModelNode::shard_of(queue));
        break;
      case 10:
        if (random_.below(4) == 0) {
          command(node, queue, "D", 0, 0);
          ++generation_;  // ids are never used again
        }
        break;
      default:
        poll(node);
    }
  }

  void garbage_step(ModelNode& node) {
    const std::uint64_t queue = 1 + random_.below(2) + 10 * generation_;
    const std::uint64_t next = node.next_sequence(queue);
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        command(node, queue, "E", next, next + 20 + random_.below(60));
        if (random_.below(3) > 0) node.store(queue, ~std::size_t{0});
        break;
      case 3:
        (void)node.checkpoint(ModelNode::shard_of(queue));
        break;
      case 4:
        if (random_.below(12) == 0) {
          command(node, queue, "D", 0, 0);
          ++generation_;
        }
        break;
      case 5:
      case 6: {
        const std::uint64_t first = 1 + random_.below(next);
        command(node, queue, "S", first, first + random_.below(next / 3 + 1));
        break;
      }
      case 7:
      case 8:
      case 9:
      case 10: {
        // All but one of some.
        const std::uint64_t first = 1 + random_.below(next);
        command(node, queue, "S", first, first + 5 + random_.below(40));
        break;
      }
      default:
        poll(node);
    }
  }

  void poll(ModelNode& node) {
    node.poll();
    for (const ShardId shard : node.disk().take_wanted_checkpoints()) {
      (void)node.checkpoint(shard);
    }
  }

  void command(ModelNode& node, std::uint64_t queue, const char* kind, std::uint64_t first,
               std::uint64_t last) {
    if (kind_ == Kind::kLikely && *kind == 'S') return settle_held(node, queue, first, last);
    command_as_is(node, queue, kind, first, last);
  }

  /// Settles what is held between `first` and `last`, a command for each stretch of it.
  void settle_held(ModelNode& node, std::uint64_t queue, std::uint64_t first, std::uint64_t last) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
    if (const auto held = model_.find(queue); held != model_.end()) {
      const ModelQueue& messages = held->second;
      for (auto at = messages.lower_bound(first); at != messages.end() && at->first <= last; ++at) {
        if (stretches.empty() || stretches.back().second + 1 != at->first) {
          stretches.emplace_back(at->first, at->first);
        } else {
          stretches.back().second = at->first;
        }
      }
    }
    for (const auto& [begin, end] : stretches) {
      if (!node.dead()) command_as_is(node, queue, "S", begin, end);
    }
  }

  void command_as_is(ModelNode& node, std::uint64_t queue, const char* kind, std::uint64_t first,
                     std::uint64_t last) {
    const std::string text = std::string(kind) + " " + std::to_string(queue) + " " +
                             std::to_string(first) + " " + std::to_string(last);
    if (node.run(queue, text)) {
      apply(model_, text);
    } else if (node.dead()) {
      pending_ = text;
    }
  }

  static void apply(Model& model, const std::string& command) {
    std::istringstream in(command);
    char kind = 0;
    std::uint64_t queue = 0, first = 0, last = 0;
    in >> kind >> queue >> first >> last;
    if (kind == 'D') {
      model.erase(queue);
      return;
    }
    ModelQueue& messages = model[queue];
    if (kind == 'E') {
      for (std::uint64_t s = first; s <= last; ++s) messages[s] = ModelNode::body(queue, s);
    } else {
      messages.erase(messages.lower_bound(first), messages.upper_bound(last));
    }
    if (messages.empty()) model.erase(queue);
  }

  std::string describe(const Model& held) const {
    std::ostringstream text;
    const auto list = [&](const char* what, const Model& model) {
      for (const auto& [queue, messages] : model) {
        text << what << " queue " << queue << ":";
        for (const auto& [sequence, body] : messages) text << " " << sequence;
        text << "\n";
      }
    };
    list("must hold", model_);
    list("holds", held);
    text << "pending: " << pending_ << "\n";
    return text.str();
  }

  SeededRandom random_;
  const Kind kind_;
  Model model_;
  std::string pending_;
  std::uint64_t generation_ = 0;
  std::uint64_t copies_ = 0;
};

/// How many times more work than usual.
inline std::uint64_t effort() {
  const char* const text = std::getenv("SEGUE_TEST_EFFORT");
  return text == nullptr ? 1 : std::max(1ull, std::strtoull(text, nullptr, 10));
}

inline constexpr int kOutcomes = kSanitized ? 1 : 45;

/// Sanitizers look for errors in the code, not for rare crash points.
inline std::uint64_t seeds(std::uint64_t usual) {
  return kSanitized ? (usual + 9) / 10 : usual * effort();
}

/// What a loss of power left of the disk is chance: looks at several outcomes of the same one, each
/// of which `open` makes a node of. Their number; failures are told under `name`.
template <typename Open>
std::uint64_t check_outcomes(FaultyFileSystem& files, const Workload& workload, Random& random,
                             const std::string& name, Open open) {
  const MemoryDisk lost = files.disk();
  for (int i = 0; i < kOutcomes && !testing::Test::HasFailure(); ++i) {
    files.put_back(lost);
    files.crash(random);
    Workload after = workload;
    const std::unique_ptr<ModelNode> node = open();
    EXPECT_TRUE(node->opened().is_ok()) << name << ": " << node->opened().to_string();
    if (!node->opened().is_ok()) break;
    EXPECT_EQ(after.difference(*node), "") << name << " outcome " << i;
  }
  files.put_back(lost);
  return static_cast<std::uint64_t>(kOutcomes);
}

}  // namespace segue::storage
