#include "storage/catalog_sqlite.h"

#include <sqlite3.h>

#include <cstring>

#include "common/bytes.h"
#include "common/checksum.h"

namespace segue::storage {

namespace {

Code code_of(int result) {
  switch (result & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Code::kCorruption;
    case SQLITE_FULL:
      return Code::kNoSpace;
    default:
      return Code::kIoError;
  }
}

}  // namespace

void CatalogRowChecksum::add(std::string_view bytes) {
  append_le(text_, static_cast<std::uint64_t>(bytes.size()));
  text_ += bytes;
}

void CatalogRowChecksum::add(std::uint64_t number) {
  append_le(text_, number);
}

std::uint64_t CatalogRowChecksum::value() const {
  return xxh3_64(text_);
}

CatalogRowWriter& CatalogRowWriter::operator<<(std::string_view text) {
  checksum_.add(text);
  sqlite3_bind_text64(statement_, ++column_, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

CatalogRowWriter& CatalogRowWriter::operator<<(std::uint64_t number) {
  checksum_.add(number);
  sqlite3_bind_int64(statement_, ++column_, static_cast<sqlite3_int64>(number));
  return *this;
}

CatalogRowWriter& CatalogRowWriter::blob(std::string_view bytes) {
  checksum_.add(bytes);
  sqlite3_bind_blob64(statement_, ++column_, bytes.data() == nullptr ? "" : bytes.data(),
                      bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

void CatalogRowWriter::end() {
  sqlite3_bind_int64(statement_, ++column_, static_cast<sqlite3_int64>(checksum_.value()));
}

std::string CatalogRowReader::text() {
  const void* const data = sqlite3_column_blob(statement_, column_);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column_));
  ++column_;
  std::string value;
  if (data != nullptr) value.assign(static_cast<const char*>(data), size);
  checksum_.add(value);
  return value;
}

std::uint64_t CatalogRowReader::number() {
  const auto value = static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column_++));
  checksum_.add(value);
  return value;
}

bool CatalogRowReader::end() {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column_)) == checksum_.value();
}

Result<std::unique_ptr<CatalogSqlite>> CatalogSqlite::open(
    const std::string& path, std::function<void(const Status&)> fatal) {
  sqlite3* raw = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<CatalogSqlite> database(new CatalogSqlite(path, raw));
  database->fatal_ = std::move(fatal);
  if (result != SQLITE_OK) return database->error(result, "opening the catalog");
  sqlite3_busy_timeout(raw, 5000);  // a person may be reading
  SEGUE_RETURN_IF_ERROR(database->execute("PRAGMA journal_mode=WAL", "choosing the journal"));
  SEGUE_RETURN_IF_ERROR(database->execute("PRAGMA synchronous=FULL", "choosing to sync"));
  return database;
}

Result<std::unique_ptr<CatalogSqlite>> CatalogSqlite::open_image(const std::string& path,
                                                                 std::string_view bytes) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(
      ":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<CatalogSqlite> database(new CatalogSqlite(path, raw));
  database->is_image_ = true;
  if (opened != SQLITE_OK) return database->error(opened, "opening the catalog");
  auto* const copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) return database->error(SQLITE_NOMEM, "opening the catalog");
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int result = sqlite3_deserialize(
      raw, "main", copy, size, size, SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (result != SQLITE_OK) return database->error(result, "opening the catalog");
  return database;
}

CatalogSqlite::~CatalogSqlite() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

Status CatalogSqlite::error(int result, const std::string& action) const {
  const std::string reason = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  // Of bytes in memory, and statements that are right, only the bytes can be wrong: a column has
  // another name, say.
  const bool image = is_image_ && (result & 0xFF) != SQLITE_NOMEM;
  const Code code = image ? Code::kCorruption : code_of(result);
  if (code == Code::kCorruption) return damaged(action + ": " + reason);
  const Status status(code, path_ + ": " + action + ": " + reason);
  if (fatal_ && failed_to_sync()) fatal_(status);
  return status;
}

