// ServerConnection is one accepted connection of an Endpoint. It performs the
// handshake, holds the unanswered calls of its peer, and orders the messages
// for the handler.
//
// Threads: OnControl is called by one thread at a time, and so is OnBulk; all
// other methods from any thread.
//
// Ownership: shared; the Endpoint holds it while it is connected, and each
// IncomingCall for as long as the handler holds that.
#ifndef WEFT_LIBS_BUS_SERVER_CONNECTION_H_
#define WEFT_LIBS_BUS_SERVER_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/ended.h"
#include "libs/base/async/reclaimer.h"
#include "libs/bus/async_scope.h"
#include "libs/bus/connection.h"
#include "libs/bus/handshake.h"
#include "libs/bus/heartbeat.h"
#include "libs/bus/request_count.h"
#include "libs/bus/serial_queue.h"
#include "libs/bus/transport.h"

namespace weft::bus {

class ServerConnection;

// The state shared by all connections of an Endpoint; must outlive them while
// connected.
struct ServerContext {
  TransportParts parts;
  TransportOptions options;
  Identity self;
  Handler* handler = nullptr;
  AsyncScope* scope = nullptr;
  std::shared_ptr<Reclaimer> reclaimer;
  uint16_t bulk_port = 0;
  // The numbers of open requests of the clients.
  const std::shared_ptr<RequestCounts> request_counts =
      std::make_shared<RequestCounts>();
  // The number of incoming messages of steps that wait for their attachments.
  const std::shared_ptr<OpenCount> incoming_for_steps =
      std::make_shared<OpenCount>();
  std::atomic<bool> draining{false};
  // Called once for each connection that has ended.
  absl::AnyInvocable<void(ServerConnection&, ConnectionId bulk)> forget;
};

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  // If `is_one_too_many`, the connection exceeds the limit of connections and
  // is refused.
  ServerConnection(ServerContext& context, ConnectionId control,
                   uint64_t peer_id, uint64_t bulk_token, bool is_one_too_many);

  // Drops the peer if it does not send HELLO in time.
  void StartTimer();

  // Handles a message of one channel. An error means that the peer violated the
  // protocol and must be disconnected.
  absl::Status OnControl(Frames frames);
  absl::Status OnBulk(const Frames& frames);
  // Attaches the bulk channel. Returns false if the connection already has one.
  bool AttachBulk(ConnectionId bulk);
  // Called when the attached bulk channel has ended. Disconnects the peer after
  // kTimeToReadControl, unless the connection ends earlier.
  void OnBulkEnded(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // On the control pool, cancels the calls, closes the Wire's connections and
  // notifies the handler. Only the first call has an effect. `goodbye` also
  // notifies the peer. Calls ServerContext::forget, which locks the Endpoint
  // and releases its reference: the caller must hold one of its own.
  void Disconnect(const absl::Status& why, bool goodbye = false);

  // Drops the messages and attachments of an aborted step.
  void AbandonStep(const StepTag& step) { connection_.AbandonStep(step); }

  ConnectionId control() const { return control_; }
  uint64_t bulk_token() const { return bulk_token_; }
  const Peer& peer() const { return peer_; }

 private:
  class Call;
  using Calls = absl::btree_map<uint64_t, std::weak_ptr<Call>>;
  enum class State { kNew, kUp, kRefused, kClosed };
  static constexpr size_t kCancelledRemembered = 256;

  // An error of Deliver, HandleHello, OnRequest and OnOneWay means that the
  // peer violated the protocol.
  absl::Status Deliver(Incoming incoming);
  absl::Status HandleHello(const Incoming& incoming);
  void Accept(uint64_t call_id);
  void Refuse(uint64_t call_id, const absl::Status& why);
  absl::Status OnRequest(Incoming incoming);
  absl::Status OnOneWay(Incoming incoming);
  void OnCancel(uint64_t call_id);
  // Returns whether the caller has cancelled the call, which may already be
  // answered.
  bool IsCancelled(const Call& call) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts what the request continues to take of the peer's quota. If that is
  // too much, drops the attachments and returns the error for the caller.
  absl::Status HoldRequest(Call& call, Incoming& incoming);
  absl::Status HoldBytes(Call& call, uint64_t bytes);
  // Returns what the call takes of the quotas, and removes it.
  void ReleaseQuota(Call& call);
  // Returns null if the call must not be served; `refusal` is the error for its
  // caller. An error means that the peer violated the protocol.
  absl::StatusOr<std::shared_ptr<Call>> NewCall(const Envelope& envelope,
                                                absl::Status* refusal);
  static void CancelAll(const Calls& calls, const absl::Status& why);
  // Counts a call: those with a reserve and the others separately.
  absl::Status CountCall(bool has_reserve)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands the request to the handler after all queued one-way messages. If it
  // is not `fast` (Handler::IsFastMessage), it then runs on the compute pool,
  // concurrently with other requests.
  void Handle(std::shared_ptr<Call> call, Message request, bool fast);
  void HandleOn(Pool pool, std::shared_ptr<Call> call, Message request);
  void EndHandling();
  // Calls EndHandling after all messages in the queue.
  void EndAfterQueue();
  void QueueOneWay(Incoming incoming);
  // Returns whether the endpoint accepts this HELLO.
  absl::Status CheckPeer(const Hello& hello);
  HeartbeatOptions Heartbeats();
  void SendError(uint64_t call_id, const absl::Status& error);
  // Returns RESOURCE_EXHAUSTED if the peer has too many unread bytes; nothing
  // was sent.
  absl::Status Answer(Call& call, absl::Status error, Message reply);
  State state() const;

  ServerContext& context_;  // only while connected
  const std::string task_;  // the answering task; also used after disconnecting
  const ConnectionId control_;
  const uint64_t bulk_token_;
  const bool is_one_too_many_;
  // Written once, by HandleHello, before the state is kUp; only then is there a
  // bulk channel, whose thread reads it, too.
  Peer peer_;
  // Requests without a reserve; written once by HandleHello. A client has one
  // count for all of its connections, a task one per connection.
  std::shared_ptr<RequestCount> requests_ = std::make_shared<RequestCount>();
  Connection connection_;
  SerialQueue queue_;
  Heartbeat heartbeat_;
  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNew;
  ConnectionId bulk_ ABSL_GUARDED_BY(mutex_) = 0;
  // The timer of the handshake; after the handshake, the timer of OnBulkEnded.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // The peer's unanswered calls. Ordered, so that a simulation can be repeated.
  Calls calls_ ABSL_GUARDED_BY(mutex_);
  // The number and bytes of requests with a reserve.
  size_t num_reserved_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The latest cancelled calls that were unknown when cancelled: a call whose
  // last bytes arrive on the bulk channel may still appear.
  Ended<uint64_t> cancelled_ ABSL_GUARDED_BY(mutex_){kCancelledRemembered};
  // The number of handlers of requests on the pool, plus one while the handler
  // has not been notified of the disconnect.
  std::atomic<int64_t> handling_{1};
  absl::Status disconnect_reason_;  // written before handling_ may become 0
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_SERVER_CONNECTION_H_
