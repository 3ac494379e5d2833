#include "node/data_check_run.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string_view>

#include "common/clock.h"
#include "common/program_error.h"
#include "node/data_check_text.h"
#include "node/exit_codes.h"
#include "node/log_interpretation.h"
#include "storage/data_check.h"
#include "storage/posix_file_system.h"

namespace segue::node {

namespace {

/// More are counted only.
constexpr std::size_t kMostFindings = 1000;
constexpr std::chrono::milliseconds kProgressEvery{200};

/// Shows on a terminal how far the check is.
class ProgressLine {
 public:
  explicit ProgressLine(const Clock& clock)
      : clock_(clock), shown_(::isatty(STDERR_FILENO) == 1), next_(clock.now() + kProgressEvery) {}
  ~ProgressLine() { wipe(); }

  void show(const storage::CheckTotals& totals) {
    if (!shown_ || clock_.now() < next_) return;
    next_ = clock_.now() + kProgressEvery;
    written_ = true;
    std::fprintf(stderr, "\r\033[Kchecked %s ...", data_check_amount(totals).c_str());
  }
  void wipe() {
    if (written_) std::fputs("\r\033[K", stderr);
    written_ = false;
  }

 private:
  const Clock& clock_;
  const bool shown_;
  bool written_ = false;
  TimePoint next_;
};

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace

Result<DataCheckResult> check_directory(storage::FileSystem& files, const std::string& directory) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  DataCheckResult result;
  result.directory = directory;
  ProgressLine progress(clock);
  storage::DataCheckOptions options;
  options.found = [&](const storage::CheckFinding& finding) {
    if (result.findings.size() < kMostFindings) {
      result.findings.push_back(finding);
    } else {
      ++result.left_out;
    }
  };
  options.progress = [&](const storage::CheckTotals& totals) { progress.show(totals); };
  options.interpret = [](const storage::ReplayedRecord& record, storage::MissingMessages& missing) {
    interpret(record, missing);
  };
  options.content = [](const storage::ReplayedRecord& record, storage::LogContent& content) {
    interpret(record, content);
  };
  const auto totals = storage::check_data(files, directory, options);
  if (!totals.is_ok()) return totals.status();
  result.totals = *totals;
  result.seconds = std::chrono::duration<double>(clock.now() - begin).count();
  return result;
}

int run_data_check(const std::string& directory, bool json) {
  storage::PosixFileSystem files;
  const auto result = check_directory(files, directory);
  if (!result.is_ok()) {
    tell_program_error("segue-node", result.status().message());
    return exit_code_of_failure(result.status());
  }
  if (!print(json ? data_check_json(*result) : data_check_text(*result))) return kExitOutput;
  return result->totals.problems > 0 ? kExitProblems : kExitOk;
}

}  // namespace segue::node
