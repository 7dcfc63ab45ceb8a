// ConnectionMonitor: what becomes of a socket's connections, as libzmq tells
// it: accepted, up, down.
//
// Threads: as ZmqSocket; one at a time, together with the socket it watches.
// Order: changes come in the order in which they happened. A change that comes
// with or after a message's arrival is told after the message is there; the
// other way round, too, but for messages that came with an error of protocol.
#ifndef WEFT_LIBS_BUS_ZMQ_CONNECTION_MONITOR_H_
#define WEFT_LIBS_BUS_ZMQ_CONNECTION_MONITOR_H_

#include "absl/status/status.h"
#include "libs/bus/zmq/zmq_socket.h"

namespace weft::bus {

struct ConnectionChange {
  enum class Kind {
    kListening,  // a ROUTER, by this descriptor
    kAccepted,   // by a ROUTER, with this descriptor; says nothing yet
    kUp,         // shook hands
    kDown,       // the connection with this descriptor is over
    kUnreached,  // a DEALER could not connect; a ROUTER's port is closed
    kRefused,    // what the other end says is not ZMTP, or it is refused
  };
  Kind kind;
  int descriptor = -1;
};

class ConnectionMonitor {
 public:
  // Before the socket binds or connects.
  absl::Status Watch(const ZmqContext& context, const ZmqSocket& socket);
  // Before the socket is closed.
  void Stop(const ZmqSocket& socket);

  // Readable when there may be changes; see ZmqSocket::HasInput.
  int descriptor() const;
  // False: no more now.
  bool Next(ConnectionChange& change);

 private:
  ZmqSocket changes_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_CONNECTION_MONITOR_H_
