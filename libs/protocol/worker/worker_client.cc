#include "libs/protocol/worker/worker_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/ask_if_running.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/run_end.h"
#include "libs/protocol/worker/worker_messages.h"

namespace weft::protocol {
namespace {

// Returns the common step of the pushes; none if they are of several.
bus::StepTag TagOf(absl::Span<const Push> pushes) {
  bus::StepTag tag;
  for (const Push& push : pushes) {
    const bus::StepTag own = {push.session.master_incarnation, push.step};
    if (&push == &pushes.front()) tag = own;
    if (own != tag) return {};
  }
  return tag;
}

}  // namespace

// One step in flight. Any thread that ends it claims its RunEnd first.
class WorkerClient::PendingRun {
 public:
  PendingRun(const PartitionStep& step, Done done)
      : id_{step.session.master_incarnation, step.step},
        steps_finished_below_(step.steps_finished_below),
        fetches_(step.fetches),
        fetch_indices_(step.fetch_indices.begin(), step.fetch_indices.end()),
        trace_(step.trace),
        end_(step.cancellation.get(), std::move(done)) {}

  const StepId& id() const { return id_; }
  bool is_traced() const { return trace_ != nullptr; }
  uint64_t steps_finished_below() const { return steps_finished_below_; }
  absl::Span<const int> fetch_indices() const { return fetch_indices_; }
  RunEnd& end() { return end_; }

  // Set before the cancellation is watched.
  bus::Channel::CallId call = 0;

  void EndWith(absl::Status status) {
    if (end_.Claim()) end_.End(std::move(status));
  }
  // Ends the call with `answer`, which has a fetch for each of fetch_indices().
  // `came`: when it arrived.
  void EndWith(RunPartitionAnswer answer, std::optional<absl::Time> came) {
    if (!end_.Claim()) return;
    for (size_t i = 0; i < answer.fetches.size(); ++i) {
      fetches_[fetch_indices_[i]] = std::move(answer.fetches[i]);
    }
    if (trace_ != nullptr && answer.trace.has_value()) {
      *trace_ = *std::move(answer.trace);
      trace_->answered = came;
    }
    end_.End(absl::OkStatus());
  }

