#include "common/json_input.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace segue {

namespace {

constexpr std::size_t kMaxDepth = 64;

// Builds our values from the parser's events, so that neither side needs recursion or exceptions.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(JsonValue()); }
  bool boolean(bool truth) override { return add(JsonValue(truth)); }
  bool number_integer(number_integer_t number) override {
    return add(JsonValue(std::int64_t{number}));
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add(JsonValue::huge(std::to_string(number), static_cast<double>(number)));
    }
    return add(JsonValue(static_cast<std::int64_t>(number)));
  }
  bool number_float(number_float_t number, const string_t& text) override {
    if (text.find_first_of(".eE") == string_t::npos) return add(JsonValue::huge(text, number));
    return add(JsonValue(double{number}));
  }
  bool string(string_t& text) override { return add(JsonValue(std::move(text))); }
  bool binary(binary_t& /*bytes*/) override { return false; }
  bool start_object(std::size_t /*count*/) override { return open(JsonValue(JsonValue::Object())); }
  bool start_array(std::size_t /*count*/) override { return open(JsonValue(JsonValue::Array())); }
  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    error_ = "not valid JSON at byte " + std::to_string(position);
    error_byte_ = position;
    return false;
  }

  const std::string& error() const { return error_; }
  std::size_t error_byte() const { return error_byte_; }
  JsonValue take() { return std::move(root_); }

 private:
  struct Open {
    JsonValue value;
    std::string key;
  };

  bool open(JsonValue value) {
    if (open_.size() >= kMaxDepth) {
      error_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    JsonValue done = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(done));
  }

  bool add(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().value.append(std::move(open_.back().key), std::move(value));
    }
    return true;
  }

  JsonValue root_;
  std::vector<Open> open_;
  std::string error_;
  std::size_t error_byte_ = 0;
};

}  // namespace

double JsonValue::number(double otherwise) const {
  if (kind_ == Kind::kWhole) return static_cast<double>(whole_);
  return kind_ == Kind::kReal || kind_ == Kind::kHuge ? real_ : otherwise;
}

const JsonValue* JsonValue::find(std::string_view name) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

std::string_view JsonValue::kind_name() const {
  constexpr std::string_view kNames[] = {"null",     "a truth value", "a number",  "a number",
                                         "a string", "an array",      "an object", "a number"};
  return kNames[static_cast<std::size_t>(kind_)];
}

void JsonValue::append(std::string key, JsonValue value) {
  if (kind_ == Kind::kArray) {
    items_.push_back(std::move(value));
  } else {
    members_.emplace_back(std::move(key), std::move(value));
  }
}

Result<JsonValue> parse_json(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    std::string error = builder.error().empty() ? "not valid JSON" : builder.error();
    if (const auto line = 1 + std::count(text.begin(),
                                         text.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            text.size(), builder.error_byte())),
                                         '\n');
        line > 1) {
      error += ", line " + std::to_string(line);
    }
    return Status(Code::kInvalidConfig, std::move(error));
  }
  return builder.take();
}

}  // namespace segue
