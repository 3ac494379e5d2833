#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/name_lookup.h"
#include "common/status.h"
#include "common/zmq_socket.h"

namespace segue {

/// A DEALER socket to one endpoint at a time, whose host may be a name. ZeroMQ would look names up
/// on its I/O thread, and while a name server is slow everything else of that context would stand
/// still, links that are well included; here each name is looked up aside, anew for every
/// connection, and ZeroMQ is given addresses. Where a name has several, each next attempt takes the
/// next. A name server that has fallen silent does not cut hosts off that stayed where they were:
/// the next attempt takes what the name stood for last. One thread; context and poller outlive it.
class OutgoingConnection {
 public:
  OutgoingConnection(ZmqContext& context, Poller& poller, ZmqSocket::Options options,
                     NameLookup::Resolver resolver = NameLookup::of_system);
  ~OutgoingConnection();
  OutgoingConnection(const OutgoingConnection&) = delete;
  OutgoingConnection& operator=(const OutgoingConnection&) = delete;

  /// A fresh connection; drops the former one. Waits for nobody.
  Status open(const std::string& endpoint);
  /// What was sent may go on being sent for `linger`.
  void close(std::chrono::milliseconds linger);

  /// Sends, or keeps a few frames until the address is known. False: nothing was taken.
  bool send(std::string header, const std::vector<SharedBytes>& bodies, bool with_bodies);
  /// Takes the next message if there is one. To be called whenever the poller has woken.
  bool receive(WireMessage& message);
  /// The worst that has happened; kRefused when the name has no address. To be asked as
  /// ZmqSocket::trouble().
  ZmqSocket::Trouble trouble();
  /// What became of the lookup when it failed: `the name 'n1' is not known: ...`; else empty.
  const std::string& lookup_failure() const { return lookup_failure_; }

 private:
  struct Kept {
    std::string header;
    std::vector<SharedBytes> bodies;
    bool with_bodies;
  };

  /// Connects when the address has been found by now.
  void progress();
  /// The answer for `name_`: the first that has addresses, or the newest.
  const NameLookup* answered() const;
  Status connect(const std::string& endpoint);
  /// Connects to one of the addresses of `name_`, which is done with by that.
  void use(const std::vector<std::string>& addresses);
  void fail(const std::string& name, const Status& why);

  ZmqContext& context_;
  Poller& poller_;
  const ZmqSocket::Options options_;
  const NameLookup::Resolver resolver_;
  const std::shared_ptr<Wakeup> looked_up_;
  std::optional<ZmqSocket> socket_;
  std::string endpoint_;
  std::string name_;  // looked up for the socket; empty once it is done
  std::string lookup_failure_;
  std::vector<Kept> kept_;
  /// By name, oldest first. One that takes longer than an attempt serves the next one, which asks
  /// again beside it: where a question to the name server was lost, the system waits for 5 seconds.
  std::map<std::string, std::vector<std::shared_ptr<const NameLookup>>> lookups_;
  std::map<std::string, std::vector<std::string>> known_;  // by name, as found last
  std::size_t attempts_ = 0;
};

}  // namespace segue
