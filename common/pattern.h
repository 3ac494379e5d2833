#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/status.h"

namespace re2 {
class RE2;
}

namespace segue {

/// A regular expression, compiled once. Matching takes a time that grows with the text's length
/// only, whatever the expression: one that a stranger gave does no harm. The door to RE2. Copies
/// share what is compiled; any thread.
class Pattern {
 public:
  /// Most bytes of an expression.
  static constexpr std::size_t kMaxBytes = 1024;
  /// Most steps of its compiled form. A match may take so many for each byte of a text, and
  /// policies are matched with every queue: (.?){999} is short and would stop a node for seconds.
  static constexpr int kMaxSteps = 3000;

  /// RE2's syntax: that of Perl without what needs backtracking (back references, looking around).
  /// PRECONDITION_FAILED says what is wrong with it.
  static Result<Pattern> compile(std::string_view expression);

  /// Of its compiled form: what matching may cost for each byte of a text.
  int steps() const;

  /// Whether it is found anywhere in `text`; ^ and $ bind it to the ends.
  bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace segue
