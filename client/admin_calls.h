#pragma once

#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "client/connection_core.h"
#include "segue/result.h"
#include "segue/v1/client.pb.h"

namespace segue::client {

// How Admin's calls are made of requests and replies; for its sources only.

/// Sends `request` and turns the reply's result into a T.
template <typename T, typename Convert>
std::future<Result<T>> ask(ConnectionCore& core, v1::Request request, bool repeatable,
                           Convert convert) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future = promise->get_future();
  core.request(std::move(request), repeatable, core.admin_timeout(),
               [promise, convert](const Result<v1::Reply>& reply, const SharedBytes&) {
                 if (!reply) {
                   promise->set_value(reply.error());
                 } else if constexpr (std::is_void_v<T>) {
                   (void)convert;  // there is nothing in the reply
                   promise->set_value({});
                 } else {
                   promise->set_value(convert(*reply));
                 }
               });
  return future;
}

/// What an _async call gives that is refused before it is sent.
template <typename T>
std::future<Result<T>> refused(const Error& error) {
  std::promise<Result<T>> promise;
  promise.set_value(error);
  return promise.get_future();
}

inline std::future<Status> ask(ConnectionCore& core, v1::Request request) {
  return ask<void>(core, std::move(request), true, nullptr);
}

/// What an _async call gave, waited for; not where its answer is brought.
template <typename T, typename Call>
Result<T> wait(ConnectionCore& core, Call call) {
  if (core.on_io_thread()) {
    return Error{ErrorCode::kNotAllowed,
                 {},
                 "a call that waits was made on the I/O thread; use its _async form there"};
  }
  return call().get();
}

}  // namespace segue::client
