#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/zmq_socket.h"

namespace segue {

/// The lookup of one host's addresses on a thread of its own: a name server that does not answer
/// takes seconds, for which no loop may stand still.
class NameLookup {
 public:
  /// Numeric addresses of a host, at least one, the best first; IPv6 ones without []. May block.
  using Resolver = std::function<Result<std::vector<std::string>>(const std::string& host)>;

  /// Begins at once; `resolver` runs on another thread, at the end of which `done` rings. Both are
  /// kept alive until then, whatever becomes of the lookup.
  static std::shared_ptr<const NameLookup> start(std::string host, Resolver resolver,
                                                 std::shared_ptr<Wakeup> done);
  /// From any thread.
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// Only once it is done. The error says what the system says: not known, no answer...
  const Result<std::vector<std::string>>& addresses() const { return addresses_; }

  /// The system's resolver: /etc/hosts, DNS, whatever the host is set up to ask.
  static Result<std::vector<std::string>> of_system(const std::string& host);

 private:
  void finish(Result<std::vector<std::string>> addresses);

  Result<std::vector<std::string>> addresses_ = Status(Code::kInternalError, "not looked up yet");
  std::atomic<bool> done_{false};
};

/// The host of a `tcp://host:port` endpoint that has to be looked up; empty when it is an address
/// already, or no TCP endpoint.
std::string name_in_endpoint(const std::string& endpoint);
/// The endpoint with `address` in the place of its host.
std::string endpoint_at(const std::string& endpoint, const std::string& address);

}  // namespace segue
