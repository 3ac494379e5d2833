#include "node/memory_budget.h"

#include <string>
#include <utility>

namespace segue::node {

namespace {

constexpr std::size_t kCopyBelow = 8 << 10;

}  // namespace

template <typename Held>
struct MemoryBudget::Holder {
  Holder(Held what, std::uint64_t size, Counter counter)
      : held(std::move(what)), bytes(size), used(std::move(counter)) {
    used->fetch_add(bytes, std::memory_order_relaxed);
  }
  ~Holder() { used->fetch_sub(bytes, std::memory_order_relaxed); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  const Held held;
  const std::uint64_t bytes;
  const Counter used;
};

SharedBytes MemoryBudget::track(SharedBytes bytes, std::size_t extra) {
  const std::size_t size = bytes.size();
  if (size <= kCopyBelow) {
    auto holder =
        std::make_shared<const Holder<std::string>>(std::string(bytes.view()), size + extra, used_);
    const char* data = holder->held.data();
    return SharedBytes(std::move(holder), data, size);
  }
  const char* data = bytes.data();
  auto holder = std::make_shared<const Holder<SharedBytes>>(std::move(bytes), size + extra, used_);
  return SharedBytes(std::move(holder), data, size);
}

MessageBatchPtr MemoryBudget::track(MessageBatchPtr batch) {
  const MessageBatch* raw = batch.get();
  const std::size_t size = batch->memory_bytes();
  auto holder = std::make_shared<const Holder<MessageBatchPtr>>(std::move(batch), size, used_);
  return MessageBatchPtr(std::move(holder), raw);
}

storage::LoadedMessages MemoryBudget::tracked(const storage::LoadedMessages& loaded) {
  storage::LoadedMessages counted = loaded;
  MessageBatchPtr raw;
  MessageBatchPtr held;
  for (MessageRun& run : counted.runs) {
    if (run.batch != raw) {
      raw = run.batch;
      held = track(raw);
    }
    run.batch = held;
  }
  return counted;
}

}  // namespace segue::node
