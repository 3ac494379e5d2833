#pragma once

#include <string>

namespace segue::cli {

class Console;

/// Says what became of something that was to be made, changed or deleted: a line, or with `json` an
/// object `{"<kind>": name, "outcome": outcome}`. `outcome` is created, changed, replaced,
/// unchanged, deleted or absent.
void tell_outcome(Console& console, bool json, const std::string& kind, const std::string& name,
                  const std::string& outcome);

}  // namespace segue::cli
