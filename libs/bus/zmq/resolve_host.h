// ResolveHost resolves a host name to a numeric address.
#ifndef WEFT_LIBS_BUS_ZMQ_RESOLVE_HOST_H_
#define WEFT_LIBS_BUS_ZMQ_RESOLVE_HOST_H_

#include <string>

#include "absl/status/statusor.h"

namespace weft::bus {

// Whether `host` is an IPv4 or IPv6 address already.
bool IsNumericHost(const std::string& host);

// Returns an IPv4 address if the host has one, else IPv6. Asks the system,
// which may block for seconds. UNAVAILABLE if the name is not known (now).
absl::StatusOr<std::string> ResolveHost(const std::string& host);

// "tcp://127.0.0.1:80", "tcp://[::1]:80", in libzmq's syntax.
std::string TcpEndpoint(const std::string& numeric_host, int port);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_RESOLVE_HOST_H_
