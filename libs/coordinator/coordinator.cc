#include "libs/coordinator/coordinator.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/coordinator/container_filter.h"
#include "libs/coordinator/placement_work.h"
#include "libs/coordinator/resource_difference.h"
#include "libs/coordinator/resource_register.h"
#include "libs/coordinator/task_table.h"
#include "libs/coordinator/waiting_call.h"
#include "libs/placement/placer.h"

namespace weft {
namespace {

using protocol::ClusterStatus;
using protocol::HeartbeatReply;
using protocol::HeartbeatRequest;
using protocol::JoinReply;
using protocol::JoinRequest;
using protocol::PlacementReply;
using protocol::PlacementRequest;

// Between lines that say what a call still waits for.
constexpr absl::Duration kLogInterval = absl::Seconds(10);
// How long a shutdown lets the other tasks go first.
constexpr absl::Duration kStopPatience = absl::Seconds(10);

// Answers to be given once the lock is released: to be declared before it.
class Answers {
 public:
  ~Answers() {
    for (auto& answer : answers_) answer();
  }
  void Add(absl::AnyInvocable<void()> answer) {
    answers_.push_back(std::move(answer));
  }

 private:
  std::vector<absl::AnyInvocable<void()>> answers_;
};

std::string NewUuid(Random& random) {
  return absl::StrCat(absl::Hex(random.Next(), absl::kZeroPad16),
                      absl::Hex(random.Next(), absl::kZeroPad16));
}

bool IsUuid(const std::string& text) {
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

}  // namespace

class Coordinator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(const CoordinatorOptions& options)
      : options_(options),
        scheduler_(*options.scheduler),
        cluster_uuid_(NewUuid(*options.random)),
        tasks_(options.cluster, options.task, options.heartbeat_timeout),
        register_(options.heartbeat_interval < absl::InfiniteDuration()) {}

