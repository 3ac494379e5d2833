#pragma once

#include <string>
#include <vector>

#include "node/replicated_log.h"

namespace segue::node {

/// A log that keeps what is proposed; a test decides what is committed. One thread.
class FakeReplicatedLog final : public ReplicatedLog {
 public:
  /// propose() refuses what does not drain.
  bool full = false;
  std::vector<Proposal> proposals;

  Result<LogIndex> propose(Proposal proposal) override {
    if (full && !proposal.drains) return Status(Code::kNoSpace, "the log cannot grow");
    proposals.push_back(std::move(proposal));
    return last_index();
  }
  Epoch epoch() const override { return Epoch(1); }
  LogIndex last_index() const override { return LogIndex(proposals.size()); }
};

}  // namespace segue::node
