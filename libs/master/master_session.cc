#include "libs/master/master_session.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/or_cancelled.h"
#include "libs/base/clock.h"
#include "libs/base/exceptions.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/master/call_group.h"
#include "libs/master/master_session_step.h"
#include "libs/master/memory_check.h"
#include "libs/master/partial_run.h"
#include "libs/master/when_connected.h"
#include "libs/master/writer_hold.h"

namespace weft {
namespace {

// How long the end of a session waits until all tasks were told, and how long
// notifying the others is retried. A task whose connection stays lost for its
// lease drops the session itself.
constexpr absl::Duration kFarewell = absl::Seconds(2);
constexpr absl::Duration kForgetting = absl::Minutes(10);

// The minimum time for marking variables, which normally takes milliseconds. A
// user who wants no long pauses and sets max_hold to zero still wants a
// checkpoint.
constexpr absl::Duration kLeastMarking = absl::Seconds(1);

// The pauses between attempts to notify a task. There is none before the second
// attempt; the next one is kFirstPause, and each further one is doubled.
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLastPause = absl::Seconds(5);

// Farewell notifies one task of a session's end, and repeats that until the
// task has answered. A lost connection comes back soon, or the task is gone and
// with it the session.
class Farewell : public std::enable_shared_from_this<Farewell> {
 public:
  // `scheduler` and `worker` must outlive the call.
  Farewell(Scheduler& scheduler, protocol::Worker& worker,
           const protocol::WorkerSession& session, OpenCalls::CallPtr call,
           protocol::Worker::Done done)
      : scheduler_(scheduler),
        worker_(worker),
        session_(session),
        call_(std::move(call)),
        deadline_(scheduler.clock().Now() + kForgetting),
        done_(std::move(done)) {}

  void Notify() {
    worker_.DeleteWorkerSession(
        session_, deadline_,
        OrCancelled<absl::Status>(
            call_->cancellation(),
            [self = shared_from_this()](const absl::Status& status) {
              self->OnNotified(status);
            }));
  }

 private:
  void OnNotified(const absl::Status& status) {
    const bool may_hear_later =
        absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
    if (!may_hear_later || call_->cancellation()->IsCancelled() ||
        scheduler_.clock().Now() >= deadline_) {
      return done_(status);
    }
    auto go_on = OrCancelled<absl::Status>(
        call_->cancellation(),
        [self = shared_from_this()](const absl::Status& cause) {
          if (!cause.ok()) return self->done_(cause);
          self->NotifyWhenConnected();
        });
    // Pauses, because a task that is connected and still refuses must not be
    // asked
    // again at once.
    const absl::Duration pause =
        std::exchange(pause_, std::clamp(2 * pause_, kFirstPause, kLastPause));
    if (pause == absl::ZeroDuration()) return go_on(absl::OkStatus());
    scheduler_.ScheduleAt(
        Pool::kControl, std::min(deadline_, scheduler_.clock().Now() + pause),
        [go_on = std::move(go_on)]() mutable { go_on(absl::OkStatus()); });
  }

  void NotifyWhenConnected() {
    WhenConnected(
        worker_, deadline_, call_->cancellation(),
        [self = shared_from_this()](const absl::Status& status) {
          self->done_(status);
        },
        [self = shared_from_this()](const protocol::Worker::Done&) {
          self->Notify();
        });
  }

