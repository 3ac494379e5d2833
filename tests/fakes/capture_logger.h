#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/logging.h"
#include "tests/fakes/manual_clock.h"

namespace segue {

/// A logger that writes nothing.
class NullLogger final : public Logger {
 public:
  NullLogger() : Logger(null_log_sink(), clock(), {LogLevel::kOff, 0}) {}

 private:
  static const Clock& clock() {
    static const SystemClock system_clock;
    return system_clock;
  }
};

/// A logger that keeps its lines. Not limited in rate unless a rate is given; all levels.
class CaptureLogger {
 public:
  explicit CaptureLogger(std::uint32_t events_per_second = 0, LogFormat format = LogFormat::kText,
                         LogLevel level = LogLevel::kTrace)
      : logger_(std::make_unique<Sink>(lines_, format), clock_, {level, events_per_second}) {}

  Logger& logger() { return logger_; }
  ManualClock& clock() { return clock_; }
  const std::vector<std::string>& lines() const { return lines_; }
  /// Whether a line has this text in it.
  bool contains(std::string_view text) const {
    for (const std::string& line : lines_) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

 private:
  class Sink final : public LogSink {
   public:
    Sink(std::vector<std::string>& lines, LogFormat format) : lines_(lines), format_(format) {}
    void write(const LogEvent& event) override {
      lines_.push_back(format_ == LogFormat::kJson ? format_json(event) : format_text(event));
    }

   private:
    std::vector<std::string>& lines_;
    LogFormat format_;
  };

  ManualClock clock_;
  std::vector<std::string> lines_;
  Logger logger_;
};

}  // namespace segue
