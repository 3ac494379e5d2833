#include "bench/matrix/bench_client.h"

#include <utility>

namespace segue::bench {

Status failed(const std::string& what, const client::Error& error) {
  return Status(Code::kInternalError, what + ": " + error.to_string());
}

Result<client::Connection> connect(const TestBed& bed) {
  client::ConnectionOptions options;
  options.routers = {bed.router()};
  options.client_name = "bench";
  options.connect_timeout = kPatience;
  options.request_timeout = kPatience;
  options.full_timeout = kPatience;
  options.max_in_flight_messages = 20'000;
  auto connection = client::Connection::open(std::move(options));
  if (!connection) return failed("connect", connection.error());
  return std::move(connection.value());
}

}  // namespace segue::bench
