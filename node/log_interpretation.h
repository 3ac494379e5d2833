#pragma once

#include "storage/log_content.h"
#include "storage/log_record.h"
#include "storage/missing_messages.h"

namespace segue::node {

// What a check and a repair are told of the commands in a shard's log. One that makes no sense is
// left out.

void interpret(const storage::ReplayedRecord& record, storage::MissingMessages& missing);
void interpret(const storage::ReplayedRecord& record, storage::LogContent& content);

}  // namespace segue::node
