#pragma once

#include <cstddef>
#include <cstdint>

namespace segue::cli::demo {

/// Which producer publishes which record when: the records are dealt out to the producers in turn,
/// and each producer publishes its own, in the file's order, once in every pass. Its messages have
/// the seqs 1, 2, ... Pure numbers; any thread.
class PublishPlan {
 public:
  /// As many whole passes as are needed for `least_messages`, at least one. No more producers than
  /// records. `records` and `producers` are at least 1.
  PublishPlan(std::size_t records, std::size_t producers, std::uint64_t least_messages);

  struct Item {
    std::uint64_t pass = 0;  // from 1
    std::size_t record = 0;  // from 0
    bool operator==(const Item&) const = default;
  };

  std::size_t records() const { return records_; }
  std::size_t producers() const { return producers_; }
  std::uint64_t passes() const { return passes_; }
  std::uint64_t total() const { return passes_ * records_; }
  /// How many messages the producer (from 0) publishes.
  std::uint64_t count(std::size_t producer) const { return passes_ * share(producer); }
  /// What its message `seq`, in [1, count(producer)], is.
  Item item(std::size_t producer, std::uint64_t seq) const;

 private:
  // Records of one producer.
  std::uint64_t share(std::size_t producer) const;

  std::size_t records_;
  std::size_t producers_;
  std::uint64_t passes_;
};

}  // namespace segue::cli::demo
