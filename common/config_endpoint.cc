#include <charconv>

#include "common/config_problems.h"
#include "common/config_values.h"

namespace segue {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
// What a socket's address has room for, with its ending zero.
constexpr std::size_t kMaxIpcPath = 107;
constexpr std::size_t kMaxHost = 253;

Status refuse(std::string_view expected, std::string_view text) {
  return {Code::kInvalidConfig, "expected " + std::string(expected) + ", found " + in_quotes(text)};
}

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

bool is_ip6(std::string_view host) {
  if (!host.starts_with('[') || !host.ends_with(']') || host.size() < 4) return false;
  for (const char letter : host.substr(1, host.size() - 2)) {
    if (!is_letter_or_digit(letter) && letter != ':' && letter != '.' && letter != '%')
      return false;
  }
  return host.find(':') != std::string_view::npos;
}

bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > kMaxHost) return false;
  for (const char letter : host) {
    if (!is_letter_or_digit(letter) && letter != '.' && letter != '-' && letter != '_')
      return false;
  }
  return true;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && text.front() != '0' &&
         port <= 65535;
}

Status check_tcp(std::string_view text, EndpointUse use) {
  const std::string_view address = text.substr(kTcp.size());
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return refuse("tcp://host:port, with a port", text);
  const std::string_view host = address.substr(0, colon);
  if (!is_port(address.substr(colon + 1))) return refuse("a port from 1 to 65535", text);
  const bool all_addresses = host == "*" || host == "0.0.0.0" || host == "[::]";
  if (all_addresses && use == EndpointUse::kListen) return Status::ok();
  if (all_addresses) {
    return refuse("a host that others can connect to (what the process binds stands in 'listen')",
                  text);
  }
  if (is_ip6(host) || is_host_name(host)) return Status::ok();
  return refuse(host.empty() ? "a host before the port"
                             : "a host name, an IPv4 address or an IPv6 address in []",
                text);
}

Status check_ipc(std::string_view text) {
  const std::string_view path = text.substr(kIpc.size());
  if (path.empty() || path == "@" || path == "*") {
    return refuse("ipc:///path/of/a/socket or ipc://@name", text);
  }
  for (const char letter : path) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) {
      return refuse("a path without control characters", text);
    }
  }
  if (path.size() > kMaxIpcPath) {
    return refuse("a path of at most " + std::to_string(kMaxIpcPath) + " bytes", text);
  }
  return Status::ok();
}

}  // namespace

Status check_endpoint(std::string_view text, EndpointUse use) {
  if (text.starts_with(kTcp)) return check_tcp(text, use);
  if (text.starts_with(kIpc)) return check_ipc(text);
  return refuse("an endpoint: tcp://host:port, ipc://path or ipc://@name", text);
}

}  // namespace segue