 private:
  const StepId id_;
  const uint64_t steps_finished_below_;
  const absl::Span<Tensor> fetches_;  // must not be accessed once done
  const std::vector<int> fetch_indices_;
  PartitionTrace* const trace_;  // likewise
  RunEnd end_;
};

WorkerClient::WorkerClient(bus::Transport& transport,
                           const WorkerClientOptions& options)
    : options_(options) {
  channel_ = transport.Dial(options_.address, options_.self, options_.task,
                            static_cast<bus::ChannelEvents*>(this));
}

WorkerClient::~WorkerClient() = default;

void WorkerClient::OnConnected(const bus::Identity& peer) {
  size_t num_unsent = 0;
  {
    absl::MutexLock lock(&mutex_);
    connected_ = peer;
    last_failure_ = absl::OkStatus();
    // The registrations to release belong to another process.
    if (incarnation_ != peer.incarnation) releasing_.clear();
    incarnation_ = peer.incarnation;
    unsent_ = releasing_;
    num_unsent = unsent_.size();
  }
  // This is a reading thread: the answers trigger sending the others.
  for (size_t i = 0; i < std::min(num_unsent, kMaxReleasesAtOnce); ++i) {
    SendNextRelease();
  }
  if (options_.events == nullptr ||
      options_.events->OnPeerConnected(peer).ok()) {
    return;
  }
  absl::MutexLock lock(&mutex_);
  connected_ = std::nullopt;
}

void WorkerClient::OnDisconnected(const absl::Status& why) {
  std::optional<bus::Identity> lost;
  {
    absl::MutexLock lock(&mutex_);
    lost = std::exchange(connected_, std::nullopt);
    last_failure_ = why;
  }
  if (!lost || options_.events == nullptr) return;
  options_.events->OnPeerLost(options_.task, lost->incarnation, why);
}

absl::Status WorkerClient::Explain(const absl::Status& status) const {
  if (status.code() != absl::StatusCode::kUnavailable) return status;
  const absl::Status named =
      Annotate(status, absl::StrCat("task ", options_.task, " at ",
                                    options_.address.ToString()));
  return AskIfRunning(
      named, "(is it running, and is this its address in the cluster spec?)");
}

// A caller that has waited for a task that never came gets the same error as
// one that does not wait.
absl::Status WorkerClient::ExplainWaiting(const absl::Status& status) {
  if (!absl::IsDeadlineExceeded(status)) return Explain(status);
  if (!channel_->peer().has_value()) {
    absl::MutexLock lock(&mutex_);
    return Explain(absl::UnavailableError(
        absl::StrCat("There was no connection in time",
                     last_failure_.ok() ? "" : ": ", last_failure_.message())));
  }
  return Annotate(status, absl::StrCat("task ", options_.task, " at ",
                                       options_.address.ToString()));
}

bus::Channel::CallId WorkerClient::Call(bus::Message request,
                                        absl::Time deadline, Done done) {
  bus::CallOptions options;
  options.deadline = deadline;
  return channel_->Call(
      std::move(request), options,
      [this,
       done = std::move(done)](absl::StatusOr<bus::Message> reply) mutable {
        if (!reply.ok()) return done(Explain(reply.status()));
        done(BadReply(options_.task, ReadDone(*std::move(reply))));
      });
}

void WorkerClient::GetStatusWhenConnected(absl::Time deadline,
                                          DevicesDone done) {
  bus::CallOptions options;
  options.deadline = deadline;
  options.wait_for_connection = true;
  channel_->Call(WriteGetStatus(), options,
                 [this, deadline, done = std::move(done)](
                     absl::StatusOr<bus::Message> reply) mutable {
                   // Lost before it answered: waits for the next connection, at
                   // the channel's pace. A refusal by the task itself would be
                   // repeated.
                   const bool lost = absl::IsUnavailable(reply.status()) &&
                                     !channel_->peer().has_value();
                   if (lost)
                     return GetStatusWhenConnected(deadline, std::move(done));
                   if (!reply.ok()) {
                     return done(ExplainWaiting(reply.status()));
                   }
                   auto devices = ReadDevices(*std::move(reply));
                   if (devices.ok()) return done(std::move(devices));
                   done(BadReply(options_.task, devices.status()));
                 });
}

void WorkerClient::CreateWorkerSession(const WorkerSession& session,
                                       const WorkerSessionOptions& options,
                                       absl::Time deadline, Done done) {
  Call(WriteCreateWorkerSession(session, options), deadline, std::move(done));
}

void WorkerClient::DeleteWorkerSession(const WorkerSession& session,
                                       absl::Time deadline, Done done) {
  {
    absl::MutexLock lock(&mutex_);
    const auto from = releasing_.lower_bound({session.session, 0});
    auto to = from;
    while (to != releasing_.end() && to->first.first == session.session) ++to;
    releasing_.erase(from, to);
  }
  Call(WriteDeleteWorkerSession(session), deadline, std::move(done));
}

void WorkerClient::Register(const PartitionRegistration& registration,
                            absl::Time deadline, RegisterDone done) {
  auto request = WriteRegister(registration);
  if (!request.ok()) return done(request.status());
  bus::CallOptions options;
  options.deadline = deadline;
  channel_->Call(*std::move(request), options,
                 [this, done = std::move(done)](
                     absl::StatusOr<bus::Message> reply) mutable {
                   if (!reply.ok()) return done(Explain(reply.status()));
                   auto made = ReadNewVariables(*std::move(reply));
                   if (made.ok()) return done(std::move(made));
                   done(BadReply(options_.task, made.status()));
                 });
}

void WorkerClient::Deregister(const WorkerSession& session,
                              uint64_t registration) {
  {
    absl::MutexLock lock(&mutex_);
    releasing_[{session.session, registration}] = session;
    if (releasing_.size() > kMaxReleasing) releasing_.erase(releasing_.begin());
  }
  SendDeregister(session, registration, nullptr);
}

void WorkerClient::SendDeregister(const WorkerSession& session,
                                  uint64_t registration,
                                  void (WorkerClient::*then)()) {
  // Without a connection, the next one repeats it.
  channel_->Call(
      WriteDeregister(session, registration), bus::CallOptions(),
      [this, session, registration,
       then](const absl::StatusOr<bus::Message>& reply) {
        const absl::Status& status = reply.status();
        if (absl::IsUnavailable(status) || absl::IsCancelled(status)) return;
        if (absl::IsUnimplemented(status)) {
          // An older task does not answer this request.
          (void)channel_->Send(WriteDeregister(session, registration));
        }
        if (reply.ok() || absl::IsUnimplemented(status)) {
          Released(session.session, registration);
        }
        if (then != nullptr) (this->*then)();
      });
}

void WorkerClient::SendNextRelease() {
  const auto next = TakeUnsent();
  if (!next.has_value()) return;
  SendDeregister(next->second, next->first.second,
                 &WorkerClient::SendNextRelease);
}

std::optional<WorkerClient::Releasing::value_type> WorkerClient::TakeUnsent() {
  absl::MutexLock lock(&mutex_);
  while (!unsent_.empty()) {
    const Releasing::value_type next = *unsent_.begin();
    unsent_.erase(unsent_.begin());
    // Its session may have ended meanwhile.
    if (releasing_.contains(next.first)) return next;
  }
  return std::nullopt;
}

void WorkerClient::Released(uint64_t session, uint64_t registration) {
  absl::MutexLock lock(&mutex_);
  releasing_.erase({session, registration});
}

void WorkerClient::Run(const PartitionStep& step, Done done) {
  if (step.cancellation != nullptr && step.cancellation->IsCancelled()) {
    return done(MarkDerived(step.cancellation->status()));
  }
  auto request = WriteRunPartition(step);
  if (!request.ok()) return done(request.status());
  auto run = std::make_shared<PendingRun>(step, std::move(done));
  bus::CallOptions options;
  options.is_fast =
      step.trace == nullptr ? IsRunPartitionReplyReadSoon : IsNeverReadSoon;
  run->call = channel_->Call(
      *std::move(request), options,
      [this, run](absl::StatusOr<bus::Message> reply) {
        if (!reply.ok()) return run->EndWith(Explain(reply.status()));
        std::optional<absl::Time> came;
        if (run->is_traced() && options_.clock) came = options_.clock->Now();
        auto answer = ReadRunPartitionReply(
            *std::move(reply), run->fetch_indices(), *options_.allocator);
        if (!answer.ok()) {
          return run->EndWith(BadReply(options_.task, answer.status()));
        }
        if (!answer->pushes.empty() && options_.events != nullptr) {
          options_.events->OnPushes(std::move(answer->pushes));
        }
        run->EndWith(*std::move(answer), came);
      });
  run->end().Started(
      [this, run](const absl::Status& cause) { SendAbort(run, cause); });
}

// Also before the RunPartition has arrived: the task remembers what was
// aborted. If the connection is lost, the run has failed before its Abort.
void WorkerClient::SendAbort(const std::shared_ptr<PendingRun>& run,
                             const absl::Status& cause) {
  const uint64_t connection = channel_->connection();
  channel_->Call(WriteAbort(run->id(), run->steps_finished_below(), cause),
                 bus::CallOptions(),
                 [this, run, cause,
                  connection](const absl::StatusOr<bus::Message>& reply) {
                   if (!reply.ok()) {
                     if (run->end().IsClaimed()) return;
                     return EndConnection(connection, reply.status());
                   }
                   run->EndWith(MarkDerived(cause));
                   channel_->Cancel(run->call);  // feeds may still be sent
                 });
}

void WorkerClient::EndConnection(uint64_t connection, const absl::Status& why) {
  channel_->EndConnection(
      connection,
      Annotate(why, absl::StrCat(options_.task, " did not abort a step")));
}

void WorkerClient::Deliver(std::vector<Push> pushes) {
  auto message = WritePushes(pushes);
  if (message.ok() && !message->attachments.empty()) {
    message->step = TagOf(pushes);
    has_pushed_.store(true, std::memory_order_relaxed);
  }
  absl::Status status =
      message.ok() ? channel_->Send(*std::move(message)) : message.status();
  if (status.ok() || options_.events == nullptr) return;
  absl::flat_hash_set<StepId> told;
  for (const Push& push : pushes) {
    const StepId step{push.session.master_incarnation, push.step};
    if (!told.insert(step).second) continue;
    options_.events->OnPushFailed(push, Explain(status));
  }
}

void WorkerClient::Abort(const StepId& step, uint64_t steps_finished_below,
                         const absl::Status& cause, Done done) {
  const uint64_t connection = channel_->connection();
  Call(WriteAbort(step, steps_finished_below, cause), absl::InfiniteFuture(),
       [this, connection,
        done = std::move(done)](const absl::Status& aborted) mutable {
         const bool is_lost =
             absl::IsUnavailable(aborted) || absl::IsCancelled(aborted);
         if (!aborted.ok() && !is_lost) EndConnection(connection, aborted);
         done(aborted);
       });
}

void WorkerClient::AbandonPushes(const StepId& step) {
  if (!has_pushed_.load(std::memory_order_relaxed)) return;
  channel_->AbandonStep({step.master_incarnation, step.step});
}

void WorkerClient::DescribeWaits(const StepId& step, absl::Time deadline,
                                 WaitsDone done) {
  bus::CallOptions options;
  options.deadline = deadline;
  channel_->Call(WriteDescribeWaits(step), options,
                 [this, done = std::move(done)](
                     absl::StatusOr<bus::Message> reply) mutable {
                   if (!reply.ok()) return done(Explain(reply.status()));
                   auto waits = ReadWaits(*std::move(reply));
                   if (waits.ok()) return done(std::move(waits));
                   done(BadReply(options_.task, waits.status()));
                 });
}

void WorkerClient::HoldSteps(const StepHold& hold, absl::Time deadline,
                             HoldDone done) {
  bus::CallOptions options;
  options.deadline = deadline;
  channel_->Call(WriteHoldSteps(hold), options,
                 [this, done = std::move(done)](
                     absl::StatusOr<bus::Message> reply) mutable {
                   if (!reply.ok()) return done(Explain(reply.status()));
                   auto writers = ReadWriters(*std::move(reply));
                   if (writers.ok()) return done(std::move(writers));
                   done(BadReply(options_.task, writers.status()));
                 });
}

// The cancellation is sent to the task: it may not have processed the request
// yet.
void WorkerClient::ClearContainers(const std::vector<std::string>& containers,
                                   absl::Time deadline,
                                   const std::shared_ptr<Cancellation>& client,
                                   Done done) {
  if (client->IsCancelled()) return done(client->status());
  auto end = std::make_shared<RunEnd>(
      client.get(), [client, done = std::move(done)](
                        const absl::Status& status) mutable { done(status); });
  const bus::Channel::CallId call =
      Call(WriteClearContainers(containers), deadline,
           [end](const absl::Status& status) {
             if (end->Claim()) end->End(status);
           });
  end->Started(
      [this, end, call](const absl::Status&) { channel_->Cancel(call); });
}

}  // namespace weft::protocol
