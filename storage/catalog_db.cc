#include "storage/catalog_db.h"

#include <algorithm>
#include <utility>

#include "storage/catalog_image.h"
#include "storage/catalog_schema.h"
#include "storage/catalog_sqlite.h"
#include "storage/posix_file_system.h"

namespace segue::storage {

namespace {

std::string arguments_bytes(const google::protobuf::Map<std::string, v1::FieldValue>& arguments) {
  if (arguments.empty()) return {};
  v1::FieldTable table;
  *table.mutable_fields() = arguments;
  return table.SerializeAsString();
}

bool read_arguments(CatalogRowReader& row, google::protobuf::Map<std::string, v1::FieldValue>& to) {
  v1::FieldTable table;
  if (!row.parse(table)) return false;
  to = std::move(*table.mutable_fields());
  return true;
}

class SqliteCatalogDb final : public CatalogDb {
 public:
  explicit SqliteCatalogDb(std::unique_ptr<CatalogSqlite> database)
      : database_(std::move(database)) {}

  /// Makes an empty catalog out of an empty file, or checks that the file is one.
  Status prepare();
  /// As prepare(), and a file of an older version becomes one of the newest.
  Status prepare_for_writing();
  /// Checks that the file is one, more thoroughly, and writes nothing.
  Status verify();

  Result<v1::CatalogEntry> load() override;
  Status apply(std::span<const v1::CatalogEntry> entries) override;
  Status replace_all(std::span<const v1::CatalogEntry> snapshot, CatalogIndex index) override;
  CatalogIndex applied() const override { return head_.applied; }

 private:
  /// The row of the table `cluster`.
  struct Head {
    std::string cluster;
    std::uint64_t shard_count = 0;
    CatalogIndex applied;
    std::uint64_t last_queue_id = 0;
    std::uint64_t last_binding_number = 0;
  };

  Status create();
  Status check_file();
  Status add_tables();
  Status load_policies(v1::CatalogEntry& entry);
  Status load_vhosts(v1::CatalogEntry& entry);
  Status load_head(Head& head);
  Status save_head();
  /// Runs `body` in a transaction; undone, the head too, when it fails.
  Status transaction(const std::function<Status()>& body);
  Status apply_changes(const v1::CatalogEntry& entry);
  Status apply_change(const v1::CatalogChange& change);
  Status insert(const v1::ExchangeDefinition& exchange);
  Status insert(const v1::QueueDefinition& queue);
  Status insert(const v1::BindingDefinition& binding);
  Status insert(const v1::ShardAssigned& shard);
  Status insert(const v1::PolicyDefinition& policy);
  Status insert(const v1::VhostDefinition& vhost);
  Status erase(const char* sql, std::uint64_t number);
  Status erase(const v1::ExchangeKey& key);
  Status erase(const v1::PolicyKey& key);
  Status erase_vhost(const std::string& name);

