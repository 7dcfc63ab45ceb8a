// PolledSocket: what sockets that dial and sockets that listen have in common:
// one lock, a place in the loop, and the rule that an event is delivered
// without the lock and that a close can wait for it.
//
// Threads: all sends and receives of the socket happen under mutex_, on
// whichever thread; events are delivered on the loop's thread only.
//
// Wake-ups. libzmq signals a socket's descriptor once for what its threads have
// to say, and any call on the socket may take that signal in. So whoever has
// used the socket looks whether a message waits (NeedsWake) and wakes the loop
// for it; the loop itself receives until there is nothing more.
#ifndef WEFT_LIBS_BUS_POLLED_SOCKET_H_
#define WEFT_LIBS_BUS_POLLED_SOCKET_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler.h"
#include "libs/bus/connection_monitor.h"
#include "libs/bus/connection_table.h"
#include "libs/bus/zmq_loop.h"
#include "libs/bus/zmq_socket.h"
#include "libs/bus/zmq_wire.h"

namespace weft::bus {

// What the sockets of a lane share; outlives them.
struct LaneParts {
  const ZmqContext* context = nullptr;
  Scheduler* scheduler = nullptr;
  ConnectionTable* table = nullptr;
  const ZmqWireOptions* options = nullptr;
  ZmqLoop* loop = nullptr;
  const ZmqLoop* other_loop = nullptr;
  Lane lane = Lane::kControl;
};

class PolledSocket : public LoopMember,
                     public ConnectionCarrier,
                     public std::enable_shared_from_this<PolledSocket> {
 public:
  Next Poll(unsigned signals) final;

 protected:
  // One event to deliver.
  struct Delivery {
    enum class Kind { kOpen, kMessage, kClose };
    Kind kind = Kind::kMessage;
    ConnectionId connection = 0;
    WireEvents* events = nullptr;
    Frames frames;
    absl::Status why;
  };

  explicit PolledSocket(const LaneParts& parts) : parts_(parts) {}

  // Opens the socket with the options of its lane and watches it.
  absl::Status OpenSocket(int type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Once the socket can be polled.
  void JoinLoop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Closes socket and monitor for good. No event of it begins after that.
  void CloseSocket() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Finds the next event; called by the loop. False: none now.
  virtual bool NextDelivery(unsigned& signals, Delivery& delivery)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // What to do when there is no event.
  virtual Next Rest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // OnClose of the connection has returned.
  virtual void Forget(ConnectionId connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // After the socket was used: whether the loop has to be woken for it.
  bool NeedsWake() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake() { parts_.loop->Wake(member_); }

  // Null if no event of the connection (0: of any) runs, or if this thread must
  // not wait for it; else what to wait for, without the lock.
  std::shared_ptr<Event> EndOfEvent(ConnectionId connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LaneParts parts_;
  absl::Mutex mutex_;
  ZmqSocket socket_ ABSL_GUARDED_BY(mutex_);
  ConnectionMonitor monitor_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;

 private:
  static void Deliver(Delivery& delivery);
  void EndDelivery() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the last delivery and begins the next, or says what to do instead.
  std::optional<Next> BeginDelivery(unsigned& signals, Delivery& delivery)
      ABSL_LOCKS_EXCLUDED(mutex_);

  ZmqLoop::MemberId member_ = 0;
  bool polling_ = false;  // only the loop's thread looks at it
  ConnectionId delivering_ ABSL_GUARDED_BY(mutex_) = 0;
  bool delivering_close_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<Event>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_POLLED_SOCKET_H_
