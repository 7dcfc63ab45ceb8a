// Transport: calls and one-way messages between the processes of a cluster and
// their clients, over a Wire. Contract of the bus:
//
// - A Channel is one task's or client's way to another task; it sends requests
//   and one-way messages. An Endpoint is where a task answers them. Traffic in
//   the other direction takes a Channel of the other side's.
// - Order. Messages of one connection whose attachments are all small arrive in
//   the order of sending; one with a large attachment arrives when its last
//   byte has landed, so later ones may overtake it. Nothing arrives twice.
// - Loss. What was sent arrives, or a disconnect is reported to both ends and
//   every pending call fails with UNAVAILABLE. Nothing is ever sent again by
//   the bus itself. A Channel dials again, with jittered backoff, and says
//   HELLO anew; each HELLO is a new connection to the other end.
// - Bulk. Attachments of at least `inline_bytes` travel in chunks of 1 MiB on a
//   lane of their own, in turn with others, within the credit that the receiver
//   gave; some of a medium size (`medium_bytes`) go with their message all the
//   same. The memory of those that stream is reserved before they land, and
//   within quotas; when there is none, the message arrives with an error
//   instead of attachments.
// - Life. An end whose reading thread or control threads are stuck, or whose
//   compute pool is for long, is found by Heartbeat,
//   if the other one asks for it, and the connection is lost.
// - Quotas. What one peer may make us hold is bounded, in both directions; what
//   would exceed a bound fails with RESOURCE_EXHAUSTED and never waits.
// - Messages that are damaged, too large or out of turn cost their sender the
//   connection and nobody else anything.
//
// Threads: all methods may be called from any thread, never block and never run
// a callback before they return.
// Callbacks come without a lock held: fast ones on the thread that reads, which
// they must leave within 20 us; control requests (Handler::IsControlMessage),
// disconnects and the ends of calls that failed on the control pool; all others
// on the compute pool. They come one at a time for each connection and lane,
// but for requests and replies that are not fast, which go to the compute pool
// in their order and are handled there beside each other, for control requests,
// and for the ends of calls that failed.
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
#include "libs/base/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/handler.h"
#include "libs/bus/message.h"
#include "libs/bus/traffic.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Where a task answers. Destroying it closes its connections and waits for
// callbacks that run; not to be done from one.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // With the port that was found when 0 was asked for.
  virtual const Address& address() const = 0;
  // Refuses new connections and requests (UNAVAILABLE, "is shutting down"), but
  // for those that the handler goes on to accept and serve. What runs may end
  // and be answered.
  virtual void Drain() = 0;
  // The step was aborted: one-way messages for it whose attachments are on
  // their way in are dropped, and their memory is given back.
  virtual void AbandonStep(const StepTag& step) = 0;
};

// Why the connections of an endpoint end, at both ends, when it is destroyed.
inline absl::Status TaskHasEnded(const std::string& task) {
  return absl::UnavailableError(absl::StrCat(task, " has ended"));
}

// Whether dialing again would not help.
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

// Whether the other end has answered a call with this UNAVAILABLE. A Channel
// fails calls with the same code where it has no connection, or loses it.
bool IsAnswer(const absl::Status& error);
// For a Channel: IsAnswer of the result, if it is UNAVAILABLE.
absl::Status MarkAnswer(absl::Status error);
// The error as the other end made it, without that mark.
absl::Status WithoutMark(absl::Status error);

// What a Channel tells its owner. Fast. Calls come one after the other.
class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  virtual void OnConnected(const Identity& peer) = 0;
  // The connection was lost, could not be made (reported at each attempt) or
  // was refused. The channel tries again, after a while if it was refused. A
  // refusal comes as such, IsRefusal(why), from a channel that was never
  // connected: whoever dials may have the wrong address. Later it is a loss,
  // UNAVAILABLE with the same text: a stranger has the address for a while.
  virtual void OnDisconnected(const absl::Status& why) = 0;
};

struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  // Wait for a connection, until the deadline, instead of failing with
  // UNAVAILABLE when there is none. A channel that was refused and was never
  // connected fails the call with the refusal at once, either way.
  bool wait_for_connection = false;
  // Says of a reply whether the callback leaves the thread that reads soon;
  // where not, it comes on the compute pool. Null: any does.
  bool (*is_fast)(const Message& reply) = nullptr;
};

