#pragma once

#include <string_view>
#include <vector>

#include "common/ids.h"
#include "segue/v1/client.pb.h"

namespace segue::node {

/// What the catalog knows of the node's queues, for the host that has them: their virtual hosts,
/// and what policies make of them. A change of policies comes to all queues a few at a time; who is
/// about to use one has it catch up first. Reactor's thread.
class PolicySource {
 public:
  virtual ~PolicySource() = default;

  /// Some queues may still have what policies said before.
  virtual bool behind() const = 0;
  /// The queue gets what policies say now, if it has not.
  virtual void catch_up(QueueId queue) = 0;
  /// Adds what is in force for the queue, with where it comes from.
  virtual void describe(QueueId queue, v1::QueueDescription& to) const = 0;
  /// Those of the virtual host that this node has.
  virtual std::vector<QueueId> queues_in(std::string_view vhost) const = 0;
};

}  // namespace segue::node
