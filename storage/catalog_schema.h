#pragma once

namespace segue::storage {

/// Of catalog.db, in `PRAGMA user_version`. 2: bindings to exchanges; 3: policies and virtual
/// hosts.
inline constexpr int kCatalogSchemaVersion = 3;
/// A file of this version is read too, and becomes one of the newest when it is opened for writing.
/// Any other is refused.
inline constexpr int kOldestCatalogSchemaVersion = 2;
/// In `PRAGMA application_id`: tells a catalog from any other SQLite file ("SGCT").
inline constexpr int kCatalogApplicationId = 0x53474354;

/// The tables. Names and numbers are columns that a person can read and query; what has fields of
/// its own (arguments, the owner of an exclusive queue) is a serialized protobuf. Each row has the
/// XXH3-64 of its columns, since SQLite does not notice a damaged value.
inline constexpr char kCatalogSchema[] = R"sql(
CREATE TABLE cluster (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  name TEXT NOT NULL,
  shard_count INTEGER NOT NULL,
  applied_index INTEGER NOT NULL,
  last_queue_id INTEGER NOT NULL,
  last_binding_number INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE TABLE shards (
  shard INTEGER PRIMARY KEY,
  node TEXT NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE TABLE exchanges (
  vhost TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  durable INTEGER NOT NULL,
  auto_delete INTEGER NOT NULL,
  internal INTEGER NOT NULL,
  arguments BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (vhost, name)
) WITHOUT ROWID;
CREATE TABLE queues (
  id INTEGER PRIMARY KEY,
  vhost TEXT NOT NULL,
  name TEXT NOT NULL,
  shard INTEGER NOT NULL,
  durable INTEGER NOT NULL,
  exclusive INTEGER NOT NULL,
  auto_delete INTEGER NOT NULL,
  owner BLOB NOT NULL,
  arguments BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (vhost, name)
);
CREATE TABLE bindings (
  number INTEGER PRIMARY KEY,
  vhost TEXT NOT NULL,
  exchange TEXT NOT NULL,
  queue TEXT NOT NULL,
  to_exchange TEXT NOT NULL,
  routing_key TEXT NOT NULL,
  arguments BLOB NOT NULL,
  checksum INTEGER NOT NULL
);
)sql";

/// What version 3 has on top of version 2.
inline constexpr char kCatalogSchemaOfPolicies[] = R"sql(
CREATE TABLE policies (
  vhost TEXT NOT NULL,
  name TEXT NOT NULL,
  pattern TEXT NOT NULL,
  apply_to TEXT NOT NULL,
  priority INTEGER NOT NULL,
  definition BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (vhost, name)
) WITHOUT ROWID;
CREATE TABLE vhosts (
  name TEXT PRIMARY KEY,
  limits BLOB NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

}  // namespace segue::storage
