#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace segue {

/// A place in a configuration file; from 1.
struct ConfigPosition {
  int line = 1;
  int column = 1;
};

/// All that is wrong with one configuration file, in the order of its lines.
class ConfigProblems {
 public:
  /// `file_name` may be empty.
  explicit ConfigProblems(std::string_view file_name) : file_name_(file_name) {}

  /// What is wrong with the file at a place.
  void add(ConfigPosition position, std::string text);
  /// What is wrong with the value of a key.
  void add(ConfigPosition position, std::string_view path, std::string_view text);

  bool empty() const { return problems_.empty(); }
  /// INVALID_CONFIG with a line for each problem; OK if there is none.
  Status to_status() const;

 private:
  // A file of junk makes no endless message.
  static constexpr std::size_t kMaxShown = 50;

  struct Problem {
    ConfigPosition position;
    std::string text;
  };

  std::string file_name_;
  std::vector<Problem> problems_;
  std::size_t left_out_ = 0;
};

/// Text of a configuration as a message shows it: in quotes, with escapes, cut when it is long.
std::string in_quotes(std::string_view text);

}  // namespace segue
