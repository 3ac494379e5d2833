// Random publishes with ids, times, restarts and checkpoints against a plain list of what was
// enqueued when.
#include <algorithm>
#include <memory>

#include "common/random.h"
#include "tests/node/deduplication_fixture.h"

namespace segue::node {
namespace {

class DeduplicationProperty : public DeduplicationTest {
 protected:
  static constexpr std::int64_t kWindow = 2000;

  std::uint64_t pick(std::uint64_t bound) { return random_->below(bound); }

  void start(std::uint64_t seed) {
    random_ = std::make_unique<SeededRandom>(seed);
    disk = storage::FakeDiskDataCenter();
    definitions.clear();
    added_.clear();
    expected_.clear();
    made_ = 0;
    most_ = 2 + pick(12);
    options.free_disk_limit = 0;
    options.checkpoint_wal_bytes = seed % 3 == 0 ? 2000 : 1u << 30;
    open();
    v1::QueueDefinition& definition = define_window(1, kWindow);
    set(definition, "x-deduplication-max", static_cast<std::int64_t>(most_));
    host->add_queue(definition);
    tick();
  }

  bool knows(const std::string& id) const {
    const std::size_t from = added_.size() - std::min<std::size_t>(added_.size(), most_);
    return std::any_of(added_.begin() + static_cast<std::ptrdiff_t>(from), added_.end(),
                       [&](const auto& entry) {
                         return entry.first == id && clock.wall_ms() - entry.second < kWindow;
                       });
  }

  void do_publish() {
    Bodies bodies;
    std::vector<std::pair<std::string, std::int64_t>> taken;
    const std::uint64_t count = 1 + pick(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string id = pick(6) == 0 ? "" : std::to_string(pick(20));
      const std::string body = id + ":" + std::to_string(++made_);
      bodies.push_back(body);
      const bool repeats = std::any_of(taken.begin(), taken.end(),
                                       [&](const auto& entry) { return entry.first == id; });
      if (!id.empty() && (repeats || knows(id))) continue;
      expected_.push_back(body);
      if (!id.empty()) taken.emplace_back(id, clock.wall_ms());
    }
    added_.insert(added_.end(), taken.begin(), taken.end());
    publish_confirmed(bodies, {1});
  }

  void step() {
    switch (pick(8)) {
      case 0:
      case 1:
        return tick(std::chrono::milliseconds(1 + pick(900)));
      case 2:
        return pick(4) == 0 ? reopen() : void();
      case 3:
        return pick(3) == 0 ? open() : void();
      default:
        return do_publish();
    }
  }

  std::unique_ptr<SeededRandom> random_;
  std::vector<std::pair<std::string, std::int64_t>> added_;
  Bodies expected_;
  std::uint64_t most_ = 0;
  std::uint64_t made_ = 0;
};

TEST_F(DeduplicationProperty, LetsInWhatTheWindowDoesNotKnowThroughRestartsAndCheckpoints) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    start(seed);
    for (int i = 0; i < 200 && !HasFailure(); ++i) step();
    ASSERT_EQ(drain(), expected_);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace segue::node