// A way to one other task. Destroying it ends it: pending calls fail with
// CANCELLED, from the destructor's thread; it waits for callbacks that run; not
// to be done from one.
class Channel {
 public:
  using CallId = uint64_t;  // never 0
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Message>)>;

  virtual ~Channel() = default;

  // `callback` is called exactly once, on the thread that reads, or on the pool
  // when the connection is lost or a deadline passes. Errors: what
  // the other end failed with; UNAVAILABLE (connection), DEADLINE_EXCEEDED,
  // RESOURCE_EXHAUSTED (no room for the reply), CANCELLED.
  virtual CallId Call(Message request, const CallOptions& options,
                      Callback callback) = 0;
  // The callback comes with CANCELLED, soon and on another thread, if the call
  // is still pending; the other end is told. Overtakes bulk.
  virtual void Cancel(CallId call) = 0;
  // UNAVAILABLE while there is no connection.
  virtual absl::Status Send(Message message) = 0;
  // The number of the connection that carries calls now; 0 while there is none.
  // Each connection of a channel has its own.
  virtual uint64_t connection() const = 0;
  // Ends the connection of that number, if it is still there, as a loss for
  // both ends: calls that are pending fail with UNAVAILABLE, which quotes
  // `why`. Dials again.
  virtual void EndConnection(uint64_t connection, const absl::Status& why) = 0;
  // The step was aborted: attachments of one-way messages for it that have not
  // left yet never do. At the other end such a message comes without them.
  virtual void AbandonStep(const StepTag& step) = 0;

  // Who is at the other end now; none while there is no connection.
  virtual std::optional<Identity> peer() const = 0;
};

struct TransportOptions {
  // Smaller attachments travel with their message.
  size_t inline_bytes = 64 << 10;
  // Larger ones, up to this, travel with their message as well while no more
  // than `medium_window` of them are on their way, by one connection and in one
  // direction: no thread of the other lane has to be woken for them, at either
  // end, and small messages wait for no more than the window. 0: none.
  uint64_t medium_bytes = 512 << 10;
  uint64_t medium_window = 1 << 20;
  size_t chunk_bytes = 1 << 20;
  // Bulk that may be under way on one connection and direction.
  uint64_t credit_bytes = 16 << 20;
  // Of one control message, without streamed attachments.
  uint64_t max_control_bytes = 16 << 20;
  // What one peer may make us hold: bytes of requests without an answer and of
  // all attachments that are landing; and the number of requests without an
  // answer or kept open after it (IncomingCall::KeepOpen).
  uint64_t max_held_bytes_per_peer = uint64_t{8} << 30;
  int max_requests_per_peer = 65536;
  // The same of a peer that is no task, over all of its connections. Lower, so
  // that one client can't fill the connection from its master to another task.
  // All such peers together have at most half of max_requests_per_peer, or this
  // where it is more.
  int max_requests_per_client = 16384;
  // Large attachments of replies and one-way messages that wait for one peer to
  // read them.
  uint64_t max_unsent_bytes_per_peer = uint64_t{8} << 30;
  // Jittered backoff between attempts to connect.
  absl::Duration min_redial = absl::Milliseconds(50);
  absl::Duration max_redial = absl::Seconds(2);
  // The same after a refusal: who lives at the address may be the right one
  // again, or of the right version.
  absl::Duration refused_redial = absl::Seconds(30);
  // An accepted connection that began to talk has to say HELLO, a dialed one to
  // be answered. (One that only shakes hands and answers ZeroMQ's heartbeats is
  // not seen by us: it costs a descriptor, and can do nothing.)
  absl::Duration hello_timeout = absl::Seconds(5);
  // Connections of an endpoint; further ones are refused in their greeting.
  int max_connections = 4096;
  // The other end of a connection is asked for a sign of life (Heartbeat) and
  // given up after about twice as long without one. Infinite: it is not asked.
  absl::Duration peer_timeout = absl::InfiniteDuration();
  // How long its compute pool may begin nothing, while a closure waits there,
  // before it is taken for stuck.
  absl::Duration max_busy = absl::Minutes(10);
};

// Makes channels and endpoints; outlives them.
class Transport {
 public:
  virtual ~Transport() = default;

  // `handler` outlives the endpoint.
  virtual absl::StatusOr<std::unique_ptr<Endpoint>> Listen(
      const Address& address, const Identity& self, Handler& handler) = 0;

  // `destination` is the task that must be there ("/job:ps/task:0"); empty:
  // any. `events` may be null and outlives the channel.
  virtual std::unique_ptr<Channel> Dial(const Address& address,
                                        const Identity& self,
                                        const std::string& destination,
                                        ChannelEvents* events) = 0;

  // As Wire::Lead and Wire::WakeLeader: a synchronous caller of a process that
  // only dials reads its answer itself.
  virtual bool Lead(absl::FunctionRef<bool()> done) = 0;
  virtual void WakeLeader() = 0;
};

// What a transport is made of; all outlive it.
struct TransportParts {
  Wire* wire = nullptr;
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  LandingMemory* memory = nullptr;
  // What other ends did wrong; may be null.
  Logger* logger = nullptr;
  // Counts what comes and goes; may be null.
  Traffic* traffic = nullptr;
};
std::unique_ptr<Transport> NewTransport(const TransportParts& parts,
                                        const TransportOptions& options = {});

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TRANSPORT_H_
