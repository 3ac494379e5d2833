#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/background_thread.h"
#include "storage/checkpoint_job.h"
#include "storage/recovery_segments.h"
#include "storage/segment_store.h"
#include "tests/fakes/capture_logger.h"
#include "tests/fakes/faulty_file_system.h"

namespace segue::storage {

/// A batch of messages with these bodies; the header of each is "h" and the body's length modulo 3.
inline MessageBatchPtr batch_of(const std::vector<std::string>& bodies) {
  MessageBatchBuilder builder;
  for (const std::string& body : bodies) {
    builder.add("h" + std::to_string(body.size() % 3), SharedBytes::from(body));
  }
  std::string all;
  for (const std::string& body : bodies) all += body;
  return MessageBatch::parse(SharedBytes::from(builder.take().batch),
                             SharedBytes::from(std::move(all)))
      .value();
}

/// What the message with this sequence has as its body in these tests.
inline std::string body_of(std::uint64_t sequence, std::size_t size = 0) {
  std::string body = "message " + std::to_string(sequence) + " ";
  if (size == 0) size = body.size() + sequence % 40;
  while (body.size() < size) body += static_cast<char>('a' + (sequence + body.size()) % 26);
  body.resize(size);
  return body;
}

/// Messages first..last with their bodies, as one run.
inline MessageRun run_of(std::uint64_t first, std::uint64_t last, std::size_t size = 0) {
  std::vector<std::string> bodies;
  for (std::uint64_t s = first; s <= last; ++s) bodies.push_back(body_of(s, size));
  return {Sequence{first}, batch_of(bodies), 0, static_cast<std::uint32_t>(last - first + 1)};
}

/// One life of a SegmentStore on a faulty file system, without a log, everything inline.
class SegmentLife {
 public:
  explicit SegmentLife(FaultyFileSystem& files, std::uint64_t segment_bytes = 4096)
      : context_{files, logger_.logger(), "/data", segment_bytes,
                 [this](const Status& status) { fatal_.push_back(status); }},
        store_(context_, executor_, [](QueueId) { return std::string("a/b"); }) {
    SegmentRecovery recovery(context_, store_);
    auto recovered = recovery.run();
    recovery_ = recovered.is_ok() ? recovery.apply() : recovered.status();
    if (!recovery_.is_ok()) return;
    recovery.finish();
    shards_ = std::move(*recovered);
  }
  ~SegmentLife() { executor_.abandon(); }

  SegmentStore& store() { return store_; }
  SegmentContext& context() { return context_; }
  InlineExecutor& executor() { return executor_; }
  const Status& recovery() const { return recovery_; }
  const std::vector<RecoveredShard>& shards() const { return shards_; }
  const CaptureLogger& log() const { return logger_; }
  const std::vector<Status>& fatal() const { return fatal_; }

  Status put(QueueId queue, std::vector<MessageRun> runs) {
    std::optional<Status> result;
    store_.store(kShard, queue, std::move(runs),
                 [&](Status status) { result = std::move(status); });
    poll_until([&] { return result.has_value(); });
    return *result;
  }
  Result<LoadedMessages> get(QueueId queue, std::uint64_t from, std::uint64_t through = 1'000'000,
                             std::size_t max_bytes = 1 << 20) {
    std::optional<Result<LoadedMessages>> result;
    store_.load(queue, Sequence{from}, Sequence{through}, max_bytes,
                [&](Result<LoadedMessages> loaded) { result = std::move(loaded); });
    poll_until([&] { return result.has_value(); });
    return *result;
  }
  void settle(QueueId queue, std::uint64_t first, std::uint64_t last) {
    store_.settle(queue, Sequence{first}, Sequence{last});
  }
  Status checkpoint(LogIndex applied = LogIndex{1}, std::string state = "state") {
    CheckpointJob job(context_, store_.worker(), store_.snapshot(kShard), applied,
                      std::move(state));
    executor_.poll();
    while (!job.step()) {
    }
    if (job.status().is_ok()) {
      store_.checkpointed(job.snapshot());
    } else {
      store_.put_back(job.snapshot());
    }
    return job.status();
  }
  /// Everything valid, as (sequence, body), read to the end. Corrupt ones have the body "CORRUPT".
  std::vector<std::pair<std::uint64_t, std::string>> all(QueueId queue) {
    std::vector<std::pair<std::uint64_t, std::string>> messages;
    for (std::uint64_t from = 1; from < 1'000'000;) {
      const auto loaded = get(queue, from, 1'000'000, 512);
      if (!loaded.is_ok()) {
        messages.emplace_back(0, loaded.status().to_string());
        break;
      }
      for (const MessageRun& run : loaded->runs) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
          messages.emplace_back(run.first.value + i, run.batch->body(run.begin + i));
        }
      }
      for (const Sequence sequence : loaded->corrupt)
        messages.emplace_back(sequence.value, "CORRUPT");
      from = loaded->scanned_through.value + 1;
    }
    std::sort(messages.begin(), messages.end());
    return messages;
  }
  template <typename Condition>
  void poll_until(Condition condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) executor_.poll();
    SEGUE_CHECK(condition());
  }

  static constexpr ShardId kShard{3};

 private:
  CaptureLogger logger_;
  std::vector<Status> fatal_;
  SegmentContext context_;
  InlineExecutor executor_;
  SegmentStore store_;
  Status recovery_;
  std::vector<RecoveredShard> shards_;
};

/// The messages [first, last] as SegmentLife::all() gives them.
inline std::vector<std::pair<std::uint64_t, std::string>> expected(std::uint64_t first,
                                                                   std::uint64_t last,
                                                                   std::size_t size = 0) {
  std::vector<std::pair<std::uint64_t, std::string>> messages;
  for (std::uint64_t s = first; s <= last; ++s) messages.emplace_back(s, body_of(s, size));
  return messages;
}

}  // namespace segue::storage
