#include "storage/checkpoint_mend.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/bytes.h"
#include "common/checksum.h"
#include "storage/checkpoint_file.h"

namespace segue::storage {

namespace {

// As docs/storage-format.md draws it.
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kListBytesAt = 24;
constexpr std::size_t kStateBytesAt = 32;
constexpr std::size_t kListChecksumAt = 40;
constexpr std::size_t kStateChecksumAt = 48;
constexpr std::size_t kHeaderChecksumAt = 56;

/// So many bytes are hashed at most.
constexpr std::uint64_t kMostWork = 1ull << 32;

class Mending {
 public:
  explicit Mending(std::string file) : file_(std::move(file)) {}

  std::optional<MendedCheckpoint> run() {
    if (file_.size() < kHeaderBytes) return {};
    if (!is_right(0, kHeaderChecksumAt, kHeaderChecksumAt)) {
      // The checksum itself is in the header.
      return try_all(0, kHeaderBytes, [&] {
        return is_right(0, kHeaderChecksumAt, kHeaderChecksumAt) && is_whole();
      });
    }
    const std::uint64_t rest = file_.size() - kHeaderBytes;
    const auto list = load_le<std::uint64_t>(file_.data() + kListBytesAt);
    const auto state = load_le<std::uint64_t>(file_.data() + kStateBytesAt);
    if (list > rest || state != rest - list) return {};
    return first_of(try_part(kHeaderBytes, list, kListChecksumAt),
                    try_part(kHeaderBytes + list, state, kStateChecksumAt));
  }

 private:
  static std::optional<MendedCheckpoint> first_of(std::optional<MendedCheckpoint> one,
                                                  std::optional<MendedCheckpoint> other) {
    return one ? std::move(one) : std::move(other);
  }
  bool is_right(std::size_t begin, std::size_t size, std::size_t checksum_at) const {
    return load_le<std::uint64_t>(file_.data() + checksum_at) ==
           xxh3_64(std::string_view(file_).substr(begin, size));
  }
  bool is_whole() const { return Checkpoint::decode(file_).is_ok(); }

  std::optional<MendedCheckpoint> try_part(std::size_t begin, std::size_t size,
                                           std::size_t checksum_at) {
    if (is_right(begin, size, checksum_at)) return {};
    return try_all(begin, size, [&] { return is_right(begin, size, checksum_at) && is_whole(); });
  }

  /// Changes each byte of the part, one at a time, while that is not too much work.
  template <typename IsGood>
  std::optional<MendedCheckpoint> try_all(std::size_t begin, std::size_t size, IsGood is_good) {
    const std::uint64_t pass = std::uint64_t{size} * size;
    const auto try_masks = [&](auto wanted) -> std::optional<MendedCheckpoint> {
      for (std::size_t at = begin; at < begin + size; ++at) {
        const char before = file_[at];
        for (int mask = 1; mask < 256; ++mask) {
          if (!wanted(mask)) continue;
          file_[at] = static_cast<char>(before ^ mask);
          if (is_good()) return MendedCheckpoint{file_, at};
        }
        file_[at] = before;
      }
      return {};
    };
    if (size > 0xFFFF || 8 * pass > kMostWork) return {};
    if (auto mended = try_masks([](int mask) { return (mask & (mask - 1)) == 0; })) return mended;
    if (255 * pass > kMostWork) return {};
    return try_masks([](int mask) { return (mask & (mask - 1)) != 0; });
  }

  std::string file_;
};

}  // namespace

std::optional<MendedCheckpoint> mend_checkpoint(std::string file) {
  return Mending(std::move(file)).run();
}

}  // namespace segue::storage
