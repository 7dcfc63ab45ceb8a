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
//   gave. Their memory is reserved before they land, and within quotas; when
//   there is none, the message arrives with an error instead of attachments.
// - Life. An end whose reading thread or pools are stuck is found by Heartbeat,
//   if the other one asks for it, and the connection is lost.
// - Quotas. What one peer may make us hold is bounded, in both directions; what
//   would exceed a bound fails with RESOURCE_EXHAUSTED and never waits.
// - Messages that are damaged, too large or out of turn cost their sender the
//   connection and nobody else anything.
//
// Threads: all methods may be called from any thread, never block and never run
// a callback before they return.
// Callbacks come without a lock held: fast ones on the thread that reads, which
// they must leave within 20 us, all others on the compute pool. They come one
// at a time for each connection and lane, but for requests and replies that are
// not fast, which go to the pool in their order and are handled there beside
// each other, and for the ends of calls that failed.
#ifndef WEFT_LIBS_BUS_TRANSPORT_H_
#define WEFT_LIBS_BUS_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/base/cancellation.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/bus/address.h"
#include "libs/bus/blob.h"
#include "libs/bus/learned_uuid.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// A request, a reply, or a one-way message.
struct Message {
  // What the body is: a number of wire::Body (schemas/body.fbs).
  uint8_t method = 0;
  // A FlatBuffer; the bus does not look inside.
  Blob body;
  // What the body names by position. Small ones come along, large ones stream.
  std::vector<Blob> attachments;
};

// Errors cross with code, text, whether they are derived, and these payloads:
// the node and the task that failed.
inline constexpr absl::string_view kErrorNodePayload = "weft/node";
inline constexpr absl::string_view kErrorTaskPayload = "weft/task";

// Who one end of a connection is; what HELLO says.
struct Identity {
  std::string cluster_uuid;  // empty: any
  std::string task;          // "/job:ps/task:0"; empty: a client
  uint64_t incarnation = 0;  // drawn anew at each start; never 0
  uint64_t op_fingerprint = 0;
  // Of one's own end: where `cluster_uuid` will be found; may be null.
  std::shared_ptr<const LearnedUuid> learned_uuid;
};

// The other end of an accepted connection.
struct Peer {
  uint64_t id = 0;  // of this connection; unique in its Endpoint; never 0
  Identity identity;
};

// Memory for attachments that stream in.
class LandingMemory {
 public:
  virtual ~LandingMemory() = default;
  struct Room {
    std::shared_ptr<const void> owner;
    char* data = nullptr;
  };
  // RESOURCE_EXHAUSTED when there is none. Any thread.
  virtual absl::StatusOr<Room> Reserve(uint64_t bytes) = 0;
};

// A request on its way to an answer, at the end that gives it. Reply or Fail
// once, on any thread; letting go of it without is INTERNAL for the caller.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  virtual const Peer& peer() const = 0;
  // When the caller gives up, by this process's clock.
  virtual absl::Time deadline() const = 0;
  // Cancelled when the caller cancels or gives up, or the connection is lost.
  virtual Cancellation& cancellation() = 0;
  // A reply that the other end can't take, or that finds no room among what
  // waits for it to read (RESOURCE_EXHAUSTED), fails the call.
  virtual void Reply(Message reply) = 0;
  // The same, but a reply that finds no room leaves the call open and says why,
  // so that its owner can fail it with what it knows of it.
  virtual absl::Status TryReply(Message reply) {
    Reply(std::move(reply));
    return absl::OkStatus();
  }
  virtual void Fail(const absl::Status& error) = 0;
};

// What a task does with what comes in. See Threads above.
class Handler {
 public:
  virtual ~Handler() = default;
  // Whether messages of this method are handled on the thread that reads.
  virtual bool IsFast(uint8_t method) const = 0;
  // The same of one that is here: false for what takes long to open.
  virtual bool IsFastMessage(const Message& message) const {
    return IsFast(message.method);
  }
  // Whether requests of this method are served until the end, though new work
  // is refused: those that end work, or ask about it.
  virtual bool IsServedWhileDraining(uint8_t /*method*/) const { return false; }
  // A peer said HELLO, for this task and in a version we speak. An error
  // refuses it. Fast.
  virtual absl::Status OnConnect(const Peer& peer) = 0;
  // After all its messages; its calls are cancelled already.
  virtual void OnDisconnect(const Peer& peer, const absl::Status& why) = 0;
  virtual void OnRequest(std::shared_ptr<IncomingCall> call,
                         Message request) = 0;
  // A request whose attachments found no room, and are not there; `which` of
  // them was the first. To be failed with `why`, to which the handler may add
  // what it knows of the attachment. Fast.
  virtual void OnRefused(std::shared_ptr<IncomingCall> call,
                         Message /*request*/, size_t /*which*/,
                         const absl::Status& why) {
    call->Fail(why);
  }
  // `landed` is an error when there was no room for the attachments; then there
  // are none.
  virtual void OnOneWay(const Peer& peer, Message message,
                        const absl::Status& landed) = 0;
};

// Where a task answers. Destroying it closes its connections and waits for
// callbacks that run; not to be done from one.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // With the port that was found when 0 was asked for.
  virtual const Address& address() const = 0;
  // Refuses new connections, and requests but for those that the handler goes
  // on to serve (UNAVAILABLE, "is shutting down"); what runs may end and be
  // answered.
  virtual void Drain() = 0;
};

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

// What a Channel tells its owner. Fast.
class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  virtual void OnConnected(const Identity& peer) = 0;
  // The connection was lost, could not be made (reported at each attempt) or
  // was refused. The channel tries again unless IsRefusal(why).
  virtual void OnDisconnected(const absl::Status& why) = 0;
};

struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  // Wait for a connection, until the deadline, instead of failing with
  // UNAVAILABLE when there is none.
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

  // Who is at the other end now; none while there is no connection.
  virtual std::optional<Identity> peer() const = 0;
};

struct TransportOptions {
  // Smaller attachments travel with their message.
  size_t inline_bytes = 64 << 10;
  size_t chunk_bytes = 1 << 20;
  // Bulk that may be under way on one connection and direction.
  uint64_t credit_bytes = 16 << 20;
  // Of one control message, without streamed attachments.
  uint64_t max_control_bytes = 16 << 20;
  // What one peer may make us hold: requests without an answer, and all
  // attachments that are landing.
  uint64_t max_held_bytes_per_peer = uint64_t{8} << 30;
  int max_requests_per_peer = 65536;
  // Large attachments of replies and one-way messages that wait for one peer to
  // read them.
  uint64_t max_unsent_bytes_per_peer = uint64_t{8} << 30;
  // Jittered backoff between attempts to connect.
  absl::Duration min_redial = absl::Milliseconds(50);
  absl::Duration max_redial = absl::Seconds(2);
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
};
std::unique_ptr<Transport> NewTransport(const TransportParts& parts,
                                        const TransportOptions& options = {});

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TRANSPORT_H_
