#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

namespace segue::storage {

/// Messages of a SegmentedQueue with consecutive numbers, as they stand in the queue's memory:
/// nothing was copied. Keeps that memory (up to 256 KiB, or one larger message) alive, also when
/// the queue goes; so let go of it soon.
///
///     for (std::string_view message : batch) ...
///
/// Immutable; several threads may read one.
class PolledBatch {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    /// Valid while the batch, or a copy of it, lives.
    std::string_view operator*() const { return {at_ + kLengthBytes, length()}; }
    Iterator& operator++() {
      at_ += kLengthBytes + length();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class PolledBatch;
    static constexpr std::size_t kLengthBytes = 4;
    explicit Iterator(const char* at) : at_(at) {}
    std::size_t length() const {
      unsigned char raw[kLengthBytes];
      std::memcpy(raw, at_, kLengthBytes);
      return std::size_t{raw[0]} | std::size_t{raw[1]} << 8 | std::size_t{raw[2]} << 16 |
             std::size_t{raw[3]} << 24;
    }

    const char* at_ = nullptr;
  };

  PolledBatch() = default;

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  /// The number of the first message; the others follow. Numbers go up by one from message to
  /// message, never change and are never given again: what ack() and release() want.
  std::uint64_t first() const { return first_; }
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }
  /// The first message; not of an empty batch.
  std::string_view front() const { return *begin(); }

 private:
  friend class EmbeddedQueue;
  /// Messages as the queue frames them: a little-endian u32 length and the bytes, back to back,
  /// checked before.
  PolledBatch(std::shared_ptr<const void> owner, std::string_view framed, std::uint64_t first,
              std::size_t count)
      : owner_(std::move(owner)),
        begin_(framed.data()),
        end_(framed.data() + framed.size()),
        first_(first),
        count_(count) {}

  std::shared_ptr<const void> owner_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace segue::storage
