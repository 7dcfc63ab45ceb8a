#include "libs/bus/capturing_wire.h"

#include "libs/bus/capture.h"

namespace weft::bus {

// CapturingEvents records the messages among the wire's events, and forwards
// the events to their receiver.
class CapturingWire::CapturingEvents : public WireEvents {
 public:
  CapturingEvents(CapturingWire& wire, WireEvents& events,
                  ChannelKind channel_kind)
      : wire_(wire), events_(events), channel_kind_(channel_kind) {}

  void OnOpen(ConnectionId connection) override {
    {
      absl::MutexLock lock(&wire_.mutex_);
      wire_.channel_kinds_[connection] = channel_kind_;
    }
    events_.OnOpen(connection);
  }
  void OnMessage(ConnectionId connection, Frames frames) override {
    wire_.WriteDown(connection, channel_kind_, /*received=*/true, frames);
    events_.OnMessage(connection, std::move(frames));
  }
  void OnClose(ConnectionId connection, const absl::Status& why) override {
    {
      absl::MutexLock lock(&wire_.mutex_);
      wire_.channel_kinds_.erase(connection);
    }
    events_.OnClose(connection, why);
  }

 private:
  CapturingWire& wire_;
  WireEvents& events_;
  const ChannelKind channel_kind_;
};

CapturingWire::CapturingWire(Wire& wire, const Clock& clock, Sink sink)
    : CapturingWire(wire, clock, std::move(sink), Options()) {}

CapturingWire::CapturingWire(Wire& wire, const Clock& clock, Sink sink,
                             const Options& options)
    : wire_(wire), clock_(clock), sink_(std::move(sink)), options_(options) {
  sink_(CaptureHeader());
}

CapturingWire::~CapturingWire() = default;

WireEvents& CapturingWire::Captured(WireEvents& events,
                                    ChannelKind channel_kind) {
  absl::MutexLock lock(&mutex_);
  auto& captured = events_[{&events, channel_kind}];
  if (!captured) {
    captured = std::make_unique<CapturingEvents>(*this, events, channel_kind);
  }
  return *captured;
}

absl::StatusOr<std::unique_ptr<WireListener>> CapturingWire::Listen(
    const Address& address, ChannelKind channel_kind, WireEvents& events) {
  return wire_.Listen(address, channel_kind, Captured(events, channel_kind));
}

ConnectionId CapturingWire::Dial(const Address& address,
                                 ChannelKind channel_kind, WireEvents& events) {
  return wire_.Dial(address, channel_kind, Captured(events, channel_kind));
}

absl::Status CapturingWire::Send(ConnectionId connection, Frames frames) {
  ChannelKind channel_kind = ChannelKind::kControl;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = channel_kinds_.find(connection);
    if (it != channel_kinds_.end()) channel_kind = it->second;
  }
  WriteDown(connection, channel_kind, /*received=*/false, frames);
  return wire_.Send(connection, std::move(frames));
}

void CapturingWire::Close(ConnectionId connection) {
  wire_.Close(connection);
  absl::MutexLock lock(&mutex_);
  channel_kinds_.erase(connection);
}

bool CapturingWire::Lead(absl::FunctionRef<bool()> done) {
  return wire_.Lead(done);
}

void CapturingWire::WakeLeader() { wire_.WakeLeader(); }

void CapturingWire::WriteDown(ConnectionId connection, ChannelKind channel_kind,
                              bool received, const Frames& frames) {
  sink_(EncodeCapture(clock_.WallTime(), connection, channel_kind, received,
                      frames, options_.max_frame_bytes));
}

}  // namespace weft::bus
