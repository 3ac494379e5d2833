#include "common/pattern.h"

#include <re2/re2.h>

#include <utility>

namespace segue {
namespace {

// For the compiled form, and for the automaton that matching builds; RE2 goes on in a slower way,
// still in linear time, where that does not do.
constexpr std::int64_t kMaxMemory = 1 << 20;

}  // namespace

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (expression.size() > kMaxBytes) {
    return Status(Code::kPreconditionFailed,
                  "the regular expression has " + std::to_string(expression.size()) +
                      " bytes; at most " + std::to_string(kMaxBytes) + " are taken");
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  auto compiled = std::make_shared<const re2::RE2>(
      re2::StringPiece(expression.data(), expression.size()), options);
  if (compiled->ok() && compiled->ProgramSize() > kMaxSteps) {
    return Status(Code::kPreconditionFailed,
                  "the regular expression has " + std::to_string(compiled->ProgramSize()) +
                      " steps when it is compiled, and at most " + std::to_string(kMaxSteps) +
                      " are taken; repeat less in it");
  }
  if (compiled->ok()) return Pattern(std::move(compiled));
  return Status(Code::kPreconditionFailed,
                "it is not a regular expression in the syntax of RE2: " + compiled->error());
}

int Pattern::steps() const {
  return compiled_->ProgramSize();
}

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace segue
