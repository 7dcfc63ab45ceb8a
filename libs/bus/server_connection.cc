#include "libs/bus/server_connection.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

// Requests of fewer bytes than this are limited only by their number.
constexpr uint64_t kUncountedBytes = 4 << 10;
// The reserve for requests that end work holds this many messages of the
// largest size.
constexpr uint64_t kReservedMessages = 4;
// The overhead of a waiting one-way message beyond its own bytes.
constexpr uint64_t kQueuedBytes = 256;
// The limit beyond the quota for one-way messages that wait without their
// attachments.
constexpr uint64_t kRefusedBytes = 1 << 20;

uint64_t SizeOf(const Message& message) {
  uint64_t size = message.body.size();
  for (const Blob& attachment : message.attachments) size += attachment.size();
  return size;
}

ConnectionOptions OptionsOf(const ServerContext& context,
                            ConnectionId control) {
  ConnectionOptions options;
  options.wire = context.parts.wire;
  options.memory = context.parts.memory;
  options.traffic = context.parts.traffic;
  options.control = control;
  // HelloReply states the limits of this end. HELLO states none: the dialer is
  // assumed to accept messages of the same size, and as much credit.
  options.max_sent_bytes = context.options.max_control_bytes;
  options.max_received_bytes = context.options.max_control_bytes;
  options.credit_bytes = context.options.credit_bytes;
  options.max_held_bytes = context.options.max_held_bytes_per_peer;
  options.max_unsent_bytes = context.options.max_unsent_bytes_per_peer;
  options.inline_bytes = context.options.inline_bytes;
  options.medium_bytes = context.options.medium_bytes;
  options.medium_window = context.options.medium_window;
  options.chunk_bytes = context.options.chunk_bytes;
  options.incoming_for_steps = context.incoming_for_steps;
  options.reclaimer = context.reclaimer;
  return options;
}

absl::Time DeadlineOf(const Envelope& envelope, const Clock& clock) {
  if (envelope.time_remaining_us < 0) return absl::InfiniteFuture();
  return clock.Now() + absl::Microseconds(envelope.time_remaining_us);
}

// All clients of a master share its connection to another task, which admits
// max_requests_per_peer there: half of it is left for other work. The limit for
// clients is never less than one client's own quota.
int64_t LimitOfClients(const TransportOptions& options) {
  return std::max(options.max_requests_per_client,
                  options.max_requests_per_peer / 2);
}

}  // namespace

class ServerConnection::Call : public IncomingCall {
 public:
  Call(std::shared_ptr<ServerConnection> connection, uint64_t id,
       absl::Time deadline, bool has_reserve)
      : connection_(std::move(connection)),
        id_(id),
        deadline_(deadline),
        has_reserve_(has_reserve),
        counts_(!has_reserve) {}
  ~Call() override {
    Fail(
        absl::InternalError("The handler released the call without an answer"));
  }

  const Peer& peer() const override { return connection_->peer(); }
  absl::Time deadline() const override { return deadline_; }
  Cancellation& cancellation() override { return cancellation_; }
  void Reply(Message reply) override {
    const absl::Status sent = TryReply(std::move(reply));
    if (!sent.ok()) Fail(sent);
  }
  absl::Status TryReply(Message reply) override {
    if (answered_.exchange(true)) return absl::OkStatus();
    absl::Status sent =
        connection_->Answer(*this, absl::OkStatus(), std::move(reply));
    if (!sent.ok()) answered_.store(false);
    return sent;
  }
  void Fail(const absl::Status& error) override {
    if (answered_.exchange(true)) return;
    (void)connection_->Answer(
        *this,
        error.ok() ? absl::InternalError("The handler failed with OK") : error,
        Message());
  }

  std::shared_ptr<const void> KeepOpen() override {
    if (!std::exchange(counts_, false)) return nullptr;
    return {this,
            [count = connection_->requests_](const Call*) { count->Remove(); }};
  }

