#include "node/data_repair_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/json_string.h"

namespace segue::node {

namespace {

using storage::CheckFinding;
using storage::RepairLoss;

std::string counted(std::uint64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

void field(std::string& json, const char* name, std::string_view text) {
  json += std::string(",\"") + name + "\":";
  append_json_string(json, text);
}
void field(std::string& json, const char* name, std::uint64_t number) {
  json += std::string(",\"") + name + "\":" + std::to_string(number);
}
void field(std::string& json, const char* name, bool value) {
  json += std::string(",\"") + name + "\":" + (value ? "true" : "false");
}

void append(std::string& json, const RepairLoss& loss) {
  field(json, "lost_log_records", loss.log_records);
  field(json, "lost_messages", loss.messages);
  field(json, "untraced_messages", loss.untraced);
  field(json, "returned_messages", loss.returned);
  field(json, "more_may_be_lost", loss.more);
}

std::string loss_text(const RepairLoss& loss) {
  std::string text;
  const auto add = [&](std::uint64_t number, const std::string& noun, const char* behind) {
    if (number > 0) text += (text.empty() ? "" : ", ") + counted(number, noun) + behind;
  };
  add(loss.log_records, "record", " of the log");
  add(loss.messages, "message", "");
  if (!text.empty()) text = "Lost: " + text + ". ";
  if (loss.untraced > 0) {
    text += counted(loss.untraced, "message") + " without a trace: lost, or settled before. ";
  }
  if (loss.returned > 0) {
    text += counted(loss.returned, "settled message") + " may come back. ";
  }
  if (loss.more) {
    text +=
        "More messages may be lost, or come back, than can be counted: the steps above say of "
        "what. ";
  }
  return text.empty() ? "No message is lost. " : text;
}

const char* outcome(ExitCode code) {
  switch (code) {
    case kExitOk:
      return "nothing_to_do";
    case kExitRepaired:
      return "repaired";
    case kExitLoss:
      return "loss";
    default:
      return "left";
  }
}

std::vector<CheckFinding> problems_of(const DataCheckResult& check) {
  std::vector<CheckFinding> problems;
  std::copy_if(check.findings.begin(), check.findings.end(), std::back_inserter(problems),
               [](const CheckFinding& one) { return one.kind == CheckFinding::Kind::kProblem; });
  return problems;
}

}  // namespace

RepairLoss DataRepairResult::loss() const {
  RepairLoss all = totals.loss;
  all.messages += after.totals.lost_messages;
  return all;
}

ExitCode data_repair_exit_code(const DataRepairResult& result) {
  if (result.totals.left > 0) return kExitProblems;
  if (result.loss().any() || result.after.totals.problems > 0) return kExitLoss;
  return result.totals.repairs > 0 ? kExitRepaired : kExitOk;
}

std::string data_repair_step_text(const storage::RepairStep& step, bool rehearsal) {
  std::string text = !step.done ? "NOT REPAIRED " : rehearsal ? "would repair " : "repaired ";
  text += data_check_printable(step.file);
  if (!step.queue.empty()) text += " (queue " + data_check_printable(step.queue) + ")";
  return text + ":\n    " + data_check_printable(step.what) + "\n";
}

std::string data_repair_step_json(const storage::RepairStep& step) {
  std::string json = std::string("{\"repaired\":") + (step.done ? "true" : "false");
  field(json, "file", step.file);
  field(json, "queue", step.queue);
  field(json, "what", step.what);
  append(json, step.loss);
  return json + "}";
}

std::string data_repair_summary(const DataRepairResult& result) {
  const storage::RepairTotals& totals = result.totals;
  std::string text;
  if (totals.repairs + totals.left == 0) {
    text =
        "Nothing keeps " + counted(totals.nodes, "node") + " from starting: nothing to repair.\n";
    if (result.loss().any()) text += loss_text(result.loss()) + "\n";
  } else {
    text = "\n" + counted(totals.repairs, "repair") + ", " + std::to_string(totals.left) +
           " left to you: " + counted(totals.nodes, "node") + "\n" + loss_text(result.loss()) +
           "\n";
    if (result.rehearsal) {
      text += "Nothing was changed: this is what a repair would do.\n";
    } else if (totals.kept) {
      text += "What was replaced is in the folder " + result.folder +
              " of the node's directory; remove it when all is well.\n";
    }
  }
  if (result.after.totals.problems == 0) return text;
  DataCheckResult left = result.after;
  left.findings = problems_of(left);
  return text + "\nThis is still wrong, and no repair makes it good" +
         (totals.left == 0 ? "; the node starts with it" : "") + ":\n\n" + data_check_text(left);
}

std::string data_repair_json(const DataRepairResult& result, const std::string& steps) {
  std::string json = "{\"directory\":";
  append_json_string(json, result.directory);
  field(json, "outcome", std::string_view(outcome(data_repair_exit_code(result))));
  field(json, "rehearsal", result.rehearsal);
  field(json, "folder", std::string_view(result.totals.kept ? result.folder : ""));
  field(json, "nodes", result.totals.nodes);
  field(json, "repairs", result.totals.repairs);
  field(json, "left", result.totals.left);
  append(json, result.loss());
  json += ",\"steps\":[" + steps + "],\"problems_after\":";
  json += std::to_string(result.after.totals.problems) + ",\"findings_after\":[";
  bool first = true;
  for (const CheckFinding& finding : problems_of(result.after)) {
    json += (first ? "" : ",") + data_check_finding_json(finding);
    first = false;
  }
  return json + "]}\n";
}

}  // namespace segue::node
