#include "libs/bus/free_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace weft::bus {

absl::StatusOr<uint16_t> FreePort() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = descriptor >= 0 &&
                     ::bind(descriptor, generic, size) == 0 &&
                     ::getsockname(descriptor, generic, &size) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (found) return ntohs(address.sin_port);
  return absl::UnavailableError(
      absl::StrCat("no free port of loopback: ", std::strerror(error)));
}

}  // namespace weft::bus
