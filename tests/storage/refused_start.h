#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/fakes/faulty_file_system.h"
#include "tests/storage/model_node.h"

namespace segue::storage {

/// Everything below the directory: names and contents, without the lock.
inline MemoryDisk::Image directory_bytes(const FaultyFileSystem& files) {
  MemoryDisk::Image image = files.image();
  std::erase_if(image.files, [](const auto& file) { return file.first.ends_with("/node.lock"); });
  return image;
}

/// What differs, for people; empty if nothing does.
inline std::string difference(const MemoryDisk::Image& before, const MemoryDisk::Image& after) {
  std::string text;
  for (const auto& [path, content] : before.files) {
    const auto found = after.files.find(path);
    if (found == after.files.end()) {
      text += path + " is gone\n";
    } else if (found->second.size() != content.size()) {
      text += path + " has " + std::to_string(found->second.size()) + " bytes instead of " +
              std::to_string(content.size()) + "\n";
    } else if (found->second != content) {
      text += path + " has other bytes\n";
    }
  }
  for (const auto& [path, content] : after.files) {
    if (!before.files.contains(path)) text += path + " is new\n";
  }
  if (before.directories != after.directories) text += "the directories are others\n";
  return text;
}

/// A start that must be refused, and must leave every byte as it was. Why it was refused.
inline Status refused_start(FaultyFileSystem& files) {
  const MemoryDisk::Image before = directory_bytes(files);
  Status refused;
  {
    const ModelNode node(files);
    refused = node.opened();
  }
  EXPECT_FALSE(refused.is_ok()) << "the start was not refused";
  EXPECT_EQ(difference(before, directory_bytes(files)), "") << refused.to_string();
  return refused;
}

}  // namespace segue::storage
