#include "libs/bus/zmq/resolve_host.h"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::bus {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Returns zero, or why there is no address; see getaddrinfo(3).
int Look(const std::string& host, int flags, Addresses& found) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error == 0) found.reset(list);
  return error;
}

}  // namespace

bool IsNumericHost(const std::string& host) {
  Addresses found(nullptr, freeaddrinfo);
  return Look(host, AI_NUMERICHOST, found) == 0;
}

absl::StatusOr<std::string> ResolveHost(const std::string& host) {
  Addresses found(nullptr, freeaddrinfo);
  const int error = Look(host, 0, found);
  // RFC 6761: it means this machine, even if no /etc/hosts defines it.
  if (error != 0 && host == "localhost") return "127.0.0.1";
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "The host \"", host, "\" is not known: ", gai_strerror(error)));
  }
  const addrinfo* best = found.get();
  for (const addrinfo* it = best; it != nullptr; it = it->ai_next) {
    if (it->ai_family != AF_INET) continue;
    best = it;
    break;
  }
  char numeric[NI_MAXHOST];
  const int failed = getnameinfo(best->ai_addr, best->ai_addrlen, numeric,
                                 sizeof(numeric), nullptr, 0, NI_NUMERICHOST);
  if (failed != 0) return absl::UnavailableError(gai_strerror(failed));
  return numeric;
}

std::string TcpEndpoint(const std::string& numeric_host, int port) {
  const bool v6 = absl::StrContains(numeric_host, ':');
  return absl::StrCat("tcp://", v6 ? "[" : "", numeric_host, v6 ? "]:" : ":",
                      port);
}

}  // namespace weft::bus
