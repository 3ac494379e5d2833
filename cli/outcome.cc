#include "cli/outcome.h"

#include <algorithm>

#include "cli/console.h"
#include "common/json_output.h"
#include "common/utf8.h"

namespace segue::cli {

void tell_outcome(Console& console, bool json, const std::string& kind, const std::string& name,
                  const std::string& outcome) {
  if (!json) {
    console.write(kind + " " + printable(name) + ": " + outcome + "\n");
    return;
  }
  std::string key = kind;
  std::replace(key.begin(), key.end(), ' ', '_');
  JsonWriter writer;
  writer.begin_object().field(key, name).field("outcome", outcome);
  console.write(writer.end_object().take() + "\n");
}

}  // namespace segue::cli
