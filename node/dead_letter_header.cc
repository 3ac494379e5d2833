#include "node/dead_letter_header.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "node/dead_letters.h"

namespace segue::node {

namespace {

constexpr char kDeaths[] = "x-death";
/// More entries are a client's: the oldest are forgotten.
constexpr std::size_t kMostEntries = 100;

using Fields = google::protobuf::Map<std::string, v1::FieldValue>;

/// Empty: there is none, or it is not a text.
std::string_view text_in(const Fields& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return {};
  return found->second.kind_case() == v1::FieldValue::kStringValue
             ? std::string_view(found->second.string_value())
             : std::string_view();
}

bool is_text(const Fields& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->second.kind_case() == v1::FieldValue::kStringValue;
}

/// Whether it is an entry of x-death as this broker writes them.
bool is_entry(const v1::FieldValue& value) {
  return value.kind_case() == v1::FieldValue::kTableValue &&
         is_text(value.table_value().fields(), "queue") &&
         is_text(value.table_value().fields(), "reason");
}

bool is_of(const v1::FieldValue& entry, std::string_view queue, std::string_view reason) {
  const Fields& fields = entry.table_value().fields();
  return text_in(fields, "queue") == queue && text_in(fields, "reason") == reason;
}

std::int64_t count_of(const v1::FieldValue& entry) {
  const Fields& fields = entry.table_value().fields();
  const auto found = fields.find("count");
  if (found == fields.end() || found->second.kind_case() != v1::FieldValue::kIntValue) return 1;
  return std::max<std::int64_t>(found->second.int_value(), 1);
}

std::int64_t saturated_sum(std::int64_t one, std::int64_t other) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return one > kMost - other ? kMost : one + other;
}

/// The entries that make sense; those of the death's queue and reason are not among them but summed
/// up in `same`, if there are any.
std::vector<v1::FieldValue> other_entries(const Death& death, std::string_view reason,
                                          v1::FieldValue& deaths,
                                          std::optional<v1::FieldValue>& same) {
  std::vector<v1::FieldValue> others;
  if (deaths.kind_case() != v1::FieldValue::kArrayValue) return others;
  for (v1::FieldValue& entry : *deaths.mutable_array_value()->mutable_values()) {
    if (!is_entry(entry)) continue;
    if (!is_of(entry, death.queue, reason)) {
      if (others.size() + 1 < kMostEntries) others.push_back(std::move(entry));
    } else if (!same) {
      same = std::move(entry);
    } else {
      const std::int64_t sum = saturated_sum(count_of(*same), count_of(entry));
      (*same->mutable_table_value()->mutable_fields())["count"].set_int_value(sum);
    }
  }
  return others;
}

v1::FieldValue new_entry(const Death& death, std::string_view reason,
                         const v1::MessageHeader& header) {
  v1::FieldValue entry;
  Fields& fields = *entry.mutable_table_value()->mutable_fields();
  fields["queue"].set_string_value(std::string(death.queue));
  fields["reason"].set_string_value(std::string(reason));
  fields["count"].set_int_value(1);
  fields["time"].set_timestamp_ms(death.time_ms);
  fields["exchange"].set_string_value(header.exchange());
  fields["routing-keys"].mutable_array_value()->add_values()->set_string_value(
      header.routing_key());
  return entry;
}

void set_texts(Fields& headers, const std::string& prefix, const Death& death,
               std::string_view reason, const std::string& exchange) {
  headers[prefix + "queue"].set_string_value(std::string(death.queue));
  headers[prefix + "reason"].set_string_value(std::string(reason));
  headers[prefix + "exchange"].set_string_value(exchange);
}

}  // namespace

void add_death(const Death& death, v1::MessageHeader& header) {
  const std::string_view reason = dead_reason_name(death.reason);
  Fields& headers = *header.mutable_properties()->mutable_headers();
  std::optional<v1::FieldValue> same;
  v1::FieldValue& deaths = headers[kDeaths];
  std::vector<v1::FieldValue> others = other_entries(death, reason, deaths, same);
  if (same) {
    const std::int64_t count = saturated_sum(count_of(*same), 1);
    (*same->mutable_table_value()->mutable_fields())["count"].set_int_value(count);
  } else {
    same = new_entry(death, reason, header);
  }
  if (!header.properties().expiration().empty()) {
    (*same->mutable_table_value()->mutable_fields())["original-expiration"].set_string_value(
        header.properties().expiration());
    header.mutable_properties()->clear_expiration();
  }
  // It has waited for its time already.
  header.mutable_properties()->clear_delay_ms();
  header.mutable_properties()->clear_deliver_at_ms();
  v1::FieldArray& array = *deaths.mutable_array_value();
  array.Clear();
  *array.add_values() = *std::move(same);
  for (v1::FieldValue& entry : others) *array.add_values() = std::move(entry);
  if (!is_text(headers, "x-first-death-queue")) {
    set_texts(headers, "x-first-death-", death, reason, header.exchange());
  }
  set_texts(headers, "x-last-death-", death, reason, header.exchange());
}

bool goes_round(const v1::MessageHeader& header, std::string_view queue) {
  const auto deaths = header.properties().headers().find(kDeaths);
  if (deaths == header.properties().headers().end()) return false;
  for (const v1::FieldValue& entry : deaths->second.array_value().values()) {
    if (!is_entry(entry)) continue;
    const Fields& fields = entry.table_value().fields();
    if (text_in(fields, "reason") == dead_reason_name(v1::DEAD_REASON_REJECTED)) return false;
    if (text_in(fields, "queue") == queue) return true;
  }
  return false;
}

}  // namespace segue::node
