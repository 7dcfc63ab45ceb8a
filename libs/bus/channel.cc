#include "libs/bus/channel.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/bus/async_scope.h"
#include "libs/bus/client_connection.h"

namespace weft::bus {
namespace {

absl::Status ChannelClosed() {
  return absl::CancelledError("The channel was closed");
}

// A call that was sent and is not answered yet.
struct Pending {
  Channel::Callback callback;
  Scheduler::TimerId timer = 0;
  bool has_attachments = false;
  bool (*is_fast)(const Message& reply) = nullptr;
};

// A call that waits for a connection.
struct Waiting {
  Message request;
  CallOptions options;
  Pending pending;
};

class WireChannel : public Channel, public ClientConnectionOwner {
 public:
  WireChannel(const TransportParts& parts, const TransportOptions& options,
              const Address& address, const Identity& self,
              const std::string& destination, ChannelEvents* events)
      : scope_(*parts.scheduler),
        context_{parts,       options,
                 address,     self,
                 destination, this,
                 &scope_,     std::make_shared<Reclaimer>(*parts.scheduler)},
        events_(events) {}

  ~WireChannel() override;

  // Starts the first attempt to connect.
  void Start() { Dial(); }

  CallId Call(Message request, const CallOptions& options,
              Callback callback) override;
  void Cancel(CallId call) override;
  absl::Status Send(Message message) override;
  uint64_t connection() const override {
    absl::MutexLock lock(&mutex_);
    return HasGreeted() ? connection_number_ : 0;
  }
  void EndConnection(uint64_t connection, const absl::Status& why) override;
  void AbandonStep(const StepTag& step) override;
  std::optional<Identity> peer() const override {
    absl::MutexLock lock(&mutex_);
    return state_ == State::kUp ? std::optional<Identity>(peer_) : std::nullopt;
  }

  void OnHandshakeDone(const std::shared_ptr<ClientConnection>& connection,
                       const Identity& peer) override;
  bool IsPending(uint64_t call_id) override {
    absl::MutexLock lock(&mutex_);
    return pending_.contains(call_id);
  }
  void OnReply(Incoming reply) override;
  void OnLost(const std::shared_ptr<ClientConnection>& connection,
              const absl::Status& why) override;

 private:
  enum class State {
    kDown,      // dialing, or waiting to dial again; calls may wait
    kFlushing,  // connected; calls that waited are being sent
    kUp,
    kRefused,  // as kDown, before the channel was ever up; calls do not wait
    kClosed,
  };
  using PendingMap = absl::flat_hash_map<CallId, Pending>;
  using WaitingMap = absl::btree_map<CallId, Waiting>;
  using Shared = std::shared_ptr<ClientConnection>;

  static constexpr CallId kFirstCall = 2;  // HELLO uses 1

  void Dial();
  void DialLater();
  // Returns whether there is no connection, but another attempt will be made.
  bool HasNone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_ == State::kDown || state_ == State::kRefused;
  }
  // Returns whether calls are sent to the peer.
  bool HasGreeted() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return state_ == State::kUp || state_ == State::kFlushing;
  }
  // A peer that was connected once is expected to return: another process in
  // between counts as a loss, whose error names it.
  absl::Status LossOf(const absl::Status& why) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration NextDelay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time Now() const { return context_.parts.scheduler->clock().Now(); }
  // Sends the calls that wait for a connection; then the channel is up.
  void Flush(const Shared& connection);
  void SendRequest(const Shared& connection, CallId call, absl::Time deadline,
                   Message request);
  void Arm(CallId call, absl::Time deadline);
  // Removes a call that is pending or waits; returns false if it is neither.
  bool Take(CallId call, Pending* pending, bool* was_sent);
  void End(CallId call, const absl::Status& why);
  void TellPeer(CallId call);
  void SayGoodbye(ClientConnection& connection) const;
  void CallLater(Callback callback, absl::Status why);
  void Finish(Pending pending, absl::StatusOr<Message> result);
  void FailAll(PendingMap pending, const absl::Status& why);
  absl::Status NotConnected() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the calls out of waiting_ that no later connection will send. After a
  // refusal these are all; otherwise, those that were made during the flush and
  // require this connection.
  WaitingMap TakeWaitingInVain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  AsyncScope scope_;
  ClientContext context_;
  ChannelEvents* const events_;
  std::atomic<CallId> next_call_{kFirstCall};
  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kDown;
  Shared connection_ ABSL_GUARDED_BY(mutex_);  // or attempt; may be null
  uint64_t connection_number_ ABSL_GUARDED_BY(mutex_) = 0;  // the latest
  Identity peer_ ABSL_GUARDED_BY(mutex_);
  bool was_up_ ABSL_GUARDED_BY(mutex_) = false;  // ever
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;  // since it was last connected
  Scheduler::TimerId redial_ ABSL_GUARDED_BY(mutex_) = 0;
  PendingMap pending_ ABSL_GUARDED_BY(mutex_);
  WaitingMap waiting_ ABSL_GUARDED_BY(mutex_);
};

