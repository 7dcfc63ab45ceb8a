// ConnectionMonitor reports the changes of a socket's connections, as seen by
// libzmq: accepted, up, down.
//
// Threads: as ZmqSocket; one at a time, together with the watched socket.
// Order: changes are reported in the order in which they happened. A change
// that happens with or after a message's arrival is reported after the message
// can be received, and vice versa, except for messages that arrived with a
// protocol error.
#ifndef WEFT_LIBS_BUS_ZMQ_CONNECTION_MONITOR_H_
#define WEFT_LIBS_BUS_ZMQ_CONNECTION_MONITOR_H_

#include "absl/status/status.h"
#include "libs/bus/zmq/zmq_socket.h"

namespace weft::bus {

struct ConnectionChange {
  enum class Kind {
    kListening,  // a ROUTER, with this descriptor
    kAccepted,   // by a ROUTER, with this descriptor; no message yet
    kUp,         // the ZMTP handshake is complete
    kDown,       // the connection with this descriptor has ended
    kUnreached,  // a DEALER could not connect; a ROUTER's port is closed
    kRefused,    // the other end does not speak ZMTP, or it is refused
  };
  Kind kind;
  int descriptor = -1;
};

class ConnectionMonitor {
 public:
  // Must be called before the socket binds or connects.
  absl::Status Watch(const ZmqContext& context, const ZmqSocket& socket);
  // Must be called before the socket is closed.
  void Stop(const ZmqSocket& socket);

  // Readable when there may be changes; see ZmqSocket::HasInput.
  int descriptor() const;
  // Returns false if there are no more changes now.
  bool Next(ConnectionChange& change);

 private:
  ZmqSocket changes_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_CONNECTION_MONITOR_H_
