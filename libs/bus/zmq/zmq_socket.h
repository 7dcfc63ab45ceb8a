// ZmqSocket and ZmqContext wrap libzmq's sockets as values, and convert
// messages to and from frames. Only this file uses zmq_msg_t.
//
// Threads: a context may be used by all threads; a socket by one at a time, so
// each is guarded by the mutex of its owner. No call blocks.
//
// Copies: frames below 16 KiB are copied when sent, larger ones are lent to
// libzmq, whose I/O thread releases the owner. Received frames are views into
// libzmq's memory; small ones are copied, because a small view would keep a
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
  // Waits until lingering messages were sent. REQUIRES: all sockets are closed.
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

  void* get() const { return context_; }

  // Starts libzmq's threads before the first socket is opened. libzmq aborts
  // the process if it is refused a thread or a descriptor for that.
  // RESOURCE_EXHAUSTED: there are too few; may be called again.
  absl::Status Start() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns a number that was not returned before.
  uint64_t NextNumber() const { return last_number_.fetch_add(1) + 1; }

 private:
  absl::Status StartLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int io_threads_;
  void* const context_;
  mutable absl::Mutex mutex_;
  mutable bool started_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::atomic<uint64_t> last_number_{0};
};

// Identifies a ROUTER's connection; libzmq counts them up.
using RoutingId = uint32_t;

class ZmqSocket {
 public:
  ZmqSocket() = default;
  ~ZmqSocket() { Close(); }
  ZmqSocket(ZmqSocket&& other) noexcept
      : socket_(std::exchange(other.socket_, nullptr)) {}
  ZmqSocket& operator=(ZmqSocket&& other) noexcept;

  // `type` as for zmq_socket; starts the context. RESOURCE_EXHAUSTED if there
  // are too many sockets, or libzmq cannot start.
  static absl::StatusOr<ZmqSocket> Open(const ZmqContext& context, int type);
  void Close();

  void* get() const { return socket_; }
  explicit operator bool() const { return socket_ != nullptr; }

  // Sets an option that the library always accepts.
  void Set(int option, int value);
  void Set64(int option, uint64_t value);
  // Returns the value of zmq_getsockopt, for example for ZMQ_FD.
  int Get(int option) const;
  std::string LastEndpoint() const;

  // Returns whether a message waits to be received. Consumes the commands of
  // libzmq's threads, after which the descriptor may be quiet although a
  // message waits.
  bool HasInput() const;

  // ROUTER: the first part of a message. False: no message waits. `foreign`:
  // the peer chose its own identity, which Weft's peers never do.
  struct Route {
    RoutingId id = 0;
    bool foreign = false;
  };
  bool ReceiveRoute(Route& route);
  // The rest, or a whole message of a DEALER. `source` may be null; otherwise
  // it receives the descriptor of the message, -1 if unknown.
  bool ReceiveFrames(Frames& frames, int* source);

  enum class Sent { kSent, kFull, kGone };
  // kFull: nothing was sent, the queue is full or does not exist yet. kGone:
  // the connection has ended. `route` is null for a DEALER. REQUIRES: not
  // empty.
  Sent Send(const RoutingId* route, const Frames& frames);

 private:
  explicit ZmqSocket(void* socket) : socket_(socket) {}
  Sent SendFrames(const Frames& frames, bool message_begun);

  void* socket_ = nullptr;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_ZMQ_SOCKET_H_
