#include "storage/queue_stat.h"

#include <span>
#include <string_view>

namespace segue::storage {

Status write_queue_stat(FileSystem& files, const std::string& directory, std::uint64_t total,
                        std::uint64_t valid) {
  const std::string text = std::to_string(total) + "\t" + std::to_string(valid) + "\n";
  auto file = files.open(directory + "/queue_stat", OpenMode::kReadWrite);
  if (!file.is_ok()) return file.status();
  const std::string_view piece = text;
  SEGUE_RETURN_IF_ERROR((*file)->write(0, std::span(&piece, 1)));
  return (*file)->truncate(text.size());
}

}  // namespace segue::storage