  Scheduler& scheduler_;
  protocol::Worker& worker_;
  const protocol::WorkerSession session_;
  const OpenCalls::CallPtr call_;
  const absl::Time deadline_;
  absl::Duration pause_ = absl::ZeroDuration();
  protocol::Worker::Done done_;
};

// Returns the name of one node, and how many there are; the partitioner's own
// nodes do not count.
std::string DescribeNodes(
    const std::vector<protocol::DevicePartition>& partitions) {
  const Node* first = nullptr;
  int count = 0;
  for (const protocol::DevicePartition& partition : partitions) {
    for (const Node* node : partition.graph->nodes()) {
      if (absl::StartsWith(node->type(), "_")) continue;
      if (count++ == 0) first = node;
    }
  }
  if (first == nullptr) return "";
  std::string text =
      absl::StrCat("[[node ", first->name(), " (", first->type(), ")");
  if (count > 1) absl::StrAppend(&text, " and ", count - 1, " more");
  return absl::StrCat(text, "]]");
}

}  // namespace

MasterSession::MasterSession(uint64_t id, const protocol::SessionConfig& config,
                             const MasterOptions& options, StepCounter& steps,
                             StepWatch& watch)
    : id_{options.incarnation, id},
      config_(config),
      options_(options),
      steps_(steps),
      watch_(watch),
      graph_(id, config_, options) {}

MasterSession::~MasterSession() = default;

absl::Time MasterSession::CallDeadline() const {
  return options_.scheduler->clock().Now() +
         std::min(config_.operation_timeout, options_.placement_timeout);
}

void MasterSession::Extend(
    protocol::GraphExtension extension, Cancellation* client,
    protocol::Master::Answer<protocol::ExtensionResult> done) {
  const auto open = calls_.Begin(shared_from_this(), client);
  if (!open.ok()) return done(open.status());
  graph_.Extend(*open, std::move(extension), CallDeadline(),
                [call = *open, done = std::move(done)](
                    absl::StatusOr<protocol::ExtensionResult> result) mutable {
                  call->ReleaseClient();
                  done(std::move(result));
                });
}

absl::StatusOr<std::shared_ptr<Callable>> MasterSession::Compile(
    const protocol::CallableSpec& spec) {
  ASSIGN_OR_RETURN(PrunedCallable pruned, graph_.Prune(spec));
  PassOptions passes = PassOptionsFor(config_.graph_options);
  passes.mark_scope = absl::StrCat(id_.session);
  return CompileCallable(std::move(pruned), passes, options_.evaluate,
                         *options_.directory, options_.task);
}

struct MasterSession::Making {
  OpenCalls::CallPtr open;  // keeps the session
  protocol::Master::Answer<uint64_t> done;
  std::shared_ptr<Callable> callable;
};

void MasterSession::MakeCallable(protocol::CallableSpec spec,
                                 Cancellation* client,
                                 protocol::Master::Answer<uint64_t> done) {
  auto open = calls_.Begin(shared_from_this(), client);
  if (!open.ok()) return done(open.status());
  if (absl::Status full = ReserveCallable(); !full.ok()) {
    (*open)->ReleaseClient();
    return done(std::move(full));
  }
  auto making = std::make_shared<Making>(
      Making{.open = *std::move(open), .done = std::move(done)});
  auto compiled = CatchExceptions([&] { return Compile(spec); });
  if (!compiled.ok()) return Answer(*making, compiled.status());
  making->callable = *std::move(compiled);
  {
    absl::MutexLock lock(&mutex_);
    making->callable->id = next_callable_++;
  }
  OpenOn(making);
}

void MasterSession::Answer(Making& making, absl::StatusOr<uint64_t> result) {
  {
    absl::MutexLock lock(&mutex_);
    --num_reserved_;
  }
  making.open->ReleaseClient();
  making.done(std::move(result));
}

void MasterSession::OpenOn(const MakingPtr& making) {
  CallGroup group(*options_.scheduler);
  bool waits = false;
  for (const Callable::Part& part : making->callable->parts) {
    {
      absl::MutexLock lock(&mutex_);
      // A task that learned of the session from here on would not be notified
      // of its end.
      if (closed_by_.has_value()) break;
      if (open_on_.contains(part.task)) continue;
      sent_to_.insert(part.task);
    }
    waits = true;
    OpenOnTask(making, part, group.Add(part.task));
  }
  if (!waits) return Register(making);
  group.WhenDone(making->open,
                 {.what = absl::StrCat("open session ", id_.session),
                  .interval = options_.log_waits_after,
                  .logger = options_.logger},
                 [this, making](const absl::Status& opened) {
                   // Graphs are written next, which must not run on a reading
                   // thread.
                   options_.scheduler->Schedule(
                       Pool::kGraph, [this, making, opened] {
                         if (!opened.ok()) return Answer(*making, opened);
                         NoteOpened(*making->callable);
                         Register(making);
                       });
                 });
}

void MasterSession::OpenOnTask(const MakingPtr& making,
                               const Callable::Part& part,
                               protocol::Worker::Done done) {
  const absl::Time deadline = CallDeadline();
  WhenConnected(*part.worker, deadline, making->open->cancellation(),
                std::move(done),
                [this, making, &part, deadline](protocol::Worker::Done opened) {
                  part.worker->CreateWorkerSession(
                      id_,
                      {.isolated = config_.isolate_session_state,
                       .is_monitored = config_.is_monitored},
                      deadline, std::move(opened));
                });
}

void MasterSession::NoteOpened(const Callable& callable) {
  absl::MutexLock lock(&mutex_);
  for (const Callable::Part& part : callable.parts) {
    // Tasks that were left out because the session was closed do not know it.
    if (sent_to_.contains(part.task)) open_on_.insert(part.task);
  }
}

void MasterSession::Register(const MakingPtr& making) {
  CallGroup group(*options_.scheduler);
  const auto memory = std::make_shared<MemoryCheck>();
  for (Callable::Part& part : making->callable->parts) {
    if (making->open->cancellation()->IsCancelled()) break;
    part.worker->Register({.session = id_,
                           .registration = making->callable->id,
                           .partitions = part.partitions,
                           .wants_new_variables = true},
                          CallDeadline(),
                          memory->Hear(part.task, group.Add(part.task)));
    // The task has the graphs now.
    part.nodes = DescribeNodes(part.partitions);
    part.partitions.clear();
  }
  group.WhenDone(
      making->open,
      {.what = absl::StrCat("register a graph of session ", id_.session),
       .interval = options_.log_waits_after,
       .logger = options_.logger},
      [this, making, memory](const absl::Status& registered) {
        absl::Status kept = registered;
        if (kept.ok()) kept = memory->Check();
        if (kept.ok()) kept = Keep(making);
        if (kept.ok() && making->callable->partial != nullptr) {
          kept = BeginPartialRun(making->callable);
        }
        if (kept.ok()) return Answer(*making, making->callable->id);
        Deregister(*making->callable);
        Answer(*making, std::move(kept));
      });
}

absl::Status MasterSession::Keep(const MakingPtr& making) {
  // Fails if the call is cancelled, because no caller would then learn the
  // callable's number.
  RETURN_IF_ERROR(making->open->cancellation()->status());
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  callables_[making->callable->id] = making->callable;
  return absl::OkStatus();
}

void MasterSession::Deregister(const Callable& callable) {
  for (const Callable::Part& part : callable.parts) {
    part.worker->Deregister(id_, callable.id);
  }
}

absl::Status MasterSession::ReserveCallable() {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(options_.quotas.CheckCallables(
      callables_.size() + num_reserved_, options_.task));
  ++num_reserved_;
  return absl::OkStatus();
}

std::shared_ptr<const protocol::CallableSpec> MasterSession::FindSpec(
    uint64_t callable) const {
  absl::MutexLock lock(&mutex_);
  auto it = callables_.find(callable);
  if (it == callables_.end()) return nullptr;
  return {it->second, &it->second->spec};
}

void MasterSession::ReleaseCallable(uint64_t callable) {
  // If the session has ended, all tasks forget the callable anyway. The end of
  // the session waits for this call.
  const auto open = calls_.Begin(shared_from_this(), nullptr);
  if (!open.ok()) return;
  std::shared_ptr<const Callable> released;
  {
    absl::MutexLock lock(&mutex_);
    auto it = callables_.find(callable);
    if (it == callables_.end()) return;
    released = std::move(it->second);
    callables_.erase(it);
  }
  if (released->partial != nullptr) {
    released->partial->Cancel(
        absl::CancelledError("The partial run was given up."));
  }
  if (!KeepWhileHeld(released)) Deregister(*released);
}

bool MasterSession::KeepWhileHeld(
    const std::shared_ptr<const Callable>& callable) {
  absl::MutexLock lock(&mutex_);
  for (Step* step : running_) {
    if (step->was_to_wait() && step->callable().id == callable->id) {
      released_[callable->id] = callable;
      return true;
    }
  }
  return false;
}

void MasterSession::DeregisterReleased(Step& step) {
  std::shared_ptr<const Callable> released;
  {
    absl::MutexLock lock(&mutex_);
    step.set_was_to_wait(false);
    const auto it = released_.find(step.callable().id);
    // With the session the tasks forget all its callables.
    if (it == released_.end() || closed_by_.has_value()) return;
    for (Step* other : running_) {
      if (other->was_to_wait() && other->callable().id == it->first) return;
    }
    released = std::move(it->second);
    released_.erase(it);
  }
  Deregister(*released);
}

absl::Time MasterSession::Deadline(absl::Duration timeout) const {
  if (timeout == absl::InfiniteDuration()) return absl::InfiniteFuture();
  return options_.scheduler->clock().Now() + timeout;
}

void MasterSession::RunCallable(uint64_t callable,
                                const protocol::CallableRun& run,
                                protocol::Master::Done done) {
  absl::Status status;
  std::shared_ptr<const Callable> partial;
  std::unique_ptr<Step> step = BeginStep(callable, &status, &partial);
  if (partial != nullptr) {
    return ContinuePartialRun(*partial, run, std::move(done));
  }
  if (step == nullptr) return done(std::move(status));
  const absl::Duration timeout =
      std::min(run.timeout, config_.operation_timeout);
  const absl::Time deadline = Deadline(timeout);
  status = step->callable().CheckFeeds(run.feeds);
  if (status.ok() &&
      run.fetches.size() != step->callable().spec.fetches.size()) {
    status = absl::InternalError(
        absl::StrCat("expected ", step->callable().spec.fetches.size(),
                     " fetch slots, got ", run.fetches.size()));
  }
  if (status.ok()) status = AddPartitionGraphs(step->callable().spec, run);
  if (status.ok()) status = TakeFeeds(run.feeds, *step);
  if (!status.ok()) {
    EndStep(std::move(step), absl::OkStatus());
    return done(std::move(status));
  }
  step->NoteBegan(options_.metrics, options_.scheduler->clock());
  step->ArmTimer(deadline, timeout);
  step->WatchCancellation(run.cancellation);
  Dispatch(std::move(step), run, std::move(done));
}

void MasterSession::Dispatch(std::unique_ptr<Step> step,
                             const protocol::CallableRun& run,
                             protocol::Master::Done done) {
  watch_.StepBegan();
  // They end in EndStep.
  if (step->callable().max_hold.has_value()) {
    return RunWithoutWriters(step.release(), run, std::move(done));
  }
  RunStep(step.release(), run, std::move(done));
}

absl::Status MasterSession::BeginPartialRun(
    const std::shared_ptr<const Callable>& callable) {
  std::unique_ptr<Step> step;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckOpen());
    step = NewStep(callable);
  }
  const std::shared_ptr<PartialRun> partial = callable->partial;
  partial->StepBegins(step->cancellation());
  step->set_client(partial->client());
  step->NoteBegan(options_.metrics, options_.scheduler->clock());
  Dispatch(std::move(step), {},
           [self = shared_from_this(), partial](const absl::Status& status) {
             self->fed_.GiveBack(partial->StepEnds(status));
           });
  return absl::OkStatus();
}

