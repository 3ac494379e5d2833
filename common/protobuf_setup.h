#pragma once

#include <google/protobuf/stubs/logging.h>

namespace segue {

/// Keeps the protobuf library from writing to standard error: what cannot be parsed comes from
/// outside, and whoever parses it logs that with limits. Once, at the start of main().
inline void silence_protobuf() {
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace segue
