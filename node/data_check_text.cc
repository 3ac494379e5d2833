#include "node/data_check_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "common/json_string.h"
#include "common/utf8.h"

namespace segue::node {

namespace {

using storage::CheckFinding;

constexpr std::size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;  // the last column: what was found

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::uint64_t number, const char* noun) {
  return grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(
      std::count_if(cell.begin(), cell.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

Row row_of(const CheckFinding& finding) {
  return {finding.kind == CheckFinding::Kind::kProblem ? "PROBLEM" : "note",
          data_check_printable(finding.file),
          finding.offset ? std::to_string(*finding.offset) : "-",
          finding.queue.empty() ? "-" : data_check_printable(finding.queue),
          (finding.sequence ? std::to_string(*finding.sequence) : "-") +
              (finding.messages > 1 ? " (" + counted(finding.messages, "message") + ")" : ""),
          data_check_printable(finding.what)};
}

std::string table(const std::vector<CheckFinding>& findings) {
  std::vector<Row> rows{{"KIND", "FILE", "OFFSET", "QUEUE", "SEQUENCE", "WHAT"}};
  for (const CheckFinding& finding : findings) rows.push_back(row_of(finding));
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < kColumns; ++i) {
      text += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    text += row[kColumns - 1] + "\n";
  }
  return text;
}

void field(std::string& json, const char* name, std::uint64_t number) {
  json += std::string(",\"") + name + "\":" + std::to_string(number);
}

void field(std::string& json, const char* name, std::string_view text) {
  json += std::string(",\"") + name + "\":";
  append_json_string(json, text);
}

}  // namespace

std::string amount_of_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text.data();
}

std::string data_check_printable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = next_utf8(text.substr(at));
    const bool shows = character.valid && character.code_point >= 0x20 &&
                       (character.code_point < 0x7F || character.code_point >= 0xA0);
    if (shows) {
      shown += text.substr(at, character.size);
    } else {
      for (const char byte : text.substr(at, character.size)) {
        std::array<char, 8> escape;
        std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<unsigned char>(byte));
        shown += escape.data();
      }
    }
    at += character.size;
  }
  return shown;
}

std::string data_check_amount(const storage::CheckTotals& totals) {
  return counted(totals.files, "file") + ", " + counted(totals.messages, "message") + ", " +
         amount_of_bytes(totals.bytes);
}

std::string data_check_text(const DataCheckResult& result) {
  const storage::CheckTotals& totals = result.totals;
  std::string text;
  if (!result.findings.empty()) text = table(result.findings);
  if (result.left_out > 0) text += "(" + counted(result.left_out, "more finding") + ")\n";
  if (!text.empty()) text += "\n";
  std::array<char, 32> seconds;
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", result.seconds);
  return text + counted(totals.problems, "problem") + ", " + counted(totals.notes, "note") + ": " +
         counted(totals.nodes, "node") + ", " + data_check_amount(totals) + ", " +
         counted(totals.log_records, "log record") + " in " + seconds.data() + "\n";
}

std::string data_check_finding_json(const CheckFinding& finding) {
  std::string json =
      finding.kind == CheckFinding::Kind::kProblem ? "{\"kind\":\"problem\"" : "{\"kind\":\"note\"";
  field(json, "file", finding.file);
  const auto optional = [&](const char* name, const std::optional<std::uint64_t>& number) {
    if (number) return field(json, name, *number);
    json += std::string(",\"") + name + "\":null";
  };
  optional("offset", finding.offset);
  field(json, "queue", finding.queue);
  optional("sequence", finding.sequence);
  field(json, "messages", finding.messages);
  field(json, "what", finding.what);
  return json + '}';
}

std::string data_check_json(const DataCheckResult& result) {
  const storage::CheckTotals& totals = result.totals;
  std::string json = "{\"directory\":";
  append_json_string(json, result.directory);
  field(json, "nodes", totals.nodes);
  field(json, "files", totals.files);
  field(json, "messages", totals.messages);
  field(json, "log_records", totals.log_records);
  field(json, "bytes", totals.bytes);
  field(json, "problems", totals.problems);
  field(json, "notes", totals.notes);
  field(json, "lost_messages", totals.lost_messages);
  field(json, "left_out", result.left_out);
  json += ",\"findings\":[";
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    if (i > 0) json += ',';
    json += data_check_finding_json(result.findings[i]);
  }
  return json + "]}\n";
}

}  // namespace segue::node
