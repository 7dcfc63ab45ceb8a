// ZmqSocket, ZmqContext: libzmq's sockets as values, and messages to and from
// frames. The only part that touches zmq_msg_t.
//
// Threads: a context may be used by all threads; a socket by one at a time, so
// each is guarded by the mutex of its owner. No call blocks.
//
// Copies: frames below 16 KiB are copied when sent, larger ones are lent to
// libzmq, whose I/O thread lets go of the owner. Received frames are views into
// libzmq's memory, small ones copies of their own: a small view would keep a
// whole receive buffer alive.
#ifndef WEFT_LIBS_BUS_ZMQ_ZMQ_SOCKET_H_
#define WEFT_LIBS_BUS_ZMQ_ZMQ_SOCKET_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/bus/wire.h"

namespace weft::bus {

class ZmqContext {
 public:
  explicit ZmqContext(int io_threads);
  // Waits until what lingers was sent. REQUIRES: all sockets are closed.
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

  void* get() const { return context_; }

  // Starts libzmq's threads before the first socket is opened. libzmq aborts
  // the process where it is refused a thread or a descriptor for that.
  // RESOURCE_EXHAUSTED: there are too few; may be called again.
  absl::Status Start() const ABSL_LOCKS_EXCLUDED(mutex_);

  // A number that it has not given before.
  uint64_t NextNumber() const { return last_number_.fetch_add(1) + 1; }

 private:
  absl::Status StartLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int io_threads_;
  void* const context_;
  mutable absl::Mutex mutex_;
  mutable bool started_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::atomic<uint64_t> last_number_{0};
};

// Which end of a ROUTER's connections; libzmq counts them up.
using RoutingId = uint32_t;

class ZmqSocket {
 public:
  ZmqSocket() = default;
  ~ZmqSocket() { Close(); }
  ZmqSocket(ZmqSocket&& other) noexcept
      : socket_(std::exchange(other.socket_, nullptr)) {}
  ZmqSocket& operator=(ZmqSocket&& other) noexcept;

  // `type` as for zmq_socket; starts the context. RESOURCE_EXHAUSTED when there
  // are too many, or libzmq cannot start.
  static absl::StatusOr<ZmqSocket> Open(const ZmqContext& context, int type);
  void Close();

  void* get() const { return socket_; }
  explicit operator bool() const { return socket_ != nullptr; }

  // Options that the library always accepts.
  void Set(int option, int value);
  void Set64(int option, uint64_t value);
  // What zmq_getsockopt says, such as ZMQ_FD.
  int Get(int option) const;
  std::string LastEndpoint() const;

  // Whether a message waits to be received. Takes in what libzmq's threads
  // have to say, after which the descriptor may be quiet although one waits.
  bool HasInput() const;

  // ROUTER: the first part of a message. False: no message waits. `foreign`:
  // the peer chose its own identity, which ours never do.
  struct Route {
    RoutingId id = 0;
    bool foreign = false;
  };
  bool ReceiveRoute(Route& route);
  // The rest, or a whole message of a DEALER. `source` may be null; else it is
  // the descriptor the message came in by, -1 if unknown.
  bool ReceiveFrames(Frames& frames, int* source);

  enum class Sent { kSent, kFull, kGone };
  // kFull: nothing was sent, the queue is full or not there yet. kGone: the
  // connection is over. `route` is null for a DEALER. REQUIRES: not empty.
  Sent Send(const RoutingId* route, const Frames& frames);

 private:
  explicit ZmqSocket(void* socket) : socket_(socket) {}
  Sent SendFrames(const Frames& frames, bool message_begun);

  void* socket_ = nullptr;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_ZMQ_SOCKET_H_
