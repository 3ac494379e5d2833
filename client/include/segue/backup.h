#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "segue/result.h"

namespace segue::client {

enum class BackupAction { kStatus, kStart, kCancel };

/// The backup that a node is making of its data directory, or made last since its start.
struct BackupDescription {
  enum class State { kNone, kRunning, kDone, kFailed };
  State state = State::kNone;
  /// A directory on the node's machine.
  std::string target;
  /// Why it failed.
  std::optional<Error> failure{};
  std::uint64_t files = 0;
  std::uint64_t copied_bytes = 0;
  /// 0: not known yet.
  std::uint64_t total_bytes = 0;
};

}  // namespace segue::client
