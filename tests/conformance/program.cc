#include "tests/conformance/program.h"

namespace segue::conformance {
namespace {

bool is_name(char kind, const std::string& name) {
  return name.size() == 2 && name[0] == kind && name[1] >= '0' && name[1] <= '9';
}

std::string in_quotes(const std::string& text) {
  return "'" + text + "'";
}

/// A line of words.
class Line {
 public:
  explicit Line(std::string text) : text_(std::move(text)) {}
  Line& add(const std::string& word) {
    if (!word.empty()) text_ += " " + word;
    return *this;
  }
  Line& flag(bool set, const char* word) { return add(set ? word : ""); }
  Line& number(const char* word, std::int64_t number, std::int64_t usual) {
    return add(number == usual ? "" : std::string(word) + " " + std::to_string(number));
  }
  Line& table(const char* word, const Table& table) {
    return add(table.empty() ? "" : std::string(word) + to_text(table));
  }
  std::string text(int session) const { return "s" + std::to_string(session) + ": " + text_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Printer {
  std::string operator()(const DeclareExchange& op) const {
    return Line("declare exchange " + op.name + " " + op.type)
        .flag(!op.durable, "transient")
        .flag(op.auto_delete, "auto-delete")
        .flag(op.internal, "internal")
        .table("", op.arguments)
        .text(op.session);
  }
  std::string operator()(const DeleteExchange& op) const {
    return Line("delete exchange " + op.name).flag(op.if_unused, "if-unused").text(op.session);
  }
  std::string operator()(const DeclareQueue& op) const {
    return Line((op.update ? "update queue " : "declare queue ") + op.name)
        .flag(!op.durable, "transient")
        .flag(op.exclusive, "exclusive")
        .flag(op.auto_delete, "auto-delete")
        .table("", op.arguments)
        .text(op.session);
  }
  std::string operator()(const DeleteQueue& op) const {
    return Line("delete queue " + op.name)
        .flag(op.if_unused, "if-unused")
        .flag(op.if_empty, "if-empty")
        .text(op.session);
  }
  std::string operator()(const Purge& op) const {
    return Line("purge " + op.queue).text(op.session);
  }
  std::string operator()(const Bind& op) const {
    return Line(std::string(op.unbind ? "unbind " : "bind ") + op.exchange + " -> " + op.to)
        .add("key " + in_quotes(op.key))
        .table("", op.arguments)
        .text(op.session);
  }
  std::string operator()(const Publish& op) const {
    Line line("publish to " + in_quotes(op.exchange) + " key " + in_quotes(op.key));
    if (op.expiration) line.add("expiration " + std::to_string(*op.expiration));
    return line.number("count", op.count, 1)
        .number("bytes", op.bytes, 4)
        .number("priority", op.priority, 0)
        .number("delay", op.delay, 0)
        .add(op.group.empty() ? "" : "group " + op.group)
        .flag(op.mandatory, "mandatory")
        .table("headers ", op.headers)
        .text(op.session);
  }
  std::string operator()(const Get& op) const {
    return Line("get " + op.queue).flag(op.no_ack, "no-ack").text(op.session);
  }
  std::string operator()(const Consume& op) const {
    return Line("consume " + op.queue + " as c" + std::to_string(op.consumer))
        .add("prefetch " + std::to_string(op.prefetch))
        .flag(op.no_ack, "no-ack")
        .flag(op.exclusive, "exclusive")
        .number("priority", op.priority, 0)
        .text(op.session);
  }
  std::string operator()(const Cancel& op) const {
    return "cancel c" + std::to_string(op.consumer);
  }
  std::string operator()(const Settle& op) const {
    static constexpr const char* kNames[] = {"ack", "reject", "requeue", "release"};
    const std::string which =
        op.newest == 0 ? "latest" : std::to_string(op.newest) + " before the latest";
    return std::string(kNames[static_cast<int>(op.how)]) + " the " + which +
           (op.again ? " settled" : " unsettled") + " delivery";
  }
  std::string operator()(const Browse& op) const {
    return Line("browse " + op.queue).flag(op.delayed, "delayed").text(op.session);
  }
  std::string operator()(const CancelDelayed& op) const {
    return Line("cancel the delayed message of " + op.queue)
        .add(std::to_string(op.newest) + " before the latest")
        .text(op.session);
  }
  std::string operator()(const SetPolicy& op) const {
    return Line("set policy " + op.name + " for " + op.apply_to + " like " + in_quotes(op.pattern))
        .number("priority", op.priority, 0)
        .table("", op.definition)
        .text(op.session);
  }
  std::string operator()(const DeletePolicy& op) const {
    return Line("delete policy " + op.name).text(op.session);
  }
  std::string operator()(const Reopen& op) const {
    return "close and open s" + std::to_string(op.session);
  }
  std::string operator()(const Restart& op) const {
    return std::string("kill and start ") + (op.nodes ? "all nodes" : "the router");
  }
};

/// Collects what differs from the operation in one thing each.
template <typename Op>
class Variants {
 public:
  explicit Variants(const Op& op) : op_(op) {}

  template <typename T>
  Variants& set(T Op::*member, const T& value) {
    if (op_.*member == value) return *this;
    Op variant = op_;
    variant.*member = value;
    found_.push_back(variant);
    return *this;
  }
  Variants& without(Table Op::*member) {
    for (const auto& [name, value] : op_.*member) {
      Op variant = op_;
      (variant.*member).erase(name);
      found_.push_back(variant);
    }
    return *this;
  }
  std::vector<Operation> found() { return std::move(found_); }

 private:
  const Op& op_;
  std::vector<Operation> found_;
};

struct Simplifier {
  std::vector<Operation> operator()(const DeclareExchange& op) const {
    return Variants(op)
        .without(&DeclareExchange::arguments)
        .set(&DeclareExchange::auto_delete, false)
        .set(&DeclareExchange::internal, false)
        .set(&DeclareExchange::durable, true)
        .set(&DeclareExchange::type, std::string("fanout"))
        .set(&DeclareExchange::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const DeleteExchange& op) const {
    return Variants(op)
        .set(&DeleteExchange::if_unused, false)
        .set(&DeleteExchange::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const DeclareQueue& op) const {
    return Variants(op)
        .without(&DeclareQueue::arguments)
        .set(&DeclareQueue::auto_delete, false)
        .set(&DeclareQueue::exclusive, false)
        .set(&DeclareQueue::durable, true)
        .set(&DeclareQueue::update, false)
        .set(&DeclareQueue::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const DeleteQueue& op) const {
    return Variants(op)
        .set(&DeleteQueue::if_unused, false)
        .set(&DeleteQueue::if_empty, false)
        .set(&DeleteQueue::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const Purge& op) const {
    return Variants(op).set(&Purge::session, 0).found();
  }
  std::vector<Operation> operator()(const Bind& op) const {
    return Variants(op)
        .without(&Bind::arguments)
        .set(&Bind::key, std::string())
        .set(&Bind::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const Publish& op) const {
    return Variants(op)
        .without(&Publish::headers)
        .set(&Publish::count, 1)
        .set(&Publish::count, std::max(1, op.count - 1))
        .set(&Publish::mandatory, false)
        .set(&Publish::priority, 0)
        .set(&Publish::bytes, 4)
        .set(&Publish::expiration, {})
        .set(&Publish::delay, 0)
        .set(&Publish::group, std::string())
        .set(&Publish::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const Get& op) const {
    return Variants(op).set(&Get::no_ack, false).set(&Get::session, 0).found();
  }
  std::vector<Operation> operator()(const Consume& op) const {
    return Variants(op)
        .set(&Consume::no_ack, false)
        .set(&Consume::exclusive, false)
        .set(&Consume::priority, 0)
        .set(&Consume::prefetch, 1)
        .set(&Consume::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const Settle& op) const {
    return Variants(op).set(&Settle::newest, 0).set(&Settle::how, Settle::How::kAck).found();
  }
  std::vector<Operation> operator()(const Browse& op) const {
    return Variants(op).set(&Browse::delayed, false).set(&Browse::session, 0).found();
  }
  std::vector<Operation> operator()(const CancelDelayed& op) const {
    return Variants(op).set(&CancelDelayed::newest, 0).set(&CancelDelayed::session, 0).found();
  }
  std::vector<Operation> operator()(const SetPolicy& op) const {
    return Variants(op)
        .without(&SetPolicy::definition)
        .set(&SetPolicy::priority, 0)
        .set(&SetPolicy::session, 0)
        .found();
  }
  std::vector<Operation> operator()(const DeletePolicy& op) const {
    return Variants(op).set(&DeletePolicy::session, 0).found();
  }
  std::vector<Operation> operator()(const Reopen& op) const {
    return Variants(op).set(&Reopen::session, 0).found();
  }
  std::vector<Operation> operator()(const Cancel&) const { return {}; }
  std::vector<Operation> operator()(const Restart&) const { return {}; }
};

}  // namespace

bool is_queue_name(const std::string& name) {
  return is_name('q', name);
}

bool is_exchange_name(const std::string& name) {
  return is_name('e', name);
}

std::string to_text(const Value& value) {
  if (const auto* text = value.as<std::string>()) return in_quotes(*text);
  if (const auto* number = value.as<std::int64_t>()) return std::to_string(*number);
  if (const auto* truth = value.as<bool>()) return *truth ? "true" : "false";
  return value.is_void() ? "void" : "(other)";
}

std::string to_text(const Table& table) {
  std::string text;
  for (const auto& [name, value] : table) {
    text += (text.empty() ? "" : ", ") + name + ": " + to_text(value);
  }
  return "{" + text + "}";
}

std::string to_text(const Operation& operation) {
  return std::visit(Printer(), operation);
}

std::string to_text(const Program& program) {
  std::string text;
  for (const Operation& operation : program) text += "  " + to_text(operation) + "\n";
  return text;
}

std::vector<Operation> simpler(const Operation& operation) {
  return std::visit(Simplifier(), operation);
}

}  // namespace segue::conformance
