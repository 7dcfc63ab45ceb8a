#include "libs/bus/capturing_wire.h"

#include "libs/bus/capture.h"

namespace weft::bus {

// Forwards the wire's events to their receiver.
class CapturingWire::CapturingEvents : public WireEvents {
 public:
  CapturingEvents(CapturingWire& wire, WireEvents& events, Lane lane)
      : wire_(wire), events_(events), lane_(lane) {}

  void OnOpen(ConnectionId connection) override {
    {
      absl::MutexLock lock(&wire_.mutex_);
      wire_.lanes_[connection] = lane_;
    }
    events_.OnOpen(connection);
  }
  void OnMessage(ConnectionId connection, Frames frames) override {
    wire_.WriteDown(connection, lane_, /*received=*/true, frames);
    events_.OnMessage(connection, std::move(frames));
  }
  void OnClose(ConnectionId connection, const absl::Status& why) override {
    {
      absl::MutexLock lock(&wire_.mutex_);
      wire_.lanes_.erase(connection);
    }
    events_.OnClose(connection, why);
  }

 private:
  CapturingWire& wire_;
  WireEvents& events_;
  const Lane lane_;
};

CapturingWire::CapturingWire(Wire& wire, const Clock& clock, Sink sink)
    : CapturingWire(wire, clock, std::move(sink), Options()) {}

CapturingWire::CapturingWire(Wire& wire, const Clock& clock, Sink sink,
                             const Options& options)
    : wire_(wire), clock_(clock), sink_(std::move(sink)), options_(options) {
  sink_(CaptureHeader());
}

CapturingWire::~CapturingWire() = default;

WireEvents& CapturingWire::Captured(WireEvents& events, Lane lane) {
  absl::MutexLock lock(&mutex_);
  auto& captured = events_[{&events, lane}];
  if (!captured) {
    captured = std::make_unique<CapturingEvents>(*this, events, lane);
  }
  return *captured;
}

absl::StatusOr<std::unique_ptr<WireListener>> CapturingWire::Listen(
    const Address& address, Lane lane, WireEvents& events) {
  return wire_.Listen(address, lane, Captured(events, lane));
}

ConnectionId CapturingWire::Dial(const Address& address, Lane lane,
                                 WireEvents& events) {
  return wire_.Dial(address, lane, Captured(events, lane));
}

absl::Status CapturingWire::Send(ConnectionId connection, Frames frames) {
  Lane lane = Lane::kControl;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = lanes_.find(connection);
    if (it != lanes_.end()) lane = it->second;
  }
  WriteDown(connection, lane, /*received=*/false, frames);
  return wire_.Send(connection, std::move(frames));
}

void CapturingWire::Close(ConnectionId connection) {
  wire_.Close(connection);
  absl::MutexLock lock(&mutex_);
  lanes_.erase(connection);
}

bool CapturingWire::Lead(absl::FunctionRef<bool()> done) {
  return wire_.Lead(done);
}

void CapturingWire::WakeLeader() { wire_.WakeLeader(); }

void CapturingWire::WriteDown(ConnectionId connection, Lane lane, bool received,
                              const Frames& frames) {
  sink_(EncodeCapture(clock_.WallTime(), connection, lane, received, frames,
                      options_.max_frame_bytes));
}

}  // namespace weft::bus