// A task that stops closes its channels. The goodbye lets the peer distinguish
// that from a loss, even if the peer has no connection of its own to the task.
void WireChannel::SayGoodbye(ClientConnection& connection) const {
  if (context_.self.task.empty()) return;
  Connection::Outgoing outgoing;
  outgoing.message = {
      kGoodbyeMethod, EncodeGoodbye(TaskHasEnded(context_.self.task)), {}};
  // Without a goodbye, the peer takes the end for a loss.
  (void)connection.Send(std::move(outgoing));
}

WireChannel::~WireChannel() {
  const absl::Status why = ChannelClosed();
  bool was_up = false;
  Shared connection;
  Scheduler::TimerId redial = 0;
  PendingMap pending;
  WaitingMap waiting;
  {
    absl::MutexLock lock(&mutex_);
    was_up = HasGreeted();
    state_ = State::kClosed;
    connection.swap(connection_);
    std::swap(redial, redial_);
    pending.swap(pending_);
    waiting.swap(waiting_);
  }
  scope_.CancelTimer(redial);
  if (was_up) SayGoodbye(*connection);
  if (connection != nullptr) connection->Close();
  FailAll(std::move(pending), why);
  for (auto& [id, call] : waiting) Finish(std::move(call.pending), why);
  scope_.Wait();
  context_.reclaimer->WaitUntilNone();
}

void WireChannel::Dial() {
  Shared connection;
  {
    absl::MutexLock lock(&mutex_);
    redial_ = 0;
    if (!HasNone()) return;
    connection = std::make_shared<ClientConnection>(context_);
    connection_ = connection;
  }
  connection->Start();
}

absl::Status WireChannel::LossOf(const absl::Status& why) const {
  if (!was_up_ || !IsRefusal(why)) return why;
  return absl::UnavailableError(why.message());
}

absl::Duration WireChannel::NextDelay() {
  const TransportOptions& options = context_.options;
  if (IsRefusal(last_error_)) return options.refused_redial;
  absl::Duration delay = options.min_redial;
  for (int i = 0; i < attempts_ && delay < options.max_redial; ++i) delay *= 2;
  ++attempts_;
  return std::min(delay, options.max_redial);
}

void WireChannel::DialLater() {
  const uint64_t chance = context_.parts.random->Next();
  absl::MutexLock lock(&mutex_);
  if (!HasNone()) return;
  absl::Duration delay = NextDelay();
  // Waits for a random time between half of the delay and all of it.
  delay -= delay / 2 * (static_cast<double>(chance % 1024) / 1024);
  redial_ = scope_.ScheduleAt(Now() + delay, [this] { Dial(); });
}

void WireChannel::OnHandshakeDone(const Shared& connection,
                                  const Identity& peer) {
  {
    absl::MutexLock lock(&mutex_);
    if (connection != connection_ || !HasNone()) return;
    state_ = State::kFlushing;
    ++connection_number_;
    peer_ = peer;
    was_up_ = true;
    attempts_ = 0;
  }
  Flush(connection);
  if (events_ != nullptr) events_->OnConnected(peer);
}

void WireChannel::Flush(const Shared& connection) {
  while (true) {
    CallId call = 0;
    Waiting waiting;
    {
      absl::MutexLock lock(&mutex_);
      if (connection != connection_ || state_ != State::kFlushing) return;
      if (waiting_.empty()) {
        state_ = State::kUp;
        return;
      }
      auto first = waiting_.begin();
      call = first->first;
      waiting = std::move(first->second);
      waiting_.erase(first);
      pending_.emplace(call, std::move(waiting.pending));
    }
    SendRequest(connection, call, waiting.options.deadline,
                std::move(waiting.request));
    // The cancellation preceded the request, so the peer was not notified yet.
    if (!IsPending(call)) TellPeer(call);
  }
}

absl::Status WireChannel::NotConnected() const {
  if (state_ == State::kRefused) return last_error_;
  if (state_ == State::kClosed) return ChannelClosed();
  absl::string_view who = context_.destination;
  return absl::UnavailableError(absl::StrCat(
      "No connection to ", who.empty() ? context_.address.ToString() : who,
      last_error_.ok() ? "" : ": ", last_error_.message()));
}