void MasterSession::ContinuePartialRun(const Callable& partial,
                                       const protocol::CallableRun& run,
                                       protocol::Master::Done done) {
  protocol::CallableSpec named;  // the feeds of this call, for an error
  for (const int feed : run.feed_indices) {
    const bool is_one = feed >= 0 && feed < std::ssize(partial.spec.feeds);
    named.feeds.push_back(is_one ? partial.spec.feeds[feed] : "?");
  }
  named.feeds.resize(run.feeds.size());
  const auto taken =
      fed_.Take(run.feeds, options_.quotas.max_fed_bytes, named, options_.task);
  if (!taken.ok()) return done(taken.status());
  protocol::CallableRun limited = run;
  limited.timeout = std::min(run.timeout, config_.operation_timeout);
  absl::Status refused =
      partial.partial->Run(limited, *taken, Deadline(limited.timeout),
                           steps_.Skip(), *options_.scheduler, done);
  if (refused.ok()) return;
  fed_.GiveBack(*taken);
  done(std::move(refused));
}

// Adds the partition graphs to the run's metadata. They are compiled again:
// only the tasks have them, because it would waste memory if masters kept them,
// too. The callable's part of the session's graph has not changed since.
absl::Status MasterSession::AddPartitionGraphs(
    const protocol::CallableSpec& spec, const protocol::CallableRun& run) {
  if (run.metadata == nullptr || !run.wanted.output_partition_graphs) {
    return absl::OkStatus();
  }
  // Checks for cancellation, because the following takes long and the caller
  // may be gone.
  if (run.cancellation != nullptr && run.cancellation->IsCancelled()) {
    return run.cancellation->status();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Callable> compiled, Compile(spec));
  ASSIGN_OR_RETURN(run.metadata->partition_graphs, ExportPartitions(*compiled));
  return absl::OkStatus();
}

