// Implements waiting calls: they wait for tasks to join or to report, or for
// earlier calls.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/free_on.h"
#include "libs/coordinator/coordinator_impl.h"

namespace weft {
namespace {

using protocol::PlacementReply;
using protocol::PlacementRequest;

// After this time a log line says what a call waits for. The interval doubles
// with each further line.
constexpr absl::Duration kLogAfter = absl::Seconds(10);
// The limits of the time that a status request waits for reports, whatever the
// heartbeat interval is.
constexpr absl::Duration kMinReportTime = absl::Seconds(2);
constexpr absl::Duration kMaxReportTime = absl::Seconds(5);

}  // namespace

void Coordinator::Impl::Place(const PlacementRequest& request,
                              absl::Time deadline,
                              std::shared_ptr<Cancellation> cancellation,
                              Answer<PlacementReply> done) {
  WaitingCall call;
  // The graph, which may be large, is freed on the graph pool. Control threads,
  // which end calls, must not free it.
  call.request = FreeOn(scheduler_, Pool::kGraph,
                        std::make_unique<const PlacementRequest>(request));
  call.place_done = std::move(done);
  call.cancellation = std::move(cancellation);
  call.deadline = deadline;
  absl::StatusOr<DeviceFilters> filters =
      DeviceFilters::Parse(request.device_filters);
  // Check the inputs before acquiring the lock, because the graph may be large.
  const absl::Status inputs = CheckInputs(request.graph);
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  absl::Status status = filters.ok() ? CheckRequest(request) : filters.status();
  if (status.ok()) status = inputs;
  if (!status.ok()) return callbacks.Add(call.Fail(std::move(status)));
  call.filters = *std::move(filters);
  call.needed = tasks_.Passing(call.filters);
  call.needed.insert(request.task);
  Begin(std::move(call), callbacks);
}

absl::Status Coordinator::Impl::CheckRequest(const PlacementRequest& request) {
  const TaskTable::Task* const task = tasks_.Find(request.task);
  if (task == nullptr || !task->has_devices) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", request.task,
        "\" can't be the master of a session, because it is not a task with "
        "devices of the cluster ",
        options_.cluster.ToString(), "."));
  }
  if (register_.HasEnded(request.session)) {
    return absl::AbortedError("The session has ended.");
  }
  return absl::OkStatus();
}

void Coordinator::Impl::ListDevices(
    const std::vector<std::string>& device_filters, absl::Time deadline,
    std::shared_ptr<Cancellation> cancellation,
    Answer<std::vector<DeviceAttributes>> done) {
  WaitingCall call;
  call.list_done = std::move(done);
  call.cancellation = std::move(cancellation);
  call.deadline = deadline;
  absl::StatusOr<DeviceFilters> filters = DeviceFilters::Parse(device_filters);
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  if (!filters.ok()) return callbacks.Add(call.Fail(filters.status()));
  call.filters = *std::move(filters);
  call.needed = tasks_.Passing(call.filters);
  Begin(std::move(call), callbacks);
}

// Tasks send their reports with heartbeats, so the call waits up to two
// heartbeat intervals.
void Coordinator::Impl::GetFreshCluster(absl::Time deadline,
                                        Answer<ClusterStatus> done) {
  WaitingCall call;
  call.status_done = std::move(done);
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  const absl::Time now = Now();
  call.deadline = now + std::min(std::clamp(2 * options_.heartbeat_interval,
                                            kMinReportTime, kMaxReportTime),
                                 (deadline - now) / 2);
  call.since = register_.NextTimestamp();
  for (const auto& [name, task] : tasks_.tasks()) {
    if (!task.has_devices || !tasks_.members().IsAlive(name)) continue;
    register_.Want(name);
    call.reporting.insert(name);
  }
  const bool never_report =
      options_.heartbeat_interval == absl::InfiniteDuration();
  if (never_report) call.reporting.clear();
  Begin(std::move(call), callbacks);
}

void Coordinator::Impl::AnswerStatus(Calls::iterator call,
                                     DeferredCallbacks& callbacks) {
  callbacks.Add([status = Status(register_.SessionsByContainer()),
                 done = Remove(call, callbacks).status_done]() mutable {
    done(std::move(status));
  });
}

void Coordinator::Impl::Begin(WaitingCall call, DeferredCallbacks& callbacks) {
  call.missing = tasks_.Missing(call.needed, call.own_task());
  for (const std::string& task : call.needed) AwaitReport(task, call);
  const uint64_t id = next_call_++;
  const auto it = calls_.emplace(id, std::move(call)).first;
  if (closed_) return Fail(it, Stopping(), callbacks);
  if (!WatchCancellation(id, it->second)) {
    return Fail(it, it->second.cancellation->status(), callbacks);
  }
  it->second.lines = DoublingTimes(Now(), kLogAfter);
  ArmTimer(id, it->second);
  Advance(id, callbacks);
}

bool Coordinator::Impl::WatchCancellation(uint64_t id, WaitingCall& call) {
  if (call.cancellation == nullptr) return true;
  call.token = call.cancellation->Register(
      [weak = weak_from_this(), id](const absl::Status& cause) {
        if (auto self = weak.lock()) self->Cancelled(id, cause);
      });
  return call.token != 0;
}

void Coordinator::Impl::Cancelled(uint64_t id, const absl::Status& cause) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  const auto call = calls_.find(id);
  if (call != calls_.end()) Fail(call, cause, callbacks);
}

