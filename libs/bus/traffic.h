// Traffic counts what a transport has sent and received, over all its
// connections.
#ifndef WEFT_LIBS_BUS_TRAFFIC_H_
#define WEFT_LIBS_BUS_TRAFFIC_H_

#include <cstdint>

#include "libs/base/counter.h"

namespace weft::bus {

// Bytes are those of messages, including bulk chunks, without the overhead of
// ZeroMQ and TCP, and without handshakes and heartbeats. Thread-safe.
struct Traffic {
  // On separate cache lines, so that senders do not slow down receivers.
  struct alignas(64) Direction {
    Counter messages;
    Counter bytes;
    void Add(uint64_t message_bytes) {
      messages.Add();
      bytes.Add(message_bytes);
    }
  };
  // Counts the messages handed to the wire, including those that are lost with
  // their connection.
  Direction sent;
  Direction received;
  alignas(64) Counter connections_opened;  // dialed and accepted
  Counter connections_closed;
  Counter connections_searched;  // for attachments of an aborted step
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TRAFFIC_H_
