// Transport provides calls and one-way messages between the processes of a
// cluster and their clients, over a Wire. Contract of the bus:
//
// - A Channel connects one task or client to another task; it sends requests
//   and one-way messages. An Endpoint is where a task receives them. Traffic in
//   the other direction takes a Channel of the other side.
// - Order. Messages of one connection whose attachments are all small arrive in
//   the order of sending. A message with a large attachment arrives when its
//   last byte has been received, so later messages may overtake it. No message
//   arrives twice.
// - Loss. A sent message arrives, or both ends are notified of a disconnect and
//   every pending call fails with UNAVAILABLE. The bus itself never resends. A
//   Channel redials with jittered backoff and sends HELLO again; each HELLO is
//   a new connection for the other end.
// - Bulk. Attachments of at least `inline_bytes` are sent in chunks of 1 MiB on
//   a separate channel, round robin, within the credit of the receiver; some of
//   a medium size (`medium_bytes`) are sent with their message all the same.
//   Memory for streamed attachments is reserved before they arrive, within
//   quotas; if there is none, the message arrives with an error instead of
//   attachments.
// - Liveness. Heartbeat detects an end whose reading thread or control threads
//   are stuck, or whose compute pool is stuck for long, if the other end
//   enables it; the connection is then lost.
// - Quotas. The memory that this process holds for one peer is limited, in both
//   directions; what would exceed a limit fails with RESOURCE_EXHAUSTED and
//   never waits.
// - Messages that are damaged, too large or out of order only disconnect their
//   sender.
//
// Threads: all methods may be called from any thread, never block and never run
// a callback before they return. Callbacks run without a lock held: fast ones
// on the reading thread, where they must return within 20 us; control requests
// (Handler::IsControlMessage), disconnects and the ends of failed calls on the
// control pool; all others on the compute pool. Callbacks of one connection run
// one at a time, with these exceptions: requests and replies that are not fast,
// which go to the compute pool in order and are handled there concurrently;
// control requests; the ends of failed calls; and messages whose last bytes
// came on the bulk channel, which has a reading thread of its own: their
// callbacks may run beside those of the control channel's messages.
#ifndef WEFT_LIBS_BUS_TRANSPORT_H_
#define WEFT_LIBS_BUS_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/handler.h"
#include "libs/bus/message.h"
#include "libs/bus/traffic.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Endpoint is where a task receives messages. Its destructor closes its
// connections and waits for running callbacks; it must not be called from one.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // Returns the address at which the endpoint listens, with the assigned port
  // if port 0 was requested.
  virtual const Address& address() const = 0;
  // Refuses new connections and requests (UNAVAILABLE, "is shutting down"),
  // except for those that the handler still accepts and serves. Running
  // requests may end and be answered.
  virtual void Drain() = 0;
  // The step was aborted: drops incoming one-way messages for it whose
  // attachments are not complete, and frees their memory.
  virtual void AbandonStep(const StepTag& step) = 0;
};

// The error with which the connections of an endpoint end, at both ends, when
// it is destroyed.
inline absl::Status TaskHasEnded(const std::string& task) {
  return absl::UnavailableError(absl::StrCat(task, " has ended"));
}

// Whether the error is a refusal, for example of another cluster, task or
// version, which the next attempt would most likely get as well. A channel then
// dials again only after `refused_redial`.
inline bool IsRefusal(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

// Returns whether the other end has answered a call with this UNAVAILABLE. A
// Channel fails calls with the same code if it has no connection, or loses it.
bool IsAnswer(const absl::Status& error);
// For a Channel: marks the result for IsAnswer if it is UNAVAILABLE.
absl::Status MarkAnswer(absl::Status error);
// Returns the error as the other end made it, without that mark.
absl::Status WithoutMark(absl::Status error);

// ChannelEvents notifies the owner of a Channel. Must be fast. Calls are
// serialized.
class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  virtual void OnConnected(const Identity& peer) = 0;
  // The connection was lost, could not be made (reported at each attempt) or
  // was refused. The channel tries again, after a delay if it was refused. A
  // channel that was never connected reports a refusal as such, IsRefusal(why):
  // the dialed address may be wrong. Later a refusal is reported as a loss,
  // UNAVAILABLE with the same text: another process temporarily has the
  // address.
  virtual void OnDisconnected(const absl::Status& why) = 0;
};

struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  // Waits for a connection, until the deadline, instead of failing with
  // UNAVAILABLE if there is none. A channel that was refused and was never
  // connected fails the call with the refusal at once, either way.
  bool wait_for_connection = false;
  // Returns for a reply whether the callback is fast enough for the reading
  // thread; otherwise it runs on the compute pool. Null: it always is.
  bool (*is_fast)(const Message& reply) = nullptr;
};

