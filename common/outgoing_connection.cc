#include "common/outgoing_connection.h"

#include <utility>

namespace segue {

namespace {

// A link says hello before anything else, and then waits for the answer.
constexpr std::size_t kMostKept = 16;
// Of one name at the same time, each on its thread.
constexpr std::size_t kMostLookups = 4;

ZmqSocket::Options watched(ZmqSocket::Options options) {
  options.watch = true;
  return options;
}

}  // namespace

OutgoingConnection::OutgoingConnection(ZmqContext& context, Poller& poller,
                                       ZmqSocket::Options options, NameLookup::Resolver resolver)
    : context_(context),
      poller_(poller),
      options_(watched(options)),
      resolver_(std::move(resolver)),
      looked_up_(std::make_shared<Wakeup>()) {}

OutgoingConnection::~OutgoingConnection() {
  close(std::chrono::milliseconds(0));
}

Status OutgoingConnection::open(const std::string& endpoint) {
  close(std::chrono::milliseconds(0));
  endpoint_ = endpoint;
  socket_.emplace(context_, ZmqSocket::Kind::kDealer, options_);
  poller_.add(*socket_);
  name_ = name_in_endpoint(endpoint);
  if (name_.empty()) return connect(endpoint);
  poller_.add_fd(looked_up_->fd());
  progress();
  if (name_.empty()) return Status::ok();
  std::vector<std::shared_ptr<const NameLookup>>& lookups = lookups_[name_];
  const bool silent = !lookups.empty();
  if (lookups.size() < kMostLookups) {
    lookups.push_back(NameLookup::start(name_, resolver_, looked_up_));
  }
  if (const auto known = known_.find(name_); silent && known != known_.end()) {
    use(known->second);
  }
  return Status::ok();
}

void OutgoingConnection::use(const std::vector<std::string>& addresses) {
  const std::string name = std::exchange(name_, {});
  poller_.remove_fd(looked_up_->fd());
  const std::string& address = addresses[attempts_++ % addresses.size()];
  if (const Status connected = socket_->connect(endpoint_at(endpoint_, address));
      !connected.is_ok()) {
    fail(name, connected);
    return;
  }
  for (Kept& frame : std::exchange(kept_, {})) {
    (void)socket_->send({}, std::move(frame.header), frame.bodies, frame.with_bodies);
  }
}

void OutgoingConnection::fail(const std::string& name, const Status& why) {
  lookup_failure_ = "the name '" + name + "' was not found: " + why.message();
}

Status OutgoingConnection::connect(const std::string& endpoint) {
  Status connected = socket_->connect(endpoint);
  if (!connected.is_ok()) close(std::chrono::milliseconds(0));
  return connected;
}

void OutgoingConnection::close(std::chrono::milliseconds linger) {
  if (!socket_.has_value()) return;
  poller_.remove(*socket_);
  if (!name_.empty()) poller_.remove_fd(looked_up_->fd());
  socket_->set_linger(linger);
  socket_.reset();
  name_.clear();
  lookup_failure_.clear();
  kept_.clear();
}

void OutgoingConnection::progress() {
  if (name_.empty()) return;
  looked_up_->clear();
  const NameLookup* answer = answered();
  if (answer == nullptr) return;
  const Result<std::vector<std::string>> found = answer->addresses();
  lookups_.erase(name_);
  if (found.is_ok()) {
    known_[name_] = *found;
    use(*found);
    return;
  }
  poller_.remove_fd(looked_up_->fd());
  fail(std::exchange(name_, {}), found.status());
}

const NameLookup* OutgoingConnection::answered() const {
  const auto lookups = lookups_.find(name_);
  if (lookups == lookups_.end()) return nullptr;
  for (const auto& lookup : lookups->second) {
    if (lookup->is_done() && lookup->addresses().is_ok()) return lookup.get();
  }
  const NameLookup* newest = lookups->second.back().get();
  return newest->is_done() ? newest : nullptr;
}

bool OutgoingConnection::send(std::string header, const std::vector<SharedBytes>& bodies,
                              bool with_bodies) {
  if (!socket_.has_value() || !lookup_failure_.empty()) return false;
  progress();
  if (name_.empty()) return socket_->send({}, std::move(header), bodies, with_bodies);
  if (kept_.size() >= kMostKept) return false;
  kept_.push_back({std::move(header), bodies, with_bodies});
  return true;
}

bool OutgoingConnection::receive(WireMessage& message) {
  if (!socket_.has_value()) return false;
  progress();
  return socket_->receive(message);
}

ZmqSocket::Trouble OutgoingConnection::trouble() {
  if (!socket_.has_value()) return ZmqSocket::Trouble::kNone;
  progress();
  if (!lookup_failure_.empty()) return ZmqSocket::Trouble::kRefused;
  return socket_->trouble();
}

}  // namespace segue
