// Implements the membership of tasks: joining, heartbeats, leaving and losses.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/coordinator/coordinator_impl.h"

namespace weft {
namespace {

using protocol::HeartbeatReply;
using protocol::HeartbeatRequest;
using protocol::JoinReply;
using protocol::JoinRequest;

// How long a shutdown waits for the other tasks to leave first.
constexpr absl::Duration kStopTimeout = absl::Seconds(10);

bool IsUuid(const std::string& text) {
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

}  // namespace

void Coordinator::Impl::Join(const JoinRequest& request,
                             Answer<JoinReply> done) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  callbacks.Add([reply = JoinLocked(request, callbacks),
                 done = std::move(done)]() mutable { done(std::move(reply)); });
}

absl::StatusOr<JoinReply> Coordinator::Impl::JoinLocked(
    const JoinRequest& request, DeferredCallbacks& callbacks) {
  if (HasLeftEarly(request)) {
    return absl::AbortedError(absl::StrCat(
        "This process was ", request.task,
        " and has left the cluster for good. Start the task again."));
  }
  if (absl::Status status = CheckUuid(request); !status.ok()) {
    LogRefusal(request, status, callbacks);
    return status;
  }
  const auto& members = tasks_.members().members();
  const auto before = members.find(request.task);
  const auto state = before == members.end() ? Membership::State::kExpected
                                             : before->second.state;
  const bool is_new_process = before == members.end() ||
                              before->second.incarnation != request.incarnation;
  if (absl::Status status = tasks_.Join(request, Now()); !status.ok()) {
    // The refusal is not logged if the process has already left: it is then a
    // late request.
    const bool has_left =
        state == Membership::State::kLeft && absl::IsAborted(status);
    if (!has_left) LogRefusal(request, status, callbacks);
    return status;
  }
  if (state != Membership::State::kAlive) {
    const size_t count = request.devices.size();
    Log(Severity::kInfo,
        absl::StrCat(request.task, " has joined at ", request.target, " with ",
                     count, count == 1 ? " device" : " devices"),
        callbacks);
  }
  early_leaves_.erase(request.task);
  if (is_new_process) {
    finished_jobs_.OnTaskJoined(request.task);
  } else {
    finished_jobs_.OnTaskRejoined(request.task);
  }
  if (state == Membership::State::kLeft) CountChange(request.task);
  beats_since_.erase(request.task);
  register_.AddTask(request.task);
  if (state == Membership::State::kLost) {
    // Sessions of other tasks may have declared resources on this task's
    // devices. Only those tasks know them, so their reports are requested.
    register_.WantSessions();
  }
  if (request.reports_later) {
    // The last report of a live task is still valid, so only others must report
    // again.
    if (state != Membership::State::kAlive) {
      tasks_.Find(request.task)->awaits_report = true;
    }
    register_.Want(request.task);
    register_.Answer(request.task);
  } else {
    TakeReport(request.task, request.report, callbacks);
    register_.AnswerJoin(request.task);
    // The report may be older than this coordinator. The end of a session may
    // have been reported to the previous coordinator, or may not have been
    // reported at all. So request another report.
    register_.Want(request.task);
  }
  NoteLeft(request.left, request.task, callbacks);
  SettleUuid(request.cluster_uuid);
  SettleEarlyLeaves(callbacks);
  UpdateFinishedJobs();
  if (is_new_process) {
    finished_jobs_.NoteTaskNotified(request.task, request.left);
  }
  ArmTick();
  OnTaskJoined(request.task, callbacks);
  return JoinReply{SettledUuid(), options_.incarnation,
                   options_.heartbeat_interval};
}

void Coordinator::Impl::NoteLeft(const std::vector<protocol::LeftTask>& left,
                                 const std::string& reporter,
                                 DeferredCallbacks& callbacks) {
  for (const protocol::LeftTask& gone : left) {
    if (!tasks_.members().NoteLeft(gone.task, gone.incarnation)) continue;
    Log(Severity::kInfo,
        absl::StrCat(gone.task, " had left before it joined this coordinator, ",
                     reporter, " says"),
        callbacks);
    CountChange(gone.task);
    finished_jobs_.TaskLeft(gone.task);
    OnTaskGone(gone.task, callbacks);
  }
}

void Coordinator::Impl::CountChange(const std::string& task) {
  left_changes_[task] = ++left_version_;
}

std::vector<protocol::LeftTask> Coordinator::Impl::LeftSince(
    uint64_t version) const {
  std::vector<protocol::LeftTask> changes;
  for (const auto& [task, changed] : left_changes_) {
    if (changed <= version) continue;
    const Membership::Member& member = tasks_.members().members().at(task);
    const bool has_left = member.state == Membership::State::kLeft;
    changes.push_back({task, has_left ? member.incarnation : 0});
  }
  return changes;
}

// Determines the cluster's uuid. Tasks with different uuids refuse each other,
// so all tasks must get the same uuid. If tasks of an earlier coordinator
// already have a uuid, it remains the cluster's. Only when all tasks have
// joined is it certain that there are no such tasks.
void Coordinator::Impl::SettleUuid(const std::string& told) {
  if (uuid_is_settled_) return;
  const auto& members = tasks_.members().members();
  uuid_is_settled_ =
      IsUuid(told) ||
      std::all_of(members.begin(), members.end(), [](const auto& member) {
        return member.second.incarnation != 0;
      });
  if (IsUuid(told)) cluster_uuid_ = told;
}

// Refuses a task with another uuid. Connections between such tasks are refused,
// too (by the HELLO message), but the task may have connected before the uuid
// was final.
absl::Status Coordinator::Impl::CheckUuid(const JoinRequest& request) const {
  if (!uuid_is_settled_ || !IsUuid(request.cluster_uuid) ||
      request.cluster_uuid == cluster_uuid_) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      request.task, " belongs to another cluster than its coordinator ",
      options_.task, ": ", request.cluster_uuid, " is not ", cluster_uuid_,
      ". Both were started for the same addresses: stop the process of the "
      "deployment that is over."));
}

