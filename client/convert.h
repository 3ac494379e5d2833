#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "segue/backup.h"
#include "segue/cluster.h"
#include "segue/garbage.h"
#include "segue/message.h"
#include "segue/publisher.h"
#include "segue/result.h"
#include "segue/v1/client.pb.h"

namespace segue::client {

/// Between the library's public types and those of the wire.

using FieldMap = google::protobuf::Map<std::string, v1::FieldValue>;

void to_wire(const Value& value, v1::FieldValue* wire);
Value from_wire(const v1::FieldValue& wire);
void to_wire(const Table& table, FieldMap* fields);
Table from_wire(const FieldMap& fields);

void to_wire(const MessageHeader& header, v1::MessageHeader* wire);
MessageHeader from_wire(const v1::MessageHeader& wire);

Error from_wire(const v1::Error& wire);
Error from_status(const segue::Status& status);
Durability from_wire(v1::Durability wire);

QueueDescription from_wire(const v1::QueueDescription& wire);
ExchangeDescription from_wire(const v1::ExchangeDescription& wire);
BindingDescription from_wire(const v1::BindingDescription& wire);
PolicyDescription from_wire(const v1::PolicyDefinition& wire);
ClusterDescription from_wire(const v1::ClusterStatusOk& wire);
/// Without the other pages.
QueueSegments from_wire(const v1::ListSegmentsOk& wire);
GarbageDescription from_wire(const v1::GarbageDescription& wire);
v1::CollectGarbage::Action to_wire(GarbageAction action);
BackupDescription from_wire(const v1::NodeBackupOk& wire);
v1::NodeBackup::Action to_wire(BackupAction action);

/// INVALID_ARGUMENT if a single text field of `message`, or of a message in it, is not UTF-8: the
/// router could not parse the frame. Tables are left to check_table().
Status check_text(const google::protobuf::Message& message);
/// INVALID_ARGUMENT if a text in it is not UTF-8, or values are nested deeper than routers read.
Status check_table(const Table& table);

/// The header as it goes over the wire; INVALID_ARGUMENT if the router could not read it or a name
/// is longer than 255 bytes.
Result<std::string> serialize_header(const MessageHeader& header);

}  // namespace segue::client
