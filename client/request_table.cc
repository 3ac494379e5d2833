#include "client/request_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "client/convert.h"

namespace segue::client {

namespace {

constexpr std::size_t kMaxOnTheirWay = 1024;
constexpr std::size_t kLinkHeaderBytes = 32;  // at most; added when the frame is sent

}  // namespace

void RequestTable::submit(Submission submission) {
  const std::uint64_t id = ++last_id_;
  submission.request.set_request_id(id);
  deadlines_.emplace(submission.deadline, id);
  waiting_.insert(waiting_.end(), id);
  requests_.emplace_hint(requests_.end(), id, Pending{std::move(submission), false});
}

void RequestTable::begin_session(const v1::HelloOk& limits) {
  max_frame_bytes_ = limits.max_frame_bytes();
}

void RequestTable::send_waiting(LinkWriter& writer) {
  std::vector<std::pair<Submission, std::size_t>> too_large;
  while (!waiting_.empty() && requests_.size() - waiting_.size() < kMaxOnTheirWay &&
         writer.fine()) {
    const std::uint64_t id = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    const auto at = requests_.find(id);
    v1::ClientFrame frame;
    *frame.mutable_request() = at->second.submission.request;
    const std::size_t bytes = frame.ByteSizeLong() + kLinkHeaderBytes;
    if (max_frame_bytes_ > 0 && bytes > max_frame_bytes_) {
      too_large.emplace_back(take(at), bytes);
      continue;
    }
    at->second.sent = true;
    writer.send(frame);
  }
  for (const auto& [submission, bytes] : too_large) {
    submission.done(
        Error{ErrorCode::kContentTooLarge,
              {},
              "the request has " + std::to_string(bytes) + " bytes; the router takes at most " +
                  std::to_string(max_frame_bytes_) + " (limits.max_frame_bytes)"},
        {});
  }
}

RequestTable::Submission RequestTable::take(std::map<std::uint64_t, Pending>::iterator at) {
  Submission submission = std::move(at->second.submission);
  deadlines_.erase({submission.deadline, at->first});
  waiting_.erase(at->first);
  requests_.erase(at);
  return submission;
}

void RequestTable::on_reply(v1::Reply reply, const SharedBytes& bodies) {
  catalog_index_ = std::max(catalog_index_, reply.catalog_index());
  const auto at = requests_.find(reply.request_id());
  // Unknown: it had run out of time.
  if (at == requests_.end() || !at->second.sent) return;
  const Submission submission = take(at);
  if (reply.has_error()) {
    submission.done(from_wire(reply.error()), {});
  } else {
    submission.done(std::move(reply), bodies);
  }
}

void RequestTable::on_session_lost(const Error& why) {
  std::vector<Submission> lost;
  for (auto at = requests_.begin(); at != requests_.end();) {
    const auto now = at++;
    if (now->second.submission.this_session_only) {
      lost.push_back(take(now));
    } else if (!now->second.sent) {
      continue;
    } else if (now->second.submission.repeatable) {
      now->second.sent = false;
      waiting_.insert(now->first);
    } else {
      lost.push_back(take(now));
    }
  }
  for (const Submission& submission : lost) {
    submission.done(Error{ErrorCode::kDisconnected, why.entity,
                          "the session broke before the answer came, whether it was done is not "
                          "known: " +
                              why.text},
                    {});
  }
}

void RequestTable::expire(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto at = requests_.find(deadlines_.begin()->second);
    const bool sent = at->second.sent;
    const Submission submission = take(at);
    std::string text = sent ? "the router did not answer in time; whether it was done is not known"
                            : "the request could not be sent in time";
    if (!trouble_.empty()) text += ": " + trouble_;
    submission.done(Error{ErrorCode::kTimeout, {}, std::move(text)}, {});
  }
}

void RequestTable::fail_all(const Error& why) {
  while (!requests_.empty()) take(requests_.begin()).done(why, {});
}

std::optional<TimePoint> RequestTable::deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace segue::client
