#pragma once

#include <cstdint>
#include <vector>

#include "node/peer_output.h"
#include "node/queue_table.h"
#include "node/turn_clock.h"
#include "segue/v1/peer.pb.h"
#include "storage/disk_data_center.h"

namespace segue::node {

/// Reads messages of queues page by page, but for those that have expired or are dead letters on
/// their way, and changes nothing: what is stored comes from the disk, whether it is in memory or
/// not, the rest from memory. Reactor's thread.
class QueueBrowse {
 public:
  /// The references outlive this and every load.
  QueueBrowse(storage::DiskDataCenter& disk, QueueTable& queues, PeerOutput& output,
              const TurnClock& clock)
      : disk_(disk), queues_(queues), output_(output), clock_(clock) {}

  void on_browse(PeerId peer, std::uint64_t request_id, const HostedQueue& hosted,
                 const v1::Browse& browse);

 private:
  /// One request.
  struct Page {
    PeerId peer;
    std::uint64_t request_id = 0;
    QueueId queue;
    Sequence after;
    std::uint64_t max_bytes = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t lanes_before = 0;  // of higher priority: they are read already
    bool lanes_behind = false;
  };

  void read(const Page& page, const Queue& queue);
  void read_memory(const Page& page, const Queue& queue);
  void loaded(Page page, Sequence wanted, const Result<storage::LoadedMessages>& result);
  void answer(Page page, const std::vector<MessageRun>& runs, Sequence through, const Queue& queue,
              const std::vector<Sequence>& corrupt = {});
  void send(const Page& page, const std::vector<MessageRun>& runs, std::uint64_t through,
            bool more);
  void fail(const Page& page, const Status& status);

  storage::DiskDataCenter& disk_;
  QueueTable& queues_;
  PeerOutput& output_;
  const TurnClock& clock_;
};

}  // namespace segue::node
