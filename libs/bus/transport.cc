#include "libs/bus/transport.h"

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "libs/bus/channel.h"
#include "libs/bus/endpoint.h"

namespace weft::bus {
namespace {

constexpr absl::string_view kAnswerPayload = "weft/answer";

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

absl::Status MarkAnswer(absl::Status error) {
  if (absl::IsUnavailable(error)) {
    error.SetPayload(kAnswerPayload, absl::Cord());
  }
  return error;
}

bool IsAnswer(const absl::Status& error) {
  return error.GetPayload(kAnswerPayload).has_value();
}

absl::Status WithoutMark(absl::Status error) {
  error.ErasePayload(kAnswerPayload);
  return error;
}

std::unique_ptr<Transport> NewTransport(const TransportParts& parts,
                                        const TransportOptions& options) {
  return std::make_unique<WireTransport>(parts, options);
}

}  // namespace weft::bus
