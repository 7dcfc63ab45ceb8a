// Implements the Channel of transport.h over a Wire.
#ifndef WEFT_LIBS_BUS_CHANNEL_H_
#define WEFT_LIBS_BUS_CHANNEL_H_

#include <memory>
#include <string>

#include "libs/bus/transport.h"

namespace weft::bus {

std::unique_ptr<Channel> NewChannel(const TransportParts& parts,
                                    const TransportOptions& options,
                                    const Address& address,
                                    const Identity& self,
                                    const std::string& destination,
                                    ChannelEvents* events);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_CHANNEL_H_