Channel::CallId WireChannel::Call(Message request, const CallOptions& options,
                                  Callback callback) {
  const CallId call = next_call_.fetch_add(1, std::memory_order_relaxed);
  Pending pending;
  pending.callback = std::move(callback);
  pending.has_attachments = !request.attachments.empty();
  pending.is_fast = options.is_fast;
  Shared connection;
  absl::Status error;
  {
    absl::MutexLock lock(&mutex_);
    const bool may_wait =
        state_ == State::kFlushing ||
        (state_ == State::kDown && options.wait_for_connection);
    if (state_ == State::kUp) {
      connection = connection_;
      pending_.emplace(call, std::move(pending));
    } else if (may_wait) {
      waiting_.emplace(
          call, Waiting{std::move(request), options, std::move(pending)});
    } else {
      error = NotConnected();
    }
  }
  // If there is an error, `pending` was not moved from; if there is a
  // connection, `request` was not.
  // NOLINTBEGIN(bugprone-use-after-move)
  if (!error.ok()) {
    CallLater(std::move(pending.callback), error);
    return call;
  }
  if (connection != nullptr) {
    SendRequest(connection, call, options.deadline, std::move(request));
  }
  // NOLINTEND(bugprone-use-after-move)
  if (options.deadline != absl::InfiniteFuture()) Arm(call, options.deadline);
  return call;
}

void WireChannel::SendRequest(const Shared& connection, CallId call,
                              absl::Time deadline, Message request) {
  Connection::Outgoing outgoing;
  outgoing.kind = MessageKind::kRequest;
  outgoing.call_id = call;
  outgoing.message = std::move(request);
  if (deadline != absl::InfiniteFuture()) {
    outgoing.time_remaining_us =
        std::max<int64_t>(0, absl::ToInt64Microseconds(deadline - Now()));
  }
  const absl::Status sent = connection->Send(std::move(outgoing));
  // If the connection is lost, all pending calls fail.
  if (!absl::IsInvalidArgument(sent) && !absl::IsResourceExhausted(sent)) {
    return;
  }
  Pending pending;
  bool was_sent = false;
  if (!Take(call, &pending, &was_sent)) return;
  scope_.CancelTimer(pending.timer);
  CallLater(std::move(pending.callback), sent);
}

void WireChannel::Arm(CallId call, absl::Time deadline) {
  const Scheduler::TimerId timer = scope_.ScheduleAt(deadline, [this, call] {
    End(call, absl::DeadlineExceededError(
                  "The call's deadline passed before its answer came"));
  });
  {
    absl::MutexLock lock(&mutex_);
    auto pending = pending_.find(call);
    if (pending != pending_.end()) {
      pending->second.timer = timer;
      return;
    }
    auto waiting = waiting_.find(call);
    if (waiting != waiting_.end()) {
      waiting->second.pending.timer = timer;
      return;
    }
  }
  scope_.CancelTimer(timer);  // answered already
}

bool WireChannel::Take(CallId call, Pending* pending, bool* was_sent) {
  absl::MutexLock lock(&mutex_);
  auto sent = pending_.find(call);
  *was_sent = sent != pending_.end();
  if (*was_sent) {
    *pending = std::move(sent->second);
    pending_.erase(sent);
    return true;
  }
  auto waiting = waiting_.find(call);
  if (waiting == waiting_.end()) return false;
  *pending = std::move(waiting->second.pending);
  waiting_.erase(waiting);
  return true;
}

void WireChannel::End(CallId call, const absl::Status& why) {
  Pending pending;
  bool was_sent = false;
  if (!Take(call, &pending, &was_sent)) return;
  if (was_sent) TellPeer(call);
  Finish(std::move(pending), why);
}

void WireChannel::TellPeer(CallId call) {
  Shared connection;
  {
    absl::MutexLock lock(&mutex_);
    connection = connection_;
  }
  if (connection == nullptr) return;
  Connection::Outgoing outgoing;
  outgoing.kind = MessageKind::kCancel;
  outgoing.call_id = call;
  // If this fails, the connection is closing, which cancels the call as well.
  (void)connection->Send(std::move(outgoing));
  connection->Abandon(call);
}

void WireChannel::Cancel(CallId call) {
  Pending pending;
  bool was_sent = false;
  if (!Take(call, &pending, &was_sent)) return;
  if (was_sent) TellPeer(call);
  scope_.CancelTimer(pending.timer);
  CallLater(std::move(pending.callback),
            absl::CancelledError("The call was cancelled"));
}

