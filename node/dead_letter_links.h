#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/catalog_state.h"
#include "common/clock.h"
#include "common/logging.h"
#include "common/node_link.h"
#include "common/random.h"
#include "common/routing/compiled_exchanges.h"
#include "node/dead_letter_outlets.h"

namespace segue::node {

/// The way of dead letters through the cluster: routes them as the node's copy of the catalog says,
/// and has a link to each node that any goes to, this one included. A link is made when it is
/// needed first. No I/O of its own. Reactor's thread.
class DeadLetterLinks final : public DeadLetterOutlets {
 public:
  struct Options {
    /// Endpoints by node id.
    std::map<std::string, std::string> nodes;
    /// Of every link; node and endpoint are filled in.
    NodeLink::Options link;
  };
  using Connect = std::function<std::unique_ptr<LinkTransport>(const std::string& endpoint)>;

  /// The references outlive this.
  DeadLetterLinks(Options options, const CatalogState& catalog, DeadLetterAnswers& answers,
                  Connect connect, Random& random, Logger& log);
  ~DeadLetterLinks() override;

  CatalogIndex route(std::string_view vhost, const v1::MessageHeader& header,
                     std::vector<DeadLetterTarget>& targets) override;
  bool reachable(ShardId shard) override;
  void publish(v1::ShardPublish publish, std::vector<SharedBytes> bodies,
               CatalogIndex needs) override;

  // ---- the loop

  /// Takes what came. True: there may be more, so do not sleep.
  bool poll(TimePoint now);
  TimePoint next_timer() const;
  /// Sends what the turn has published.
  void flush(TimePoint now);
  /// Says goodbye for good.
  void close(TimePoint now);

 private:
  class Peer;

  Peer* peer_of(ShardId shard);

  const Options options_;
  const CatalogState& catalog_;
  DeadLetterAnswers& answers_;
  const Connect connect_;
  Random& random_;
  Logger& log_;
  CompiledExchanges exchanges_;
  CatalogIndex compiled_at_;  // exchanges_ are of
  std::vector<QueueId> queues_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;  // by node id
  bool closed_ = false;
};

}  // namespace segue::node
