#include "tests/conformance/generator.h"

namespace segue::conformance {
namespace {

constexpr int kQueues = 4;
constexpr int kExchanges = 3;
constexpr int kConsumers = 4;
/// In milliseconds: longer than any test.
constexpr std::int64_t kLongTime = 100'000'000;
constexpr int kShortDelay = 3;

std::string name(char kind, int number) {
  return kind + std::to_string(number);
}

}  // namespace

std::string Generator::queue() {
  return name('q', one_in(25) ? 9 : number(0, kQueues - 1));
}

std::string Generator::exchange() {
  return name('e', one_in(25) ? 9 : number(0, kExchanges - 1));
}

std::string Generator::key() {
  return any_of<const char*>({"", "a", "b", "a.b", "a.b.c", "b.a", "a..b", "1", "2"});
}

Table Generator::headers() {
  Table table;
  if (one_in(2)) table["colour"] = any_of<const char*>({"red", "blue"});
  if (one_in(2)) table["size"] = one_in(3) ? Value("3") : Value(number(3, 4));
  if (one_in(4)) table["x-kind"] = any_of<const char*>({"a", "b"});
  return table;
}

void Generator::add_limits(Table& arguments) {
  if (one_in(2)) arguments["x-max-length"] = number(0, 4);
  if (one_in(4)) arguments["x-max-length-bytes"] = number(0, 40);
  if (one_in(2))
    arguments["x-overflow"] =
        any_of<const char*>({"drop-head", "reject-publish", "reject-publish-dlx"});
}

void Generator::add_odd_argument(Table& arguments) {
  switch (number(0, 5)) {
    case 0:
      arguments["x-max-length"] = -1;
      break;
    case 1:
      arguments["x-overflow"] = "reject";
      break;
    case 2:
      arguments["x-max-priority"] = number(0, 1) * 256;
      break;
    case 3:
      arguments["x-colour"] = "red";
      break;
    case 4:
      arguments["x-delivery-limit"] = "1";
      break;
    default:
      arguments["x-dead-letter-routing-key"] = "a";
  }
}

Table Generator::queue_arguments() {
  Table arguments;
  if (one_in(2)) add_limits(arguments);
  if (!one_in(3)) {
    arguments["x-dead-letter-exchange"] = one_in(3) ? exchange() : "";
    if (!one_in(6)) arguments["x-dead-letter-routing-key"] = one_in(5) ? key() : queue();
  }
  if (one_in(4)) {
    arguments["x-max-priority"] = number(1, 3);
    if (one_in(20)) arguments["x-message-groups"] = true;
  } else if (one_in(4)) {
    arguments["x-message-groups"] = !one_in(4);
  }
  if (one_in(4)) {
    arguments["x-deduplication-window"] = kLongTime;
    if (one_in(2)) arguments["x-deduplication-max"] = number(1, 2);
  }
  if (one_in(4)) arguments["x-delivery-limit"] = number(0, 2);
  if (one_in(6)) arguments["x-single-active-consumer"] = !one_in(4);
  if (one_in(6)) arguments["x-message-ttl"] = one_in(4) ? 0 : kLongTime;
  if (one_in(10)) arguments["x-expires"] = kLongTime;
  if (one_in(10)) arguments["x-consumer-timeout"] = kLongTime;
  if (one_in(8)) arguments["x-durability"] = one_in(2) ? Value("sync") : Value(20);
  if (one_in(25)) add_odd_argument(arguments);
  return arguments;
}

Operation Generator::declare_queue() {
  DeclareQueue op;
  op.session = session();
  op.name = one_in(60) ? "amq.mine" : queue();
  if (const auto known = queues_.find(op.name); known != queues_.end() && one_in(2)) {
    // Equal, but perhaps for one thing.
    op = known->second;
    op.session = session();
    if (one_in(4)) op.durable = !op.durable;
    if (one_in(4)) op.arguments["x-max-length"] = number(0, 4);
    return op;
  }
  op.durable = !one_in(3);
  op.exclusive = one_in(8);
  op.auto_delete = one_in(8);
  op.arguments = queue_arguments();
  queues_[op.name] = op;
  return op;
}

Operation Generator::update_queue() {
  if (queues_.empty()) return declare_queue();
  DeclareQueue op =
      std::next(queues_.begin(), number(0, static_cast<int>(queues_.size()) - 1))->second;
  op.update = true;
  if (one_in(10)) op.auto_delete = !op.auto_delete;
  const Table wanted = queue_arguments();
  for (const char* const argument :
       {"x-max-length", "x-max-length-bytes", "x-overflow", "x-dead-letter-exchange",
        "x-dead-letter-routing-key", "x-delivery-limit", "x-message-ttl", "x-deduplication-window",
        "x-deduplication-max"}) {
    if (!one_in(2)) continue;
    const auto found = wanted.find(argument);
    op.arguments.erase(argument);
    if (found != wanted.end()) op.arguments[argument] = found->second;
  }
  if (one_in(10)) op.arguments["x-max-priority"] = number(1, 3);
  queues_[op.name] = op;
  queues_[op.name].update = false;
  return op;
}

Operation Generator::declare_exchange() {
  DeclareExchange op;
  op.session = session();
  op.name = one_in(60) ? "amq.mine" : exchange();
  if (const auto known = exchanges_.find(op.name); known != exchanges_.end() && one_in(2)) {
    op = known->second;
    op.session = session();
    if (one_in(4)) op.internal = !op.internal;
    return op;
  }
  op.type = one_in(30) ? "topics"
                       : any_of<const char*>({"direct", "direct", "fanout", "fanout", "topic",
                                              "topic", "headers", "x-consistent-hash"});
  op.durable = !one_in(3);
  op.auto_delete = one_in(5);
  op.internal = one_in(8);
  if (one_in(3)) op.arguments["alternate-exchange"] = one_in(20) ? Value(5) : Value(exchange());
  if (one_in(40)) op.arguments["colour"] = "red";
  exchanges_[op.name] = op;
  return op;
}

Operation Generator::bind() {
  Bind op;
  op.session = session();
  op.unbind = one_in(4);
  op.exchange = one_in(40) ? "" : exchange();
  op.to = one_in(3) ? exchange() : queue();
  const auto declared = exchanges_.find(op.exchange);
  const std::string type = declared == exchanges_.end() ? "" : declared->second.type;
  op.key = key();
  if (type == "topic") op.key = any_of<const char*>({"#", "a.*", "a.#", "*.b", "a.#.c", "*", ""});
  if (type == "x-consistent-hash" && !one_in(5)) op.key = "2";
  if (type == "headers" || one_in(20)) {
    op.arguments = headers();
    if (one_in(4)) op.arguments["colour"] = Value();
    if (one_in(2)) {
      op.arguments["x-match"] =
          any_of<const char*>({"all", "any", "all-with-x", "any-with-x", "any", "some"});
    }
  }
  return op;
}

Operation Generator::publish() {
  Publish op;
  op.session = session();
  if (one_in(2)) {
    op.key = queue();
  } else {
    op.exchange = exchange();
    op.key = key();
    op.headers = headers();
  }
  op.count = one_in(3) ? number(2, 6) : 1;
  op.mandatory = one_in(2);
  op.priority = one_in(3) ? number(1, 4) : 0;
  op.bytes = one_in(4) ? number(4, 30) : 4;
  if (one_in(12)) op.expiration = one_in(4) ? 0 : kLongTime;
  if (one_in(8)) op.delay = one_in(2) ? kShortDelay : static_cast<int>(kLongTime);
  if (one_in(2)) op.group = any_of<const char*>({"a", "b"});
  if (one_in(3)) op.headers["x-deduplication-id"] = any_of<const char*>({"1", "2", "3"});
  if (one_in(100)) op.headers["x-deduplication-id"] = 5;
  return op;
}

Operation Generator::set_policy() {
  SetPolicy op;
  op.session = session();
  op.name = name('p', number(0, 2));
  op.pattern = any_of<const char*>({"q", "q[01]", "q2$", "[qe]0", "e", ""});
  op.apply_to = any_of<const char*>({"queues", "queues", "exchanges", "all"});
  op.priority = number(0, 2);
  const Table arguments = queue_arguments();
  for (const char* const key :
       {"max-length", "max-length-bytes", "overflow", "dead-letter-exchange",
        "dead-letter-routing-key", "delivery-limit", "message-ttl", "deduplication-window"}) {
    const auto found = arguments.find(std::string("x-") + key);
    const bool fits = op.apply_to != "exchanges" || one_in(20);
    if (found != arguments.end() && fits && one_in(2)) op.definition[key] = found->second;
  }
  if (op.apply_to != "queues") op.definition["alternate-exchange"] = exchange();
  if (one_in(40)) op.definition["max-priority"] = 2;
  return op;
}

Operation Generator::consume() {
  Consume op;
  op.session = session();
  op.consumer = number(0, kConsumers - 1);
  op.queue = queue();
  op.prefetch = number(0, 3);
  op.no_ack = one_in(5);
  op.exclusive = one_in(8);
  op.priority = one_in(2) ? number(-1, 3) : 0;
  return op;
}

Operation Generator::settle() {
  Settle op;
  op.how = any_of({Settle::How::kAck, Settle::How::kReject, Settle::How::kRequeue,
                   Settle::How::kRelease, Settle::How::kReject, Settle::How::kRequeue});
  op.newest = one_in(2) ? 0 : number(1, 4);
  op.again = one_in(12);
  if (op.again) op.how = Settle::How::kAck;
  return op;
}

Operation Generator::operation() {
  const int dice = number(0, 99);
  if (dice < 30) return publish();
  if (dice < 50) return settle();
  if (dice < 62) return Get{session(), queue(), one_in(4)};
  if (dice < 69) return consume();
  if (dice < 72) return Cancel{number(0, kConsumers - 1)};
  if (dice < 74) return Browse{session(), queue(), one_in(4)};
  if (dice < 75) return CancelDelayed{session(), queue(), number(0, 1)};
  if (dice < 77) return Purge{session(), queue()};
  if (dice < 80) return update_queue();
  if (dice < 84) return declare_queue();
  if (dice < 86) {
    if (one_in(4)) return DeletePolicy{session(), name('p', number(0, 2))};
    return set_policy();
  }
  if (dice < 88) return DeleteQueue{session(), queue(), one_in(3), one_in(2)};
  if (dice < 90) return declare_exchange();
  if (dice < 91) return DeleteExchange{session(), exchange(), one_in(2)};
  if (dice < 97) return bind();
  return Reopen{session()};
}

/// What makes letters, and letters of letters.
void Generator::add_death(Program& program) {
  const std::string source = queue();
  if (one_in(2)) program.push_back(Publish{.session = 0, .key = source});
  program.push_back(Get{session(), source});
  program.push_back(Settle{one_in(3) ? Settle::How::kRequeue : Settle::How::kReject});
}

Program Generator::program() {
  Program program;
  for (int i = number(2, kQueues + 1); i > 0; --i) program.push_back(declare_queue());
  for (int i = number(1, kExchanges); i > 0; --i) program.push_back(declare_exchange());
  for (int i = number(0, 5); i > 0; --i) program.push_back(bind());
  for (int i = options_.operations; i > 0; --i) {
    if (options_.restarts && one_in(15)) program.push_back(Restart{!one_in(3)});
    if (one_in(8)) add_death(program);
    program.push_back(operation());
  }
  return program;
}

}  // namespace segue::conformance
