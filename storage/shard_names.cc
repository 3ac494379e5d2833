#include "storage/shard_names.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/checkpoint_file.h"
#include "storage/interrupted_repair.h"

namespace segue::storage {

namespace {

class ShardNames {
 public:
  ShardNames(RepairWork& work, std::uint32_t shard_count)
      : work_(work), files_(work.files()), shard_count_(shard_count) {}

  Status run() {
    for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
      SEGUE_RETURN_IF_ERROR(read(shard));
    }
    leave_those_alone();
    SEGUE_RETURN_IF_ERROR(move_doubles_aside());
    if (!places_.empty()) follow_displaced();
    SEGUE_RETURN_IF_ERROR(move_away());
    return move_home();
  }

 private:
  std::string folder(std::uint32_t shard) const {
    return work_.path_of("shards/" + std::to_string(shard));
  }
  std::string between(std::uint32_t shard) const {
    return work_.path_of(kMovedShards) + "/" + std::to_string(shard);
  }

  /// What the folder's checkpoint says.
  Status read(std::uint32_t shard) {
    if (files_.exists(between(shard))) taken_.insert(shard);  // an interrupted repair was moving it
    auto checkpoint = read_checkpoint(files_, folder(shard));
    if (!checkpoint.is_ok() && checkpoint.status().code() == Code::kCorruption) return {};
    if (!checkpoint.is_ok()) return checkpoint.status();
    if (!checkpoint->has_value()) return {};
    const std::uint32_t says = (*checkpoint)->shard.value;
    if (says == shard) {
      taken_.insert(shard);
    } else if (says < shard_count_) {
      const std::int64_t more = more_here(**checkpoint, shard);
      if (more < 0) {
        alone_.insert(shard);
      } else {
        places_[shard] = says;
        if (more == 0) unsure_.insert(shard);
      }
    }
    return {};
  }

  /// How many more of the queues that it names are here than where its shard should be: none, or
  /// fewer, if it alone is in the wrong place.
  std::int64_t more_here(const Checkpoint& checkpoint, std::uint32_t shard) const {
    std::int64_t more_here = 0;
    for (const CheckpointQueue& queue : checkpoint.queues) {
      more_here += files_.exists(folder(shard) + "/queues/" + queue.directory);
      more_here -= files_.exists(folder(checkpoint.shard.value) + "/queues/" + queue.directory);
    }
    return more_here;
  }

  /// A checkpoint without queues changed places with one that has left its own.
  void leave_those_alone() {
    std::erase_if(places_, [&](const auto& place) {
      return unsure_.contains(place.first) && alone_.contains(place.second);
    });
  }

  /// Folders that say what another, in the right place, says too; or one that is moved there.
  Status move_doubles_aside() {
    for (auto at = places_.begin(); at != places_.end();) {
      if (taken_.insert(at->second).second) {
        ++at;
        continue;
      }
      RepairLoss loss;
      loss.more = true;
      const std::string path = folder(at->first);
      work_.done(path,
                 "is a copy of the folder of shard " + std::to_string(at->second) +
                     ", as its checkpoint says: it is moved to " + work_.folder() +
                     ". What shard " + std::to_string(at->first) +
                     " had beside the log is lost, unless its folder is elsewhere",
                 {}, loss);
      SEGUE_RETURN_IF_ERROR(work_.move_aside(path));
      at = places_.erase(at);
    }
    return {};
  }

  /// A folder without a checkpoint that tells, in a place that another one gets, goes where nobody
  /// else goes: along the chain of those that make room for each other.
  void follow_displaced() {
    std::map<std::uint32_t, std::uint32_t> came_from;
    for (const auto& [from, to] : places_) came_from[to] = from;
    for (const auto& [to, from] : came_from) {
      if (places_.contains(to) || !files_.exists(folder(to))) continue;
      std::uint32_t free = from;
      while (came_from.contains(free)) free = came_from[free];
      displaced_[to] = free;
    }
  }

  /// Those that do not know their place themselves first: the others are found again if this is
  /// interrupted.
  Status move_away() {
    for (const auto* const moves : {&displaced_, &places_}) {
      for (const auto& [from, to] : *moves) {
        work_.done(folder(from), "is the folder of shard " + std::to_string(to) +
                                     (moves == &places_ ? ", as its checkpoint says"
                                                        : ", whose place it has left") +
                                     ": it is moved to shards/" + std::to_string(to));
      }
    }
    if (places_.empty()) return {};
    SEGUE_RETURN_IF_ERROR(files_.make_directories(work_.path_of(kMovedShards)));
    SEGUE_RETURN_IF_ERROR(files_.sync_directory(work_.directory()));
    for (const auto* const moves : {&displaced_, &places_}) {
      for (const auto& [from, to] : *moves) {
        SEGUE_RETURN_IF_ERROR(files_.rename(folder(from), between(to)));
        SEGUE_RETURN_IF_ERROR(files_.sync_directory(work_.path_of(kMovedShards)));
        SEGUE_RETURN_IF_ERROR(files_.sync_directory(work_.path_of("shards")));
      }
    }
    return {};
  }

  Status move_home() {
    const std::string moved = work_.path_of(kMovedShards);
    if (!files_.exists(moved)) return {};
    for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
      if (!files_.exists(between(shard))) continue;
      SEGUE_RETURN_IF_ERROR(files_.rename(between(shard), folder(shard)));
      SEGUE_RETURN_IF_ERROR(files_.sync_directory(work_.path_of("shards")));
      SEGUE_RETURN_IF_ERROR(files_.sync_directory(moved));
    }
    SEGUE_RETURN_IF_ERROR(files_.remove_directory(moved));
    return files_.sync_directory(work_.directory());
  }

  RepairWork& work_;
  FileSystem& files_;
  const std::uint32_t shard_count_;
  std::map<std::uint32_t, std::uint32_t> places_;     // where folders stand: what they say
  std::map<std::uint32_t, std::uint32_t> displaced_;  // the same of others: where they go
  std::set<std::uint32_t> alone_;   // here is a checkpoint of another folder, without that
  std::set<std::uint32_t> unsure_;  // so it may be
  std::set<std::uint32_t> taken_;   // shards whose folder is known
};

}  // namespace

Status correct_shard_names(RepairWork& work, std::uint32_t shard_count) {
  return ShardNames(work, shard_count).run();
}

}  // namespace segue::storage