// Logs a limited number of lines, because many processes may claim tasks and
// retry at any rate.
void Coordinator::Impl::LogRefusal(const JoinRequest& request,
                                   const absl::Status& why,
                                   DeferredCallbacks& callbacks) {
  const auto refused = std::make_pair(request.task, request.incarnation);
  if (last_refused_ == refused) return;
  last_refused_ = refused;
  std::optional<std::string> line =
      refusals_.Admit(absl::StrCat("A process may not join as ", request.task,
                                   ": ", why.message()),
                      Now());
  if (line.has_value()) {
    Log(Severity::kWarning, *std::move(line), callbacks);
  }
}

void Coordinator::Impl::Heartbeat(const HeartbeatRequest& request,
                                  Answer<HeartbeatReply> done) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  callbacks.Add([reply = HeartbeatLocked(request, callbacks),
                 done = std::move(done)]() mutable { done(std::move(reply)); });
}

absl::StatusOr<HeartbeatReply> Coordinator::Impl::HeartbeatLocked(
    const HeartbeatRequest& request, DeferredCallbacks& callbacks) {
  if (request.coordinator != options_.incarnation) {
    return absl::AbortedError(absl::StrCat("The coordinator at ", options_.task,
                                           " has restarted: ", request.task,
                                           " must join again."));
  }
  RETURN_IF_ERROR(tasks_.members().RecordHeartbeat(request.task,
                                                   request.incarnation, Now()));
  if (!request.left.empty()) {
    NoteLeft(request.left, request.task, callbacks);
    UpdateFinishedJobs();
  }
  if (request.has_report) TakeReport(request.task, request.report, callbacks);
  HeartbeatReply reply;
  reply.wants_report = register_.Answer(request.task);
  reply.stop = MustStop(request.task);
  reply.finished_jobs = finished_jobs_.FinishedJobsFor(request.task);
  reply.cluster_uuid = SettledUuid();
  reply.left_version = left_version_;
  reply.left = LeftSince(request.left_version);
  // A heartbeat with a report is not counted, because it is sent in parallel
  // with the other heartbeats.
  if (!request.has_report) ++beats_since_[request.task];
  return reply;
}

void Coordinator::Impl::UpdateFinishedJobs() {
  if (finished_jobs_.Update(tasks_.members())) beats_since_.clear();
}

bool Coordinator::Impl::HaveAllAcknowledged() const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [task, member] : tasks_.members().members()) {
    if (task == options_.task || member.state != Membership::State::kAlive) {
      continue;
    }
    const auto beats = beats_since_.find(task);
    // The reply to the first heartbeat may still be in flight.
    if (beats == beats_since_.end() || beats->second < 2) return false;
  }
  return true;
}

bool Coordinator::Impl::MustStop(const std::string& task) const {
  if (stopping_since_ == absl::InfiniteFuture()) return false;
  if (task != options_.task) return true;
  if (Now() - stopping_since_ >= kStopTimeout) return true;
  for (const auto& [other, member] : tasks_.members().members()) {
    if (other != task && member.state == Membership::State::kAlive) {
      return false;
    }
  }
  return true;
}

