#include "node/local_log.h"

#include <utility>

namespace segue::node {

Result<LogIndex> LocalLog::propose(Proposal proposal) {
  storage::LogRecord record;
  record.shard = shard_;
  record.epoch = epoch();
  record.index = last_.next();
  record.command = std::move(proposal.command);
  record.bodies = std::move(proposal.bodies);
  record.sync = proposal.sync;
  record.uses_reserve = proposal.drains;
  SEGUE_RETURN_IF_ERROR(disk_.append(std::move(record)));
  last_ = last_.next();
  return last_;
}

}  // namespace segue::node