void MasterSession::RunStep(Step* step, const protocol::CallableRun& run,
                            protocol::Master::Done done) {
  if (!step->is_held() || !HoldBack(step, run, done)) {
    step->Run(run, std::move(done));
  }
}

bool MasterSession::HoldBack(Step* step, const protocol::CallableRun& run,
                             protocol::Master::Done& done) {
  const uint64_t id = step->id();
  const std::shared_ptr<Cancellation> cancellation = step->cancellation();
  {
    absl::MutexLock lock(&mutex_);
    step->is_held() =
        !closed_by_.has_value() && !gate_.IsOpenFor(step->callable().id);
    if (!step->is_held()) return false;
    step->NoteHeld();
    // The calling thread does not return to it.
    protocol::CallableRun later = run;
    later.thread = protocol::CallingThread::kOther;
    gate_.Wait(step->callable().id, id, &step->is_held(),
               [step, later, done = std::move(done)]() mutable {
                 step->Run(later, std::move(done));
               });
  }
  // The step is found by its id, because it may have begun and ended by then.
  const auto release = [weak = weak_from_this(), id](const absl::Status&) {
    if (const auto session = weak.lock()) session->ReleaseHeld(id);
  };
  if (cancellation->Register(release) == 0) release(cancellation->status());
  return true;
}