absl::Status WireChannel::Send(Message message) {
  Shared connection;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kUp) return NotConnected();
    connection = connection_;
  }
  Connection::Outgoing outgoing;
  outgoing.message = std::move(message);
  return connection->Send(std::move(outgoing));
}

void WireChannel::EndConnection(uint64_t connection, const absl::Status& why) {
  Shared ended;
  {
    absl::MutexLock lock(&mutex_);
    // connection_number_ may be the number of a lost connection: it stays until
    // the next connection.
    if (!HasGreeted() || connection != connection_number_) return;
    ended = connection_;
  }
  OnLost(ended, absl::UnavailableError(why.message()));
}

void WireChannel::AbandonStep(const StepTag& step) {
  Shared connection;
  {
    absl::MutexLock lock(&mutex_);
    connection = connection_;
  }
  if (connection != nullptr) connection->AbandonStep(step);
}

void WireChannel::OnReply(Incoming reply) {
  const CallId call = reply.envelope.call_id;
  Pending pending;
  Shared connection;
  {
    absl::MutexLock lock(&mutex_);
    auto found = pending_.find(call);
    if (found == pending_.end()) return;  // cancelled
    pending = std::move(found->second);
    pending_.erase(found);
    if (pending.has_attachments) connection = connection_;
  }
  // An early answer: the rest of the request need not be sent.
  if (connection != nullptr) connection->Abandon(call);
  if (!reply.envelope.error.ok()) {
    Finish(std::move(pending), MarkAnswer(std::move(reply.envelope.error)));
  } else if (!reply.received.ok()) {
    Finish(std::move(pending), std::move(reply.received));
  } else if (pending.is_fast == nullptr || pending.is_fast(reply.message)) {
    Finish(std::move(pending), std::move(reply.message));
  } else {
    scope_.Schedule([this, pending = std::move(pending),
                     message = std::move(reply.message)]() mutable {
      Finish(std::move(pending), std::move(message));
    });
  }
}

void WireChannel::Finish(Pending pending, absl::StatusOr<Message> result) {
  scope_.CancelTimer(pending.timer);
  pending.callback(std::move(result));
}

void WireChannel::CallLater(Callback callback, absl::Status why) {
  scope_.Schedule(Pool::kControl, [callback = std::move(callback),
                                   why = std::move(why)]() mutable {
    callback(std::move(why));
  });
}

void WireChannel::FailAll(PendingMap pending, const absl::Status& why) {
  std::vector<CallId> order;  // sorted, so that a simulation is reproducible
  for (const auto& [call, entry] : pending) order.push_back(call);
  std::sort(order.begin(), order.end());
  for (const CallId call : order) Finish(std::move(pending[call]), why);
}

WireChannel::WaitingMap WireChannel::TakeWaitingInVain() {
  if (state_ == State::kRefused) return std::exchange(waiting_, {});
  WaitingMap taken;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.options.wait_for_connection) {
      ++it;
    } else {
      taken.emplace(it->first, std::move(it->second));
      it = waiting_.erase(it);
    }
  }
  return taken;
}

void WireChannel::OnLost(const Shared& connection, const absl::Status& why) {
  PendingMap pending;
  WaitingMap waiting;
  absl::Status loss;
  absl::Status unsent;
  {
    absl::MutexLock lock(&mutex_);
    if (connection != connection_ || state_ == State::kClosed) return;
    connection_ = nullptr;
    loss = LossOf(why);
    state_ = IsRefusal(loss) ? State::kRefused : State::kDown;
    last_error_ = why;
    pending.swap(pending_);
    waiting = TakeWaitingInVain();
    unsent = NotConnected();
  }
  // The rest must come after all events of the connection. It runs on another
  // thread, because this thread may run an event, where Close does not wait for
  // the events of the other channel.
  scope_.Schedule(
      Pool::kControl,
      [this, connection, loss = std::move(loss), pending = std::move(pending),
       unsent = std::move(unsent), waiting = std::move(waiting)]() mutable {
        connection->Close();
        FailAll(std::move(pending),
                absl::UnavailableError(
                    absl::StrCat("The connection was lost: ", loss.message())));
        for (auto& [id, call] : waiting) {
          Finish(std::move(call.pending), unsent);
        }
        if (events_ != nullptr) events_->OnDisconnected(loss);
        DialLater();
      });
}

}  // namespace

std::unique_ptr<Channel> NewChannel(const TransportParts& parts,
                                    const TransportOptions& options,
                                    const Address& address,
                                    const Identity& self,
                                    const std::string& destination,
                                    ChannelEvents* events) {
  auto channel = std::make_unique<WireChannel>(parts, options, address, self,
                                               destination, events);
  channel->Start();
  return channel;
}

}  // namespace weft::bus
