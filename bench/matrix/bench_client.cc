#include "bench/matrix/bench_client.h"

#include <signal.h>

#include <chrono>
#include <thread>
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

pid_t node_pid(TestBed& bed) {
  for (const auto& member : bed.cluster().members()) {
    if (member.id == "n1") return member.pid;
  }
  return -1;
}

Status restart_node(TestBed& bed) {
  SEGUE_RETURN_IF_ERROR(bed.cluster().end("n1", SIGKILL, std::chrono::seconds(20)));
  return bed.cluster().start_again("n1");
}

Result<client::QueueDescription> wait_available(client::Connection& connection,
                                                const std::string& queue) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto status = connection.admin().queue_status(queue);
    if (status && status->available) return *status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Status(Code::kTimeout, "queue " + queue + " does not come back");
}

}  // namespace segue::bench
