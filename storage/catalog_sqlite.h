#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include "common/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace segue::storage {

/// Collects a row's columns in order, each with its length, for the checksum at its end.
class CatalogRowChecksum {
 public:
  void add(std::string_view bytes);
  void add(std::uint64_t number);
  std::uint64_t value() const;

 private:
  std::string text_;
};

/// Binds a row: values in the order of the statement's parameters, then their checksum.
class CatalogRowWriter {
 public:
  explicit CatalogRowWriter(sqlite3_stmt* statement) : statement_(statement) {}

  CatalogRowWriter& operator<<(std::string_view text);
  CatalogRowWriter& operator<<(std::uint64_t number);
  CatalogRowWriter& blob(std::string_view bytes);
  void end();

 private:
  sqlite3_stmt* statement_;
  int column_ = 0;
  CatalogRowChecksum checksum_;
};

/// Reads a row in the same way.
class CatalogRowReader {
 public:
  explicit CatalogRowReader(sqlite3_stmt* statement) : statement_(statement) {}

  /// A text or a blob.
  std::string text();
  std::uint64_t number();
  /// Parses a protobuf; false when it is none.
  bool parse(google::protobuf::MessageLite& message) { return message.ParseFromString(text()); }
  /// Whether the checksum, the last column, is right.
  bool end();

 private:
  sqlite3_stmt* statement_;
  int column_ = 0;
  CatalogRowChecksum checksum_;
};

/// The door to SQLite: a database file and its prepared statements. SQL is given as literals, by
/// whose address statements are kept. One thread at a time. Errors: CORRUPTION, NO_SPACE, IO_ERROR,
/// with the path.
class CatalogSqlite {
 public:
  /// Opens the file, made if missing, in WAL mode and synced at every commit. `fatal` is told of
  /// syncs that fail.
  static Result<std::unique_ptr<CatalogSqlite>> open(const std::string& path,
                                                     std::function<void(const Status&)> fatal);
  /// A database that is a copy of these bytes, read only; `path` is for errors.
  static Result<std::unique_ptr<CatalogSqlite>> open_image(const std::string& path,
                                                           std::string_view bytes);
  ~CatalogSqlite();
  CatalogSqlite(const CatalogSqlite&) = delete;
  CatalogSqlite& operator=(const CatalogSqlite&) = delete;

  const std::string& path() const { return path_; }
  /// Runs statements that give no rows. `action` is for the error's text.
  Status execute(const char* sql, const std::string& action);
  /// A prepared statement, to be bound and run(); owned here.
  Result<sqlite3_stmt*> statement(const char* sql);
  /// Runs a statement that was bound to its end, and makes it ready for the next time.
  Status run(sqlite3_stmt* statement, const char* action);
  void bind(sqlite3_stmt* statement, int parameter, std::uint64_t number);
  /// Calls `row` for each row. False from it, or a wrong checksum, is CORRUPTION.
  Status each_row(const char* sql, const char* table,
                  const std::function<bool(CatalogRowReader&)>& row);
  /// The first column of the one row that a query gives.
  Result<std::uint64_t> number(const char* sql);
  /// Lets SQLite check the structure of the whole file; thorough: indexes against tables, too.
  Status check_structure(bool thorough = false);
  Status begin() { return execute("BEGIN IMMEDIATE", "beginning a transaction"); }
  Status commit() { return execute("COMMIT", "committing"); }
  /// Undoes what was done since begin(); nothing if SQLite has done so by itself.
  void roll_back();
  /// Writes all of it to a new file.
  Status copy_to(const std::string& path);
  /// CORRUPTION that says what to do.
  Status damaged(const std::string& what) const;

 private:
  CatalogSqlite(std::string path, sqlite3* database)
      : path_(std::move(path)), database_(database) {}

  bool failed_to_sync() const;

  Status error(int result, const std::string& action) const;

  const std::string path_;
  sqlite3* database_;
  bool is_image_ = false;  // it cannot be for the disk that something fails
  std::function<void(const Status&)> fatal_;
  std::map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace segue::storage
