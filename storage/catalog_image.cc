#include "storage/catalog_image.h"

#include <map>
#include <string_view>
#include <utility>

namespace segue::storage {

namespace {

// SQLite's formats (www.sqlite.org/fileformat2.html): big-endian numbers.
constexpr std::size_t kFileHeader = 100;
constexpr std::size_t kWriteVersionAt = 18;  // 2: the file has a log; 1: it needs none
constexpr std::size_t kReadVersionAt = 19;
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kLogMagic = 0x377f0682;  // its lowest bit: checksums of big-endian numbers

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

/// The log's running checksum.
class LogChecksum {
 public:
  explicit LogChecksum(bool big) : big_(big) {}

  void add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += number(bytes, at) + second_;
      second_ += number(bytes, at + 4) + first_;
    }
  }
  /// Whether these 8 bytes are what it is now.
  bool is(std::string_view bytes, std::size_t at) const {
    return big_endian(bytes, at) == first_ && big_endian(bytes, at + 4) == second_;
  }

 private:
  std::uint32_t number(std::string_view bytes, std::size_t at) const {
    const std::uint32_t value = big_endian(bytes, at);
    return big_ ? value : __builtin_bswap32(value);
  }

  const bool big_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

Result<std::string> read_whole(FileSystem& files, const std::string& path) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file.is_ok()) return file.status();
  auto size = (*file)->size();
  if (!size.is_ok()) return size.status();
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  auto read = (*file)->read(0, bytes.data(), bytes.size());
  if (!read.is_ok()) return read.status();
  bytes.resize(*read);
  return bytes;
}

Status damaged(const std::string& path, std::size_t offset, const std::string& what) {
  return Status(Code::kCorruption,
                path + ": " + what + " at offset " + std::to_string(offset) +
                    "; the catalog is damaged: put a copy of another node's catalog in its place");
}

/// Applies what the log has committed to the pages of the file.
class LogReader {
 public:
  LogReader(std::string path, std::string log, CatalogImage& image)
      : path_(std::move(path)), log_(std::move(log)), image_(image) {}

  Status apply() {
    if (log_.size() < kLogHeader) return {};
    const std::uint32_t magic = big_endian(log_, 0);
    LogChecksum checksum((magic & 1) != 0);
    checksum.add(std::string_view(log_).substr(0, 24));
    if ((magic & ~1u) != kLogMagic || !checksum.is(log_, 24)) {
      return damaged(path_, 0, "the log's header fails its checksum");
    }
    page_ = big_endian(log_, 8);
    if (page_ < 512 || page_ > 65536) return damaged(path_, 8, "the log's pages have a wrong size");
    std::size_t at = kLogHeader;
    for (; at + kFrameHeader + page_ <= log_.size(); at += kFrameHeader + page_) {
      const std::string_view frame = std::string_view(log_).substr(at, kFrameHeader + page_);
      if (!is_current(at)) break;
      checksum.add(frame.substr(0, 8));
      checksum.add(frame.substr(kFrameHeader));
      if (!checksum.is(frame, 16)) break;
      pages_[big_endian(frame, 0)] = at + kFrameHeader;
      const std::uint32_t pages = big_endian(frame, 4);
      if (pages > 0 && !commit(pages)) {
        return damaged(path_, at,
                       "the log says that the catalog has " + std::to_string(pages) + " pages");
      }
    }
    return judge_end(at);
  }

 private:
  /// The frame was written since the log began anew.
  bool is_current(std::size_t at) const {
    return std::string_view(log_).substr(at + 8, 8) == std::string_view(log_).substr(16, 8);
  }

  /// False: the catalog cannot have so many pages, since neither file nor log has them.
  bool commit(std::uint32_t pages) {
    if (std::size_t{pages} * page_ > image_.bytes.size() + log_.size()) return false;
    image_.bytes.resize(std::size_t{pages} * page_);
    for (const auto& [number, at] : pages_) {
      if (number == 0 || number > pages) continue;
      image_.bytes.replace(std::size_t{number - 1} * page_, page_, log_, at, page_);
    }
    pages_.clear();
    return true;
  }

  /// A transaction is synced before the next begins: one that is followed by another was on the
  /// disk.
  Status judge_end(std::size_t end) {
    bool committed = false;
    bool begun = false;
    for (std::size_t at = end; at + kFrameHeader + page_ <= log_.size();
         at += kFrameHeader + page_) {
      if (!is_current(at)) continue;
      if (committed) {
        return damaged(path_, end, "a frame of the log is damaged, and later ones are there,");
      }
      begun = true;
      committed = big_endian(log_, at + 4) > 0;
    }
    if (begun) image_.torn_at = end;
    return {};
  }

  const std::string path_;
  const std::string log_;
  CatalogImage& image_;
  std::size_t page_ = 0;
  std::map<std::uint32_t, std::size_t> pages_;  // of the transaction: where their content is
};

}  // namespace

Result<CatalogImage> read_catalog_image(FileSystem& files, const std::string& path,
                                        DamagedCatalogLog damaged) {
  auto bytes = read_whole(files, path);
  if (!bytes.is_ok()) return bytes.status();
  CatalogImage image{std::move(*bytes), 0, {}};
  image.bytes_read = image.bytes.size();
  const std::string log_path = path + "-wal";
  if (files.exists(log_path)) {
    auto log = read_whole(files, log_path);
    if (!log.is_ok()) return log.status();
    image.bytes_read += log->size();
    if (image.bytes.empty() && !log->empty()) {
      return Status(Code::kCorruption,
                    path + ": is empty, and the log of its changes, " + log_path +
                        ", is not: it was cut off, and the log goes with it when it is opened. "
                        "Restore " +
                        path);
    }
    const Status applied = LogReader(log_path, std::move(*log), image).apply();
    const bool ends_there =
        damaged == DamagedCatalogLog::kTakeForEnd && applied.code() == Code::kCorruption;
    if (!applied && !ends_there) return applied;
  }
  if (image.bytes.size() >= kFileHeader) {
    for (const std::size_t at : {kWriteVersionAt, kReadVersionAt}) {
      if (image.bytes[at] == 2) image.bytes[at] = 1;
    }
  }
  return image;
}

}  // namespace segue::storage
