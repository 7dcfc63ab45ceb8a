#include "libs/master/master_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/cancellation.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/master/call_group.h"
#include "libs/master/master_session_step.h"
#include "libs/master/when_connected.h"

namespace weft {
namespace {

// How long the end of a session waits until all tasks have heard of it, and how
// long those that have not go on being told. One whose connection stays lost
// for its lease forgets by itself.
constexpr absl::Duration kFarewell = absl::Seconds(2);
constexpr absl::Duration kForgetting = absl::Minutes(10);

// A lost connection comes back before long, or the task is gone and with it the
// session.
void ForgetOn(protocol::Worker& worker, const protocol::WorkerSession& session,
              absl::Time deadline, protocol::Worker::Done done) {
  worker.DeleteSession(
      session, deadline,
      [&worker, session, deadline,
       done = std::move(done)](const absl::Status& status) mutable {
        if (!absl::IsUnavailable(status)) return done(status);
        WhenConnected(
            worker, deadline, std::move(done),
            [&worker, session, deadline](protocol::Worker::Done last) {
              ForgetOn(worker, session, deadline, std::move(last));
            });
      });
}

// One of them, and how many there are; the partitioner's own do not count.
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
         std::min(config_.operation_timeout, options_.patience);
}

absl::StatusOr<protocol::ExtensionResult> MasterSession::Extend(
    const protocol::GraphExtension& extension) {
  return graph_.Extend(extension, CallDeadline());
}

absl::StatusOr<std::shared_ptr<Callable>> MasterSession::Compile(
    const protocol::CallableSpec& spec) {
  ASSIGN_OR_RETURN(PrunedCallable pruned, graph_.Prune(spec));
  return CompileCallable(std::move(pruned),
                         PassOptionsFor(config_.graph_options),
                         options_.evaluate, *options_.directory, options_.task);
}

absl::StatusOr<uint64_t> MasterSession::MakeCallable(
    const protocol::CallableSpec& spec) {
  RETURN_IF_ERROR(CheckCallables());
  ASSIGN_OR_RETURN(std::shared_ptr<Callable> callable, Compile(spec));
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return absl::FailedPreconditionError("Session is closed.");
    callable->id = next_callable_++;
  }
  RETURN_IF_ERROR(OpenOn(*callable));
  RETURN_IF_ERROR(Register(*callable));
  // The tasks have the graphs now.
  for (Callable::Part& part : callable->parts) {
    part.nodes = DescribeNodes(part.partitions);
    part.partitions.clear();
  }
  absl::MutexLock lock(&mutex_);
  callables_[callable->id] = callable;
  return callable->id;
}

absl::Status MasterSession::OpenOn(const Callable& callable) {
  CallGroup group(*options_.scheduler);
  for (const Callable::Part& part : callable.parts) {
    {
      absl::MutexLock lock(&mutex_);
      if (open_on_.contains(part.task)) continue;
      told_.insert(part.task);
    }
    const absl::Time deadline = CallDeadline();
    WhenConnected(*part.worker, deadline, group.Add(part.task),
                  [this, &part, deadline](protocol::Worker::Done done) {
                    part.worker->CreateSession(id_,
                                               config_.isolate_session_state,
                                               deadline, std::move(done));
                  });
  }
  RETURN_IF_ERROR(group.Wait(absl::StrCat("open session ", id_.session),
                             options_.log_waits_after, options_.logger));
  absl::MutexLock lock(&mutex_);
  for (const Callable::Part& part : callable.parts) open_on_.insert(part.task);
  return absl::OkStatus();
}

absl::Status MasterSession::Register(const Callable& callable) {
  CallGroup group(*options_.scheduler);
  for (const Callable::Part& part : callable.parts) {
    part.worker->Register({.session = id_,
                           .registration = callable.id,
                           .partitions = part.partitions},
                          CallDeadline(), group.Add(part.task));
  }
  absl::Status status =
      group.Wait(absl::StrCat("register a graph of session ", id_.session),
                 options_.log_waits_after, options_.logger);
  if (!status.ok()) Deregister(callable);
  return status;
}

void MasterSession::Deregister(const Callable& callable) {
  for (const Callable::Part& part : callable.parts) {
    part.worker->Deregister(id_, callable.id);
  }
}

absl::Status MasterSession::CheckCallables() const {
  absl::MutexLock lock(&mutex_);
  return options_.quotas.CheckCallables(callables_.size(), options_.task);
}

std::shared_ptr<const protocol::CallableSpec> MasterSession::FindSpec(
    uint64_t callable) const {
  absl::MutexLock lock(&mutex_);
  auto it = callables_.find(callable);
  if (it == callables_.end()) return nullptr;
  return {it->second, &it->second->spec};
}