void MasterSession::ReleaseHeld(uint64_t step) {
  StepGate::Callbacks ready;
  {
    absl::MutexLock lock(&mutex_);
    ready = gate_.TakeWaiting(step);
  }
  for (auto& begin : ready) begin();  // only to end at once
}

void MasterSession::RunWithoutWriters(Step* step,
                                      const protocol::CallableRun& run,
                                      protocol::Master::Done done) {
  const Callable& callable = step->callable();
  const auto fail = [this, step](protocol::Master::Done failed,
                                 const absl::Status& status) {
    EndStep(std::unique_ptr<Step>(step), status);
    failed(status);
  };
  const auto open =
      calls_.Begin(shared_from_this(), step->cancellation().get());
  if (!open.ok()) return fail(std::move(done), open.status());
  std::vector<WriterHoldOptions::Part> parts;
  for (const Callable::Part& part : callable.parts) {
    parts.push_back({part.task, part.worker});
  }
  const auto hold = std::make_shared<WriterHold>(
      WriterHoldOptions{.scheduler = options_.scheduler,
                        .directory = options_.directory,
                        .logger = options_.logger,
                        .log_waits_after = options_.log_waits_after,
                        .call = *open,
                        .session = id_,
                        .registration = callable.id,
                        .step = step->id(),
                        .parts = std::move(parts),
                        .max_wait = *callable.max_hold});
  // The calling thread does not return to it.
  protocol::CallableRun later = run;
  later.thread = protocol::CallingThread::kOther;
  hold->Begin([this, step, later, hold, fail,
               done = std::move(done)](const absl::Status& begun) mutable {
    hold->ReleaseClient();
    if (!begun.ok()) {
      hold->Abandon();
      return fail(std::move(done), begun);
    }
    LimitHold(*step);
    step->Run(
        later, [hold, done = std::move(done)](const absl::Status& ran) mutable {
          hold->End(
              [ran, done = std::move(done)](const absl::Status& held) mutable {
                done(ran.ok() ? held : ran);
              });
        });
  });
}

// Limits the time of a step that marks variables, because all steps that write
// them are held meanwhile.
void MasterSession::LimitHold(Step& step) const {
  const absl::Duration most =
      std::max(*step.callable().max_hold, kLeastMarking);
  step.ArmHoldTimer(
      options_.scheduler->clock().Now() + most,
      absl::DeadlineExceededError(absl::StrCat(
          "The variables were not marked within ", absl::FormatDuration(most),
          ". Raise max_hold, or save sharded: then each task marks its own, "
          "and "
          "none has to send them.")));
}