  std::unique_ptr<CatalogSqlite> database_;
  Head head_;
  std::uint64_t version_ = kCatalogSchemaVersion;
};

Status SqliteCatalogDb::prepare() {
  auto objects = database_->number("SELECT count(*) FROM sqlite_schema");
  if (!objects.is_ok()) return objects.status();
  if (*objects == 0) return create();
  SEGUE_RETURN_IF_ERROR(check_file());
  return load_head(head_);
}

Status SqliteCatalogDb::prepare_for_writing() {
  SEGUE_RETURN_IF_ERROR(prepare());
  if (version_ == kCatalogSchemaVersion) return {};
  SEGUE_RETURN_IF_ERROR(transaction([this] { return add_tables(); }));
  version_ = kCatalogSchemaVersion;
  return {};
}

Status SqliteCatalogDb::add_tables() {
  SEGUE_RETURN_IF_ERROR(database_->execute(kCatalogSchemaOfPolicies, "making the tables"));
  const std::string version = "PRAGMA user_version=" + std::to_string(kCatalogSchemaVersion);
  return database_->execute(version.c_str(), "marking the file");
}

Status SqliteCatalogDb::verify() {
  auto objects = database_->number("SELECT count(*) FROM sqlite_schema");
  if (!objects.is_ok()) return objects.status();
  if (*objects == 0) return database_->damaged("has no tables");
  SEGUE_RETURN_IF_ERROR(check_file());
  SEGUE_RETURN_IF_ERROR(database_->check_structure(true));
  return load_head(head_);
}

Status SqliteCatalogDb::create() {
  const Status made = transaction([this] {
    SEGUE_RETURN_IF_ERROR(database_->execute(kCatalogSchema, "making the tables"));
    const std::string id = "PRAGMA application_id=" + std::to_string(kCatalogApplicationId);
    SEGUE_RETURN_IF_ERROR(database_->execute(id.c_str(), "marking the file"));
    return add_tables();
  });
  if (!made.is_ok()) return made;
  // SQLite makes the content durable, but not the new file's name.
  const std::size_t slash = database_->path().rfind('/');
  return PosixFileSystem().sync_directory(
      slash == std::string::npos ? "." : database_->path().substr(0, slash));
}

Status SqliteCatalogDb::check_file() {
  auto id = database_->number("PRAGMA application_id");
  if (!id.is_ok()) return id.status();
  if (*id != static_cast<std::uint64_t>(kCatalogApplicationId)) {
    return Status(Code::kCorruption,
                  database_->path() + ": is a SQLite file, but not a catalog of Segue");
  }
  auto version = database_->number("PRAGMA user_version");
  if (!version.is_ok()) return version.status();
  if (*version < kOldestCatalogSchemaVersion || *version > kCatalogSchemaVersion) {
    return Status(Code::kInvalidConfig, database_->path() + ": has format version " +
                                            std::to_string(*version) +
                                            ", this program reads versions " +
                                            std::to_string(kOldestCatalogSchemaVersion) + " to " +
                                            std::to_string(kCatalogSchemaVersion));
  }
  version_ = *version;
  return database_->check_structure();
}

Status SqliteCatalogDb::load_head(Head& head) {
  bool found = false;
  SEGUE_RETURN_IF_ERROR(database_->each_row(
      "SELECT name, shard_count, applied_index, last_queue_id, last_binding_number, checksum "
      "FROM cluster",
      "cluster", [&](CatalogRowReader& row) {
        found = true;
        head.cluster = row.text();
        head.shard_count = row.number();
        head.applied = CatalogIndex{row.number()};
        head.last_queue_id = row.number();
        head.last_binding_number = row.number();
        return true;
      }));
  return found ? Status() : database_->damaged("table cluster is empty");
}

Status SqliteCatalogDb::save_head() {
  auto save = database_->statement(
      "INSERT OR REPLACE INTO cluster (only_row, name, shard_count, applied_index, last_queue_id, "
      "last_binding_number, checksum) VALUES (1, ?, ?, ?, ?, ?, ?)");
  if (!save.is_ok()) return save.status();
  CatalogRowWriter row(*save);
  row << head_.cluster << head_.shard_count << head_.applied.value << head_.last_queue_id
      << head_.last_binding_number;
  row.end();
  return database_->run(*save, "writing table cluster");
}

Status SqliteCatalogDb::transaction(const std::function<Status()>& body) {
  const Head before = head_;
  SEGUE_RETURN_IF_ERROR(database_->begin());
  Status status = body();
  if (status.is_ok()) status = save_head();
  if (status.is_ok()) status = database_->commit();
  if (status.is_ok()) return status;
  head_ = before;
  database_->roll_back();
  return status;
}

// ---- changes

Status SqliteCatalogDb::apply(std::span<const v1::CatalogEntry> entries) {
  return transaction([&]() -> Status {
    for (const v1::CatalogEntry& entry : entries) {
      if (entry.index() <= head_.applied.value) continue;
      SEGUE_RETURN_IF_ERROR(apply_changes(entry));
      head_.applied = CatalogIndex{entry.index()};
    }
    return {};
  });
}

Status SqliteCatalogDb::replace_all(std::span<const v1::CatalogEntry> snapshot,
                                    CatalogIndex index) {
  return transaction([&]() -> Status {
    SEGUE_RETURN_IF_ERROR(database_->execute(
        "DELETE FROM shards; DELETE FROM exchanges; DELETE FROM queues; DELETE FROM bindings; "
        "DELETE FROM policies; DELETE FROM vhosts",
        "emptying the tables"));
    head_ = {};
    for (const v1::CatalogEntry& entry : snapshot) SEGUE_RETURN_IF_ERROR(apply_changes(entry));
    head_.applied = index;
    return {};
  });
}

Status SqliteCatalogDb::apply_changes(const v1::CatalogEntry& entry) {
  for (const v1::CatalogChange& change : entry.changes()) {
    SEGUE_RETURN_IF_ERROR(apply_change(change));
  }
  return {};
}

Status SqliteCatalogDb::apply_change(const v1::CatalogChange& change) {
  switch (change.kind_case()) {
    case v1::CatalogChange::kClusterCreated:
      head_.cluster = change.cluster_created().cluster();
      head_.shard_count = change.cluster_created().shard_count();
      return {};
    case v1::CatalogChange::kShardAssigned:
      return insert(change.shard_assigned());
    case v1::CatalogChange::kExchangeCreated:
      return insert(change.exchange_created());
    case v1::CatalogChange::kExchangeDeleted:
      return erase(change.exchange_deleted());
    case v1::CatalogChange::kQueueCreated:
      head_.last_queue_id = std::max(head_.last_queue_id, change.queue_created().id());
      return insert(change.queue_created());
    case v1::CatalogChange::kQueueUpdated:
      return insert(change.queue_updated());
    case v1::CatalogChange::kQueueDeleted:
      return erase("DELETE FROM queues WHERE id = ?", change.queue_deleted());
    case v1::CatalogChange::kBindingCreated:
      head_.last_binding_number =
          std::max(head_.last_binding_number, change.binding_created().number());
      return insert(change.binding_created());
    case v1::CatalogChange::kBindingDeleted:
      return erase("DELETE FROM bindings WHERE number = ?", change.binding_deleted());
    case v1::CatalogChange::kNumbersUsed:
      head_.last_queue_id = std::max(head_.last_queue_id, change.numbers_used().last_queue_id());
      head_.last_binding_number =
          std::max(head_.last_binding_number, change.numbers_used().last_binding_number());
      return {};
    case v1::CatalogChange::kPolicySet:
      return insert(change.policy_set());
    case v1::CatalogChange::kPolicyDeleted:
      return erase(change.policy_deleted());
    case v1::CatalogChange::kVhostSet:
      return insert(change.vhost_set());
    case v1::CatalogChange::kVhostDeleted:
      return erase_vhost(change.vhost_deleted());
    case v1::CatalogChange::KIND_NOT_SET:
      return {};
  }
  return {};
}

Status SqliteCatalogDb::insert(const v1::ShardAssigned& shard) {
  auto into = database_->statement(
      "INSERT OR REPLACE INTO shards (shard, node, checksum) VALUES (?, ?, ?)");
  if (!into.is_ok()) return into.status();
  CatalogRowWriter row(*into);
  row << std::uint64_t{shard.shard()} << shard.node();
  row.end();
  return database_->run(*into, "writing table shards");
}

Status SqliteCatalogDb::insert(const v1::ExchangeDefinition& exchange) {
  auto into = database_->statement(
      "INSERT OR REPLACE INTO exchanges (vhost, name, type, durable, auto_delete, internal, "
      "arguments, "
      "checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  if (!into.is_ok()) return into.status();
  CatalogRowWriter row(*into);
  row << exchange.vhost() << exchange.name() << exchange.type() << std::uint64_t{exchange.durable()}
      << std::uint64_t{exchange.auto_delete()} << std::uint64_t{exchange.internal()};
  row.blob(arguments_bytes(exchange.arguments())).end();
  return database_->run(*into, "writing table exchanges");
}

Status SqliteCatalogDb::insert(const v1::QueueDefinition& queue) {
  auto into = database_->statement(
      "INSERT OR REPLACE INTO queues (id, vhost, name, shard, durable, exclusive, auto_delete, "
      "owner, "
      "arguments, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!into.is_ok()) return into.status();
  CatalogRowWriter row(*into);
  row << queue.id() << queue.vhost() << queue.name() << std::uint64_t{queue.shard()}
      << std::uint64_t{queue.durable()} << std::uint64_t{queue.exclusive()}
      << std::uint64_t{queue.auto_delete()};
  row.blob(queue.has_owner() ? queue.owner().SerializeAsString() : std::string());
  row.blob(arguments_bytes(queue.arguments())).end();
  return database_->run(*into, "writing table queues");
}

Status SqliteCatalogDb::insert(const v1::BindingDefinition& binding) {
  auto into = database_->statement(
      "INSERT OR REPLACE INTO bindings (number, vhost, exchange, queue, to_exchange, "
      "routing_key, arguments, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  if (!into.is_ok()) return into.status();
  CatalogRowWriter row(*into);
  row << binding.number() << binding.vhost() << binding.exchange() << binding.queue()
      << binding.to_exchange() << binding.routing_key();
  row.blob(arguments_bytes(binding.arguments())).end();
  return database_->run(*into, "writing table bindings");
}

Status SqliteCatalogDb::insert(const v1::PolicyDefinition& policy) {
  auto into = database_->statement(
      "INSERT OR REPLACE INTO policies (vhost, name, pattern, apply_to, priority, definition, "
      "checksum) VALUES (?, ?, ?, ?, ?, ?, ?)");
  if (!into.is_ok()) return into.status();
  CatalogRowWriter row(*into);
  row << policy.vhost() << policy.name() << policy.pattern() << policy.apply_to()
      << static_cast<std::uint64_t>(std::int64_t{policy.priority()});
  row.blob(arguments_bytes(policy.definition())).end();
  return database_->run(*into, "writing table policies");
}

Status SqliteCatalogDb::insert(const v1::VhostDefinition& vhost) {
  auto into = database_->statement(
      "INSERT OR REPLACE INTO vhosts (name, limits, checksum) VALUES (?, ?, ?)");
  if (!into.is_ok()) return into.status();
  v1::VhostDefinition limits = vhost;
  limits.clear_name();
  CatalogRowWriter row(*into);
  row << vhost.name();
  row.blob(limits.SerializeAsString()).end();
  return database_->run(*into, "writing table vhosts");
}

Status SqliteCatalogDb::erase(const char* sql, std::uint64_t number) {
  auto from = database_->statement(sql);
  if (!from.is_ok()) return from.status();
  database_->bind(*from, 1, number);
  return database_->run(*from, "deleting a row");
}

Status SqliteCatalogDb::erase(const v1::ExchangeKey& key) {
  auto from = database_->statement("DELETE FROM exchanges WHERE vhost = ? AND name = ?");
  if (!from.is_ok()) return from.status();
  CatalogRowWriter row(*from);
  row << key.vhost() << key.name();
  return database_->run(*from, "deleting an exchange");
}

Status SqliteCatalogDb::erase(const v1::PolicyKey& key) {
  auto from = database_->statement("DELETE FROM policies WHERE vhost = ? AND name = ?");
  if (!from.is_ok()) return from.status();
  CatalogRowWriter row(*from);
  row << key.vhost() << key.name();
  return database_->run(*from, "deleting a policy");
}

Status SqliteCatalogDb::erase_vhost(const std::string& name) {
  auto from = database_->statement("DELETE FROM vhosts WHERE name = ?");
  if (!from.is_ok()) return from.status();
  CatalogRowWriter row(*from);
  row << name;
  return database_->run(*from, "deleting a virtual host");
}

// ---- load

Status SqliteCatalogDb::load_policies(v1::CatalogEntry& entry) {
  return database_->each_row(
      "SELECT vhost, name, pattern, apply_to, priority, definition, checksum FROM policies "
      "ORDER BY vhost, name",
      "policies", [&](CatalogRowReader& row) {
        v1::PolicyDefinition& policy = *entry.add_changes()->mutable_policy_set();
        policy.set_vhost(row.text());
        policy.set_name(row.text());
        policy.set_pattern(row.text());
        policy.set_apply_to(row.text());
        policy.set_priority(static_cast<std::int32_t>(static_cast<std::int64_t>(row.number())));
        return read_arguments(row, *policy.mutable_definition());
      });
}

Status SqliteCatalogDb::load_vhosts(v1::CatalogEntry& entry) {
  return database_->each_row("SELECT name, limits, checksum FROM vhosts ORDER BY name", "vhosts",
                             [&](CatalogRowReader& row) {
                               v1::VhostDefinition vhost;
                               const std::string name = row.text();
                               if (!row.parse(vhost)) return false;
                               vhost.set_name(name);
                               *entry.add_changes()->mutable_vhost_set() = std::move(vhost);
                               return true;
                             });
}

Result<v1::CatalogEntry> SqliteCatalogDb::load() {
  v1::CatalogEntry entry;
  SEGUE_RETURN_IF_ERROR(load_head(head_));
  entry.set_index(head_.applied.value);
  if (head_.shard_count > 0) {
    v1::ClusterCreated& created = *entry.add_changes()->mutable_cluster_created();
    created.set_cluster(head_.cluster);
    created.set_shard_count(static_cast<std::uint32_t>(head_.shard_count));
  }
  SEGUE_RETURN_IF_ERROR(database_->each_row(
      "SELECT shard, node, checksum FROM shards ORDER BY shard", "shards",
      [&](CatalogRowReader& row) {
        v1::ShardAssigned& shard = *entry.add_changes()->mutable_shard_assigned();
        shard.set_shard(static_cast<std::uint32_t>(row.number()));
        shard.set_node(row.text());
        return true;
      }));
  // An older file does not have them; it is only looked at.
  const bool has_policies = version_ > kOldestCatalogSchemaVersion;
  if (has_policies) SEGUE_RETURN_IF_ERROR(load_vhosts(entry));
  SEGUE_RETURN_IF_ERROR(database_->each_row(
      "SELECT vhost, name, type, durable, auto_delete, internal, arguments, checksum FROM "
      "exchanges "
      "ORDER BY vhost, name",
      "exchanges", [&](CatalogRowReader& row) {
        v1::ExchangeDefinition& exchange = *entry.add_changes()->mutable_exchange_created();
        exchange.set_vhost(row.text());
        exchange.set_name(row.text());
        exchange.set_type(row.text());
        exchange.set_durable(row.number() != 0);
        exchange.set_auto_delete(row.number() != 0);
        exchange.set_internal(row.number() != 0);
        return read_arguments(row, *exchange.mutable_arguments());
      }));
  SEGUE_RETURN_IF_ERROR(database_->each_row(
      "SELECT id, vhost, name, shard, durable, exclusive, auto_delete, owner, arguments, checksum "
      "FROM queues ORDER BY id",
      "queues", [&](CatalogRowReader& row) {
        v1::QueueDefinition& queue = *entry.add_changes()->mutable_queue_created();
        queue.set_id(row.number());
        queue.set_vhost(row.text());
        queue.set_name(row.text());
        queue.set_shard(static_cast<std::uint32_t>(row.number()));
        queue.set_durable(row.number() != 0);
        queue.set_exclusive(row.number() != 0);
        queue.set_auto_delete(row.number() != 0);
        const std::string owner = row.text();
        if (!owner.empty() && !queue.mutable_owner()->ParseFromString(owner)) return false;
        return read_arguments(row, *queue.mutable_arguments());
      }));
  SEGUE_RETURN_IF_ERROR(database_->each_row(
      "SELECT number, vhost, exchange, queue, to_exchange, routing_key, arguments, checksum FROM "
      "bindings ORDER BY number",
      "bindings", [&](CatalogRowReader& row) {
        v1::BindingDefinition& binding = *entry.add_changes()->mutable_binding_created();
        binding.set_number(row.number());
        binding.set_vhost(row.text());
        binding.set_exchange(row.text());
        binding.set_queue(row.text());
        binding.set_to_exchange(row.text());
        binding.set_routing_key(row.text());
        return read_arguments(row, *binding.mutable_arguments());
      }));
  if (has_policies) SEGUE_RETURN_IF_ERROR(load_policies(entry));
  if (head_.last_queue_id > 0 || head_.last_binding_number > 0) {
    v1::NumbersUsed& used = *entry.add_changes()->mutable_numbers_used();
    used.set_last_queue_id(head_.last_queue_id);
    used.set_last_binding_number(head_.last_binding_number);
  }
  return entry;
}

}  // namespace

Result<std::unique_ptr<CatalogDb>> CatalogDb::open(const std::string& path, const Fatal& fatal) {
  SEGUE_RETURN_IF_ERROR(make_empty_file(path));
  auto database = CatalogSqlite::open(path, fatal);
  if (!database.is_ok()) return database.status();
  auto catalog = std::make_unique<SqliteCatalogDb>(std::move(*database));
  SEGUE_RETURN_IF_ERROR(catalog->prepare_for_writing());
  return std::unique_ptr<CatalogDb>(std::move(catalog));
}

Result<std::unique_ptr<CatalogDb>> CatalogDb::open_image(const std::string& path,
                                                         std::string_view bytes) {
  auto database = CatalogSqlite::open_image(path, bytes);
  if (!database.is_ok()) return database.status();
  auto catalog = std::make_unique<SqliteCatalogDb>(std::move(*database));
  SEGUE_RETURN_IF_ERROR(catalog->verify());
  return std::unique_ptr<CatalogDb>(std::move(catalog));
}

Result<v1::CatalogEntry> CatalogDb::peek(FileSystem& files, const std::string& path) {
  if (!files.exists(path)) return v1::CatalogEntry();
  auto image = read_catalog_image(files, path, DamagedCatalogLog::kTakeForEnd);
  if (!image.is_ok()) return image.status();
  if (image->bytes.empty()) return v1::CatalogEntry();
  auto database = CatalogSqlite::open_image(path, image->bytes);
  if (!database.is_ok()) return database.status();
  auto objects = (*database)->number("SELECT count(*) FROM sqlite_schema");
  if (!objects.is_ok()) return objects.status();
  if (*objects == 0) return v1::CatalogEntry();
  SqliteCatalogDb catalog(std::move(*database));
  SEGUE_RETURN_IF_ERROR(catalog.prepare());
  return catalog.load();
}

Status copy_catalog(const std::string& from, const std::string& to) {
  // It only reads there; a sync of the copy that fails is a failed copy.
  auto database = CatalogSqlite::open(from, [](const Status&) {});
  if (!database.is_ok()) return database.status();
  SEGUE_RETURN_IF_ERROR(make_empty_file(to));
  return (*database)->copy_to(to);
}

}  // namespace segue::storage
