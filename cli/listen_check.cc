#include "cli/listen_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace segue::cli {

namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";

// Binds and listens; what went wrong as an errno.
int try_listen(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool listening =
      ::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, 1) == 0;
  const int error = listening ? 0 : errno;
  ::close(fd);
  return error;
}

int try_tcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return 0;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* name = host == "*" ? nullptr : host.c_str();
  if (::getaddrinfo(name, address.c_str() + colon + 1, &hints, &found) != 0) return 0;
  const int error = try_listen(*found);
  ::freeaddrinfo(found);
  // Others, such as an address that is not this machine's, are the process's own to tell.
  return error == EADDRINUSE ? error : 0;
}

int try_ipc(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return 0;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (path[0] == '@')
    address.sun_path[0] = '\0';
  else
    ++size;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return 0;
  const bool answered = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 ||
                        errno == EAGAIN;  // too many that wait to be let in
  ::close(fd);
  return answered ? EADDRINUSE : 0;
}

}  // namespace

Status can_listen(const std::string& endpoint) {
  int error = 0;
  if (endpoint.starts_with(kTcp)) error = try_tcp(endpoint.substr(kTcp.size()));
  if (endpoint.starts_with(kIpc)) error = try_ipc(endpoint.substr(kIpc.size()));
  if (error == 0) return Status::ok();
  return Status(Code::kResourceError, "cannot listen on " + endpoint + ": " + std::strerror(error));
}

}  // namespace segue::cli