  uint64_t id() const { return id_; }
  bool has_reserve() const { return has_reserve_; }
  // Returns whether the call still counts among its peer's requests, and ends
  // that.
  bool TakeCounts() { return std::exchange(counts_, false); }
  // Called before cancellation() is cancelled, which happens later on a pool.
  void set_cancelled() { is_cancelled_.store(true); }
  bool is_cancelled() const { return is_cancelled_.load(); }
  // Bytes taken from the peer's quota; set before the handler gets the call.
  void set_held(uint64_t held) { held_ = held; }
  uint64_t TakeHeld() { return std::exchange(held_, 0); }
  // Bytes taken from the reserve; set before the handler gets the call.
  void set_reserved(uint64_t reserved) { reserved_ = reserved; }
  uint64_t TakeReserved() { return std::exchange(reserved_, 0); }

 private:
  const std::shared_ptr<ServerConnection> connection_;
  const uint64_t id_;
  const absl::Time deadline_;
  const bool has_reserve_;
  bool counts_;  // written by the answering thread, and before by the handler
  Cancellation cancellation_;
  std::atomic<bool> answered_{false};
  std::atomic<bool> is_cancelled_{false};
  uint64_t held_ = 0;
  uint64_t reserved_ = 0;
};

ServerConnection::ServerConnection(ServerContext& context, ConnectionId control,
                                   uint64_t peer_id, uint64_t bulk_token,
                                   bool is_one_too_many)
    : context_(context),
      task_(context.self.task),
      control_(control),
      bulk_token_(bulk_token),
      is_one_too_many_(is_one_too_many),
      connection_(OptionsOf(context, control)),
      queue_(*context.scope),
      heartbeat_(*context.scope, Heartbeats()) {
  peer_.id = peer_id;
}

HeartbeatOptions ServerConnection::Heartbeats() {
  HeartbeatOptions options;
  options.timeout = context_.options.peer_timeout;
  options.max_busy = context_.options.max_busy;
  // The dialing end asks first.
  options.ask_delay = 0.5;
  options.send = [this](Blob body) {
    Connection::Outgoing outgoing;
    outgoing.message = {kHeartbeatMethod, std::move(body), {}};
    // An unsent heartbeat counts as a missing one.
    (void)connection_.Send(std::move(outgoing));
  };
  options.lose = [this](const absl::Status& why) { Disconnect(why); };
  return options;
}

ServerConnection::State ServerConnection::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

void ServerConnection::StartTimer() {
  const absl::Time when =
      context_.parts.scheduler->clock().Now() + context_.options.hello_timeout;
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kNew) return;
  timer_ = context_.scope->ScheduleAt(when, [self = shared_from_this()] {
    const State state = self->state();
    if (state == State::kUp || state == State::kClosed) return;
    self->Disconnect(absl::DeadlineExceededError("It never said HELLO"));
  });
}

absl::Status ServerConnection::OnControl(Frames frames) {
  return connection_.Receive(
      std::move(frames),
      [this](const Envelope&) { return state() == State::kUp; },
      [this](Incoming incoming) { return Deliver(std::move(incoming)); });
}

absl::Status ServerConnection::OnBulk(const Frames& frames) {
  return connection_.ReceiveBulk(frames, [this](Incoming incoming) {
    return Deliver(std::move(incoming));
  });
}

bool ServerConnection::AttachBulk(ConnectionId bulk) {
  {
    absl::MutexLock lock(&mutex_);
    if (bulk_ != 0 || state_ != State::kUp) return false;
    bulk_ = bulk;
  }
  connection_.AttachBulk(bulk);
  return true;
}

void ServerConnection::OnBulkEnded(const absl::Status& why) {
  const absl::Time when =
      context_.parts.scheduler->clock().Now() + kTimeToReadControl;
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kUp) return;
  timer_ = context_.scope->ScheduleAt(
      when, [self = shared_from_this(), why] { self->Disconnect(why); });
}

