#pragma once

#include <string_view>

namespace segue {

/// Writes an error of a program to standard error: each line of `text` with the program's name in
/// front.
void tell_program_error(std::string_view program, std::string_view text);

}  // namespace segue
