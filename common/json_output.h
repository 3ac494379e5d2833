#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace segue {

/// Builds one JSON text. Keys and values come in order; the caller closes what it opens. Strings
/// that are not UTF-8 have their bad bytes replaced by U+FFFD, so that the text is always valid.
/// One thread.
///
///     JsonWriter json;
///     json.begin_object().field("name", name).key("shards").begin_array();
///     for (...) json.value(shard);
///     std::string text = json.end_array().end_object().take();
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint32_t number) { return value(std::uint64_t{number}); }
  JsonWriter& value(std::int32_t number) { return value(std::int64_t{number}); }
  /// Rounded to `decimals`; null when it is not finite.
  JsonWriter& value(double number, int decimals = 3);
  /// As short as reads back as the same number, and never without a point or an exponent.
  JsonWriter& exact(double number);
  JsonWriter& null();
  /// A JSON text as it is.
  JsonWriter& raw(std::string_view json);

  template <typename T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// What was written; the writer is empty afterwards.
  std::string take();

 private:
  void before_value();

  std::string out_;
  bool comma_ = false;
};

/// `text` as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace segue
