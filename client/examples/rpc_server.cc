#include <segue/client.h>

#include <algorithm>
#include <cstdio>

using namespace segue::client;

// Answers requests in the queue "reverse": their text, backwards.
int main(int argc, char** argv) {
  ConnectionOptions options;
  options.routers = {argc > 1 ? argv[1] : "tcp://127.0.0.1:5680"};
  auto connection = Connection::open(options);
  if (!connection) return std::fprintf(stderr, "%s\n", connection.error().to_string().c_str()), 1;
  if (auto queue = connection->admin().declare_queue("reverse"); !queue) {
    return std::fprintf(stderr, "%s\n", queue.error().to_string().c_str()), 1;
  }

  auto consumer = connection->subscribe("reverse");
  if (!consumer) return std::fprintf(stderr, "%s\n", consumer.error().to_string().c_str()), 1;
  std::puts("waiting for requests");
  std::fflush(stdout);

  while (!consumer->cancelled()) {
    auto request = consumer->next(std::chrono::seconds(1));
    if (!request) continue;
    std::string text(request->body());
    std::reverse(text.begin(), text.end());
    if (auto sent = reply(*connection, *request, text); !sent) {
      std::fprintf(stderr, "%s\n", sent.error().to_string().c_str());
    }
    request->ack();
  }
}