void MasterSession::HoldCallables(const protocol::StepId& holder,
                                  const absl::btree_set<uint64_t>& callables,
                                  absl::AnyInvocable<void()> quiet) {
  StepGate::Callbacks ready;
  {
    absl::MutexLock lock(&mutex_);
    absl::btree_set<uint64_t> running;
    for (Step* step : running_) {
      if (!step->is_held() && callables.contains(step->callable().id)) {
        running.insert(step->id());
      }
    }
    ready = gate_.Add(holder, callables, std::move(running), std::move(quiet));
  }
  for (auto& call : ready) call();
}

void MasterSession::ReleaseHold(const protocol::StepId& holder) {
  StepGate::Callbacks ready;
  {
    absl::MutexLock lock(&mutex_);
    ready = gate_.Remove(holder);
  }
  for (auto& call : ready) call();
}

std::optional<SlowStep> MasterSession::FindWaitedFor(
    const protocol::StepId& holder) const {
  absl::MutexLock lock(&mutex_);
  const uint64_t id = gate_.FindWaitedFor(holder);
  for (const Step* step : running_) {
    if (step->id() == id) return step->Describe(id_);
  }
  return std::nullopt;
}

absl::Status MasterSession::TakeFeeds(absl::Span<const Tensor> feeds,
                                      Step& step) {
  ASSIGN_OR_RETURN(const int64_t taken,
                   fed_.Take(feeds, options_.quotas.max_fed_bytes,
                             step.callable().spec, options_.task));
  step.set_fed_bytes(taken);
  return absl::OkStatus();
}

std::unique_ptr<MasterSession::Step> MasterSession::BeginStep(
    uint64_t callable, absl::Status* status,
    std::shared_ptr<const Callable>* partial) {
  absl::MutexLock lock(&mutex_);
  *status = CheckOpen();
  if (!status->ok()) return nullptr;
  auto it = callables_.find(callable);
  if (it == callables_.end()) {
    *status = absl::InvalidArgumentError(
        absl::StrCat("No such callable handle: ", callable));
    return nullptr;
  }
  if (it->second->partial != nullptr) {
    *partial = it->second;
    return nullptr;
  }
  return NewStep(it->second);
}

std::unique_ptr<MasterSession::Step> MasterSession::NewStep(
    const std::shared_ptr<const Callable>& callable) {
  std::unique_ptr<Step> step;
  if (idle_steps_.empty()) {
    step = std::make_unique<Step>();
  } else {
    step = std::move(idle_steps_.back());
    idle_steps_.pop_back();
  }
  step->Prepare(shared_from_this(), callable, steps_.Begin());
  step->is_held() = !gate_.IsIdle() && !gate_.IsOpenFor(callable->id);
  step->set_was_to_wait(step->is_held());
  running_.insert(step.get());
  return step;
}

void MasterSession::EndStep(std::unique_ptr<Step> step, absl::Status status) {
  if (step->was_to_wait()) DeregisterReleased(*step);
  step->NoteEnded(options_.scheduler->clock(), status);
  protocol::Master::Done done = step->Release(*options_.scheduler);
  steps_.End(step->id());
  fed_.GiveBack(step->TakeFedBytes());
  std::shared_ptr<const Callable> callable;  // released without the lock
  bool is_last = false;
  StepGate::Callbacks quiet;
  {
    absl::MutexLock lock(&mutex_);
    running_.erase(step.get());
    if (!gate_.IsIdle()) quiet = gate_.StepEnded(step->id());
    callable = step->ReleaseCallable();
    idle_steps_.push_back(std::move(step));
    is_last = closed_by_.has_value() && running_.empty();
  }
  if (done) done(std::move(status));
  for (auto& call : quiet) call();
  if (is_last) PartClosed();
}

void MasterSession::CancelIdlePartialRuns(const absl::Status& why) {
  // The partial runs in the order of their numbers, as when a session is
  // closed.
  std::map<uint64_t, std::shared_ptr<PartialRun>> running;
  {
    absl::MutexLock lock(&mutex_);
    for (Step* step : running_) {
      const auto& partial = step->callable().partial;
      if (partial != nullptr) running[step->id()] = partial;
    }
  }
  for (const auto& [id, partial] : running) partial->CancelWhenIdle(why);
}

