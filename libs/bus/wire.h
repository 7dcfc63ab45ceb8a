// Wire: moves messages of frames between processes. The lower half of the bus:
// it knows connections and bytes, not calls. Implementations: ZmqWire (sockets)
// and MemoryWire (tests: any message can be delayed or cut).
//
// A connection is one DEALER at the dialing end and one identity of a ROUTER at
// the accepting end. It never comes back once closed: whoever wants it again
// dials again. What was sent arrives whole, once and in order, or the
// connection closes.
//
// Threads: all methods may be called from any thread, also from events, and do
// not block, but for Close, which waits for an event that is running, and Lead,
// which reads. Events of one connection come one after the other; those of
// different connections may come at once. Each lane of a Wire has one reader,
// the thread that its events come on, so that neither waits for the other; they
// must return soon (control: 20 us, bulk: a copy of the message).
#ifndef WEFT_LIBS_BUS_WIRE_H_
#define WEFT_LIBS_BUS_WIRE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/bus/address.h"
#include "libs/bus/blob.h"

namespace weft::bus {

// Control messages are small and must arrive soon; bulk messages are large.
enum class Lane { kControl, kBulk };

using ConnectionId = uint64_t;  // unique in its Wire, never used twice, never 0

// One message.
using Frames = absl::InlinedVector<Blob, 3>;

inline uint64_t SizeOf(const Frames& frames) {
  uint64_t size = 0;
  for (const Blob& frame : frames) size += frame.size();
  return size;
}

// What one end of connections wants to know.
class WireEvents {
 public:
  virtual ~WireEvents() = default;
  // Dialed: the connection is up. Accepted: somebody sent a first message,
  // which follows.
  virtual void OnOpen(ConnectionId connection) = 0;
  virtual void OnMessage(ConnectionId connection, Frames frames) = 0;
  // The last event of a connection: it could not be made, the other end or the
  // network ended it, or the other end sent more than it may. `why` is never
  // OK; UNAVAILABLE for all that may be better next time. Not called for a
  // connection that this end closed.
  virtual void OnClose(ConnectionId connection, const absl::Status& why) = 0;
};

// Accepts connections while it lives. After its destructor has returned, no
// event of them comes any more; not to be destroyed from an event.
class WireListener {
 public:
  virtual ~WireListener() = default;
  // With the port that was found when 0 was asked for.
  virtual const Address& address() const = 0;
};

class Wire {
 public:
  // REQUIRES: its listeners are destroyed and its connections closed.
  virtual ~Wire() = default;

  // Events go to `events`, which outlives the listener. ALREADY_EXISTS when the
  // port is taken, INVALID_ARGUMENT when the host is not one of this machine.
  virtual absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, Lane lane, WireEvents& events) = 0;

  // OnOpen or OnClose follows. `events` must live until OnClose has returned,
  // or until Close has.
  virtual ConnectionId Dial(const Address& address, Lane lane,
                            WireEvents& events) = 0;

  // Queues one message, whole. What the frames hold on to is let go when it was
  // handed to the network, or dropped. UNAVAILABLE when the connection is
  // closed; the caller bounds what is under way. An end that does not read may
  // lose the connection.
  virtual absl::Status Send(ConnectionId connection, Frames frames) = 0;

  // Ends the connection; messages not yet sent may be lost. When it returns, no
  // event of the connection runs or will come, unless it is called from one: OK
  // from an event of the connection itself. Called from any other event, it
  // does not wait either (two lanes that close each other's connections would
  // do so for ever): one of the other lane may still be running. Unknown ids
  // are ignored.
  virtual void Close(ConnectionId connection) = 0;

  // For a thread that has nothing to do but wait for an event of the control
  // lane: it delivers the lane's events itself, in place of the Wire's control
  // thread, until `done()`, which is asked between events. That saves waking
  // one thread by the other. False, at once, where it is not possible: the Wire
  // listens, another thread does it, or several threads wait by turns. Not to
  // be called from an event.
  virtual bool Lead(absl::FunctionRef<bool()> /*done*/) { return false; }
  // What `done()` says may have changed without an event. Any thread.
  virtual void WakeLeader() {}
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_WIRE_H_
