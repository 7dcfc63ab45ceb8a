// Traffic: what a transport has sent and received, of all its connections.
#ifndef WEFT_LIBS_BUS_TRAFFIC_H_
#define WEFT_LIBS_BUS_TRAFFIC_H_

#include <cstdint>

#include "libs/base/counter.h"

namespace weft::bus {

// Bytes are those of messages, chunks of bulk among them, without what ZeroMQ
// and TCP add, and without greetings and signs of life. Thread-safe.
struct Traffic {
  // Apart, so that those who send do not slow those who receive.
  struct alignas(64) Direction {
    Counter messages;
    Counter bytes;
    void Add(uint64_t message_bytes) {
      messages.Add();
      bytes.Add(message_bytes);
    }
  };
  // Given to the wire: what is lost with a connection counts as well.
  Direction sent;
  Direction received;
  alignas(64) Counter connections_opened;  // dialed and accepted
  Counter connections_closed;
  Counter connections_searched;  // for attachments of an aborted step
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TRAFFIC_H_
