#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/logging.h"
#include "common/message_batch.h"
#include "router/batch_split.h"
#include "router/catalog_view.h"
#include "router/session_table.h"
#include "router/shard_table.h"
#include "router/turn.h"
#include "router/vhost_usage.h"
#include "segue/v1/raw.pb.h"

namespace segue::router {

/// The way of publishes: takes in a client's batch, finds each message's queues, hands the parts to
/// the shard table, and turns the nodes' answers into Confirms, one for each session and turn.
/// One thread.
class PublishPath final : private ShardTable::Listener {
 public:
  PublishPath(const LimitsConfig& limits, Duration shard_timeout, CatalogView& catalog,
              NodeTable& nodes, SessionTable& sessions, const Turn& turn, Logger& log);

  /// Who knows which virtual hosts are full; outlives this.
  void set_usage(const VhostUsage& usage) { usage_ = &usage; }
  /// How a new session's books are to be made.
  PublishLedger::Options ledger_options(const Session::Identity& identity) const;

  /// A session that breaks a rule is marked closed.
  void on_publish(Session& session, v1::RawPublish& publish, SharedBytes bodies);
  void on_confirms(Node& node, const v1::ShardConfirms& confirms);
  ShardTable& shards() { return shards_; }
  const ShardTable& shards() const { return shards_; }

  /// Sends the answers that the session has now.
  void flush(Session& session);
  void end_session(Session& session);
  /// Sends what the turn has for sessions.
  void end_turn();

  /// What sessions have published and have no answer for.
  std::uint64_t unconfirmed() const;

 private:
  /// One of a batch's distinct headers.
  struct Header {
    std::shared_ptr<const Route> route;
    bool mandatory = false;
    bool too_large = false;
    bool bad_property = false;
    bool replies_nowhere = false;  // asks for replies, and the session does not consume them
    std::string exchange;
  };
  /// A batch on its way through on_publish().
  struct Incoming {
    Session& session;
    MessageBatchPtr batch;
    std::uint64_t first_seq;
    std::uint64_t settled_below;
    std::vector<Header> headers;

    const Header& header_of(std::uint32_t message) const {
      return headers[batch->header_number(message)];
    }
  };
  struct Notice {
    SessionId session;
    ShardId shard;
    bool waiting;
    std::string reason;
  };

  void on_stored(const PendingPublish& publish, const v1::ShardConfirm& confirm) override;
  void on_refused(const PendingPublish& publish, const v1::Error& error) override;
  void on_waiting(SessionId session, ShardId shard, const std::string& reason) override;
  void on_resumed(SessionId session, ShardId shard) override;

  bool read_headers(Incoming& incoming);
  static bool name_reply_queue(Incoming& incoming, const std::vector<std::size_t>& headers);
  bool is_uniform(const Incoming& incoming) const;
  void publish_uniform(Incoming& incoming);
  void publish_mixed(Incoming& incoming);
  std::uint32_t route_chunk(Incoming& incoming, std::uint32_t begin,
                            std::vector<const Route*>& routes);
  bool answer_at_once(Incoming& incoming, std::uint32_t message);
  static void reject_property(Incoming& incoming, std::uint32_t message);
  static void reject_reply_to(Incoming& incoming, std::uint32_t message);
  void send_return(Incoming& incoming, std::uint32_t message);
  void submit(Incoming& incoming, std::vector<ShardPart> parts,
              const std::shared_ptr<SplitBatch>& split);
  /// What became of the messages of a publish that a node has answered. One thread.
  class Refusals;
  void answer_each(const PendingPublish& publish, const Refusals& refusals,
                   v1::Durability durability);
  void answer_split(const PendingPublish& publish, const Refusals& refusals,
                    v1::Durability durability);
  std::vector<std::string> queues_of(const PendingPublish& publish, std::uint32_t message) const;
  void list(const std::shared_ptr<PublishLedger>& ledger);
  void send_notices();

  const LimitsConfig limits_;
  const std::uint32_t shard_timeout_ms_;
  CatalogView& catalog_;
  SessionTable& sessions_;
  ShardTable shards_;
  const VhostUsage* usage_ = nullptr;
  v1::MessageHeader parsed_header_;  // memory used again for the next one
  std::vector<std::shared_ptr<PublishLedger>> with_answers_;
  std::vector<Notice> notices_;
};

}  // namespace segue::router
