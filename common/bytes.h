#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace segue {

/// A read-only run of bytes that keeps its owner alive: what a ZeroMQ frame, a file read or a
/// string is turned into once, and then only sliced. Copying copies a pointer and a reference
/// count, never the bytes. Safe to hand to another thread.
class SharedBytes {
 public:
  SharedBytes() = default;
  /// `data` must stay valid and unchanged for as long as `owner` lives.
  SharedBytes(std::shared_ptr<const void> owner, const void* data, std::size_t size)
      : owner_(std::move(owner)), data_(static_cast<const char*>(data)), size_(size) {}

  /// Takes the string's bytes over (one allocation, no copy of a long string).
  static SharedBytes from(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    const char* data = owner->data();
    const std::size_t size = owner->size();
    return SharedBytes(std::move(owner), data, size);
  }

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Valid while this object, or another slice of the same owner, lives.
  std::string_view view() const { return {data_, size_}; }
  /// Bytes [offset, offset + length); the caller has checked the range.
  SharedBytes slice(std::size_t offset, std::size_t length) const {
    return SharedBytes(owner_, data_ + offset, length);
  }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Little-endian numbers, as every file and frame of Segue has them.
template <typename Number>
inline void store_le(char* to, Number number) {
  static_assert(std::is_unsigned_v<Number>);
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to[i] = static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
  }
}
template <typename Number>
inline Number load_le(const char* from) {
  static_assert(std::is_unsigned_v<Number>);
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number | static_cast<Number>(static_cast<unsigned char>(from[i]))
                                              << (8 * i));
  }
  return number;
}
template <typename Number>
inline void append_le(std::string& to, Number number) {
  char raw[sizeof(Number)];
  store_le(raw, number);
  to.append(raw, sizeof raw);
}

}  // namespace segue
