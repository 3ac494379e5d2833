#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "common/status.h"

namespace segue {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kOff };

/// "info" and so on; nothing for another word.
std::optional<LogLevel> log_level_from_name(std::string_view name);
std::string_view log_level_name(LogLevel level);

enum class LogFormat : std::uint8_t { kText, kJson };

/// A field's value. Views are used during the call only.
class LogValue {
 public:
  using Variant = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

  template <typename T>
  LogValue(const T& value) : value_(convert(value)) {}  // NOLINT(google-explicit-constructor)

  const Variant& variant() const { return value_; }

 private:
  static Variant convert(bool value) { return value; }
  template <std::signed_integral T>
  static Variant convert(T value) {
    return static_cast<std::int64_t>(value);
  }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) static Variant convert(T value) {
    return static_cast<std::uint64_t>(value);
  }
  static Variant convert(double value) { return value; }
  static Variant convert(std::string_view value) { return value; }
  static Variant convert(const std::string& value) { return std::string_view(value); }
  static Variant convert(const char* value) { return std::string_view(value); }
  template <typename Tag, typename Number>
  static Variant convert(StrongId<Tag, Number> id) {
    return static_cast<std::uint64_t>(id.value);
  }
  static Variant convert(Code code) { return code_name(code); }
  static Variant convert(const Status& status) {
    return status.is_ok() ? std::string_view("OK") : std::string_view(status.message());
  }

  Variant value_;
};

/// `name` is snake_case; `value` may be any bytes.
struct LogField {
  std::string_view name;
  LogValue value;
};

/// One event as it goes to a sink. Valid during the call only.
struct LogEvent {
  LogLevel level;
  std::int64_t wall_ms;
  std::string_view name;
  std::span<const LogField> fields;
};

/// Where events go. Called under the logger's lock: one event at a time.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(const LogEvent& event) = 0;
  virtual void flush() {}
};

/// Writes what a process does, one line per event. Made by the composition root and passed by
/// reference; there is no global one. Safe from any thread: a lock is held while a line is
/// formatted and written, which is why nothing is logged per message.
///
///     log.info("node_started", {{"node", id}, {"shards", 32}});
///     2026-01-31T12:00:00.000Z INFO event=node_started node=n1 shards=32
///
/// An event's name is a constant in snake_case. Of each name at most `events_per_second` are
/// written in a second; the next event of it after that second, and flush(), tells with
/// `suppressed=N` in an event `log_events_suppressed` how many were left out.
class Logger {
 public:
  struct Options {
    LogLevel level = LogLevel::kInfo;
    std::uint32_t events_per_second = 10;  // of each event's name; 0: no limit
  };

  /// `clock` outlives the logger.
  Logger(std::unique_ptr<LogSink> sink, const Clock& clock, Options options);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  using Fields = std::initializer_list<LogField>;

  void trace(std::string_view event, Fields fields = {}) { log(LogLevel::kTrace, event, fields); }
  void debug(std::string_view event, Fields fields = {}) { log(LogLevel::kDebug, event, fields); }
  void info(std::string_view event, Fields fields = {}) { log(LogLevel::kInfo, event, fields); }
  void warn(std::string_view event, Fields fields = {}) { log(LogLevel::kWarn, event, fields); }
  void error(std::string_view event, Fields fields = {}) { log(LogLevel::kError, event, fields); }
  void log(LogLevel level, std::string_view event, Fields fields) {
    if (enabled(level)) write(level, event, std::span(fields.begin(), fields.size()));
  }

  /// Whether events of this level are written: to skip work that only a log line needs.
  bool enabled(LogLevel level) const { return level >= level_; }
  /// Writes what is still held back.
  void flush();

 private:
  class RateLimits;

  void write(LogLevel level, std::string_view event, std::span<const LogField> fields);
  void write_suppressed(std::int64_t wall_ms, std::string_view event, std::uint64_t count);

  const Clock& clock_;
  const LogLevel level_;
  std::mutex mutex_;
  std::unique_ptr<LogSink> sink_;
  std::unique_ptr<RateLimits> limits_;
};

/// Drops everything.
std::unique_ptr<LogSink> null_log_sink();
/// Lines to standard error, written at once.
std::unique_ptr<LogSink> stderr_log_sink(LogFormat format);
/// Lines appended to a file; IO_ERROR if it cannot be opened.
Result<std::unique_ptr<LogSink>> file_log_sink(const std::string& path, LogFormat format);

/// The event as a line without its end: `<time> LEVEL event=name key=value ...`. Values that have
/// spaces, quotes, `=` or control characters are quoted, with escapes; no event can look like two.
std::string format_text(const LogEvent& event);
/// The event as a JSON object on one line: time, level, event, and the fields. Always valid UTF-8:
/// other bytes become U+FFFD.
std::string format_json(const LogEvent& event);

}  // namespace segue
