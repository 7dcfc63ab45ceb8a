// TappedWire is a Wire that passes control messages through a test, which may
// change, drop, resend or answer them. A test can thus inject a bug into a task
// without changing the task's code.
//
// Threads: the same as for Wire. The tap is called on the thread that sends or
// reads. Deliver runs a separate closure, so only a SimulatedScheduler
// guarantees that the events of one connection are sequential.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_TAPPED_WIRE_H_
#define WEFT_INTEGRATION_TESTS_TESTING_TAPPED_WIRE_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/envelope.h"
#include "libs/bus/message.h"
#include "libs/bus/wire.h"

namespace weft {

class TappedWire;

// WireTap receives the events of a wire. All methods return whether the event
// is passed on.
class WireTap {
 public:
  virtual ~WireTap() = default;
  virtual bool OnSend(TappedWire& /*wire*/, bus::ConnectionId /*connection*/,
                      bus::ControlMessage& /*message*/) {
    return true;
  }
  virtual bool OnReceive(TappedWire& /*wire*/, bus::ConnectionId /*connection*/,
                         bus::ControlMessage& /*message*/) {
    return true;
  }
  // Called when a connection that the wire had accepted was lost.
  virtual bool OnLost() { return true; }
};

class TappedWire : public bus::Wire {
 public:
  // `scheduler` must outlive the wire.
  TappedWire(std::unique_ptr<bus::Wire> wire, Scheduler& scheduler,
             std::shared_ptr<WireTap> tap);
  ~TappedWire() override;

  absl::StatusOr<std::unique_ptr<bus::WireListener>> Listen(
      const bus::Address& address, bus::ChannelKind channel_kind,
      bus::WireEvents& events) override;
  bus::ConnectionId Dial(const bus::Address& address,
                         bus::ChannelKind channel_kind,
                         bus::WireEvents& events) override;
  absl::Status Send(bus::ConnectionId connection, bus::Frames frames) override;
  void Close(bus::ConnectionId connection) override;

  // Delivers a message after `delay` as if the other end had sent it, without
  // calling the tap. No-op if the connection has ended by then.
  void Deliver(bus::ConnectionId connection, const bus::ControlMessage& message,
               absl::Duration delay = absl::ZeroDuration());

 private:
  class Events;
  class Listener;
  // The open connections and their receivers.
  struct Table {
    absl::Mutex mutex;
    std::map<bus::ConnectionId, Events*> events ABSL_GUARDED_BY(mutex);
  };

  Events& EventsFor(bus::WireEvents& events, bus::ChannelKind channel_kind,
                    bool accepts);

  const std::unique_ptr<bus::Wire> wire_;
  Scheduler& scheduler_;
  const std::shared_ptr<WireTap> tap_;
  const std::shared_ptr<Table> table_ = std::make_shared<Table>();
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Events>> all_events_ ABSL_GUARDED_BY(mutex_);
};

// Returns `message` as a control message with the envelope `envelope`. Small
// attachments are inline.
bus::ControlMessage WithBody(const bus::Envelope& envelope,
                             bus::Message message);
// Returns the body and the attachments of a control message, for the parsers of
// libs/protocol.
bus::Message BodyOf(const bus::ControlMessage& message);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TAPPED_WIRE_H_
