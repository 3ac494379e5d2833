#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node/peer_output.h"

namespace segue::node {

/// Keeps what is left for peers. One thread.
class FakePeerOutput final : public PeerOutput {
 public:
  std::map<PeerId, std::vector<v1::CatalogFeed>> feeds;
  std::map<PeerId, std::vector<v1::CatalogReply>> catalog_replies;
  std::map<PeerId, std::vector<v1::ShardConfirm>> confirms;

  void confirm(PeerId peer, v1::ShardConfirm confirm) override {
    confirms[peer].push_back(std::move(confirm));
  }
  void deliver(PeerId, v1::NodeDelivery, std::vector<SharedBytes>) override {}
  void consumer_event(PeerId, v1::ConsumerEvent) override {}
  void queue_reply(PeerId, v1::QueueReply, std::vector<SharedBytes>) override {}
  void catalog_reply(PeerId peer, v1::CatalogReply reply) override {
    catalog_replies[peer].push_back(std::move(reply));
  }
  void catalog_feed(PeerId peer, v1::CatalogFeed feed) override {
    feeds[peer].push_back(std::move(feed));
  }
};

}  // namespace segue::node
