#include "common/program_error.h"

#include <cstdio>
#include <string>

namespace segue {

void tell_program_error(std::string_view program, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    out.append(program).append(": ").append(line).append("\n");
  }
  std::fwrite(out.data(), 1, out.size(), stderr);
}

}  // namespace segue