absl::Status ServerConnection::Deliver(Incoming incoming) {
  const Envelope& envelope = incoming.envelope;
  switch (state()) {
    case State::kNew:
      return HandleHello(incoming);
    case State::kRefused:
    case State::kClosed:
      return absl::OkStatus();
    case State::kUp:
      break;
  }
  switch (envelope.kind) {
    case MessageKind::kRequest:
      return OnRequest(std::move(incoming));
    case MessageKind::kOneWay:
      return OnOneWay(std::move(incoming));
    case MessageKind::kCancel:
      OnCancel(envelope.call_id);
      return absl::OkStatus();
    case MessageKind::kReply:
      return absl::InvalidArgumentError("Bad message: a reply to no call");
    case MessageKind::kUnknown:
      break;
  }
  if (envelope.call_id != 0) {
    SendError(envelope.call_id,
              absl::UnimplementedError(
                  "This kind of message is newer than the task it reached"));
  }
  return absl::OkStatus();
}

absl::Status ServerConnection::HandleHello(const Incoming& incoming) {
  const Envelope& envelope = incoming.envelope;
  if (envelope.kind != MessageKind::kRequest ||
      envelope.method != kHelloMethod) {
    return absl::InvalidArgumentError(
        "Bad message: the first message is not a HELLO");
  }
  ASSIGN_OR_RETURN(Hello hello, DecodeHello(incoming.message.body));
  peer_.identity = hello.self;
  if (peer_.identity.task.empty()) {
    requests_ = context_.request_counts->Of(peer_.identity.incarnation);
  }
  absl::Status status = CheckPeer(hello);
  if (status.ok()) status = context_.handler->OnConnect(peer_);
  if (status.ok()) {
    Accept(envelope.call_id);
  } else {
    Refuse(envelope.call_id, status);
  }
  return absl::OkStatus();
}

absl::Status ServerConnection::CheckPeer(const Hello& hello) {
  RETURN_IF_ERROR(CheckHello(context_.self, hello));
  if (context_.draining.load() &&
      !context_.handler->IsAcceptedWhileDraining(hello.self)) {
    return absl::UnavailableError(
        absl::StrCat(context_.self.task, " is shutting down"));
  }
  if (is_one_too_many_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        context_.self.task, " has the ", context_.options.max_connections,
        " connections that it may. Close sessions that are not needed, or "
        "raise max_connections there."));
  }
  return absl::OkStatus();
}

void ServerConnection::Accept(uint64_t call_id) {
  Scheduler::TimerId timer = 0;
  bool late = false;
  {
    absl::MutexLock lock(&mutex_);
    late = state_ == State::kClosed;
    if (!late) state_ = State::kUp;
    std::swap(timer, timer_);
  }
  context_.scope->CancelTimer(timer);
  if (late) {
    // The peer was disconnected while the handler was being notified of the
    // connection.
    context_.handler->OnDisconnect(peer_, disconnect_reason_);
    return;
  }
  HelloReply reply;
  reply.self = context_.self;
  reply.bulk_port = context_.bulk_port;
  reply.max_control_bytes = static_cast<uint32_t>(
      std::min<uint64_t>(context_.options.max_control_bytes,
                         std::numeric_limits<uint32_t>::max()));
  reply.credit_bytes = context_.options.credit_bytes;
  reply.bulk_token = bulk_token_;
  Connection::Outgoing outgoing;
  outgoing.kind = MessageKind::kReply;
  outgoing.call_id = call_id;
  outgoing.message = {kHelloReplyMethod, EncodeHelloReply(reply), {}};
  // If this fails, the connection is closing.
  (void)connection_.Send(std::move(outgoing));
  heartbeat_.Start(shared_from_this());
}

// The peer closes the connection when it has read the reason; otherwise the
// timer closes it.
void ServerConnection::Refuse(uint64_t call_id, const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::kNew) state_ = State::kRefused;
  }
  SendError(call_id, why);
}

absl::StatusOr<std::shared_ptr<ServerConnection::Call>>
ServerConnection::NewCall(const Envelope& envelope, absl::Status* refusal) {
  const absl::Time deadline =
      DeadlineOf(envelope, context_.parts.scheduler->clock());
  const bool has_reserve = context_.handler->HasReserve(envelope.method);
  absl::MutexLock lock(&mutex_);
  if (calls_.contains(envelope.call_id)) {
    return absl::InvalidArgumentError("Bad message: a call id used twice");
  }
  if (state_ != State::kUp) {
    // Nothing would cancel a call that is added to a closed connection.
    *refusal = absl::UnavailableError("The connection is closed");
  } else if (cancelled_.Contains(envelope.call_id)) {
    *refusal = absl::CancelledError("The caller cancelled the call");
  } else {
    *refusal = CountCall(has_reserve);
  }
  if (!refusal->ok()) return nullptr;
  auto call = std::make_shared<Call>(shared_from_this(), envelope.call_id,
                                     deadline, has_reserve);
  calls_.emplace(envelope.call_id, call);
  return call;
}

