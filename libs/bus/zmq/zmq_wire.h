// ZmqWire: the Wire over ZeroMQ's sockets (TCP, ZMTP 3 without encryption).
//
// Threads: libzmq's two I/O threads, one for each lane, and for each lane in
// use one closure on a thread of its own, which delivers its events; one more
// while a host's name is looked up. None of them is of the blocking pool, all
// of which may wait for answers that come here.
// Send hands the message to libzmq on the calling thread, under the lock of
// its socket.
//
// Trust: whoever reaches the port may connect. libs/bus/README.md says what a
// hostile peer can and cannot do.
#ifndef WEFT_LIBS_BUS_ZMQ_ZMQ_WIRE_H_
#define WEFT_LIBS_BUS_ZMQ_ZMQ_WIRE_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/bus/wire.h"

namespace weft::bus {

struct ZmqWireOptions {
  // A larger frame costs its sender the connection.
  int64_t max_control_frame_bytes = (16 << 20) + (64 << 10);
  int64_t max_bulk_frame_bytes = (1 << 20) + (64 << 10);
  // Messages that libzmq holds for one connection and direction; those beyond
  // wait in the sender's memory or on the network.
  int max_queued_control = 4096;
  int max_queued_bulk = 1000;
  // The same for control messages on their way out, and then what may wait in
  // the sender's memory for one connection and lane: beyond it the other end
  // does not read, and the connection is given up.
  int max_unsent_control = 1000;
  uint64_t max_unsent_bytes = 64 << 20;
  // What one connection that was accepted may have brought that has not been
  // delivered yet: libzmq counts messages, and of a message without an end,
  // nothing. Beyond it the connection is cut. Looked at several times a second.
  uint64_t max_unread_bytes = 256 << 20;
  // Connections of one listener; further ones are cut at once.
  int max_connections = 65536;
  // Of these, those that have said nothing for `silent_grace`; of more, the
  // oldest are cut. As many come within it as are accepted in that time.
  int max_silent_connections = 512;
  absl::Duration silent_grace = absl::Seconds(1);
  // How many connections a listener accepts: at once, and then in a second.
  // What comes sooner is cut at once.
  int max_accepts_at_once = 1000;
  int max_accepts_per_second = 100;
  // A silent peer is asked for a sign of life, and given up without one. Both
  // count complete messages, so a frame must pass within the timeout.
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration heartbeat_timeout = absl::Seconds(6);
  absl::Duration connect_timeout = absl::Seconds(3);
  // Also for the first message after the handshake.
  absl::Duration handshake_timeout = absl::Seconds(5);
  // How long the thread of the control lane looks for the next message before
  // it sleeps (ZmqLoop). 0 where a processor's time is worth more than latency.
  absl::Duration busy_poll = absl::Microseconds(200);
  // How long bulk that was sent may go on leaving after a close.
  absl::Duration bulk_linger = absl::Seconds(1);
  // Gets a warning when the process has too few descriptors for connections;
  // outlives the wire. May be null.
  Logger* logger = nullptr;
};

// `scheduler` outlives the wire.
std::unique_ptr<Wire> NewZmqWire(Scheduler& scheduler,
                                 const ZmqWireOptions& options = {});

// Keeps freed memory for the next message instead of giving it back to the
// system, which costs large messages most of their time. For the whole process;
// others may allocate meanwhile: glibc takes the bounds as they come.
void TuneHeapForBulk();

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_ZMQ_WIRE_H_
