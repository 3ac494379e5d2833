#include <segue/client.h>

#include <cstdio>

using namespace segue::client;

int main(int argc, char** argv) {
  ConnectionOptions options;
  options.routers = {argc > 1 ? argv[1] : "tcp://127.0.0.1:5680"};
  auto connection = Connection::open(options);
  if (!connection) return std::fprintf(stderr, "%s\n", connection.error().to_string().c_str()), 1;

  auto consumer = connection->subscribe("orders");
  if (!consumer) return std::fprintf(stderr, "%s\n", consumer.error().to_string().c_str()), 1;

  while (auto orders = consumer->next_batch(100, std::chrono::seconds(5))) {
    for (const Delivery& order : *orders) {
      std::printf("%.*s\n", static_cast<int>(order.body().size()), order.body().data());
    }
    orders->ack();  // all of them, as one range
  }
}