absl::Status ServerConnection::CountCall(bool has_reserve) {
  const TransportOptions& options = context_.options;
  const bool is_client =
      peer_.identity.task.empty() &&
      options.max_requests_per_client < options.max_requests_per_peer;
  const int64_t quota = is_client ? options.max_requests_per_client
                                  : options.max_requests_per_peer;
  const size_t limit = has_reserve ? 2 * quota + kReservedRequests : quota;
  if (has_reserve && num_reserved_ < limit) {
    ++num_reserved_;
    return absl::OkStatus();
  }
  const int64_t limit_of_clients =
      is_client ? LimitOfClients(options) : std::numeric_limits<int64_t>::max();
  if (!has_reserve && requests_->TryAdd(quota, limit_of_clients)) {
    return absl::OkStatus();
  }
  if (!has_reserve && requests_->HasFewerThan(quota)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        context_.self.task, " works on ", limit_of_clients,
        " requests of all its clients already, open partial runs among them. "
        "Wait for answers, or raise max_requests_per_peer there."));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      context_.self.task, " works on ", limit,
      " requests of this peer already, open partial runs among them. Wait for "
      "answers, or raise ",
      is_client ? "max_requests_per_client" : "max_requests_per_peer",
      " there."));
}

absl::Status ServerConnection::HoldRequest(Call& call, Incoming& incoming) {
  call.set_held(incoming.held);
  if (!incoming.received.ok()) {
    return Annotate(incoming.received, context_.self.task);
  }
  if (incoming.held > 0) return absl::OkStatus();
  const uint64_t size = SizeOf(incoming.message);
  if (size < kUncountedBytes) return absl::OkStatus();
  const absl::Status held = HoldBytes(call, size);
  if (!held.ok()) incoming.message.attachments.clear();
  return Annotate(held, context_.self.task);
}

absl::Status ServerConnection::HoldBytes(Call& call, uint64_t bytes) {
  if (call.has_reserve()) {
    const uint64_t reserve =
        kReservedMessages * context_.options.max_control_bytes;
    absl::MutexLock lock(&mutex_);
    if (bytes <= reserve - reserved_bytes_) {
      reserved_bytes_ += bytes;
      call.set_reserved(bytes);
      return absl::OkStatus();
    }
  }
  RETURN_IF_ERROR(connection_.Hold(bytes));
  call.set_held(bytes);
  return absl::OkStatus();
}

void ServerConnection::ReleaseQuota(Call& call) {
  const uint64_t held = call.TakeHeld();
  if (held > 0) connection_.Release(held);
  if (call.TakeCounts()) requests_->Remove();
  absl::MutexLock lock(&mutex_);
  reserved_bytes_ -= call.TakeReserved();
  if (calls_.erase(call.id()) > 0 && call.has_reserve()) --num_reserved_;
}

absl::Status ServerConnection::OnRequest(Incoming incoming) {
  const uint64_t id = incoming.envelope.call_id;
  if (incoming.envelope.method == kHelloMethod) {
    return absl::InvalidArgumentError("Bad message: a second HELLO");
  }
  absl::Status refusal;
  if (context_.draining.load() &&
      !context_.handler->IsServedWhileDraining(incoming.envelope.method)) {
    refusal = absl::UnavailableError(
        absl::StrCat(context_.self.task, " is shutting down"));
  }
  std::shared_ptr<Call> call;
  if (refusal.ok()) {
    ASSIGN_OR_RETURN(call, NewCall(incoming.envelope, &refusal));
  }
  if (!refusal.ok()) {
    connection_.Release(incoming.held);
    SendError(id, refusal);
    return absl::OkStatus();
  }
  const absl::Status within_quota = HoldRequest(*call, incoming);
  if (!within_quota.ok()) {
    context_.handler->OnRefused(std::move(call), std::move(incoming.message),
                                incoming.refused, within_quota);
    return absl::OkStatus();
  }
  if (context_.handler->IsControlMessage(incoming.message)) {
    HandleOn(Pool::kControl, std::move(call), std::move(incoming.message));
    return absl::OkStatus();
  }
  const bool fast = context_.handler->IsFastMessage(incoming.message);
  Handle(std::move(call), std::move(incoming.message), fast);
  return absl::OkStatus();
}

