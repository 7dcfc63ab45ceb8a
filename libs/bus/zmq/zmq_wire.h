// ZmqWire is the Wire over ZeroMQ's sockets (TCP, ZMTP 3 without encryption).
//
// Threads: libzmq's two I/O threads, one per channel, and for each used channel
// one closure of Pool::kUnbounded, which delivers its events; one more while a
// host name is resolved. None of them is of the blocking pool, all of whose
// threads may wait for answers that arrive here. Send hands the message to
// libzmq on the calling thread, under the lock of its socket.
//
// Trust: any process that reaches the port may connect. libs/bus/README.md
// describes what a hostile peer can and cannot do.
#ifndef WEFT_LIBS_BUS_ZMQ_ZMQ_WIRE_H_
#define WEFT_LIBS_BUS_ZMQ_ZMQ_WIRE_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/wire.h"

namespace weft::bus {

struct ZmqWireOptions {
  // A larger frame disconnects its sender. 64 KiB are for the envelope.
  int64_t max_control_frame_bytes = kMaxControlBytes + (64 << 10);
  int64_t max_bulk_frame_bytes = kBulkChunkBytes + (64 << 10);
  // Messages that libzmq holds for one connection and direction; the rest waits
  // in the sender's memory or on the network.
  int max_queued_control = 4096;
  int max_queued_bulk = 1000;
  // The same for outgoing control messages, and then what may wait in the
  // sender's memory for one connection and channel: beyond it the other end
  // does not read, and is disconnected.
  int max_unsent_control = 1000;
  uint64_t max_unsent_bytes = 64 << 20;
  // Undelivered bytes that one accepted connection may have brought: libzmq
  // counts only messages, and an unfinished message not at all. Beyond it the
  // connection is cut. Checked several times a second.
  uint64_t max_unread_bytes = 256 << 20;
  // Connections of one listener; further ones are cut at once.
  int max_connections = 65536;
  // Of these, those that have been silent for `silent_grace`; if there are
  // more, the oldest are cut. Within `silent_grace` as many may connect as the
  // rate limit accepts.
  int max_silent_connections = 512;
  absl::Duration silent_grace = absl::Seconds(1);
  // The rate of connections that a listener accepts: a burst, and then per
  // second. Connections beyond it are cut at once.
  int max_accepts_at_once = 1000;
  int max_accepts_per_second = 100;
  // A silent peer is sent ZMTP heartbeats and disconnected without an answer.
  // Both count complete messages, so a frame must pass within the timeout.
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration heartbeat_timeout = absl::Seconds(6);
  absl::Duration connect_timeout = absl::Seconds(3);
  // Also for the first message after the handshake.
  absl::Duration handshake_timeout = absl::Seconds(5);
  // How long the thread of the control channel polls for the next message
  // before it sleeps (ZmqLoop). 0 if processor time matters more than latency.
  absl::Duration busy_poll = absl::Microseconds(200);
  // How long sent bulk may continue to leave after a close.
  absl::Duration bulk_linger = absl::Seconds(1);
  // Receives a warning if the process has too few descriptors for connections;
  // must outlive the wire. May be null.
  Logger* logger = nullptr;
};

// `scheduler` must outlive the wire.
std::unique_ptr<Wire> NewZmqWire(Scheduler& scheduler,
                                 const ZmqWireOptions& options = {});

// Keeps freed memory for the next message instead of returning it to the
// system, which would cost large messages most of their time. Affects the whole
// process; other threads may allocate meanwhile: glibc applies the limits as
// they are set.
void TuneHeapForBulk();

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_ZMQ_WIRE_H_
