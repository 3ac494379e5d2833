#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/definitions.h"
#include "common/field_json.h"
#include "common/json_input.h"
#include "common/utf8.h"

namespace segue {

// What readers of documents of definitions have in common.

inline Status wrong_definitions(std::string message) {
  return Status(Code::kInvalidConfig, std::move(message));
}

/// One object of the document, read member by member. The first thing that is wrong is kept.
class Members {
 public:
  Members(const JsonValue& object, std::string place) : object_(object), place_(std::move(place)) {
    if (object_.object() == nullptr) {
      fail(place_ + " is " + std::string(object_.kind_name()) + "; it must be an object");
    }
  }

  bool has(std::string_view name) const { return object_.find(name) != nullptr; }
  std::string text(const char* name, std::optional<std::string> otherwise = std::nullopt) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || value->text() == nullptr) {
      fail(place_ + "." + name + " is " + kind(value) + "; it must be a string");
      return {};
    }
    return *value->text();
  }
  bool truth(const char* name, bool otherwise) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return otherwise;
    if (value->truth() == nullptr) {
      fail(place_ + "." + name + " is " + kind(value) + "; it must be true or false");
      return otherwise;
    }
    return *value->truth();
  }
  /// A whole number, not negative; nothing if it is missing.
  std::optional<std::uint64_t> limit(const char* name) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return std::nullopt;
    if (value->whole() != nullptr && *value->whole() >= 0) {
      return static_cast<std::uint64_t>(*value->whole());
    }
    fail(place_ + "." + name + " is " + kind(value) +
         (value->whole() != nullptr ? " below 0" : "") + "; it must be a whole number from 0 on");
    return std::nullopt;
  }
  /// A whole number of 32 bits; 0 if it is missing.
  std::int32_t number(const char* name) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return 0;
    const bool fits =
        value->whole() != nullptr && *value->whole() == static_cast<std::int32_t>(*value->whole());
    if (fits) return static_cast<std::int32_t>(*value->whole());
    fail(place_ + "." + name + " is " + kind(value) + "; it must be a whole number of 32 bits");
    return 0;
  }
  /// The names of fields(), each once, in the order of the document.
  std::vector<std::string> field_names(const char* name) const {
    const JsonValue* value = object_.find(name);
    std::vector<std::string> names;
    if (value == nullptr || value->object() == nullptr) return names;
    std::set<std::string_view> known;
    for (const auto& [field, content] : *value->object()) {
      if (known.insert(field).second) names.push_back(field);
    }
    return names;
  }
  FieldMap fields(const char* name) {
    const JsonValue* value = object_.find(name);
    if (value == nullptr) return {};
    // An empty table of a language without tables.
    if (value->array() != nullptr && value->array()->empty()) return {};
    Result<FieldMap> read = fields_of(*value);
    if (!read) {
      fail(place_ + "." + name + ": " + read.status().message());
      return {};
    }
    return std::move(*read);
  }
  /// Members that nobody asked for are mistakes.
  void only(std::initializer_list<std::string_view> known) {
    if (object_.object() == nullptr) return;
    for (const auto& [name, value] : *object_.object()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string list;
      for (const std::string_view one : known)
        list += (list.empty() ? "" : ", ") + std::string(one);
      fail(place_ + " has a member '" + printable(name) + "' that is not known; there are " + list);
    }
  }
  const Status& status() const { return status_; }

 private:
  static std::string kind(const JsonValue* value) {
    return value == nullptr ? "missing" : std::string(value->kind_name());
  }
  void fail(std::string message) {
    if (status_.is_ok()) status_ = wrong_definitions(std::move(message));
  }

  const JsonValue& object_;
  std::string place_;
  Status status_;
};

/// Calls visit(object, place) for each item of a list that may be missing.
template <typename Visit>
Status each_item(const JsonValue& document, const char* name, const Visit& visit) {
  const JsonValue* list = document.find(name);
  if (list == nullptr) return {};
  if (list->array() == nullptr) {
    return wrong_definitions(std::string(name) + " is " + std::string(list->kind_name()) +
                             "; it must be a list");
  }
  for (std::size_t i = 0; i < list->array()->size(); ++i) {
    const std::string place = std::string(name) + "[" + std::to_string(i) + "]";
    if (const Status status = visit((*list->array())[i], place); !status) return status;
  }
  return {};
}

/// RabbitMQ's document.
Status read_rabbitmq_definitions(const JsonValue& document, const ReadDefinitionsOptions& options,
                                 ReadDefinitions& to);

}  // namespace segue