void ServerConnection::Handle(std::shared_ptr<Call> call, Message request,
                              bool fast) {
  // Only the two reading threads add to the queue while the connection is up. A
  // message of the other channel has no order with this one.
  if (queue_.IsIdle()) {
    if (fast) {
      context_.handler->OnRequest(std::move(call), std::move(request));
    } else {
      HandleOn(Pool::kCompute, std::move(call), std::move(request));
    }
    return;
  }
  queue_.Push(
      shared_from_this(), [this, call = std::move(call),
                           request = std::move(request), fast]() mutable {
        if (fast) {
          context_.handler->OnRequest(std::move(call), std::move(request));
        } else {
          HandleOn(Pool::kCompute, std::move(call), std::move(request));
        }
      });
}

void ServerConnection::HandleOn(Pool pool, std::shared_ptr<Call> call,
                                Message request) {
  handling_.fetch_add(1);
  context_.scope->Schedule(
      pool, [self = shared_from_this(), call = std::move(call),
             request = std::move(request)]() mutable {
        self->context_.handler->OnRequest(std::move(call), std::move(request));
        self->EndHandling();
      });
}

void ServerConnection::EndHandling() {
  if (handling_.fetch_sub(1) != 1) return;
  context_.handler->OnDisconnect(peer_, disconnect_reason_);
}

absl::Status ServerConnection::OnOneWay(Incoming incoming) {
  const uint8_t method = incoming.envelope.method;
  if (method == kGoodbyeMethod) {
    absl::Status why;
    RETURN_IF_ERROR(DecodeGoodbye(incoming.message.body, &why));
    Disconnect(why);
    return absl::OkStatus();
  }
  if (method == kHeartbeatMethod) {
    return heartbeat_.Receive(shared_from_this(), incoming.message.body);
  }
  if (queue_.IsIdle() && context_.handler->IsFastMessage(incoming.message)) {
    context_.handler->OnOneWay(peer_, std::move(incoming.message),
                               incoming.received);
    return absl::OkStatus();
  }
  QueueOneWay(std::move(incoming));
  return absl::OkStatus();
}

// A waiting message counts in the peer's quota. If the quota is used up, the
// message waits without its attachments; if even that exceeds the limit, it is
// delivered at once. A correct peer may fill its quota, so this never closes
// the connection.
void ServerConnection::QueueOneWay(Incoming incoming) {
  uint64_t held = SizeOf(incoming.message) + kQueuedBytes;
  if (absl::Status room = connection_.Hold(held); !room.ok()) {
    incoming.message.attachments.clear();
    if (incoming.received.ok()) {
      incoming.received = Annotate(room, context_.self.task);
    }
    held = incoming.message.body.size() + kQueuedBytes;
    if (!connection_.Hold(held, kRefusedBytes).ok()) {
      context_.handler->OnOneWay(peer_, std::move(incoming.message),
                                 incoming.received);
      return;
    }
  }
  queue_.Push(shared_from_this(),
              [this, held, message = std::move(incoming.message),
               received = std::move(incoming.received)]() mutable {
                context_.handler->OnOneWay(peer_, std::move(message), received);
                connection_.Release(held);
              });
}