bool CatalogSqlite::failed_to_sync() const {
  if (database_ == nullptr) return false;
  const int result = sqlite3_extended_errcode(database_);
  return result == SQLITE_IOERR_FSYNC || result == SQLITE_IOERR_DIR_FSYNC;
}

Status CatalogSqlite::damaged(const std::string& what) const {
  return Status(Code::kCorruption,
                path_ + ": " + what +
                    "; the catalog is damaged: put a copy of another node's catalog in its place");
}

Status CatalogSqlite::execute(const char* sql, const std::string& action) {
  const int result = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status() : error(result, action);
}

Result<sqlite3_stmt*> CatalogSqlite::statement(const char* sql) {
  sqlite3_stmt*& known = statements_[sql];
  if (known == nullptr) {
    const int result =
        sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &known, nullptr);
    if (result != SQLITE_OK) return error(result, "preparing a statement");
  }
  return known;
}

Status CatalogSqlite::run(sqlite3_stmt* statement, const char* action) {
  const int result = sqlite3_step(statement);
  Status status = result == SQLITE_DONE ? Status() : error(result, action);
  sqlite3_reset(statement);
  return status;
}

void CatalogSqlite::bind(sqlite3_stmt* statement, int parameter, std::uint64_t number) {
  sqlite3_bind_int64(statement, parameter, static_cast<sqlite3_int64>(number));
}

Status CatalogSqlite::each_row(const char* sql, const char* table,
                               const std::function<bool(CatalogRowReader&)>& row) {
  auto select = statement(sql);
  if (!select.is_ok()) return select.status();
  Status status;
  int result = SQLITE_ROW;
  for (std::uint64_t number = 1; status.is_ok(); ++number) {
    result = sqlite3_step(*select);
    if (result != SQLITE_ROW) break;
    CatalogRowReader reader(*select);
    if (!row(reader) || !reader.end()) {
      status =
          damaged("row " + std::to_string(number) + " of table " + table + " fails its checksum");
    }
  }
  if (status.is_ok() && result != SQLITE_DONE) {
    status = error(result, std::string("reading table ") + table);
  }
  sqlite3_reset(*select);
  return status;
}

Result<std::uint64_t> CatalogSqlite::number(const char* sql) {
  auto select = statement(sql);
  if (!select.is_ok()) return select.status();
  const int result = sqlite3_step(*select);
  const auto value = static_cast<std::uint64_t>(sqlite3_column_int64(*select, 0));
  Status status = result == SQLITE_ROW ? Status() : error(result, "reading the file's header");
  sqlite3_reset(*select);
  if (!status.is_ok()) return status;
  return value;
}

Status CatalogSqlite::check_structure(bool thorough) {
  auto check =
      thorough ? statement("PRAGMA integrity_check(1)") : statement("PRAGMA quick_check(1)");
  if (!check.is_ok()) return check.status();
  const int result = sqlite3_step(*check);
  Status status;
  if (result != SQLITE_ROW) {
    status = error(result, "checking the file");
  } else {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(*check, 0));
    const std::string verdict = text == nullptr ? "no verdict" : text;
    if (verdict != "ok") status = damaged(verdict);
  }
  sqlite3_reset(*check);
  return status;
}

void CatalogSqlite::roll_back() {
  (void)sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Status CatalogSqlite::copy_to(const std::string& path) {
  sqlite3_stmt* vacuum = nullptr;
  const int prepared = sqlite3_prepare_v2(database_, "VACUUM INTO ?", -1, &vacuum, nullptr);
  if (prepared != SQLITE_OK) return error(prepared, "copying the catalog to " + path);
  sqlite3_bind_text64(vacuum, 1, path.data(), path.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  const int result = sqlite3_step(vacuum);
  Status status = result == SQLITE_DONE ? Status() : error(result, "copying it to " + path);
  sqlite3_finalize(vacuum);
  return status;
}

}  // namespace segue::storage
