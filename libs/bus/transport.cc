#include "libs/bus/transport.h"

#include "libs/bus/channel.h"
#include "libs/bus/endpoint.h"

namespace weft::bus {
namespace {

class WireTransport : public Transport {
 public:
  WireTransport(const TransportParts& parts, const TransportOptions& options)
      : parts_(parts), options_(options) {}

  absl::StatusOr<std::unique_ptr<Endpoint>> Listen(const Address& address,
                                                   const Identity& self,
                                                   Handler& handler) override {
    return NewEndpoint(parts_, options_, address, self, handler);
  }

  std::unique_ptr<Channel> Dial(const Address& address, const Identity& self,
                                const std::string& destination,
                                ChannelEvents* events) override {
    return NewChannel(parts_, options_, address, self, destination, events);
  }

  bool Lead(absl::FunctionRef<bool()> done) override {
    return parts_.wire->Lead(done);
  }
  void WakeLeader() override { parts_.wire->WakeLeader(); }

 private:
  const TransportParts parts_;
  const TransportOptions options_;
};

}  // namespace

std::unique_ptr<Transport> NewTransport(const TransportParts& parts,
                                        const TransportOptions& options) {
  return std::make_unique<WireTransport>(parts, options);
}

}  // namespace weft::bus
