// Wire moves messages, each a list of frames, between processes. It is the
// lower half of the bus: it knows connections and bytes, not calls.
// Implementations: ZmqWire (sockets) and MemoryWire (tests: any message can be
// delayed or cut).
//
// A connection is one DEALER at the dialing end and one identity of a ROUTER at
// the accepting end. A closed connection never returns; its owner must dial
// again. A sent message arrives whole, once and in order, or the connection
// closes.
//
// Threads: all methods may be called from any thread, also from events, and do
// not block, except for Close, which waits for a running event, and Lead, which
// reads. Events of one connection are serialized; those of different
// connections may be concurrent. Each channel of a Wire has one reader, the
// thread of its events, so that neither waits for the other; events must return
// soon (control: 20 us, bulk: a copy of the message).
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

// Control messages are small and urgent; bulk messages are large.
enum class ChannelKind { kControl, kBulk };

// The default limit of a control message without streamed attachments, and the
// default size of the chunks in which bulk attachments are sent.
inline constexpr uint64_t kMaxControlBytes = uint64_t{16} << 20;
inline constexpr uint64_t kBulkChunkBytes = uint64_t{1} << 20;

using ConnectionId = uint64_t;  // unique in its Wire, never used twice, never 0

// One message.
using Frames = absl::InlinedVector<Blob, 3>;

inline uint64_t SizeOf(const Frames& frames) {
  uint64_t size = 0;
  for (const Blob& frame : frames) size += frame.size();
  return size;
}

// WireEvents receives the events of one end of connections.
class WireEvents {
 public:
  virtual ~WireEvents() = default;
  // Dialed: the connection is up. Accepted: the peer sent a first message,
  // which follows.
  virtual void OnOpen(ConnectionId connection) = 0;
  virtual void OnMessage(ConnectionId connection, Frames frames) = 0;
  // The last event of a connection: it could not be made, the other end or the
  // network ended it, or the other end exceeded a limit. `why` is never OK;
  // UNAVAILABLE for everything that may work next time. Not called for a
  // connection that this end closed.
  virtual void OnClose(ConnectionId connection, const absl::Status& why) = 0;
};

// WireListener accepts connections while it lives. After its destructor has
// returned, none of their events runs; must not be destroyed from an event.
class WireListener {
 public:
  virtual ~WireListener() = default;
  // With the assigned port if 0 was requested.
  virtual const Address& address() const = 0;
};

class Wire {
 public:
  // REQUIRES: its listeners are destroyed and its connections closed.
  virtual ~Wire() = default;

  // Events go to `events`, which must outlive the listener. ALREADY_EXISTS if
  // the port is in use, INVALID_ARGUMENT if the host is not one of this
  // machine.
  virtual absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, ChannelKind channel_kind, WireEvents& events) = 0;

  // OnOpen or OnClose follows. `events` must live until OnClose or Close has
  // returned.
  virtual ConnectionId Dial(const Address& address, ChannelKind channel_kind,
                            WireEvents& events) = 0;

  // Queues one whole message. The owners of the frames are released when the
  // message was handed to the network, or dropped. Returns UNAVAILABLE if the
  // connection is closed; the caller must limit the bytes in flight. An end
  // that does not read may lose the connection.
  virtual absl::Status Send(ConnectionId connection, Frames frames) = 0;

  // Ends the connection; unsent messages may be lost. When it returns, no event
  // of the connection runs or will run, with two exceptions. From an event of
  // the connection itself it returns at once. From any other event it does not
  // wait either (two channels that close each other's connections would wait
  // forever): an event of the other channel may still be running. Unknown ids
  // are ignored.
  virtual void Close(ConnectionId connection) = 0;

  // For a thread that only waits for an event of the control channel: it
  // delivers the channel's events itself, in place of the Wire's control
  // thread, until `done()`, which is evaluated between events. That saves a
  // thread switch. Returns false at once if this is not possible: the Wire
  // listens, another thread leads, or several threads wait alternately. Must
  // not be called from an event.
  virtual bool Lead(absl::FunctionRef<bool()> /*done*/) { return false; }
  // The result of `done()` may have changed without an event. Any thread.
  virtual void WakeLeader() {}
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_WIRE_H_
