#include "integration_tests/testing/tapped_wire.h"

#include <utility>

#include "libs/base/clock.h"

namespace weft {

using bus::ChannelKind;
using bus::ConnectionId;
using bus::ControlMessage;
using bus::Frames;

namespace {

Frames FramesOf(const ControlMessage& message) {
  Frames frames = {bus::EncodeEnvelope(message.envelope)};
  if (message.envelope.method != 0) frames.push_back(message.body);
  for (const bus::Blob& blob : message.small) frames.push_back(blob);
  return frames;
}

}  // namespace

// Events intercepts the events of a wire before their receiver gets them.
class TappedWire::Events : public bus::WireEvents {
 public:
  Events(TappedWire& wire, bus::WireEvents& events, ChannelKind channel_kind,
         bool accepts)
      : wire_(wire),
        events_(events),
        channel_kind_(channel_kind),
        accepts_(accepts) {}

  bus::WireEvents& inner() { return events_; }
  ChannelKind channel_kind() const { return channel_kind_; }

  void OnOpen(ConnectionId connection) override {
    {
      absl::MutexLock lock(&wire_.table_->mutex);
      wire_.table_->events[connection] = this;
    }
    events_.OnOpen(connection);
  }
  void OnMessage(ConnectionId connection, Frames frames) override {
    if (channel_kind_ == ChannelKind::kControl) {
      auto message = bus::DecodeControlMessage(frames);
      if (message.ok()) {
        if (!wire_.tap_->OnReceive(wire_, connection, *message)) return;
        frames = FramesOf(*message);
      }
    }
    events_.OnMessage(connection, std::move(frames));
  }
  void OnClose(ConnectionId connection, const absl::Status& why) override {
    {
      absl::MutexLock lock(&wire_.table_->mutex);
      wire_.table_->events.erase(connection);
    }
    if (accepts_ && !wire_.tap_->OnLost()) return;
    events_.OnClose(connection, why);
  }

 private:
  TappedWire& wire_;
  bus::WireEvents& events_;
  const ChannelKind channel_kind_;
  const bool accepts_;
};

// A listener that passes accepted connections on. When it is destroyed, these
// connections receive no more events.
class TappedWire::Listener : public bus::WireListener {
 public:
  Listener(std::unique_ptr<bus::WireListener> listener,
           std::shared_ptr<Table> table, const Events* events)
      : listener_(std::move(listener)),
        table_(std::move(table)),
        events_(events) {}
  ~Listener() override {
    listener_.reset();
    absl::MutexLock lock(&table_->mutex);
    std::erase_if(table_->events, [this](const auto& entry) {
      return entry.second == events_;
    });
  }
  const bus::Address& address() const override { return listener_->address(); }

 private:
  std::unique_ptr<bus::WireListener> listener_;
  const std::shared_ptr<Table> table_;
  const Events* const events_;
};

TappedWire::TappedWire(std::unique_ptr<bus::Wire> wire, Scheduler& scheduler,
                       std::shared_ptr<WireTap> tap)
    : wire_(std::move(wire)), scheduler_(scheduler), tap_(std::move(tap)) {}

TappedWire::~TappedWire() = default;

TappedWire::Events& TappedWire::EventsFor(bus::WireEvents& events,
                                          ChannelKind channel_kind,
                                          bool accepts) {
  absl::MutexLock lock(&mutex_);
  all_events_.push_back(
      std::make_unique<Events>(*this, events, channel_kind, accepts));
  return *all_events_.back();
}

absl::StatusOr<std::unique_ptr<bus::WireListener>> TappedWire::Listen(
    const bus::Address& address, ChannelKind channel_kind,
    bus::WireEvents& events) {
  Events& tapped = EventsFor(events, channel_kind, /*accepts=*/true);
  auto listener = wire_->Listen(address, channel_kind, tapped);
  if (!listener.ok()) return listener.status();
  return std::make_unique<Listener>(*std::move(listener), table_, &tapped);
}

ConnectionId TappedWire::Dial(const bus::Address& address,
                              ChannelKind channel_kind,
                              bus::WireEvents& events) {
  return wire_->Dial(address, channel_kind,
                     EventsFor(events, channel_kind, /*accepts=*/false));
}

absl::Status TappedWire::Send(ConnectionId connection, Frames frames) {
  bool is_control = false;
  {
    absl::MutexLock lock(&table_->mutex);
    auto it = table_->events.find(connection);
    is_control = it != table_->events.end() &&
                 it->second->channel_kind() == ChannelKind::kControl;
  }
  // Before OnOpen, a dialed connection sends its handshake, which is not a
  // control message.
  if (!is_control) return wire_->Send(connection, std::move(frames));
  auto message = bus::DecodeControlMessage(frames);
  if (!message.ok()) return wire_->Send(connection, std::move(frames));
  if (!tap_->OnSend(*this, connection, *message)) return absl::OkStatus();
  return wire_->Send(connection, FramesOf(*message));
}

void TappedWire::Close(ConnectionId connection) {
  {
    absl::MutexLock lock(&table_->mutex);
    table_->events.erase(connection);
  }
  wire_->Close(connection);
}

void TappedWire::Deliver(ConnectionId connection, const ControlMessage& message,
                         absl::Duration delay) {
  scheduler_.ScheduleAt(
      scheduler_.clock().Now() + delay,
      [table = table_, connection, frames = FramesOf(message)]() mutable {
        Events* events = nullptr;
        {
          absl::MutexLock lock(&table->mutex);
          auto it = table->events.find(connection);
          if (it != table->events.end()) events = it->second;
        }
        if (events == nullptr) return;
        events->inner().OnMessage(connection, std::move(frames));
      });
}

ControlMessage WithBody(const bus::Envelope& envelope, bus::Message message) {
  ControlMessage result;
  result.envelope = envelope;
  result.envelope.method = message.method;
  result.envelope.attachments.clear();
  result.body = std::move(message.body);
  for (bus::Blob& blob : message.attachments) {
    result.envelope.attachments.push_back({.num_bytes = blob.size()});
    result.small.push_back(std::move(blob));
  }
  return result;
}

bus::Message BodyOf(const ControlMessage& message) {
  bus::Message result;
  result.method = message.envelope.method;
  result.body = message.body;
  result.attachments.assign(message.small.begin(), message.small.end());
  return result;
}

}  // namespace weft
