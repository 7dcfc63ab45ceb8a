// PolledSocket is the common part of dialing and listening sockets: one lock, a
// place in the loop, and the rule that an event is delivered without the lock
// and that a close can wait for it.
//
// Threads: all sends and receives of the socket happen under mutex_, on any
// thread; events are delivered on the loop's thread only.
//
// Wake-ups. libzmq signals a socket's descriptor once for new commands of its
// threads, and any call on the socket may consume that signal. So each user of
// the socket checks whether a message waits and wakes the loop for it. The loop
// itself receives until there is nothing more, or checks whether there is
// (HasInput), so that the descriptor is not readable any more. Between two
// events it does not wait for the lock: the holder of the lock checks, or wakes
// the loop (Visit).
#ifndef WEFT_LIBS_BUS_ZMQ_POLLED_SOCKET_H_
#define WEFT_LIBS_BUS_ZMQ_POLLED_SOCKET_H_

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/zmq/connection_monitor.h"
#include "libs/bus/zmq/connection_table.h"
#include "libs/bus/zmq/descriptor_reserve.h"
#include "libs/bus/zmq/zmq_loop.h"
#include "libs/bus/zmq/zmq_socket.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {

// The state shared by the sockets of a channel; must outlive them.
struct ChannelParts {
  const ZmqContext* context = nullptr;
  Scheduler* scheduler = nullptr;
  ConnectionTable* table = nullptr;
  const ZmqWireOptions* options = nullptr;
  ZmqLoop* loop = nullptr;
  const ZmqLoop* other_loop = nullptr;
  DescriptorReserve* reserve = nullptr;
  ChannelKind channel_kind = ChannelKind::kControl;
};

// Returns the TTL that is sent to the peer with each heartbeat: after it the
// peer ends the connection unless more arrives. 0: the peer relies on its own
// heartbeats alone. `timeout` is ZmqWireOptions::heartbeat_timeout.
absl::Duration HeartbeatTtl(absl::Duration timeout);

class PolledSocket : public LoopMember,
                     public ConnectionCarrier,
                     public std::enable_shared_from_this<PolledSocket> {
 public:
  Next Poll(unsigned signals) final;

 protected:
  // One event to be delivered.
  struct Delivery {
    enum class Kind { kOpen, kMessage, kClose };
    Kind kind = Kind::kMessage;
    ConnectionId connection = 0;
    WireEvents* events = nullptr;
    Frames frames;
    absl::Status why;
  };

  explicit PolledSocket(const ChannelParts& parts) : parts_(parts) {}

  // Opens the socket with the options of its channel and watches it.
  absl::Status OpenSocket(int type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the socket to the loop. Must be called once the socket can be polled.
  void JoinLoop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Signals kBacklog for connections that arrive at `listener`.
  void WatchBacklog(int listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    parts_.loop->WatchBacklog(member_, listener);
  }
  // Closes socket and monitor. None of its events starts after that.
  void CloseSocket() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The descriptors of libzmq's socket that the loop watches and visitors
  // check. A simulation replaces them.
  struct Descriptors {
    int messages = -1;
    int changes = -1;
  };
  virtual Descriptors descriptors() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a message waits, as ZmqSocket::HasInput does.
  virtual bool HasInput() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return socket_.HasInput();
  }

  // Finds the next event; called by the loop. Returns false if there is none.
  // Clears the bits of `signals` that need not be checked again in this turn.
  virtual bool NextDelivery(unsigned& signals, Delivery& delivery)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Decides how the loop continues if there is no event. Once it has returned
  // kSleep, a descriptor may only be readable for later input: otherwise the
  // loop would poll forever.
  virtual Next Rest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Returns whether the loop's turn requires another NextDelivery.
  virtual bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // Called after OnClose of the connection. Returns its state, which the caller
  // frees without the lock, because that may take long.
  virtual std::shared_ptr<void> Forget(ConnectionId connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // A Visit holds the lock for a thread other than the loop's, or outside of
  // the loop's turn.
  class ABSL_SCOPED_LOCKABLE Visit {
   public:
    explicit Visit(PolledSocket& socket)
        ABSL_EXCLUSIVE_LOCK_FUNCTION(socket.mutex_);
    ~Visit() ABSL_UNLOCK_FUNCTION();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    // Makes the loop take a turn after the visit.
    void WakeLoop() { wake_ = true; }
    // Makes the loop take a turn after the visit if a message waits. Must be
    // called after the last use of the socket.
    void LookForInput();

   private:
    PolledSocket& socket_;
    bool wake_ = false;
    bool looked_ = false;
  };

  // An event that runs during a close.
  struct RunningEvent {
    bool runs = false;
    // The event that the caller waits for without the lock; null if this thread
    // must not wait. Then the connection is removed from the table when the
    // event ends.
    std::shared_ptr<Event> end;
  };
  // Returns the running event of a connection, or of any connection if
  // `connection` is 0.
  RunningEvent FindRunningEvent(ConnectionId connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Performs the last part of a close: waits for the running event, and removes
  // the connection from the table.
  void LeaveTable(ConnectionId connection, const RunningEvent& event)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const ChannelParts parts_;
  absl::Mutex mutex_;
  ZmqSocket socket_ ABSL_GUARDED_BY(mutex_);
  ConnectionMonitor monitor_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;

 private:
  static void Deliver(Delivery& delivery);
  // Ends the last delivery and begins the next, or returns how to continue
  // instead.
  std::optional<Next> BeginDelivery(bool first, unsigned& signals,
                                    Delivery& delivery)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<Next> ChooseDelivery(unsigned& signals, Delivery& delivery)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that the running event has returned.
  void EndDelivery() ABSL_LOCKS_EXCLUDED(mutex_);
  bool LockUnlessVisited() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, mutex_);

  ZmqLoop::MemberId member_ = 0;
  // Whether the loop has found the lock taken and served other sockets.
  std::atomic<bool> turned_away_{false};
  // Whether the loop is in a turn of this socket. Used by the loop's thread.
  bool polling_ = false;
  Next if_turned_away_ = Next::kSleep;

  // Taken inside mutex_.
  absl::Mutex delivery_mutex_;
  ConnectionId delivering_ ABSL_GUARDED_BY(delivery_mutex_) = 0;
  bool forget_after_ ABSL_GUARDED_BY(delivery_mutex_) = false;
  std::vector<std::shared_ptr<Event>> waiting_ ABSL_GUARDED_BY(delivery_mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_POLLED_SOCKET_H_
