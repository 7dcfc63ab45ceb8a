// Implements the Endpoint of transport.h over a Wire.
#ifndef WEFT_LIBS_BUS_ENDPOINT_H_
#define WEFT_LIBS_BUS_ENDPOINT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "libs/bus/transport.h"

namespace weft::bus {

absl::StatusOr<std::unique_ptr<Endpoint>> NewEndpoint(
    const TransportParts& parts, const TransportOptions& options,
    const Address& address, const Identity& self, Handler& handler);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ENDPOINT_H_
