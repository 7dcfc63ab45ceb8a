#include "libs/bus/zmq/free_port.h"

#include <arpa/inet.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace weft::bus {
namespace {

// Below the ephemeral ports of Linux: connections would take a port while its
// server is restarted, or even connect to themselves.
constexpr int kFirst = 20000;
constexpr int kCount = 12000;
constexpr int kAttempts = 200;

bool IsFree(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool is_free = ::bind(descriptor, reinterpret_cast<sockaddr*>(&address),
                              sizeof(address)) == 0;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return is_free;
}

}  // namespace

absl::StatusOr<uint16_t> FreePort() {
  for (int i = 0; i < kAttempts; ++i) {
    uint32_t drawn = 0;
    if (::getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) break;
    const int port = kFirst + static_cast<int>(drawn % kCount);
    if (IsFree(port)) return static_cast<uint16_t>(port);
  }
  return absl::UnavailableError(absl::StrCat(
      "no free port of loopback: ", std::generic_category().message(errno)));
}

}  // namespace weft::bus
