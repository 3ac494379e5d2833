#include <segue/client.h>

#include <cstdio>

using namespace segue::client;

int main(int argc, char** argv) {
  ConnectionOptions options;
  options.routers = {argc > 1 ? argv[1] : "tcp://127.0.0.1:5680"};
  auto connection = Connection::open(options);
  if (!connection) return std::fprintf(stderr, "%s\n", connection.error().to_string().c_str()), 1;

  auto queue = connection->admin().declare_queue("orders");
  if (!queue) return std::fprintf(stderr, "%s\n", queue.error().to_string().c_str()), 1;

  const auto to_orders = PreparedHeader::to_queue("orders");
  for (int i = 0; i < 1000; ++i) {
    auto seq = connection->publisher().publish(to_orders, "order " + std::to_string(i));
    if (!seq) return std::fprintf(stderr, "%s\n", seq.error().to_string().c_str()), 1;
  }
  auto confirmed = connection->publisher().wait_for_confirms();
  if (!confirmed) return std::fprintf(stderr, "%s\n", confirmed.error().to_string().c_str()), 1;
  std::puts("1000 orders are safe on disk");
}
