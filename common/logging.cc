#include "common/logging.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <map>
#include <utility>

namespace segue {
namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"trace", "debug", "info",
                                                         "warn",  "error", "off"};

class NullLogSink final : public LogSink {
 public:
  void write(const LogEvent&) override {}
};

/// Hands formatted lines to one of spdlog's sinks. The logger's lock is the only one needed.
class SpdlogSink final : public LogSink {
 public:
  SpdlogSink(std::unique_ptr<spdlog::sinks::sink> sink, LogFormat format)
      : sink_(std::move(sink)), format_(format) {
    sink_->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
  }

  void write(const LogEvent& event) override {
    const std::string line = format_ == LogFormat::kJson ? format_json(event) : format_text(event);
    try {
      sink_->log(spdlog::details::log_msg({}, spdlog::level::info, line));
      sink_->flush();
    } catch (const std::exception&) {
      // A line that cannot be written (full disk, closed pipe) must not stop the process.
    }
  }

 private:
  std::unique_ptr<spdlog::sinks::sink> sink_;
  LogFormat format_;
};

}  // namespace

std::optional<LogLevel> log_level_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::string_view log_level_name(LogLevel level) {
  return kLevelNames.at(static_cast<std::size_t>(level));
}

/// Counts the events of each name in its current second.
class Logger::RateLimits {
 public:
  struct Decision {
    bool write = true;
    std::uint64_t suppressed_before = 0;  // left out in the second that has ended
  };

  explicit RateLimits(std::uint32_t per_second) : per_second_(per_second) {}

  Decision admit(std::string_view event, TimePoint now) {
    if (per_second_ == 0) return {};
    auto found = windows_.find(event);
    if (found == windows_.end()) {
      // Names are constants of the program; should one be made up at run time, memory stays
      // bounded.
      if (windows_.size() >= kMaxNames) return {};
      found = windows_.emplace(std::string(event), Window{now, 0, 0}).first;
    }
    Window& window = found->second;
    Decision decision;
    if (now - window.start >= std::chrono::seconds(1)) {
      decision.suppressed_before = std::exchange(window.suppressed, 0);
      window.start = now;
      window.written = 0;
    }
    decision.write = window.written < per_second_;
    decision.write ? ++window.written : ++window.suppressed;
    return decision;
  }

  /// Calls `tell(event, count)` for each name that has events left out, and forgets them.
  template <typename Tell>
  void drain(const Tell& tell) {
    for (auto& [event, window] : windows_) {
      if (window.suppressed > 0) tell(event, std::exchange(window.suppressed, 0));
    }
  }

 private:
  static constexpr std::size_t kMaxNames = 1024;

  struct Window {
    TimePoint start;
    std::uint64_t written;
    std::uint64_t suppressed;
  };

  const std::uint32_t per_second_;
  std::map<std::string, Window, std::less<>> windows_;
};

Logger::Logger(std::unique_ptr<LogSink> sink, const Clock& clock, Options options)
    : clock_(clock),
      level_(options.level),
      sink_(std::move(sink)),
      limits_(std::make_unique<RateLimits>(options.events_per_second)) {}

Logger::~Logger() {
  flush();
}

void Logger::write(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  const std::lock_guard lock(mutex_);
  const RateLimits::Decision decision = limits_->admit(event, clock_.now());
  const std::int64_t wall_ms = clock_.wall_ms();
  if (decision.suppressed_before > 0) {
    write_suppressed(wall_ms, event, decision.suppressed_before);
  }
  if (decision.write) sink_->write({level, wall_ms, event, fields});
}

void Logger::flush() {
  const std::lock_guard lock(mutex_);
  const std::int64_t wall_ms = clock_.wall_ms();
  limits_->drain([&](std::string_view event, std::uint64_t count) {
    write_suppressed(wall_ms, event, count);
  });
  sink_->flush();
}

void Logger::write_suppressed(std::int64_t wall_ms, std::string_view event, std::uint64_t count) {
  const std::array<LogField, 2> fields = {LogField{"of", event}, LogField{"suppressed", count}};
  sink_->write({LogLevel::kWarn, wall_ms, "log_events_suppressed", fields});
}

std::unique_ptr<LogSink> null_log_sink() {
  return std::make_unique<NullLogSink>();
}

std::unique_ptr<LogSink> stderr_log_sink(LogFormat format) {
  return std::make_unique<SpdlogSink>(std::make_unique<spdlog::sinks::stderr_sink_st>(), format);
}

Result<std::unique_ptr<LogSink>> file_log_sink(const std::string& path, LogFormat format) {
  try {
    return std::unique_ptr<LogSink>(std::make_unique<SpdlogSink>(
        std::make_unique<spdlog::sinks::basic_file_sink_st>(path), format));
  } catch (const std::exception& error) {
    return Status(Code::kIoError, "cannot open the log file '" + path + "': " + error.what());
  }
}

}  // namespace segue
