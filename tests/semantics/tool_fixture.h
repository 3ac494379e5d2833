#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/semantics/semantics_fixture.h"

namespace segue::client {

/// The semantics that the `segue` tool gives to its users.
class ToolSemantics : public Semantics {
 protected:
  struct Ran {
    std::optional<int> code;
    std::string out;
    std::string err;
  };

  std::vector<std::string> with_router(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--router", cluster().endpoint("r1")});
    return arguments;
  }
  Ran segue(const std::vector<std::string>& arguments) {
    Process process("segue", with_router(arguments));
    process.close_input();
    const auto code = process.wait(kLong);
    return {code, process.stdout_text(), process.stderr_text()};
  }

  /// Queue `name` whose dead letters go to the queue `name`-dlq.
  void queue_with_dead_letters(const std::string& name) {
    queue(name + "-dlq");
    queue(name, {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", name + "-dlq"}});
  }
  void publish_numbers(const std::string& to, int count) {
    for (int i = 0; i < count; ++i) {
      Message message = Message::to_queue(to, std::to_string(i));
      message.header.properties.headers["odd"] = i % 2;
      ASSERT_TRUE(connection().publisher().publish(std::move(message)));
    }
    ASSERT_TRUE(connection().publisher().wait_for_confirms(kLong));
  }
  /// Rejects all that is in the queue, and waits until it has become dead letters.
  void reject_all(const std::string& from) {
    std::uint64_t count = 0;
    while (auto got = *connection().get(from, false)) {
      got->reject();
      ++count;
    }
    wait_for_ready(from + "-dlq", count);
  }
};

}  // namespace segue::client
