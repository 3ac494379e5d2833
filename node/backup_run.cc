#include "node/backup_run.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "common/clock.h"
#include "common/counted.h"
#include "common/json_string.h"
#include "common/program_error.h"
#include "common/zmq_socket.h"
#include "node/data_check_text.h"
#include "node/exit_codes.h"
#include "storage/offline_backup.h"
#include "storage/posix_file_system.h"

namespace segue::node {

namespace {

using storage::BackupManifest;

constexpr std::chrono::milliseconds kProgressEvery{200};

/// Shows on a terminal how far it is, and ends it at a signal.
class Watcher {
 public:
  explicit Watcher(const char* doing) : doing_(doing), shown_(::isatty(STDERR_FILENO) == 1) {}

  bool operator()(std::uint64_t copied, std::uint64_t total) {
    if (stopped_ || signals_.take() != 0) {
      stopped_ = true;
      return false;
    }
    if (!shown_ || clock_.now() < next_) return true;
    next_ = clock_.now() + kProgressEvery;
    written_ = true;
    std::fprintf(stderr, "\r\033[K%s %s of %s ...", doing_, amount_of_bytes(copied).c_str(),
                 amount_of_bytes(total).c_str());
    return true;
  }
  void wipe() const {
    if (written_) std::fputs("\r\033[K", stderr);
  }
  bool stopped() const { return stopped_; }

 private:
  const char* const doing_;
  const bool shown_;
  const SystemClock clock_;
  ShutdownSignals signals_;
  TimePoint next_{};
  bool written_ = false;
  bool stopped_ = false;
};

std::string in_quotes(const std::string& text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string utc(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return "time " + std::to_string(ms) + " ms";
  }
  return text.data();
}

std::string text_of(const BackupManifest& manifest, const char* what, const std::string& where) {
  return std::string(what) + " node " + manifest.identity.node_id + " of cluster " +
         manifest.identity.cluster + ", as of " + utc(manifest.taken_ms) + ": " +
         counted(manifest.files.size(), "file") + ", " + amount_of_bytes(manifest.bytes()) +
         ", in " + data_check_printable(where) + "\n";
}

std::string json_of(const BackupManifest& manifest, const std::string& where) {
  return "{\"directory\":" + in_quotes(where) +
         ",\"cluster\":" + in_quotes(manifest.identity.cluster) +
         ",\"node\":" + in_quotes(manifest.identity.node_id) +
         ",\"taken_ms\":" + std::to_string(manifest.taken_ms) +
         ",\"online\":" + (manifest.online ? "true" : "false") +
         ",\"files\":" + std::to_string(manifest.files.size()) +
         ",\"bytes\":" + std::to_string(manifest.bytes()) + "}\n";
}

int tell(const Result<BackupManifest>& result, const Watcher& watcher, const char* what,
         const std::string& where, bool json) {
  watcher.wipe();
  if (!result.is_ok()) {
    if (watcher.stopped()) {
      tell_program_error("segue-node", "interrupted; nothing was left in " + where);
      return kExitInterrupted;
    }
    tell_program_error("segue-node", result.status().message());
    if (result.status().code() == Code::kCorruption) return kExitProblems;
    return exit_code_of_failure(result.status());
  }
  const std::string text = json ? json_of(*result, where) : text_of(*result, what, where);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? kExitOk : kExitOutput;
}

}  // namespace

int run_backup(const std::string& directory, const std::string& target, bool json) {
  storage::PosixFileSystem files;
  const SystemClock clock;
  Watcher watcher("copied");
  const auto made = storage::back_up(files, clock, directory, target, std::ref(watcher));
  return tell(made, watcher, "backup of", target, json);
}

int run_restore(const std::string& backup, const std::string& directory, bool json) {
  storage::PosixFileSystem files;
  Watcher watcher("restored");
  const auto made = storage::restore(files, backup, directory, std::ref(watcher));
  return tell(made, watcher, "restored", directory, json);
}

}  // namespace segue::node
