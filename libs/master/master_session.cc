#include "libs/master/master_session.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/cancellation.h"
#include "libs/base/cancellation_link.h"
#include "libs/base/clock.h"
#include "libs/base/first_error.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/graph/graph_def.h"
#include "libs/master/call_group.h"
#include "libs/master/coordinator_call.h"
#include "libs/master/when_connected.h"

namespace weft {
namespace {

// How long the end of a session waits for tasks that may be gone.
constexpr absl::Duration kFarewell = absl::Seconds(10);

// Some of them, for a line of the log.
std::string List(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  if (names.size() <= kMost) {
    return absl::StrCat("[", absl::StrJoin(names, ", "), "]");
  }
  const absl::Span<const std::string> first(names.data(), kMost);
  return absl::StrCat("[", absl::StrJoin(first, ", "), " and ",
                      names.size() - kMost, " more]");
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

// One run of a callable, from BeginStep to EndStep; used again afterwards.
class MasterSession::Step {
 public:
  void Prepare(std::shared_ptr<MasterSession> session,
               std::shared_ptr<const Callable> callable, uint64_t id) {
    session_ = std::move(session);
    callable_ = std::move(callable);
    id_ = id;
    // A cancelled one is spent; one that a late timer still holds is not ours.
    if (!cancellation_ || cancellation_->IsCancelled() ||
        cancellation_.use_count() > 1) {
      cancellation_ = std::make_shared<Cancellation>();
    }
    const size_t num_parts = callable_->parts.size();
    if (num_parts > room_for_parts_) {
      answered_ = std::make_unique<std::atomic<bool>[]>(num_parts);
      room_for_parts_ = num_parts;
    }
    for (size_t i = 0; i < num_parts; ++i) answered_[i] = false;
  }

  const std::shared_ptr<Cancellation>& cancellation() const {
    return cancellation_;
  }
  const Callable& callable() const { return *callable_; }
  uint64_t id() const { return id_; }
  // What its feeds take of the session's quota.
  void set_fed_bytes(int64_t bytes) { fed_bytes_ = bytes; }
  int64_t TakeFedBytes() { return std::exchange(fed_bytes_, 0); }

  void ArmTimer(absl::Time deadline, absl::Duration timeout);
  void Run(const protocol::CallableRun& run, protocol::Master::Done done);

  // While the session's lock is held, which keeps it running.
  SlowStep Describe(const protocol::WorkerSession& session) const;

  // What EndStep needs once the step has given up its references.
  protocol::Master::Done Release(Scheduler& scheduler);
  // The last of them, once nobody can ask for Describe any more.
  std::shared_ptr<const Callable> ReleaseCallable() {
    return std::move(callable_);
  }

 private:
  void PartAnswered(int part, absl::Status status);
  void PartDone(absl::Status status);

  std::shared_ptr<MasterSession> session_;
  std::shared_ptr<const Callable> callable_;
  uint64_t id_ = 0;
  int64_t fed_bytes_ = 0;
  std::shared_ptr<Cancellation> cancellation_;
  Scheduler::TimerId timer_ = 0;
  CancellationLink caller_gone_;
  std::atomic<int> parts_left_{0};
  std::unique_ptr<std::atomic<bool>[]> answered_;  // by part
  size_t room_for_parts_ = 0;
  FirstError first_error_;
  protocol::Master::Done done_;
};

void MasterSession::Step::ArmTimer(absl::Time deadline,
                                   absl::Duration timeout) {
  if (deadline == absl::InfiniteFuture()) return;
  std::string text = absl::StrCat(
      "Timed out after ", absl::FormatDuration(timeout), " while running [",
      absl::StrJoin(callable_->spec.fetches, ", "), "] with targets [",
      absl::StrJoin(callable_->spec.targets, ", "), "].");
  timer_ = session_->options_.scheduler->ScheduleAt(
      deadline, [cancellation = cancellation_, text = std::move(text)] {
        cancellation->Cancel(absl::DeadlineExceededError(text));
      });
}

void MasterSession::Step::Run(const protocol::CallableRun& run,
                              protocol::Master::Done done) {
  done_ = std::move(done);
  const int num_parts = static_cast<int>(callable_->parts.size());
  // One more than there are parts, so that the step outlives this loop.
  parts_left_.store(num_parts + 1, std::memory_order_relaxed);
  caller_gone_.Begin(run.cancellation, cancellation_);
  const uint64_t over_below = session_->steps_.over_below();
  for (int i = 0; i < num_parts; ++i) {
    const Callable::Part& part = callable_->parts[i];
    const bool is_last = i == num_parts - 1;
    part.worker->Run(
        {.session = session_->id_,
         .registration = callable_->id,
         .step = id_,
         .steps_over_below = over_below,
         .feeds = run.feeds,
         .fetches = run.fetches,
         .feed_indices = part.feeds,
         .fetch_indices = part.fetches,
         .cancellation = cancellation_,
         .thread = is_last ? run.thread : protocol::CallingThread::kOther},
        [this, i](absl::Status status) { PartAnswered(i, std::move(status)); });
  }
  PartDone(absl::OkStatus());
}

void MasterSession::Step::PartAnswered(int part, absl::Status status) {
  answered_[part].store(true, std::memory_order_relaxed);
  const Callable::Part& from = callable_->parts[part];
  if (absl::IsResourceExhausted(status) &&
      from.task != session_->options_.task) {
    status = callable_->NameEnds(from, status);
  }
  const std::string& nodes = callable_->parts[part].nodes;
  // The task is lost, and can't say itself what it ran.
  if (absl::IsUnavailable(status) && !IsDerived(status) && !nodes.empty() &&
      !absl::StrContains(status.message(), "[[node ")) {
    status = Append(status, nodes);
  }
  PartDone(std::move(status));
}

SlowStep MasterSession::Step::Describe(
    const protocol::WorkerSession& session) const {
  SlowStep slow{
      .session = session.session,
      .step = {session.master, id_},
      .what = absl::StrCat("fetches ", List(callable_->spec.fetches),
                           ", targets ", List(callable_->spec.targets))};
  for (size_t i = 0; i < callable_->parts.size(); ++i) {
    if (answered_[i].load(std::memory_order_relaxed)) continue;
    const Callable::Part& part = callable_->parts[i];
    slow.unanswered.emplace_back(part.task, part.worker);
  }
  return slow;
}

void MasterSession::Step::PartDone(absl::Status status) {
  if (!status.ok()) {
    first_error_.Add(status);
    cancellation_->Cancel(MarkDerived(std::move(status)));
  }
  if (parts_left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  caller_gone_.End();
  absl::Status result = first_error_.Take();
  // Where every part only tells of the abort, the abort's cause is the reason.
  if (IsDerived(result)) {
    const absl::Status cause = cancellation_->status();
    if (!cause.ok() && !IsDerived(cause)) result = cause;
  }
  std::shared_ptr<MasterSession> session = session_;
  session->EndStep(std::unique_ptr<Step>(this), std::move(result));
}

protocol::Master::Done MasterSession::Step::Release(Scheduler& scheduler) {
  if (timer_ != 0) scheduler.CancelTimer(timer_);
  timer_ = 0;
  session_.reset();
  return std::move(done_);
}

MasterSession::MasterSession(uint64_t id, const protocol::SessionConfig& config,
                             const MasterOptions& options, StepCounter& steps,
                             StepWatch& watch)
    : id_{options.incarnation, id},
      config_(config),
      options_(options),
      steps_(steps),
      watch_(watch),
      extensions_(*options.scheduler),
      graph_(options.ops) {}

MasterSession::~MasterSession() = default;

absl::Time MasterSession::CallDeadline() const {
  return options_.scheduler->clock().Now() +
         std::min(config_.operation_timeout, options_.patience);
}

absl::StatusOr<protocol::ExtensionResult> MasterSession::Extend(
    const protocol::GraphExtension& extension) {
  const absl::Time deadline = CallDeadline();
  if (!extensions_.Take(deadline)) {
    return absl::DeadlineExceededError(
        "An earlier extension of the session's graph is still being placed.");
  }
  auto result = ExtendInTurn(extension, deadline);
  extensions_.PassOn();
  return result;
}

absl::StatusOr<protocol::ExtensionResult> MasterSession::ExtendInTurn(
    const protocol::GraphExtension& extension, absl::Time deadline) {
  ASSIGN_OR_RETURN(Growth growth, BeginGrowth(extension));
  if (growth.answered) return *std::move(growth.answered);
  return EndGrowth(extension, growth, Place(growth.request, deadline));
}

absl::StatusOr<MasterSession::Growth> MasterSession::BeginGrowth(
    const protocol::GraphExtension& extension) {
  absl::MutexLock lock(&graph_mutex_);
  Growth growth{.first_id = num_nodes_};
  if (extension.from_version == version_ - 1 &&
      absl::HashOf(extension.graph_def) == last_extension_) {
    growth.answered = last_result_;
    return growth;
  }
  if (extension.from_version != version_) {
    return absl::AbortedError(absl::StrCat("Current version is ", version_,
                                           " but caller expected ",
                                           extension.from_version, "."));
  }
  RETURN_IF_ERROR(options_.quotas.CheckGraph(
      graph_bytes_, extension.graph_def.size(), options_.task));
  RETURN_IF_ERROR(ImportGraphDef(extension.graph_def, graph_));
  growth.request = {
      .session = id_.session,
      .task = options_.task,
      .incarnation = options_.incarnation,
      .graph = DescribeForPlacement(graph_, num_nodes_, options_.device_types),
      .allow_soft_placement = config_.allow_soft_placement,
      .isolated = config_.isolate_session_state,
      .device_filters = config_.device_filters};
  return growth;
}

absl::StatusOr<protocol::PlacementReply> MasterSession::Place(
    const protocol::PlacementRequest& request, absl::Time deadline) const {
  return AskCoordinatorFor<protocol::PlacementReply>(
      options_, deadline, [&](absl::Time until, auto done) {
        options_.coordinator->Place(request, until, std::move(done));
      });
}

absl::StatusOr<protocol::ExtensionResult> MasterSession::EndGrowth(
    const protocol::GraphExtension& extension, const Growth& growth,
    absl::StatusOr<protocol::PlacementReply> reply) {
  absl::MutexLock lock(&graph_mutex_);
  absl::Status status = reply.status();
  if (status.ok()) status = SetDevices(growth, *std::move(reply));
  if (!status.ok()) {
    graph_.TruncateTo(num_nodes_);
    return status;
  }
  num_nodes_ = graph_.num_nodes();
  ++version_;
  graph_bytes_ += static_cast<int64_t>(extension.graph_def.size());
  last_extension_ = absl::HashOf(extension.graph_def);
  last_result_ = DescribeFrom(growth.first_id);
  return last_result_;
}

absl::Status MasterSession::SetDevices(const Growth& growth,
                                       protocol::PlacementReply reply) {
  const PlacementGraph& placed = growth.request.graph;
  if (reply.devices.size() != placed.nodes.size()) {
    return absl::InternalError("The coordinator placed another graph.");
  }
  const size_t num_new = graph_.num_nodes() - growth.first_id;
  const size_t num_old = placed.nodes.size() - num_new;
  for (size_t i = 0; i < num_new; ++i) {
    graph_.set_assigned_device(
        graph_.node(growth.first_id + static_cast<int>(i)),
        std::move(reply.devices[num_old + i]));
  }
  if (!config_.isolate_session_state) Declare(placed, growth.first_id);
  return absl::OkStatus();
}

void MasterSession::Declare(const PlacementGraph& placed, int first_id) {
  absl::MutexLock lock(&mutex_);
  const size_t num_old = placed.nodes.size() - (graph_.num_nodes() - first_id);
  for (size_t i = num_old; i < placed.nodes.size(); ++i) {
    const PlacementNode& node = placed.nodes[i];
    if (!node.resource) continue;
    const int id = first_id + static_cast<int>(i - num_old);
    protocol::PlacedResource resource{*node.resource,
                                      graph_.node(id)->assigned_device()};
    if (resource.resource.container.empty()) {
      // Each device's default container is called as its job.
      auto device = DeviceName::Parse(resource.device);
      if (device.ok()) resource.resource.container = device->job.value_or("");
    }
    declared_.push_back(std::move(resource));
  }
}

std::vector<protocol::PlacedResource> MasterSession::declared() const {
  absl::MutexLock lock(&mutex_);
  return declared_;
}

protocol::ExtensionResult MasterSession::DescribeFrom(int first_id) const {
  protocol::ExtensionResult result{.version = version_};
  if (!config_.log_device_placement) return result;
  for (const Node* node : graph_.nodes().subspan(first_id)) {
    result.placement.push_back(
        {node->name(), node->type(), node->assigned_device()});
    if (options_.log_placement) {
      options_.log_placement(result.placement.back().ToString());
    }
  }
  return result;
}

absl::StatusOr<std::shared_ptr<Callable>> MasterSession::Compile(
    const protocol::CallableSpec& spec) {
  ASSIGN_OR_RETURN(PrunedCallable pruned, Prune(spec));
  return CompileCallable(std::move(pruned),
                         PassOptionsFor(config_.graph_options),
                         options_.evaluate, *options_.directory, options_.task);
}

absl::StatusOr<PrunedCallable> MasterSession::Prune(
    const protocol::CallableSpec& spec) {
  absl::MutexLock lock(&graph_mutex_);
  return PruneCallable(graph_, num_nodes_, spec, options_.unknown_tensor_code);
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
  const absl::Time deadline = options_.scheduler->clock().Now() + kFarewell;
  for (const std::string& task : tasks) {
    ForgetOn(*options_.directory->Find(task), deadline, group.Add(task));
  }
  // A task that can't be told forgets when it notices that we are gone.
  absl::Status status = group.Wait(absl::StrCat("end session ", id_.session),
                                   options_.log_waits_after, options_.logger);
  if (!status.ok() && options_.logger != nullptr) {
    options_.logger->Warning(
        absl::StrCat("Session ", id_.session,
                     " could not be ended everywhere: ", status.ToString()));
  }
}

// A lost connection comes back before long, or the task is gone and with it the
// session.
void MasterSession::ForgetOn(protocol::Worker& worker, absl::Time deadline,
                             protocol::Worker::Done done) {
  worker.DeleteSession(
      id_, deadline,
      [&worker, deadline, self = shared_from_this(),
       done = std::move(done)](const absl::Status& status) mutable {
        if (!absl::IsUnavailable(status)) return done(status);
        WhenConnected(worker, deadline, std::move(done),
                      [&worker, deadline, self](protocol::Worker::Done last) {
                        self->ForgetOn(worker, deadline, std::move(last));
                      });
      });
}

}  // namespace weft
