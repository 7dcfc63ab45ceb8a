// FreePort: a port of loopback that nobody listens at just now; for programs
// and tests that start several processes. Another process may take it before it
// is used: then the listener says ALREADY_EXISTS, and one tries again.
#ifndef WEFT_LIBS_BUS_ZMQ_FREE_PORT_H_
#define WEFT_LIBS_BUS_ZMQ_FREE_PORT_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace weft::bus {

// UNAVAILABLE where the system has none.
absl::StatusOr<uint16_t> FreePort();

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_FREE_PORT_H_
