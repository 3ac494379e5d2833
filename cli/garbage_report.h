#pragma once

#include <string>
#include <vector>

#include "segue/garbage.h"

namespace segue::cli {

/// What is done about one queue's garbage.
struct QueueGarbage {
  std::string name;
  bool paused = false;   // by itself
  bool running = false;  // as was asked for
};

/// What `segue segments` shows to people: a bar for each file.
std::string segments_text(const std::string& queue, const client::QueueSegments& files);
std::string segments_json(const std::string& queue, const client::QueueSegments& files);

/// What `segue gc` shows to people.
std::string garbage_text(const std::vector<client::GarbageDescription>& nodes,
                         const QueueGarbage* queue = nullptr);
std::string garbage_json(const std::vector<client::GarbageDescription>& nodes,
                         const QueueGarbage* queue = nullptr);

}  // namespace segue::cli