void Coordinator::Impl::ArmTimer(uint64_t id, WaitingCall& call) {
  call.timer = scheduler_.ScheduleAt(Pool::kControl, call.NextTime(),
                                     [weak = weak_from_this(), id] {
                                       if (auto self = weak.lock())
                                         self->TimerFired(id);
                                     });
}

void Coordinator::Impl::TimerFired(uint64_t id) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  const auto call = calls_.find(id);
  if (call == calls_.end()) return;
  call->second.timer = 0;
  if (Now() >= call->second.deadline) {
    if (call->second.status_done != nullptr) {
      return AnswerStatus(call, callbacks);
    }
    return Fail(call, call->second.TooLate(), callbacks);
  }
  if (!call->second.has_left.ok() && Now() >= call->second.back_until) {
    return Fail(call, call->second.has_left, callbacks);
  }
  if (Now() >= call->second.lines.next()) {
    Log(Severity::kInfo, call->second.Describe(), callbacks);
    call->second.lines.Advance();
  }
  ArmTimer(id, call->second);
}

std::vector<uint64_t> Coordinator::Impl::CallIds() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, call] : calls_) ids.push_back(id);
  return ids;
}

void Coordinator::Impl::AwaitReport(const std::string& task,
                                    WaitingCall& call) {
  // the call does not need the task's resources
  if (call.request == nullptr) return;
  if (!tasks_.members().IsAlive(task)) return;
  if (tasks_.Find(task)->awaits_report) call.reporting.insert(task);
}

void Coordinator::Impl::OnTaskJoined(const std::string& task,
                                     DeferredCallbacks& callbacks) {
  for (const uint64_t id : CallIds()) {
    WaitingCall& call = calls_.at(id);
    if (call.needed.count(task) == 0) continue;
    call.missing.erase(task);
    AwaitReport(task, call);
    call.is_outdated = true;
    Advance(id, callbacks);
  }
}

void Coordinator::Impl::OnTaskGone(const std::string& task,
                                   DeferredCallbacks& callbacks) {
  for (const uint64_t id : CallIds()) {
    WaitingCall& call = calls_.at(id);
    bool may_go_on = call.reporting.erase(task) > 0;
    if (call.needed.count(task) > 0) {
      call.is_outdated = true;
      if (tasks_.IsMissing(task, call.own_task())) {
        call.missing.insert(task);
      } else {  // the task was lost before it left
        may_go_on |= call.missing.erase(task) > 0;
      }
    }
    if (may_go_on) Advance(id, callbacks);
  }
}

void Coordinator::Impl::TaskReported(const std::string& task,
                                     DeferredCallbacks& callbacks) {
  for (const uint64_t id : CallIds()) {
    WaitingCall& call = calls_.at(id);
    if (call.reporting.count(task) == 0) continue;
    if (!register_.IsSettled(task, call.since)) continue;
    call.reporting.erase(task);
    Advance(id, callbacks);
  }
}

void Coordinator::Impl::Advance(uint64_t id, DeferredCallbacks& callbacks) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;
  WaitingCall& call = it->second;
  if (call.state != WaitingCall::State::kWaits) return;
  if (call.status_done != nullptr) {
    if (call.reporting.empty() || ends_waits_) AnswerStatus(it, callbacks);
    return;
  }
  if (absl::Status status = CheckMaster(call); !status.ok()) {
    return Fail(it, std::move(status), callbacks);
  }
  if (!call.missing.empty() || !call.reporting.empty()) {
    if (ends_waits_) Fail(it, Stopping(), callbacks);
    return;
  }
  if (call.request != nullptr) {
    call.has_left = absl::OkStatus();
    call.state = WaitingCall::State::kQueued;
    queue_.push_back(id);
    return Kick();
  }
  callbacks.Add([devices = tasks_.Devices(call.needed, call.filters, ""),
                 done = Remove(it, callbacks).list_done]() mutable {
    done(std::move(devices));
  });
}

// Checks the incarnation of the session's master. A master joins before clients
// can create sessions at it, but it may be reconnecting now.
absl::Status Coordinator::Impl::CheckMaster(const WaitingCall& call) const {
  if (call.request == nullptr) return absl::OkStatus();
  const uint64_t alive = tasks_.AliveIncarnation(call.request->task);
  if (alive == 0 || alive == call.request->incarnation) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("The master of the session, ", call.request->task,
                   ", has restarted or been replaced (its incarnation was ",
                   absl::Hex(call.request->incarnation), ", and is ",
                   absl::Hex(alive), "). Connect again."));
}

// Removes the call. Before the call is answered, its cancellation callback must
// be deregistered without the lock, because the callback acquires it.
WaitingCall Coordinator::Impl::Remove(Calls::iterator it,
                                      DeferredCallbacks& callbacks) {
  WaitingCall call = std::move(it->second);
  calls_.erase(it);
  if (call.timer != 0) scheduler_.CancelTimer(call.timer);
  if (call.cancellation != nullptr) {
    callbacks.Add(
        [cancellation = std::move(call.cancellation), token = call.token] {
          if (token != 0) cancellation->Deregister(token);
        });
  }
  return call;
}

void Coordinator::Impl::Fail(Calls::iterator call, absl::Status why,
                             DeferredCallbacks& callbacks) {
  callbacks.Add(Remove(call, callbacks).Fail(std::move(why)));
}

}  // namespace weft
