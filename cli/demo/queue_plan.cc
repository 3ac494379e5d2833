#include "cli/demo/queue_plan.h"

namespace segue::cli::demo {

std::vector<QueuePlan> queue_plans(RecordFile::Kind kind) {
  if (kind == RecordFile::Kind::kLines) {
    return {
        {"all-lines", {"#"}},
        {"lines", {"lines.*"}},
        {"copies", {"*.plain", "lines.plain"}},
        {"nothing", {"packages.#"}},
    };
  }
  return {
      {"everything", {"#"}},
      {"libraries", {"libs.*", "oldlibs.*"}},
      {"headers", {"libdevel.#"}},
      {"devel", {"devel.*"}},
      {"python", {"python.#"}},
      {"base", {"*.required", "*.important"}},
      // A package of several of these must come once.
      {"utils", {"utils.#", "admin.*", "*.standard", "#.required"}},
  };
}

}  // namespace segue::cli::demo
