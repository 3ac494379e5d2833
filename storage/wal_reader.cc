#include "storage/wal_reader.h"

#include <algorithm>
#include <utility>

#include "common/checksum.h"

namespace segue::storage {

namespace {

constexpr std::uint64_t kFirstWindow = 64u << 10;  // many files are only looked into
constexpr std::uint64_t kLargestWindow = 4 * kWalGroupBytes;

}  // namespace

Result<std::unique_ptr<WalReader>> WalReader::open(FileSystem& files, const std::string& path,
                                                   std::uint64_t number, std::uint64_t node_hash,
                                                   WalReading reading) {
  std::unique_ptr<WalReader> reader(new WalReader(path, number));
  SEGUE_RETURN_IF_ERROR(reader->open_file(files, reading));
  SEGUE_RETURN_IF_ERROR(reader->check_header(node_hash));
  if (reader->missing_bytes_ == 0) return reader;
  return Status(Code::kCorruption, path + ": offset " + std::to_string(reader->size_) +
                                       ": the file is cut off here, it had " +
                                       std::to_string(reader->size_ + reader->missing_bytes_) +
                                       " bytes at least. Restore it");
}

Result<std::unique_ptr<WalReader>> WalReader::open_cut(FileSystem& files, const std::string& path,
                                                       std::uint64_t number,
                                                       std::uint64_t node_hash) {
  std::unique_ptr<WalReader> reader(new WalReader(path, number));
  SEGUE_RETURN_IF_ERROR(reader->open_file(files, WalReading::kPastCache));
  SEGUE_RETURN_IF_ERROR(reader->check_header(node_hash));
  return reader;
}

Status WalReader::open_file(FileSystem& files, WalReading reading) {
  const OpenMode first_mode = reading == WalReading::kPastCache ? OpenMode::kReadDirect
                              : reading == WalReading::kFresh   ? OpenMode::kReadFresh
                                                                : OpenMode::kRead;
  for (const OpenMode mode : {first_mode, OpenMode::kRead}) {
    auto file = files.open(path_, mode);
    if (!file && mode == OpenMode::kReadDirect && file.status().code() == Code::kNotImplemented) {
      continue;
    }
    if (!file) return file.status();
    file_ = std::move(*file);
    auto size = file_->size();
    if (!size) return size.status();
    size_ = *size;
    // Some file systems take O_DIRECT when a file is opened and refuse it when it is read.
    const Status first = bytes(0, std::min(size_, kWalBlock)).status();
    if (first || mode != OpenMode::kReadDirect) return first;
  }
  return Status::ok();
}

Status WalReader::check_header(std::uint64_t node_hash) {
  if (size_ < WalFileHeader::kBytes) {
    return Status(Code::kCorruption, path_ + ": offset 0: the file header is cut off");
  }
  auto raw = bytes(0, WalFileHeader::kBytes);
  if (!raw) return raw.status();
  auto header = WalFileHeader::decode(raw->data(), path_);
  if (!header) return header.status();
  if (header->node_hash != node_hash) {
    return Status(Code::kInvalidConfig,
                  path_ +
                      ": was written by another node, or for another cluster: remove it from here, "
                      "or start the node that it belongs to");
  }
  if (header->number != number_) {
    return Status(Code::kCorruption,
                  path_ + ": offset 16: has another file's name: it says that it is number " +
                      std::to_string(header->number) + ", so it was named " +
                      wal_file_name(header->number) + ". Give it that name again");
  }
  // It was written through to its end before it got its name.
  const std::uint64_t made_with = header->blocks * kWalBlock;
  if (size_ < made_with) missing_bytes_ = made_with - size_;
  seed_ = header->seed();
  return Status::ok();
}

Result<std::string_view> WalReader::bytes(std::uint64_t offset, std::uint64_t length) {
  const bool inside = offset >= window_offset_ && offset + length <= window_offset_ + window_bytes_;
  if (!inside) {
    next_window_ = std::min(std::max(2 * next_window_, kFirstWindow), kLargestWindow);
    const std::uint64_t wanted =
        wal_round_up(std::max(length, std::min(next_window_, size_ - offset)));
    window_.reserve(wanted, 0);
    window_bytes_ = 0;
    auto got = file_->read(offset, window_.data(), wanted);
    if (!got) return got.status();
    window_offset_ = offset;
    window_bytes_ = *got;
    if (*got < length) {
      return Status(Code::kIoError, path_ + ": read " + std::to_string(length) +
                                        " bytes at offset " + std::to_string(offset) +
                                        ": the file became shorter");
    }
  }
  return std::string_view(window_.data() + (offset - window_offset_), length);
}

Result<std::optional<WalGroupView>> WalReader::group_at(std::uint64_t offset) {
  std::optional<WalGroupView> none;
  if (offset + WalGroupHeader::kBytes > size_) return none;
  auto raw = bytes(offset, WalGroupHeader::kBytes);
  if (!raw) return raw.status();
  const auto header = WalGroupHeader::decode(raw->data(), seed_);
  if (!header || header->bytes < WalGroupHeader::kBytes || header->bytes > size_ - offset)
    return none;
  auto group = bytes(offset, header->bytes);
  if (!group) return group.status();
  WalGroupView view;
  view.header = *header;
  view.next_offset = offset + wal_round_up(header->bytes);
  if (!parse_records(*group, view)) return none;
  return std::optional<WalGroupView>(std::move(view));
}

bool WalReader::parse_records(std::string_view group, WalGroupView& view) const {
  std::string_view rest = group.substr(std::min(group.size(), WalGroupHeader::kBytes));
  while (rest.size() >= WalRecordHeader::kBytes) {
    const auto header = WalRecordHeader::decode(rest.data(), seed_);
    if (!header || header->group != view.header.sequence) return false;
    rest.remove_prefix(WalRecordHeader::kBytes);
    if (header->payload_bytes() > rest.size()) return false;
    const std::string_view payload = rest.substr(0, header->payload_bytes());
    if (xxh3_64(payload) != header->payload_checksum) return false;
    view.records.push_back({*header, payload});
    rest.remove_prefix(payload.size());
  }
  return rest.empty() && view.records.size() == view.header.records;
}

Result<bool> WalReader::has_remains_at(std::uint64_t offset) {
  constexpr std::uint64_t kBoth = WalGroupHeader::kBytes + WalRecordHeader::kBytes;
  if (offset + kBoth > size_) return false;
  auto raw = bytes(offset, kBoth);
  if (!raw) return raw.status();
  return !WalGroupHeader::decode(raw->data(), seed_) &&
         WalRecordHeader::decode(raw->data() + WalGroupHeader::kBytes, seed_).has_value();
}

Status WalReader::each_header(
    std::uint64_t offset, const std::function<void(std::uint64_t, const WalGroupHeader&)>& see) {
  while (offset + WalGroupHeader::kBytes <= size_) {
    auto raw = bytes(offset, WalGroupHeader::kBytes);
    if (!raw) return raw.status();
    const auto header = WalGroupHeader::decode(raw->data(), seed_);
    if (header) see(offset, *header);
    const bool whole =
        header && header->bytes >= WalGroupHeader::kBytes && header->bytes <= size_ - offset;
    offset += whole ? wal_round_up(header->bytes) : kWalBlock;
  }
  return Status::ok();
}

}  // namespace segue::storage