  void Close() ABSL_LOCKS_EXCLUDED(mutex_);
  void Join(const JoinRequest& request, Answer<JoinReply> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Heartbeat(const HeartbeatRequest& request, Answer<HeartbeatReply> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnTaskLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void Place(const PlacementRequest& request, absl::Time deadline,
             Answer<PlacementReply> done) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndSession(uint64_t session) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ForgetContainers(const std::vector<std::string>& containers,
                                const std::vector<std::string>& device_filters)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   Answer<std::vector<DeviceAttributes>> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  ClusterStatus GetCluster() ABSL_LOCKS_EXCLUDED(mutex_);
  void Shutdown() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Calls = std::map<uint64_t, WaitingCall>;

  absl::Time Now() const { return scheduler_.clock().Now(); }
  void Log(Severity severity, const std::string& line)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Who is there.
  absl::StatusOr<JoinReply> JoinLocked(const JoinRequest& request,
                                       Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogRefusal(const JoinRequest& request, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleUuid(const std::string& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string SettledUuid() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return uuid_is_settled_ ? cluster_uuid_ : "";
  }
  absl::StatusOr<HeartbeatReply> HeartbeatLocked(
      const HeartbeatRequest& request, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ShallStop(const std::string& task) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeReport(const std::string& task, const protocol::TaskReport& report,
                  Answers& answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropTask(const std::string& task, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmTick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tick() ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls that wait.
  absl::Status CheckRequest(const PlacementRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Begin(WaitingCall call, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmTimer(uint64_t id, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TimerFired(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<uint64_t> CallIds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TaskCame(const std::string& task, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TaskWent(const std::string& task, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TaskReported(const std::string& task, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Goes on with a call, or ends it, if there is nothing to wait for.
  void Advance(uint64_t id, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  WaitingCall Remove(Calls::iterator call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(Calls::iterator call, absl::Status why, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckMaster(const WaitingCall& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Placing, one graph at a time.
  void Kick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PlaceNext() ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<PlacementWork> TakeWork(Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Placed(uint64_t id, absl::StatusOr<Placement> placement,
              Answers& answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Settle(Calls::iterator it, Placement placement, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CoordinatorOptions options_;
  Scheduler& scheduler_;

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string cluster_uuid_ ABSL_GUARDED_BY(mutex_);
  // No task can know another one.
  bool uuid_is_settled_ ABSL_GUARDED_BY(mutex_) = false;
  TaskTable tasks_ ABSL_GUARDED_BY(mutex_);
  ResourceRegister register_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> finished_jobs_ ABSL_GUARDED_BY(mutex_);
  // The last task and incarnation that might not join.
  std::pair<std::string, uint64_t> last_refused_ ABSL_GUARDED_BY(mutex_);
  Scheduler::TimerId tick_ ABSL_GUARDED_BY(mutex_) = 0;
  // Infinite future: no shutdown was asked for.
  absl::Time stopping_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  uint64_t next_call_ ABSL_GUARDED_BY(mutex_) = 1;
  Calls calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> queue_ ABSL_GUARDED_BY(mutex_);
  bool is_placing_ ABSL_GUARDED_BY(mutex_) = false;
};

void Coordinator::Impl::Close() {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  if (tick_ != 0) scheduler_.CancelTimer(tick_);
  while (!calls_.empty()) {
    Fail(calls_.begin(),
         absl::UnavailableError(absl::StrCat("The coordinator at ",
                                             options_.task, " has stopped.")),
         answers);
  }
}

// Under the lock, so that nobody logs once Close has returned: the logger may
// be gone then.
void Coordinator::Impl::Log(Severity severity, const std::string& line) {
  if (options_.logger != nullptr && !closed_) {
    options_.logger->Log(severity, line);
  }
}

// Who is there.

void Coordinator::Impl::Join(const JoinRequest& request,
                             Answer<JoinReply> done) {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  answers.Add([reply = JoinLocked(request, answers),
               done = std::move(done)]() mutable { done(std::move(reply)); });
}

absl::StatusOr<JoinReply> Coordinator::Impl::JoinLocked(
    const JoinRequest& request, Answers& answers) {
  const auto& members = tasks_.members().members();
  const auto before = members.find(request.task);
  const auto state = before == members.end() ? Membership::State::kExpected
                                             : before->second.state;
  if (absl::Status status = tasks_.Join(request, Now()); !status.ok()) {
    LogRefusal(request, status);
    return status;
  }
  if (state != Membership::State::kAlive) {
    const size_t count = request.devices.size();
    Log(Severity::kInfo,
        absl::StrCat(request.task, " has joined at ", request.target, " with ",
                     count, count == 1 ? " device" : " devices"));
  }
  register_.AddTask(request.task);
  if (state == Membership::State::kLost) {
    // What others declare on its devices only they know.
    register_.WantSessions();
  }
  TakeReport(request.task, request.report, answers);
  register_.Answer(request.task);
  finished_jobs_ = tasks_.members().FinishedJobs();
  ArmTick();
  TaskCame(request.task, answers);
  SettleUuid(request.cluster_uuid);
  return JoinReply{SettledUuid(), options_.incarnation,
                   options_.heartbeat_interval};
}

// Tasks of different uuids refuse each other, so no two may ever be told. The
// tasks of an earlier coordinator know theirs, and it stays the cluster's; that
// there are none is certain once all have joined.
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

// A process that claims a task may ask again and again.
void Coordinator::Impl::LogRefusal(const JoinRequest& request,
                                   const absl::Status& why) {
  const auto refused = std::make_pair(request.task, request.incarnation);
  if (last_refused_ == refused) return;
  last_refused_ = refused;
  Log(Severity::kWarning, absl::StrCat("A process may not join as ",
                                       request.task, ": ", why.message()));
}

void Coordinator::Impl::Heartbeat(const HeartbeatRequest& request,
                                  Answer<HeartbeatReply> done) {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  answers.Add([reply = HeartbeatLocked(request, answers),
               done = std::move(done)]() mutable { done(std::move(reply)); });
}

absl::StatusOr<HeartbeatReply> Coordinator::Impl::HeartbeatLocked(
    const HeartbeatRequest& request, Answers& answers) {
  if (request.coordinator != options_.incarnation) {
    return absl::AbortedError(absl::StrCat("The coordinator at ", options_.task,
                                           " has started anew: ", request.task,
                                           " has to join again."));
  }
  RETURN_IF_ERROR(
      tasks_.members().Heard(request.task, request.incarnation, Now()));
  if (request.has_report) TakeReport(request.task, request.report, answers);
  HeartbeatReply reply;
  reply.wants_report = register_.Answer(request.task);
  reply.stop = ShallStop(request.task);
  reply.finished_jobs = finished_jobs_;
  reply.cluster_uuid = SettledUuid();
  return reply;
}

bool Coordinator::Impl::ShallStop(const std::string& task) const {
  if (stopping_since_ == absl::InfiniteFuture()) return false;
  if (task != options_.task) return true;
  if (Now() - stopping_since_ >= kStopPatience) return true;
  for (const auto& [other, member] : tasks_.members().members()) {
    if (other != task && member.state == Membership::State::kAlive) {
      return false;
    }
  }
  return true;
}

void Coordinator::Impl::TakeReport(const std::string& task,
                                   const protocol::TaskReport& report,
                                   Answers& answers) {
  if (register_.Report(task, report)) {
    tasks_.Find(task)->resources = report.resources;
  }
  TaskReported(task, answers);
}

void Coordinator::Impl::Leave(const std::string& task, uint64_t incarnation) {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  if (!tasks_.members().Leave(task, incarnation)) return;
  Log(Severity::kInfo, absl::StrCat(task, " has left"));
  finished_jobs_ = tasks_.members().FinishedJobs();
  DropTask(task, answers);
}

void Coordinator::Impl::OnTaskLost(const std::string& task,
                                   uint64_t incarnation,
                                   const absl::Status& why) {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  if (!tasks_.members().Lose(task, incarnation)) return;
  Log(Severity::kWarning, absl::StrCat(task, " is lost: ", why.message()));
  DropTask(task, answers);
}

void Coordinator::Impl::DropTask(const std::string& task, Answers& answers) {
  register_.DropTask(task);
  tasks_.Find(task)->resources.clear();
  TaskWent(task, answers);
}

// Heartbeats only put it off, so that one timer is enough, armed anew when it
// fires.
void Coordinator::Impl::ArmTick() {
  if (tick_ != 0 || closed_) return;
  const absl::Time next = tasks_.members().NextTick();
  if (next == absl::InfiniteFuture()) return;
  tick_ = scheduler_.ScheduleAt(next, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Tick();
  });
}

void Coordinator::Impl::Tick() {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  tick_ = 0;
  if (closed_) return;
  for (const std::string& task : tasks_.members().Tick(Now())) {
    Log(Severity::kWarning,
        absl::StrCat(task, " is lost: nothing was heard of it for ",
                     absl::FormatDuration(options_.heartbeat_timeout)));
    DropTask(task, answers);
  }
  ArmTick();
}

// Calls that wait.

void Coordinator::Impl::Place(const PlacementRequest& request,
                              absl::Time deadline,
                              Answer<PlacementReply> done) {
  WaitingCall call;
  call.request = std::make_shared<const PlacementRequest>(request);
  call.place_done = std::move(done);
  call.deadline = deadline;
  absl::StatusOr<DeviceFilters> filters =
      DeviceFilters::Parse(request.device_filters);
  Answers answers;
  absl::MutexLock lock(&mutex_);
  absl::Status status = filters.ok() ? CheckRequest(request) : filters.status();
  if (!status.ok()) return answers.Add(call.Fail(std::move(status)));
  call.filters = *std::move(filters);
  call.needed = tasks_.Passing(call.filters);
  call.needed.insert(request.task);
  Begin(std::move(call), answers);
}

absl::Status Coordinator::Impl::CheckRequest(const PlacementRequest& request) {
  const TaskTable::Task* const task = tasks_.Find(request.task);
  if (task == nullptr || !task->has_devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", request.task,
                     "\" can't be the master of a session: it is no task with "
                     "devices of the cluster ",
                     options_.cluster.ToString(), "."));
  }
  if (register_.HasEnded(request.session)) {
    return absl::AbortedError("The session has ended.");
  }
  return CheckInputs(request.graph);
}

void Coordinator::Impl::ListDevices(
    const std::vector<std::string>& device_filters, absl::Time deadline,
    Answer<std::vector<DeviceAttributes>> done) {
  WaitingCall call;
  call.list_done = std::move(done);
  call.deadline = deadline;
  absl::StatusOr<DeviceFilters> filters = DeviceFilters::Parse(device_filters);
  Answers answers;
  absl::MutexLock lock(&mutex_);
  if (!filters.ok()) return answers.Add(call.Fail(filters.status()));
  call.filters = *std::move(filters);
  call.needed = tasks_.Passing(call.filters);
  Begin(std::move(call), answers);
}

void Coordinator::Impl::Begin(WaitingCall call, Answers& answers) {
  call.missing = tasks_.Missing(call.needed);
  const uint64_t id = next_call_++;
  ArmTimer(id, calls_.emplace(id, std::move(call)).first->second);
  Advance(id, answers);
}

void Coordinator::Impl::ArmTimer(uint64_t id, WaitingCall& call) {
  call.timer =
      scheduler_.ScheduleAt(std::min(call.deadline, Now() + kLogInterval),
                            [weak = weak_from_this(), id] {
                              if (auto self = weak.lock()) self->TimerFired(id);
                            });
}

void Coordinator::Impl::TimerFired(uint64_t id) {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  const auto call = calls_.find(id);
  if (call == calls_.end()) return;
  call->second.timer = 0;
  if (Now() >= call->second.deadline) {
    return Fail(call, call->second.TooLate(), answers);
  }
  Log(Severity::kInfo, call->second.Describe());
  ArmTimer(id, call->second);
}

std::vector<uint64_t> Coordinator::Impl::CallIds() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, call] : calls_) ids.push_back(id);
  return ids;
}

void Coordinator::Impl::TaskCame(const std::string& task, Answers& answers) {
  for (const uint64_t id : CallIds()) {
    WaitingCall& call = calls_.at(id);
    if (call.needed.count(task) == 0) continue;
    call.missing.erase(task);
    call.is_outdated = true;
    Advance(id, answers);
  }
}

void Coordinator::Impl::TaskWent(const std::string& task, Answers& answers) {
  for (const uint64_t id : CallIds()) {
    WaitingCall& call = calls_.at(id);
    if (call.needed.count(task) > 0) {
      call.missing.insert(task);
      call.is_outdated = true;
    }
    if (call.reporting.erase(task) > 0) Advance(id, answers);
  }
}

void Coordinator::Impl::TaskReported(const std::string& task,
                                     Answers& answers) {
  for (const uint64_t id : CallIds()) {
    WaitingCall& call = calls_.at(id);
    if (call.reporting.count(task) == 0) continue;
    if (!register_.IsSettled(task, call.since)) continue;
    call.reporting.erase(task);
    Advance(id, answers);
  }
}

void Coordinator::Impl::Advance(uint64_t id, Answers& answers) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;
  WaitingCall& call = it->second;
  if (call.state != WaitingCall::State::kWaits) return;
  if (absl::Status status = CheckMaster(call); !status.ok()) {
    return Fail(it, std::move(status), answers);
  }
  if (!call.missing.empty() || !call.reporting.empty()) return;
  if (call.request != nullptr) {
    call.state = WaitingCall::State::kQueued;
    queue_.push_back(id);
    return Kick();
  }
  answers.Add(
      [devices = tasks_.Devices(call.needed, call.filters, ""),
       done = Remove(it).list_done]() mutable { done(std::move(devices)); });
}

// The master of a session joins before it is asked for sessions, but may be
// on its way back.
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

WaitingCall Coordinator::Impl::Remove(Calls::iterator it) {
  WaitingCall call = std::move(it->second);
  calls_.erase(it);
  if (call.timer != 0) scheduler_.CancelTimer(call.timer);
  return call;
}

void Coordinator::Impl::Fail(Calls::iterator call, absl::Status why,
                             Answers& answers) {
  answers.Add(Remove(call).Fail(std::move(why)));
}

// Placing. The graph may be large, so its nodes are placed without the lock,
// which heartbeats need; one graph at a time, so that what they register does
// not depend on chance and each sees what the one before it has registered.

void Coordinator::Impl::Kick() {
  if (is_placing_ || queue_.empty() || closed_) return;
  is_placing_ = true;
  scheduler_.Schedule(Pool::kCompute, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->PlaceNext();
  });
}

void Coordinator::Impl::PlaceNext() {
  std::optional<PlacementWork> work;
  {
    Answers answers;
    absl::MutexLock lock(&mutex_);
    work = TakeWork(answers);
    if (!work) is_placing_ = false;
  }
  if (!work) return;
  absl::StatusOr<Placement> placement = work->Place();
  Answers answers;
  absl::MutexLock lock(&mutex_);
  is_placing_ = false;
  Placed(work->call(), std::move(placement), answers);
  Kick();
}

std::optional<PlacementWork> Coordinator::Impl::TakeWork(Answers& answers) {
  while (!queue_.empty()) {
    const auto it = calls_.find(queue_.front());
    queue_.pop_front();
    if (it == calls_.end()) continue;
    WaitingCall& call = it->second;
    call.state = WaitingCall::State::kWaits;
    if (absl::Status status = CheckMaster(call); !status.ok()) {
      Fail(it, std::move(status), answers);
      continue;
    }
    if (!call.missing.empty()) continue;
    call.state = WaitingCall::State::kPlacing;
    call.is_outdated = false;
    return PlacementWork(
        it->first, call.request,
        tasks_.Devices(call.needed, call.filters, call.request->task),
        register_);
  }
  return std::nullopt;
}

void Coordinator::Impl::Placed(uint64_t id, absl::StatusOr<Placement> placement,
                               Answers& answers) {
  const auto it = calls_.find(id);
  if (it == calls_.end()) return;  // too late, or its session has ended
  it->second.state = WaitingCall::State::kWaits;
  if (it->second.is_outdated) return Advance(id, answers);
  if (!placement.ok()) return Fail(it, placement.status(), answers);
  Settle(it, *std::move(placement), answers);
}

void Coordinator::Impl::Settle(Calls::iterator it, Placement placement,
                               Answers& answers) {
  WaitingCall& call = it->second;
  if (!call.request->isolated && !call.request->explain) {
    const ResourceRegister::Declarer declarer{call.request->session,
                                              call.request->task};
    const std::vector<NodeResource> resources =
        DeclaredResources(call.request->graph, placement.devices);
    if (call.since == 0) call.since = register_.NextMoment();
    ResourceRegister::Verdict verdict =
        register_.Compare(declarer, resources, call.since);
    if (!verdict.differences.empty()) {
      // Should such a session be there no more, it does no harm twice.
      for (const ResourceDifference& difference : verdict.differences) {
        if (!difference.there_is_left()) register_.Want(difference.there_task);
      }
      return Fail(it, ToStatus(verdict.differences, verdict.causes), answers);
    }
    for (const std::string& task : verdict.doubtful_tasks) register_.Want(task);
    call.reporting = std::move(verdict.doubtful_tasks);
    if (!call.reporting.empty()) return;
    register_.Declare(declarer, resources);
  }
  answers.Add(
      [reply = PlacementReply{std::move(placement.devices),
                              std::move(placement.reasons)},
       done = Remove(it).place_done]() mutable { done(std::move(reply)); });
}

// The rest.

void Coordinator::Impl::EndSession(uint64_t session) {
  Answers answers;
  absl::MutexLock lock(&mutex_);
  register_.EndSession(session);
  for (const uint64_t id : CallIds()) {
    const auto call = calls_.find(id);
    const auto& request = call->second.request;
    if (request == nullptr || request->session != session) continue;
    Fail(call, absl::AbortedError("The session has ended."), answers);
  }
}

absl::Status Coordinator::Impl::ForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters) {
  ASSIGN_OR_RETURN(const ContainerFilter filter,
                   ContainerFilter::Create(containers, device_filters));
  absl::MutexLock lock(&mutex_);
  register_.Forget(filter);
  tasks_.Forget(filter);
  return absl::OkStatus();
}

ClusterStatus Coordinator::Impl::GetCluster() {
  absl::MutexLock lock(&mutex_);
  // Whoever looks is likely to look again.
  for (const auto& [name, task] : tasks_.tasks()) register_.Want(name);
  return {cluster_uuid_, options_.task,
          tasks_.Statuses(register_.SessionsOfTasks())};
}

void Coordinator::Impl::Shutdown() {
  absl::MutexLock lock(&mutex_);
  if (stopping_since_ < absl::InfiniteFuture()) return;
  stopping_since_ = Now();
  Log(Severity::kInfo, "All tasks of the cluster are asked to stop");
}

// The face.

Coordinator::Coordinator(const CoordinatorOptions& options)
    : impl_(std::make_shared<Impl>(options)) {}

Coordinator::~Coordinator() { impl_->Close(); }

void Coordinator::Join(const JoinRequest& request, absl::Time,
                       Answer<JoinReply> done) {
  impl_->Join(request, std::move(done));
}

void Coordinator::Heartbeat(const HeartbeatRequest& request, absl::Time,
                            Answer<HeartbeatReply> done) {
  impl_->Heartbeat(request, std::move(done));
}

void Coordinator::Leave(const std::string& task, uint64_t incarnation,
                        absl::Time, Done done) {
  impl_->Leave(task, incarnation);
  done(absl::OkStatus());
}

void Coordinator::Place(const PlacementRequest& request, absl::Time deadline,
                        Answer<PlacementReply> done) {
  impl_->Place(request, deadline, std::move(done));
}

void Coordinator::EndSession(uint64_t session, absl::Time, Done done) {
  impl_->EndSession(session);
  done(absl::OkStatus());
}

void Coordinator::ForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters, absl::Time, Done done) {
  done(impl_->ForgetContainers(containers, device_filters));
}

void Coordinator::ListDevices(const std::vector<std::string>& device_filters,
                              absl::Time deadline,
                              Answer<std::vector<DeviceAttributes>> done) {
  impl_->ListDevices(device_filters, deadline, std::move(done));
}

void Coordinator::GetCluster(absl::Time, Answer<ClusterStatus> done) {
  done(impl_->GetCluster());
}

void Coordinator::Shutdown(absl::Time, Done done) {
  impl_->Shutdown();
  done(absl::OkStatus());
}

void Coordinator::OnTaskLost(const std::string& task, uint64_t incarnation,
                             const absl::Status& why) {
  impl_->OnTaskLost(task, incarnation, why);
}

}  // namespace weft