// A partial run without a pending call is not slow: it waits for its client.
uint64_t MasterSession::AgeOf(const Step& step) {
  const auto& partial = step.callable().partial;
  if (partial == nullptr) return step.id();
  return partial->OldestCall().value_or(std::numeric_limits<uint64_t>::max());
}

std::optional<SlowStep> MasterSession::FindSlow(uint64_t number) const {
  absl::MutexLock lock(&mutex_);
  // Steps that wait for variables come last.
  std::pair<bool, uint64_t> least{true, number};
  const Step* oldest = nullptr;
  int num_slow = 0;
  for (const Step* step : running_) {
    const std::pair rank{step->callable().awaits_variables, AgeOf(*step)};
    if (rank.second >= number) continue;
    ++num_slow;
    if (rank >= least) continue;
    least = rank;
    oldest = step;
  }
  if (oldest == nullptr) return std::nullopt;
  SlowStep slow = oldest->Describe(id_);
  slow.others = num_slow - 1;
  return slow;
}

// Returns an error if the session is closed. If its client did not close it,
// the error is the cause, which says whether to continue in another session.
absl::Status MasterSession::CheckOpen() const {
  if (!closed_by_.has_value()) return absl::OkStatus();
  if (!absl::IsCancelled(*closed_by_)) return *closed_by_;
  return absl::FailedPreconditionError("Session has been closed.");
}

void MasterSession::Close(const absl::Status& cause,
                          OpenCalls::CallPtr farewell,
                          absl::AnyInvocable<void()> done) {
  // The running steps in the order of their numbers, so that a simulation is
  // reproducible.
  std::map<uint64_t, std::shared_ptr<Cancellation>> running;
  StepGate::Callbacks held;
  {
    absl::MutexLock lock(&mutex_);
    closed_by_ = cause;
    closing_ = {std::move(farewell), std::move(done)};
    for (Step* step : running_) running[step->id()] = step->cancellation();
    held = gate_.TakeWaiting();
  }
  for (const auto& [id, cancellation] : running) cancellation->Cancel(cause);
  for (auto& begin : held) begin();  // only to end at once
  calls_.Close(cause, [self = shared_from_this()] { self->PartClosed(); });
  if (running.empty()) PartClosed();
}

void MasterSession::PartClosed() {
  Closing closing;
  FlatHashMap<uint64_t, std::shared_ptr<const Callable>> callables;
  FlatHashMap<uint64_t, std::shared_ptr<const Callable>> released;
  std::vector<std::unique_ptr<Step>> steps;
  // The maps and steps are freed at the end, without the lock.
  {
    absl::MutexLock lock(&mutex_);
    if (--parts_to_close_ > 0) return;
    closing = std::move(closing_);
    callables.swap(callables_);
    released.swap(released_);
    steps.swap(idle_steps_);
  }
  ForgetOnTasks(std::move(closing));
}

void MasterSession::ForgetOnTasks(Closing closing) {
  absl::btree_set<std::string> tasks;
  {
    absl::MutexLock lock(&mutex_);
    tasks.swap(sent_to_);
    open_on_.clear();
  }
  CallGroup group(*options_.scheduler);
  for (const std::string& task : tasks) {
    std::make_shared<Farewell>(*options_.scheduler,
                               *options_.directory->Find(task), id_,
                               closing.farewell, group.Add(task))
        ->Notify();
  }
  group.WhenDoneBy(options_.scheduler->clock().Now() + kFarewell,
                   closing.farewell,
                   [self = shared_from_this(), call = closing.farewell,
                    done = std::move(closing.done)](
                       const std::vector<std::string>& left) mutable {
                     if (!call->cancellation()->IsCancelled())
                       self->LogUnreached(left);
                     // No answer is awaited: a coordinator that misses it
                     // learns of the end from the task's next report.
                     self->options_.coordinator->EndSession(
                         self->id_.session,
                         self->options_.scheduler->clock().Now() + kFarewell,
                         [](const absl::Status&) {});
                     done();
                   });
}

void MasterSession::LogUnreached(const std::vector<std::string>& tasks) const {
  if (tasks.empty() || options_.logger == nullptr) return;
  options_.logger->Warning(absl::StrCat(
      "Session ", id_.session, " has ended, and could not yet notify ",
      absl::StrJoin(tasks, ", "), "; it retries for ",
      absl::FormatDuration(kForgetting)));
}

}  // namespace weft
