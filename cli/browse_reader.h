#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "segue/admin.h"

namespace segue::cli {

/// Reads a queue's messages in order, without side effects, and says the place of each: the number
/// that names it in the queue. One thread.
class BrowseReader {
 public:
  /// `admin` outlives it. Begins behind the place `after`. `delayed`: reads those whose time to be
  /// delivered has not come, in place of the others.
  BrowseReader(client::Admin& admin, std::string queue, std::uint64_t after, bool delayed = false)
      : admin_(admin), queue_(std::move(queue)), after_(after), delayed_(delayed) {}

  struct Placed {
    std::uint64_t place = 0;
    client::Message message;
  };
  /// The next ones; empty at the end.
  client::Result<std::vector<Placed>> next();
  /// Messages so far that cannot be read, as they are damaged on the node's disk.
  std::uint64_t corrupt() const { return corrupt_; }

 private:
  static constexpr std::uint64_t kMostBytes = 1 << 20;

  client::Admin& admin_;
  std::string queue_;
  std::uint64_t after_;
  bool delayed_;
  std::uint64_t corrupt_ = 0;
  std::uint64_t bytes_ = 1;  // of the next page
  bool more_ = true;
};

}  // namespace segue::cli