void ServerConnection::OnCancel(uint64_t call_id) {
  std::shared_ptr<Call> call;
  {
    absl::MutexLock lock(&mutex_);
    auto it = calls_.find(call_id);
    if (it != calls_.end()) {
      call = it->second.lock();
    } else {
      cancelled_.Add(call_id);
    }
  }
  // Must precede Abandon: a reply that Abandon misses is then abandoned by
  // Answer.
  if (call != nullptr) call->set_cancelled();
  connection_.Abandon(call_id);
  if (call == nullptr) return;
  // Cancels on the control pool, not on the reading thread, because that ends a
  // step and releases its memory.
  context_.scope->Schedule(Pool::kControl, [call = std::move(call)] {
    call->cancellation().Cancel(
        absl::CancelledError("The caller cancelled the call"));
  });
}

// A call that ReleaseQuota removed is cancelled by its number.
bool ServerConnection::IsCancelled(const Call& call) const {
  if (call.is_cancelled()) return true;
  absl::MutexLock lock(&mutex_);
  return cancelled_.Contains(call.id());
}

void ServerConnection::SendError(uint64_t call_id, const absl::Status& error) {
  Connection::Outgoing outgoing;
  outgoing.kind = MessageKind::kReply;
  outgoing.call_id = call_id;
  outgoing.error = error;
  // If this fails, the connection is closing, and the caller is notified of the
  // loss instead.
  (void)connection_.Send(std::move(outgoing));
}

absl::Status ServerConnection::Answer(Call& call, absl::Status error,
                                      Message reply) {
  ReleaseQuota(call);
  if (state() != State::kUp) return absl::OkStatus();
  // A caller that has cancelled the call does not wait for the reply.
  if (call.is_cancelled() || call.cancellation().IsCancelled()) {
    return absl::OkStatus();
  }
  if (!error.ok()) {
    SendError(call.id(), error);
    return absl::OkStatus();
  }
  Connection::Outgoing outgoing;
  outgoing.kind = MessageKind::kReply;
  outgoing.call_id = call.id();
  outgoing.message = std::move(reply);
  const bool has_attachments = !outgoing.message.attachments.empty();
  const absl::Status sent = connection_.Send(std::move(outgoing));
  if (has_attachments && IsCancelled(call)) connection_.Abandon(call.id());
  if (absl::IsInvalidArgument(sent)) SendError(call.id(), sent);
  if (absl::IsResourceExhausted(sent)) {
    return Annotate(sent, task_);
  }
  return absl::OkStatus();
}

void ServerConnection::Disconnect(const absl::Status& why, bool goodbye) {
  Calls calls;
  ConnectionId bulk = 0;
  Scheduler::TimerId timer = 0;
  bool was_up = false;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::kClosed) return;
    was_up = state_ == State::kUp;
    state_ = State::kClosed;
    disconnect_reason_ = why;
    calls.swap(calls_);
    num_reserved_ = 0;
    std::swap(bulk, bulk_);
    std::swap(timer, timer_);
  }
  if (goodbye && was_up) {
    Connection::Outgoing outgoing;
    outgoing.message = {kGoodbyeMethod, EncodeGoodbye(why), {}};
    // Without a goodbye, the peer takes the end for a loss.
    (void)connection_.Send(std::move(outgoing));
  }
  connection_.Close();
  context_.scope->CancelTimer(timer);
  heartbeat_.Stop();
  context_.forget(*this, bulk);
  // The handler must be notified after all events. That happens on another
  // thread, because this thread may run an event, where Close does not wait for
  // the events of the other channel.
  context_.scope->Schedule(
      Pool::kControl,
      [self = shared_from_this(), bulk, was_up, why, calls = std::move(calls)] {
        CancelAll(calls, why);
        self->context_.parts.wire->Close(self->control_);
        if (bulk != 0) self->context_.parts.wire->Close(bulk);
        if (was_up) self->EndAfterQueue();
      });
}

void ServerConnection::CancelAll(const Calls& calls, const absl::Status& why) {
  for (const auto& [id, weak] : calls) {
    const std::shared_ptr<Call> call = weak.lock();
    if (call != nullptr) call->cancellation().Cancel(why);
  }
}

void ServerConnection::EndAfterQueue() {
  if (queue_.IsIdle()) return EndHandling();
  queue_.Push(shared_from_this(), [this] { EndHandling(); });
}

}  // namespace weft::bus
