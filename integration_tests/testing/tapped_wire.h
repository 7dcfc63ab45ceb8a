// TappedWire: a Wire that shows a test the control messages that pass through
// it, which may be changed, swallowed, sent again or answered: how a test
// plants a bug in a task without touching the task's code.
//
// Threads: as Wire; the tap is called on the thread that sends or reads. What
// Deliver brings comes as a closure of its own, so only a SimulatedScheduler
// keeps the promise that events of one connection come one after the other.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_TAPPED_WIRE_H_
#define WEFT_INTEGRATION_TESTS_TESTING_TAPPED_WIRE_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler.h"
#include "libs/bus/envelope.h"
#include "libs/bus/message.h"
#include "libs/bus/wire.h"

namespace weft {

class TappedWire;

// What a test wants to see. All return whether it goes on its way.
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
  // An accepted connection was lost.
  virtual bool OnLost() { return true; }
};

class TappedWire : public bus::Wire {
 public:
  // `scheduler` outlives the wire.
  TappedWire(std::unique_ptr<bus::Wire> wire, Scheduler& scheduler,
             std::shared_ptr<WireTap> tap);
  ~TappedWire() override;

  absl::StatusOr<std::unique_ptr<bus::WireListener>> Listen(
      const bus::Address& address, bus::Lane lane,
      bus::WireEvents& events) override;
  bus::ConnectionId Dial(const bus::Address& address, bus::Lane lane,
                         bus::WireEvents& events) override;
  absl::Status Send(bus::ConnectionId connection, bus::Frames frames) override;
  void Close(bus::ConnectionId connection) override;

  // As if it had come from the other end, after `delay`; the tap does not see
  // it. Nothing happens if the connection has ended by then.
  void Deliver(bus::ConnectionId connection, const bus::ControlMessage& message,
               absl::Duration delay = absl::ZeroDuration());

 private:
  class Events;
  class Listener;
  // Which connections are open, and who hears of them.
  struct Table {
    absl::Mutex mutex;
    std::map<bus::ConnectionId, Events*> events ABSL_GUARDED_BY(mutex);
  };

  Events& EventsFor(bus::WireEvents& events, bus::Lane lane, bool accepts);

  const std::unique_ptr<bus::Wire> wire_;
  Scheduler& scheduler_;
  const std::shared_ptr<WireTap> tap_;
  const std::shared_ptr<Table> table_ = std::make_shared<Table>();
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Events>> all_events_ ABSL_GUARDED_BY(mutex_);
};

// `message` under the envelope's call; small attachments travel along.
bus::ControlMessage WithBody(const bus::Envelope& envelope,
                             bus::Message message);
// The request with its body and attachments, for the readers of
// libs/protocol.
bus::Message BodyOf(const bus::ControlMessage& message);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TAPPED_WIRE_H_
