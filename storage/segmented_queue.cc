#include "segue/segmented_queue.h"

#include <utility>

#include "storage/segment_format.h"
#include "storage/segmented_queue_impl.h"

namespace segue::storage {

namespace {

using Ready = EmbeddedQueue::Ready;
using Offer = EmbeddedQueue::Offer;

constexpr std::size_t kMaxMessageBytes = 256u << 20;

Status too_large(std::size_t bytes) {
  return Status(Code::kContentTooLarge, "a message of " + std::to_string(bytes) +
                                            " bytes is over the limit of " +
                                            std::to_string(kMaxMessageBytes));
}

Status no_space(const std::string& directory) {
  return Status(Code::kNoSpace,
                directory + ": the disk is full, so the message was not added; free some space");
}

Status check(const SegmentedQueueOptions& options) {
  const auto refuse = [](const char* text) { return Status(Code::kInvalidConfig, text); };
  if (options.directory.empty()) return refuse("option directory is empty: name one");
  if (options.interval < std::chrono::milliseconds(2)) {
    return refuse("option interval must be 2 ms at least");
  }
  if (options.memory_bytes < (4u << 20))
    return refuse("option memory_bytes must be 4 MiB at least");
  if (options.segment_bytes < 4096 || options.segment_bytes > kMaxSegmentBytes) {
    return refuse("option segment_bytes must be from 4 KiB to 4095 MiB");
  }
  if (options.max_unacked == 0) return refuse("option max_unacked must be 1 at least");
  return {};
}

}  // namespace

SegmentedQueue::SegmentedQueue(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SegmentedQueue::~SegmentedQueue() {
  if (impl_ != nullptr) (void)impl_->close();
}

Result<std::unique_ptr<SegmentedQueue>> SegmentedQueue::open(SegmentedQueueOptions options) {
  SEGUE_RETURN_IF_ERROR(check(options));
  return SegmentedQueueOpener::open(std::move(options), {});
}

Result<std::unique_ptr<SegmentedQueue>> SegmentedQueueOpener::open(SegmentedQueueOptions options,
                                                                   Parts parts) {
  auto impl = std::make_unique<SegmentedQueue::Impl>(std::move(options), std::move(parts));
  SEGUE_RETURN_IF_ERROR(impl->open());
  return std::unique_ptr<SegmentedQueue>(new SegmentedQueue(std::move(impl)));
}

void SegmentedQueueOpener::tick(SegmentedQueue& queue) {
  queue.impl_->tick();
}

void SegmentedQueueOpener::abandon(std::unique_ptr<SegmentedQueue> queue) {
  queue->impl_->abandon();
  queue->impl_.reset();
}

DiskStats SegmentedQueueOpener::disk_stats(const SegmentedQueue& queue) {
  return queue.impl_->disk_stats();
}

// ---- offering

Status SegmentedQueue::offer(std::string_view message) {
  if (message.size() > kMaxMessageBytes) return too_large(message.size());
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  Offer offered = call.queue().offer(message);
  if (offered == Offer::kWait) {
    SEGUE_RETURN_IF_ERROR(
        call.until([&] { return (offered = call.queue().offer(message)) != Offer::kWait; }));
  }
  if (offered == Offer::kNoSpace) return no_space(impl_->options().directory);
  if (!impl_->syncs_every_call()) return {};
  std::uint64_t undone = 0;
  SEGUE_RETURN_IF_ERROR(call.commit_offers(undone));
  return undone > 0 ? no_space(impl_->options().directory) : Status();
}

Result<std::size_t> SegmentedQueue::offer_batch(std::span<const std::string_view> messages) {
  for (const std::string_view message : messages) {
    if (message.size() > kMaxMessageBytes) return too_large(message.size());
  }
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  std::size_t added = 0;
  while (added < messages.size()) {
    Offer offered = call.queue().offer(messages[added]);
    if (offered == Offer::kWait) {
      SEGUE_RETURN_IF_ERROR(call.until(
          [&] { return (offered = call.queue().offer(messages[added])) != Offer::kWait; }));
    }
    if (offered == Offer::kNoSpace) break;
    ++added;
  }
  if (impl_->syncs_every_call()) {
    std::uint64_t undone = 0;
    SEGUE_RETURN_IF_ERROR(call.commit_offers(undone));
    added -= undone;
  }
  if (added == 0 && !messages.empty()) return no_space(impl_->options().directory);
  return added;
}

// ---- polling

Result<bool> SegmentedQueue::poll(std::string& to) {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  Status status;
  const Ready ready = impl_->ready(call, status);
  if (ready == Ready::kTrouble) return status;
  if (ready == Ready::kEmpty) return false;
  to.assign(call.queue().front());
  call.queue().pop();
  // Without space it is taken all the same; only a crash brings it back.
  if (status = call.commit_settles(); !status.is_ok() && status.code() != Code::kNoSpace) {
    return status;
  }
  return true;
}

Result<PolledBatch> SegmentedQueue::poll_batch(std::size_t max) {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  Status status;
  const Ready ready = max == 0 ? Ready::kEmpty : impl_->ready(call, status);
  if (ready == Ready::kTrouble) return status;
  if (ready == Ready::kEmpty) return PolledBatch();
  PolledBatch batch = call.queue().take(max, /*settle=*/true);
  if (status = call.commit_settles(); !status.is_ok() && status.code() != Code::kNoSpace) {
    return status;
  }
  return batch;
}

Result<bool> SegmentedQueue::peek(std::string& to) {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  Status status;
  const Ready ready = impl_->ready(call, status);
  if (ready == Ready::kTrouble) return status;
  if (ready == Ready::kEmpty) return false;
  to.assign(call.queue().front());
  return true;
}

Result<PolledBatch> SegmentedQueue::poll_unacked(std::size_t max) {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  if (!call.queue().may_take_unacked()) {
    return Status(Code::kResourceError, "max_unacked (" +
                                            std::to_string(impl_->options().max_unacked) +
                                            ") messages are polled and not acked: ack or release");
  }
  Status status;
  const Ready ready = max == 0 ? Ready::kEmpty : impl_->ready(call, status);
  if (ready == Ready::kTrouble) return status;
  if (ready == Ready::kEmpty) return PolledBatch();
  return call.queue().take(max, /*settle=*/false);
}

Status SegmentedQueue::ack(std::uint64_t first, std::uint64_t count) {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  SEGUE_RETURN_IF_ERROR(call.queue().ack(first, count));
  return call.commit_settles();
}

Status SegmentedQueue::release(std::uint64_t first, std::uint64_t count) {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  return call.queue().release(first, count);
}

// ---- the rest

std::uint64_t SegmentedQueue::size() const {
  return impl_->size();
}

SegmentedQueueStats SegmentedQueue::stats() const {
  return impl_->stats();
}

Status SegmentedQueue::clear() {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  call.queue().clear();
  return call.commit_settles();
}

Status SegmentedQueue::sync() {
  Impl::Call call(*impl_);
  if (!call.status().is_ok()) return call.status();
  return impl_->sync(call);
}

Status SegmentedQueue::close() {
  return impl_->close();
}

}  // namespace segue::storage
