#include "client/link_writer.h"

#include "client/frame_writer.h"

namespace segue::client {

void LinkWriter::send(v1::ClientFrame& frame) {
  if (!fine_) return;
  frame.mutable_link()->set_epoch(link_.epoch());
  frame.mutable_link()->set_sequence(link_.stamp(now_));
  fine_ = transport_.send(frame.SerializeAsString(), {}, false);
}

void LinkWriter::send_publish(std::uint64_t settled_below, const PublishBatch& batch,
                              PublishBatch::Run run) {
  if (!fine_) return;
  std::string header = write_publish(link_.epoch(), link_.stamp(now_), settled_below, batch, run);
  fine_ = transport_.send(std::move(header), {batch.bodies(run)}, true);
}

}  // namespace segue::client
