#include "segue/publisher.h"

#include <utility>

#include "client/connection_core.h"

namespace segue::client {

Result<std::uint64_t> Publisher::publish(const PreparedHeader& header, std::string_view body) {
  if (!header.status()) return header.status().error();
  return core_.window().publish(header.wire(), body, !core_.on_io_thread());
}

Result<std::uint64_t> Publisher::publish(const MessageHeader& header, std::string_view body) {
  return core_.window().publish(header, body, !core_.on_io_thread());
}

Result<std::uint64_t> Publisher::publish(Message message) {
  return core_.window().publish(std::move(message), nullptr, !core_.on_io_thread());
}

Result<std::uint64_t> Publisher::publish(
    Message message, std::function<void(const Result<Confirmation>&)> on_settled) {
  return core_.window().publish(std::move(message), std::move(on_settled), !core_.on_io_thread());
}

std::future<Result<Confirmation>> Publisher::publish_confirmed(Message message) {
  auto promise = std::make_shared<std::promise<Result<Confirmation>>>();
  std::future<Result<Confirmation>> future = promise->get_future();
  const Result<std::uint64_t> seq =
      publish(std::move(message),
              [promise](const Result<Confirmation>& fate) { promise->set_value(fate); });
  if (!seq) promise->set_value(seq.error());
  return future;
}

Status Publisher::wait_for_confirms(std::chrono::milliseconds timeout) {
  if (core_.on_io_thread()) {
    return Error{
        ErrorCode::kNotAllowed, {}, "waiting for confirms on the I/O thread, which brings them"};
  }
  return core_.window().wait_for_confirms(timeout);
}

void Publisher::on_confirm(std::function<void(const ConfirmEvent&)> handler) {
  core_.window().set_on_confirm(std::move(handler));
}

void Publisher::on_return(std::function<void(const ReturnedMessage&)> handler) {
  core_.window().set_on_return(std::move(handler));
}

std::uint64_t Publisher::unconfirmed() const {
  return core_.window().unconfirmed();
}

std::uint64_t Publisher::confirmed_total() const {
  return core_.window().confirmed_total();
}

std::uint64_t Publisher::rejected_total() const {
  return core_.window().rejected_total();
}

std::uint64_t Publisher::next_seq() const {
  return core_.window().next_seq();
}

const std::string& Publisher::producer_id() const {
  return core_.producer_id();
}

}  // namespace segue::client
