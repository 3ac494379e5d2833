// A queue in a directory, without a broker: adds a few messages, takes them out again, and leaves
// two for the next run.
//
//     embedded_queue DIRECTORY
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "segue/segmented_queue.h"

namespace storage = segue::storage;

namespace {

int fail(const segue::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embedded_queue DIRECTORY\n");
    return 2;
  }
  storage::SegmentedQueueOptions options;
  options.directory = argv[1];
  auto opened = storage::SegmentedQueue::open(options);
  if (!opened) return fail(opened.status());
  storage::SegmentedQueue& queue = **opened;
  std::printf("found %llu\n", static_cast<unsigned long long>(queue.size()));

  // One at a time: on the disk when the call returns.
  if (auto offered = queue.offer("first"); !offered) return fail(offered);
  // Many at a time: one sync for all.
  const std::vector<std::string_view> more = {"second", "third", "fourth", "fifth"};
  if (auto offered = queue.offer_batch(more); !offered) return fail(offered.status());

  // Taken, and gone.
  std::string message;
  if (auto polled = queue.poll(message); !polled) return fail(polled.status());
  std::printf("polled %s\n", message.c_str());

  // Taken, and gone when acked. A crash before the ack brings them back.
  auto batch = queue.poll_unacked(2);
  if (!batch) return fail(batch.status());
  for (const std::string_view text : *batch) {
    std::printf("working on %.*s\n", static_cast<int>(text.size()), text.data());
  }
  if (auto acked = queue.ack(*batch); !acked) return fail(acked);

  std::printf("left %llu\n", static_cast<unsigned long long>(queue.size()));
  if (auto closed = queue.close(); !closed) return fail(closed);
  return 0;
}