// Channel connects to one other task. Its destructor fails pending calls with
// CANCELLED, on the destructor's thread, and waits for running callbacks; it
// must not be called from one.
class Channel {
 public:
  using CallId = uint64_t;  // never 0
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Message>)>;

  virtual ~Channel() = default;

  // `callback` is called exactly once, on the reading thread, or on the pool if
  // the connection is lost or a deadline passes. Errors: the error of the other
  // end; UNAVAILABLE (connection), DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED (no
  // memory for the reply), CANCELLED.
  virtual CallId Call(Message request, const CallOptions& options,
                      Callback callback) = 0;
  // Calls the callback with CANCELLED, soon and on another thread, if the call
  // is still pending, and notifies the other end. Overtakes bulk.
  virtual void Cancel(CallId call) = 0;
  // Returns UNAVAILABLE while there is no connection.
  virtual absl::Status Send(Message message) = 0;
  // Returns the number of the connection that carries calls now; 0 while there
  // is none. Each connection of a channel has its own number.
  virtual uint64_t connection() const = 0;
  // Ends the connection of that number, if it still exists, as a loss for both
  // ends: pending calls fail with UNAVAILABLE, which quotes `why`. Dials again.
  virtual void EndConnection(uint64_t connection, const absl::Status& why) = 0;
  // The step was aborted: drops unsent attachments of one-way messages for it.
  // At the other end such a message arrives without them.
  virtual void AbandonStep(const StepTag& step) = 0;

  // Returns the other end; none while there is no connection.
  virtual std::optional<Identity> peer() const = 0;
};

struct TransportOptions {
  // Attachments smaller than this are sent with their message.
  size_t inline_bytes = 64 << 10;
  // Larger attachments of at most `medium_bytes` are also sent with their
  // message while at most `medium_window` bytes of them are in flight on one
  // connection and direction. So no thread of the bulk channel needs to be
  // woken, at either end, and small messages wait for at most `medium_window`
  // bytes. If medium_bytes is 0, all larger attachments are streamed.
  uint64_t medium_bytes = 512 << 10;
  uint64_t medium_window = 1 << 20;
  size_t chunk_bytes = kBulkChunkBytes;
  // Bulk bytes that may be in flight per connection and direction.
  uint64_t credit_bytes = 16 << 20;
  // The maximum of one control message, without streamed attachments.
  uint64_t max_control_bytes = kMaxControlBytes;
  // Limits of what this process holds for one peer: the bytes of unanswered
  // requests and of all attachments being received; and the number of requests
  // that are unanswered or kept open after their answer
  // (IncomingCall::KeepOpen).
  uint64_t max_held_bytes_per_peer = uint64_t{8} << 30;
  int max_requests_per_peer = 65536;
  // The same for a peer that is not a task, over all of its connections. It is
  // lower, so that one client cannot fill the connection from its master to
  // another task. All such peers together have at most half of
  // max_requests_per_peer, or this value if it is larger.
  int max_requests_per_client = 16384;
  // Large attachments of replies and one-way messages that one peer has not
  // read yet.
  uint64_t max_unsent_bytes_per_peer = uint64_t{8} << 30;
  // Jittered backoff between attempts to connect.
  absl::Duration min_redial = absl::Milliseconds(50);
  absl::Duration max_redial = absl::Seconds(2);
  // The same after a refusal: the right task, or the right version, may return
  // to the address.
  absl::Duration refused_redial = absl::Seconds(30);
  // An accepted connection that sent its first message must send HELLO within
  // this time, and a dialed one must be answered. (A connection that only
  // performs the ZMTP handshake and answers ZeroMQ's heartbeats is invisible
  // here: it costs a descriptor and can do nothing.)
  absl::Duration hello_timeout = absl::Seconds(5);
  // Connections of an endpoint; further ones are refused in the handshake.
  int max_connections = 4096;
  // The other end of a connection is asked for heartbeats (Heartbeat) and is
  // disconnected after about twice this time without one. Infinite: it is not
  // asked.
  absl::Duration peer_timeout = absl::InfiniteDuration();
  // The compute pool of a peer counts as stuck if it starts nothing for this
  // time while a closure waits there.
  absl::Duration max_busy = absl::Minutes(10);
};

// Creates channels and endpoints; must outlive them.
class Transport {
 public:
  virtual ~Transport() = default;

  // `handler` must outlive the endpoint.
  virtual absl::StatusOr<std::unique_ptr<Endpoint>> Listen(
      const Address& address, const Identity& self, Handler& handler) = 0;

  // `destination` is the task that must be there ("/job:ps/task:0"); empty:
  // any. `events` may be null and must outlive the channel.
  virtual std::unique_ptr<Channel> Dial(const Address& address,
                                        const Identity& self,
                                        const std::string& destination,
                                        ChannelEvents* events) = 0;

  // As Wire::Lead and Wire::WakeLeader: a synchronous caller of a process that
  // only dials reads its answer itself.
  virtual bool Lead(absl::FunctionRef<bool()> done) = 0;
  virtual void WakeLeader() = 0;
};

// The components of a transport; all must outlive it.
struct TransportParts {
  Wire* wire = nullptr;
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  ReceiveMemory* memory = nullptr;
  // Logs protocol violations of other ends; may be null.
  Logger* logger = nullptr;
  // Counts sent and received messages; may be null.
  Traffic* traffic = nullptr;
};
std::unique_ptr<Transport> NewTransport(const TransportParts& parts,
                                        const TransportOptions& options = {});

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TRANSPORT_H_