void MasterSession::ReleaseCallable(uint64_t callable) {
  std::shared_ptr<const Callable> released;
  {
    absl::MutexLock lock(&mutex_);
    auto it = callables_.find(callable);
    if (it == callables_.end()) return;
    released = std::move(it->second);
    callables_.erase(it);
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
  std::unique_ptr<Step> step = BeginStep(callable, &status);
  if (step == nullptr) return done(std::move(status));
  status = step->callable().CheckFeeds(run.feeds);
  if (status.ok() &&
      run.fetches.size() != step->callable().spec.fetches.size()) {
    status =
        absl::InternalError("a run has room for another number of fetches");
  }
  if (status.ok()) status = TakeFeeds(run.feeds, *step);
  if (!status.ok()) {
    EndStep(std::move(step), absl::OkStatus());
    return done(std::move(status));
  }
  const absl::Duration timeout =
      std::min(run.timeout, config_.operation_timeout);
  step->ArmTimer(Deadline(timeout), timeout);
  watch_.StepBegan();
  step.release()->Run(run, std::move(done));  // ends in EndStep
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
    uint64_t callable, absl::Status* status) {
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    *status = absl::FailedPreconditionError("Session has been closed.");
    return nullptr;
  }
  auto it = callables_.find(callable);
  if (it == callables_.end()) {
    *status = absl::InvalidArgumentError(
        absl::StrCat("No such callable handle: ", callable));
    return nullptr;
  }
  std::unique_ptr<Step> step;
  if (idle_steps_.empty()) {
    step = std::make_unique<Step>();
  } else {
    step = std::move(idle_steps_.back());
    idle_steps_.pop_back();
  }
  step->Prepare(shared_from_this(), it->second, steps_.Begin());
  running_.insert(step.get());
  return step;
}

void MasterSession::EndStep(std::unique_ptr<Step> step, absl::Status status) {
  protocol::Master::Done done = step->Release(*options_.scheduler);
  steps_.End(step->id());
  fed_.GiveBack(step->TakeFedBytes());
  std::shared_ptr<const Callable> callable;  // let go of without the lock
  {
    absl::MutexLock lock(&mutex_);
    running_.erase(step.get());
    callable = step->ReleaseCallable();
    idle_steps_.push_back(std::move(step));
    if (running_.empty() && all_ended_ != nullptr) all_ended_->Set();
  }
  if (done) done(std::move(status));
}

std::optional<SlowStep> MasterSession::FindSlow(uint64_t number) const {
  absl::MutexLock lock(&mutex_);
  const Step* oldest = nullptr;
  int num_slow = 0;
  for (const Step* step : running_) {
    if (step->id() >= number) continue;
    ++num_slow;
    if (oldest == nullptr || step->id() < oldest->id()) oldest = step;
  }
  if (oldest == nullptr) return std::nullopt;
  SlowStep slow = oldest->Describe(id_);
  slow.others = num_slow - 1;
  return slow;
}

void MasterSession::Close(const absl::Status& cause) {
  std::unique_ptr<Event> all_ended = options_.scheduler->NewEvent();
  std::vector<std::shared_ptr<Cancellation>> running;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    for (Step* step : running_) running.push_back(step->cancellation());
    if (running.empty()) {
      all_ended->Set();
    } else {
      all_ended_ = all_ended.get();
    }
  }
  for (const std::shared_ptr<Cancellation>& cancellation : running) {
    cancellation->Cancel(cause);
  }
  all_ended->Wait();
  {
    // The last step sets the event under this lock: wait until it let go.
    absl::MutexLock lock(&mutex_);
    all_ended_ = nullptr;
    callables_.clear();
    idle_steps_.clear();
  }
  ForgetOnTasks();
  // Nobody waits for it: a coordinator that does not hear of it learns of it
  // from the task's next report.
  options_.coordinator->EndSession(
      id_.session, options_.scheduler->clock().Now() + kFarewell,
      [](const absl::Status&) {});
}

void MasterSession::ForgetOnTasks() {
  absl::btree_set<std::string> tasks;
  {
    absl::MutexLock lock(&mutex_);
    tasks.swap(told_);
    open_on_.clear();
  }
  CallGroup group(*options_.scheduler);
  const absl::Time now = options_.scheduler->clock().Now();
  for (const std::string& task : tasks) {
    ForgetOn(*options_.directory->Find(task), id_, now + kForgetting,
             group.Add(task));
  }
  if (group.WaitUntil(now + kFarewell) || options_.logger == nullptr) return;
  options_.logger->Warning(absl::StrCat(
      "Session ", id_.session, " has ended, and could not yet tell ",
      absl::StrJoin(group.WaitedFor(), ", "), "; it goes on trying for ",
      absl::FormatDuration(kForgetting)));
}

}  // namespace weft
