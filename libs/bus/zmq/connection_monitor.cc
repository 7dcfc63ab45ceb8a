#include "libs/bus/zmq/connection_monitor.h"

#include <zmq.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

using Kind = ConnectionChange::Kind;

constexpr int kHandshakeFailed = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
constexpr int kEvents = ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED |
                        ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                        ZMQ_EVENT_CLOSED | kHandshakeFailed;

Kind KindOf(int event) {
  if (event == ZMQ_EVENT_LISTENING) return Kind::kListening;
  if (event == ZMQ_EVENT_ACCEPTED) return Kind::kAccepted;
  if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) return Kind::kUp;
  if (event == ZMQ_EVENT_DISCONNECTED) return Kind::kDown;
  return event == ZMQ_EVENT_CLOSED ? Kind::kUnreached : Kind::kRefused;
}

}  // namespace

absl::Status ConnectionMonitor::Watch(const ZmqContext& context,
                                      const ZmqSocket& socket) {
  const std::string endpoint =
      absl::StrCat("inproc://monitor-", context.NextNumber());
  ASSIGN_OR_RETURN(changes_, ZmqSocket::Open(context, ZMQ_PAIR));
  changes_.Set(ZMQ_LINGER, 0);
  changes_.Set(ZMQ_RCVHWM, 0);  // libzmq drops events beyond the limit
  if (zmq_socket_monitor(socket.get(), endpoint.c_str(), kEvents) != 0 ||
      zmq_connect(changes_.get(), endpoint.c_str()) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "A socket's connections cannot be watched: ", zmq_strerror(errno)));
  }
  return absl::OkStatus();
}

void ConnectionMonitor::Stop(const ZmqSocket& socket) {
  if (!changes_) return;
  zmq_socket_monitor(socket.get(), nullptr, 0);
  changes_.Close();
}

int ConnectionMonitor::descriptor() const { return changes_.Get(ZMQ_FD); }

// A message of the monitor has two frames: one with the event (16 bits) and its
// value (32 bits) in the machine's byte order, and one with the endpoint
// (zmq_socket_monitor(3)).
bool ConnectionMonitor::Next(ConnectionChange& change) {
  Frames frames;
  if (!changes_ || !changes_.ReceiveFrames(frames, nullptr)) return false;
  uint16_t event = 0;
  int32_t value = 0;
  std::memcpy(&event, frames[0].data(), sizeof(event));
  std::memcpy(&value, frames[0].data() + sizeof(event), sizeof(value));
  change = {KindOf(event), value};
  return true;
}

}  // namespace weft::bus
