#include "common/name_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace segue {

namespace {

constexpr std::string_view kTcp = "tcp://";

bool is_address(const std::string& host) {
  in_addr address{};
  return host.starts_with('[') || inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

std::shared_ptr<const NameLookup> NameLookup::start(std::string host, Resolver resolver,
                                                    std::shared_ptr<Wakeup> done) {
  auto lookup = std::make_shared<NameLookup>();
  try {
    std::thread([lookup, host = std::move(host), resolver = std::move(resolver), done] {
      lookup->finish(resolver(host));
      done->signal();
    }).detach();  // nobody can end it early, and nobody shall wait for it
  } catch (const std::system_error& error) {
    lookup->finish(Status(Code::kResourceError, std::string("no thread for it: ") + error.what()));
  }
  return lookup;
}

void NameLookup::finish(Result<std::vector<std::string>> addresses) {
  addresses_ = std::move(addresses);
  done_.store(true, std::memory_order_release);
}

Result<std::vector<std::string>> NameLookup::of_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &found); failed != 0) {
    return Status(Code::kInvalidConfig, gai_strerror(failed));
  }
  std::vector<std::string> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
        0) {
      continue;
    }
    if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) {
      addresses.emplace_back(text);
    }
  }
  freeaddrinfo(found);
  if (addresses.empty()) return Status(Code::kInvalidConfig, "it has no address");
  return addresses;
}

std::string name_in_endpoint(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kTcp) || colon < kTcp.size()) return {};
  std::string host = endpoint.substr(kTcp.size(), colon - kTcp.size());
  return is_address(host) ? std::string() : host;
}

std::string endpoint_at(const std::string& endpoint, const std::string& address) {
  const std::string port = endpoint.substr(endpoint.rfind(':'));
  const bool ip6 = address.find(':') != std::string::npos;
  return std::string(kTcp) + (ip6 ? "[" + address + "]" : address) + port;
}

}  // namespace segue
