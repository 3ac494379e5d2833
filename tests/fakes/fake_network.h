#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/node_link.h"
#include "node/link_server.h"

namespace segue::node {

/// Connections between NodeLinks and one LinkServer, in memory: frames arrive when they are taken,
/// unless a test loses them, breaks the connection or restarts the server. One thread.
class FakeNetwork final : public ServerTransport {
 public:
  /// One connecting end.
  class Client final : public LinkTransport {
   public:
    explicit Client(FakeNetwork& network) : network_(network) {}
    ~Client() override { close(false); }

    Status open() override {
      close(false);
      // As ZeroMQ's: each connection has a route of its own.
      route_ = "route-" + std::to_string(++network_.last_route_);
      network_.clients_[route_] = this;
      return {};
    }
    void close(bool) override {
      network_.clients_.erase(route_);
      incoming_.clear();
      route_.clear();
    }
    bool send(std::string header, const std::vector<SharedBytes>& bodies) override {
      if (route_.empty()) return false;
      if (lose_to_server > 0) {
        --lose_to_server;
        return true;
      }
      WireMessage message = pack(std::move(header), bodies);
      message.peer = route_;
      network_.to_server_.push_back(std::move(message));
      return true;
    }
    std::string broken() override { return {}; }
    bool receive(WireMessage& message) override {
      if (incoming_.empty()) return false;
      message = std::move(incoming_.front());
      incoming_.pop_front();
      return true;
    }

    /// The connection breaks and is made again below the link, as ZeroMQ does by itself: the server
    /// sees another route, and frames on the way are gone.
    void reconnect() {
      network_.clients_.erase(route_);
      incoming_.clear();
      route_ = "route-" + std::to_string(++network_.last_route_);
      network_.clients_[route_] = this;
    }
    int lose_to_server = 0;  // so many of the next frames
    int lose_to_client = 0;
    bool full = false;  // the server's sends to it are refused

   private:
    friend class FakeNetwork;
    FakeNetwork& network_;
    std::string route_;
    std::deque<WireMessage> incoming_;
  };

  bool send(const std::string& route, std::string header,
            const std::vector<SharedBytes>& bodies) override {
    const auto found = clients_.find(route);
    if (found == clients_.end() || found->second->full) return false;
    if (found->second->lose_to_client > 0) {
      --found->second->lose_to_client;
      return true;
    }
    found->second->incoming_.push_back(pack(std::move(header), bodies));
    return true;
  }
  bool receive(WireMessage& message) override {
    if (to_server_.empty()) return false;
    message = std::move(to_server_.front());
    to_server_.pop_front();
    return true;
  }
  /// Any bytes, from any route.
  void inject(WireMessage message) { to_server_.push_back(std::move(message)); }
  /// What the server has not read is gone.
  void restart_server() { to_server_.clear(); }

 private:
  static WireMessage pack(std::string header, const std::vector<SharedBytes>& bodies) {
    WireMessage message;
    message.header = SharedBytes::from(std::move(header));
    std::string joined;
    for (const SharedBytes& body : bodies) joined.append(body.view());
    message.bodies = SharedBytes::from(std::move(joined));
    return message;
  }

  std::uint64_t last_route_ = 0;
  std::map<std::string, Client*> clients_;
  std::deque<WireMessage> to_server_;
};

}  // namespace segue::node