void Coordinator::Impl::TakeReport(const std::string& task,
                                   const protocol::TaskReport& report,
                                   DeferredCallbacks& callbacks) {
  if (register_.Report(task, report)) {
    tasks_.Find(task)->resources = report.resources;
  }
  tasks_.Find(task)->memory = report.memory;
  tasks_.Find(task)->awaits_report = false;
  TaskReported(task, callbacks);
}

// A task of this cluster may stop before it has joined a restarted coordinator.
// A task of an earlier deployment with the same addresses may also send a
// Leave; it is not the expected task.
void Coordinator::Impl::Leave(const protocol::LeaveRequest& request) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  if (tasks_.members().Leave(request.task, request.incarnation)) {
    RecordLeave(request.task, callbacks);
  } else if (tasks_.Find(request.task) != nullptr &&
             IsUuid(request.cluster_uuid)) {
    early_leaves_[request.task] = request;
    SettleEarlyLeaves(callbacks);
  }
  UpdateFinishedJobs();
}

bool Coordinator::Impl::HasLeftEarly(const JoinRequest& request) const {
  const auto left = early_leaves_.find(request.task);
  return left != early_leaves_.end() &&
         left->second.incarnation == request.incarnation;
}

void Coordinator::Impl::SettleEarlyLeaves(DeferredCallbacks& callbacks) {
  if (!uuid_is_settled_) return;
  for (const auto& [task, leave] : std::exchange(early_leaves_, {})) {
    if (leave.cluster_uuid != cluster_uuid_) continue;
    if (!tasks_.members().NoteLeft(task, leave.incarnation)) continue;
    RecordLeave(task, callbacks);
  }
}

void Coordinator::Impl::RecordLeave(const std::string& task,
                                    DeferredCallbacks& callbacks) {
  Log(Severity::kInfo, absl::StrCat(task, " has left"), callbacks);
  CountChange(task);
  finished_jobs_.TaskLeft(task);
  DropTask(task, callbacks);
}

void Coordinator::Impl::OnTaskLost(const std::string& task,
                                   uint64_t incarnation,
                                   const absl::Status& why) {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  if (!tasks_.members().Lose(task, incarnation, Now())) return;
  Log(Severity::kWarning, absl::StrCat(task, " is lost: ", why.message()),
      callbacks);
  DropTask(task, callbacks);
}

void Coordinator::Impl::DropTask(const std::string& task,
                                 DeferredCallbacks& callbacks) {
  register_.DropTask(task);
  tasks_.Find(task)->resources.clear();
  OnTaskGone(task, callbacks);
}

// One timer is enough, because heartbeats only postpone the time at which a
// task is lost: the timer is armed again when it fires. It fires more often
// than a task can be lost, in order to detect that this process was suspended.
void Coordinator::Impl::ArmTick() {
  if (tick_ != 0 || closed_) return;
  const absl::Time next = tasks_.members().NextTick();
  if (next == absl::InfiniteFuture()) return;
  tick_due_ = std::min(next, Now() + options_.heartbeat_interval);
  tick_ = scheduler_.ScheduleAt(Pool::kControl, tick_due_,
                                [weak = weak_from_this()] {
                                  if (auto self = weak.lock()) self->Tick();
                                });
}

// If this process was suspended (for example stopped, or on a sleeping
// machine), the heartbeats that arrived meanwhile have not been read yet, so
// timeouts are extended. They are extended only by the missed time; otherwise,
// a coordinator whose ticks are always late would never lose a task.
void Coordinator::Impl::ExtendTimeoutsIfLate(absl::Time now,
                                             DeferredCallbacks& callbacks) {
  const absl::Duration late = now - tick_due_;
  const bool was_late =
      std::exchange(was_late_, late > options_.heartbeat_interval);
  if (!was_late_) return;
  tasks_.members().ExtendTimeouts(late, now);
  if (was_late) return;
  Log(Severity::kWarning,
      absl::StrCat(
          "This coordinator was suspended, or busy, for ",
          absl::FormatDuration(absl::Trunc(late, absl::Seconds(1))),
          ": the heartbeat timeout of all tasks is extended by as much"),
      callbacks);
}

void Coordinator::Impl::Tick() {
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  tick_ = 0;
  if (closed_) return;
  const absl::Time now = Now();
  ExtendTimeoutsIfLate(now, callbacks);
  for (const std::string& task : tasks_.members().Tick(now)) {
    Log(Severity::kWarning,
        absl::StrCat(task, " is lost: it has sent no heartbeat for ",
                     absl::FormatDuration(options_.heartbeat_timeout)),
        callbacks);
    DropTask(task, callbacks);
  }
  ArmTick();
}

}  // namespace weft
