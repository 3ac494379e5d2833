// What happens to messages in the model, by itself or because of something else.

#include <algorithm>

#include "tests/conformance/model.h"

namespace segue::conformance {

void Model::settle_down() {
  for (bool changed = true; changed && !left_open_;) {
    changed = false;
    for (auto& [name, queue] : queues_) {
      changed = fire(queue) || changed;
      changed = dispatch(queue) || changed;
      changed = expire(queue) || changed;
      changed = keep_limit(queue) || changed;
    }
    for (auto& [name, queue] : queues_) changed = forward(queue) || changed;
  }
}

// Lines 18 and 19.
ModelConsumer* Model::next_consumer(ModelQueue& queue) {
  std::vector<ModelConsumer*> all;
  for (auto& [slot, consumer] : queue.consumers) all.push_back(&consumer);
  std::sort(all.begin(), all.end(),
            [](const auto* one, const auto* other) { return one->number < other->number; });
  if (queue.single_active() && all.size() > 1) all.resize(1);
  std::erase_if(all, [](const auto* consumer) { return !consumer->has_credit(); });
  if (all.empty()) return nullptr;
  const auto higher = [](const auto* one, const auto* other) {
    return one->as.priority > other->as.priority;
  };
  std::stable_sort(all.begin(), all.end(), higher);
  // Whose turn it is, is left open.
  if (all.size() > 1 && !higher(all[0], all[1]) && !queue.ready.empty()) left_open_ = true;
  return all[0];
}

// Line 24.
const Model::Handle* Model::holder_of(const ModelQueue& queue, const ModelMessage& message) const {
  if (!queue.has_groups() || message.seen.group.empty()) return nullptr;
  if (mistake_ == Mistake::kGroupsAreForgotten) return nullptr;
  for (const Handle& handle : handles_) {
    if (handle.queue_id == queue.id && handle.state == Handle::State::kOpen &&
        handle.message.seen.group == message.seen.group) {
      return &handle;
    }
  }
  return nullptr;
}

ModelConsumer* Model::taker_of(ModelQueue& queue, const ModelMessage& message) {
  const Handle* holder = holder_of(queue, message);
  if (holder == nullptr) return next_consumer(queue);
  ModelConsumer* consumer = consumer_of(*holder);
  if (consumer == nullptr || !consumer->has_credit()) return nullptr;
  if (queue.single_active() &&
      std::any_of(queue.consumers.begin(), queue.consumers.end(),
                  [&](const auto& other) { return other.second.number < consumer->number; })) {
    return nullptr;
  }
  return consumer;
}

bool Model::dispatch(ModelQueue& queue) {
  bool any = false;
  for (std::size_t at = 0; at < queue.ready.size();) {
    ModelConsumer* consumer = taker_of(queue, queue.ready[at]);
    if (left_open_) break;
    if (consumer == nullptr) {
      if (!queue.has_groups()) break;
      ++at;  // it waits for its group's consumer, others need not
      continue;
    }
    // Whether it is given out or expires.
    const ModelMessage& next = queue.ready[at];
    if (queue.expires_at_once(next) && next.seen.redelivered != Flag::kNo) left_open_ = true;
    deliver(queue, at, *consumer);
    any = true;
  }
  return any;
}

// Line 31: what is due comes, as long as there is room.
bool Model::fire(ModelQueue& queue) {
  bool any = false;
  for (std::size_t at = 0; at < queue.resting.size();) {
    ModelMessage& message = queue.resting[at];
    if (!message.due) {
      ++at;
      continue;
    }
    events_[queue.as.name].sources.insert("delays");
    if (queue.rejects() && !queue.has_room(message.seen.body.size())) break;
    queue.append(std::move(message));
    queue.resting.erase(queue.resting.begin() + static_cast<std::ptrdiff_t>(at));
    ++events_[queue.as.name].arrived;
    any = true;
  }
  return any;
}

void Model::deliver(ModelQueue& queue, std::size_t at, ModelConsumer& consumer) {
  ModelMessage message = queue.ready[at];
  queue.ready.erase(queue.ready.begin() + static_cast<std::ptrdiff_t>(at));
  events_[queue.as.name].delivered = true;
  Delivered given;
  given.consumer = consumer.as.consumer;
  given.seen = message.seen;
  given.seen.tag = consumer.next_tag++;
  if (!consumer.as.no_ack) {
    ++consumer.unsettled;
    Handle& handle = hold(queue, std::move(message), consumer.as.session);
    handle.consumer = consumer.number;
    given.handle = handles_.size() - 1;
  }
  delivered_.push_back(std::move(given));
}

Model::Handle& Model::hold(ModelQueue& queue, ModelMessage message, int session) {
  Handle handle;
  handle.session = session;
  handle.queue = queue.as.name;
  handle.queue_id = queue.id;
  handle.message = std::move(message);
  handles_.push_back(std::move(handle));
  return handles_.back();
}

ModelQueue* Model::queue_of(const Handle& handle) {
  return &queues_.at(handle.queue);  // with the queue its handles are void
}

ModelConsumer* Model::consumer_of(const Handle& handle) {
  if (!handle.consumer) return nullptr;
  for (auto& [slot, consumer] : queue_of(handle)->consumers) {
    if (consumer.number == *handle.consumer) return &consumer;
  }
  return nullptr;
}

// Lines 20 and 27.
void Model::give_back(Handle& handle, bool counts) {
  ModelQueue& queue = *queue_of(handle);
  ModelMessage message = handle.message;
  message.seen.redelivered = Flag::kYes;
  if (counts) message.seen.delivery_count = *message.seen.delivery_count + 1;
  ++events_[queue.as.name].came_back;
  const auto limit = queue.number("x-delivery-limit");
  if (counts && limit && *message.seen.delivery_count > *limit) {
    return die(queue, std::move(message), "delivery_limit");
  }
  if (mistake_ == Mistake::kRequeuedGoLast) message.place = queue.next_place++;
  queue.put(std::move(message));
}

// Line 28.
void Model::die(ModelQueue& queue, ModelMessage message, const char* reason) {
  if (!queue.text("x-dead-letter-exchange")) return;
  events_[queue.as.name].died = true;
  const int lane = message.lane;
  queue.letters[lane].push_back({std::move(message), reason});
}

// Line 25.
bool Model::expire(ModelQueue& queue) {
  std::vector<ModelMessage> over;
  std::erase_if(queue.ready, [&](const ModelMessage& message) {
    if (!queue.expires_at_once(message)) return false;
    over.push_back(message);
    return true;
  });
  if (over.empty()) return false;
  ModelQueue before = queue;
  for (const ModelMessage& message : over) before.put(message);
  // For which of the two reasons a message goes, and which one.
  if (!queue.rejects() && before.is_over_limit()) left_open_ = true;
  for (ModelMessage& message : over) die(queue, std::move(message), "expired");
  return true;
}

// Line 26.
bool Model::keep_limit(ModelQueue& queue) {
  if (queue.rejects() || !queue.is_over_limit()) return false;
  while (queue.is_over_limit()) {
    // The oldest of the lowest priority.
    auto goes = std::find_if(queue.ready.begin(), queue.ready.end(), [&](const auto& message) {
      return message.lane == queue.ready.back().lane;
    });
    if (mistake_ == Mistake::kNewestAreDropped) goes = std::prev(queue.ready.end());
    ModelMessage message = *goes;
    queue.ready.erase(goes);
    die(queue, std::move(message), "maxlen");
  }
  return true;
}

bool Model::forward(ModelQueue& source) {
  bool any = false;
  for (auto& [lane, letters] : source.letters) {
    if (!source.text("x-dead-letter-exchange")) letters.clear();
    while (!letters.empty() && !left_open_ && forward_first(source, lane)) any = true;
  }
  return any;
}

bool Model::forward_first(ModelQueue& source, int lane) {
  std::vector<ModelLetter>& letters = source.letters.at(lane);
  ModelLetter& letter = letters.front();
  const Seen seen = letter_of(letter, source);
  forwarded_ = true;
  std::set<std::string> there;
  for (const auto& [name, queue] : queues_) there.insert(name);
  const auto targets = topology_.route(seen, there);
  if (!targets) left_open_ = true;
  if (left_open_) return false;
  if (targets->empty()) lost_letters_ = true;
  bool waits = false;
  for (const std::string& name : *targets) {
    ModelQueue& target = queues_.at(name);
    if (goes_round(seen.deaths, name) || letter.at.contains(target.id)) continue;
    events_[name].sources.insert("letters of " + source.as.name + " " + std::to_string(lane));
    if (target.rejects() && !target.has_room(seen.body.size())) {
      waits = true;
      continue;
    }
    target.append(seen);
    letter.at.insert(target.id);
    ++events_[name].arrived;
  }
  if (waits) return false;
  letters.erase(letters.begin());
  return true;
}

// Lines 12, 14 and 22.
void Model::delete_queue(const std::string& name) {
  const ModelQueue& queue = queues_.at(name);
  if (events_[name].died) left_open_ = true;  // its letters may have gone before
  for (const auto& [slot, consumer] : queue.consumers) ended_.insert(slot);
  for (Handle& handle : handles_) {
    if (handle.queue_id == queue.id) handle.state = Handle::State::kVoid;
  }
  topology_.forget_queue(name);
  queues_.erase(name);
  deleted_ = true;
}

void Model::end_session(int session) {
  std::set<std::string> gone;
  for (auto& [name, queue] : queues_) {
    const std::size_t ended = std::erase_if(
        queue.consumers, [&](const auto& entry) { return entry.second.as.session == session; });
    const bool bare = queue.as.auto_delete && ended > 0 && queue.consumers.empty();
    if (bare || (queue.as.exclusive && queue.as.session == session)) gone.insert(name);
  }
  for (Handle& handle : handles_) {
    if (handle.session != session || handle.state == Handle::State::kVoid) continue;
    if (handle.state == Handle::State::kOpen) give_back(handle, true);
    handle.state = Handle::State::kVoid;
  }
  for (const std::string& name : gone) delete_queue(name);
}

void Model::crash_nodes() {
  for (auto& [name, queue] : queues_) {
    queue.consumers.clear();
    if (queue.as.durable) {
      // What it may have delivered, it knows only roughly.
      for (ModelMessage& message : queue.ready) {
        if (queue.used && message.seen.redelivered == Flag::kNo) {
          message.seen.redelivered = Flag::kMaybe;
        }
      }
    } else {
      queue.ready.clear();
      queue.letters.clear();
      queue.resting.clear();
      queue.window.clear();
    }
  }
  for (Handle& handle : handles_) {
    if (handle.state == Handle::State::kOpen && queue_of(handle)->as.durable) {
      give_back(handle, false);
    }
    handle.state = Handle::State::kVoid;
  }
}

}  // namespace segue::conformance
