// Implements sessions of masters on this task: how they begin, drain and end.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/passes/run_passes.h"
#include "libs/runtime/task_runtime.h"

namespace weft {
namespace {

absl::Status Deleted(uint64_t session) {
  return MarkDerived(absl::AbortedError(
      absl::StrCat("Session ", session, " has been deleted.")));
}

}  // namespace

void TaskRuntime::Session::AddContainers(const Registration::Containers& more) {
  for (const Registration::Container& container : more) {
    if (!containers.insert(container).second) continue;
    registered_bytes += static_cast<int64_t>(container.name.size()) + 64;
  }
}

TaskRuntime::Session::~Session() {
  for (const auto& local_functions : functions) local_functions->EndSession();
  for (const auto& resources : own_resources) resources->ClearAll();
}

void TaskRuntime::CreateWorkerSession(
    const protocol::WorkerSession& session,
    const protocol::WorkerSessionOptions& options, absl::Time, Done done) {
  done(AddSession(session, options));
}

absl::Status TaskRuntime::CheckAdmits(const Session& session) const {
  if (is_draining_ && session.is_monitored && !IsMonitoredByOther(session)) {
    return absl::OkStatus();
  }
  return stopped_;
}

absl::Status TaskRuntime::AddSession(
    const protocol::WorkerSession& session,
    const protocol::WorkerSessionOptions& options) {
  const auto created = reclaimer_->Own(std::make_unique<Session>());
  created->devices = devices_;
  created->master_incarnation = session.master_incarnation;
  created->is_monitored = options.is_monitored;
  if (options.is_monitored && options_.expect_saves) {
    created->expects_saves = options_.expect_saves();
  }
  if (options.isolated) created->own_resources = NewResources();
  const auto& resources =
      options.isolated ? created->own_resources : shared_resources_;
  for (size_t i = 0; i < devices_.size(); ++i) {
    using Kept =
        std::pair<std::shared_ptr<Device>, std::shared_ptr<ResourceManager>>;
    created->functions.push_back(
        std::make_shared<LocalFunctions>(LocalFunctions::Options{
            .kernels = options_.kernels,
            .device = devices_[i].get(),
            .random = options_.random,
            .rewrite = devices_[i]->device_type() == "CPU" ? RewriteFunctionBody
                                                           : nullptr,
            .keeps = std::make_shared<Kept>(devices_[i], resources[i])}));
  }
  const bool is_awaited = IsMonitoredByOther(*created);
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckAdmits(*created));
  if (ended_sessions_.Contains({session.master_incarnation, session.session})) {
    return Deleted(session.session);
  }
  RETURN_IF_ERROR(CheckRoomFor(session));
  const auto [it, is_new] = sessions_.emplace(session.session, created);
  if (it->second->master_incarnation != session.master_incarnation) {
    return absl::AlreadyExistsError(absl::StrCat(
        "Session ", session.session, " on ", options_.task,
        " belongs to another master. Create a session with another id."));
  }
  if (!is_new) return absl::OkStatus();
  if (is_awaited) monitored_.Begin();
  steps_.AddSession(session);
  // Give the session a lease if its master is lost or was never connected.
  // Otherwise it would never end.
  const bool is_own = session.master_incarnation == options_.incarnation;
  if (!is_own && !peers_.contains(session.master_incarnation)) {
    BeginLease(session.master_incarnation, peers_[session.master_incarnation]);
  }
  return absl::OkStatus();
}

absl::Status TaskRuntime::CheckRoomFor(
    const protocol::WorkerSession& session) const {
  if (sessions_.contains(session.session) ||
      sessions_.size() < static_cast<uint64_t>(options_.max_sessions)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(options_.task, " takes part in ", sessions_.size(),
                   " sessions of all masters, which is its limit. Close some, "
                   "or raise max_worker_sessions there."));
}

void TaskRuntime::DeleteWorkerSession(const protocol::WorkerSession& session,
                                      absl::Time, Done done) {
  {
    absl::MutexLock lock(&mutex_);
    ended_sessions_.Add({session.master_incarnation, session.session});
  }
  RemoveSession(session, Deleted(session.session));
  done(absl::OkStatus());
}

TaskRuntime::Sessions::const_iterator TaskRuntime::FindSession(
    const protocol::WorkerSession& session) const {
  const auto it = sessions_.find(session.session);
  if (it == sessions_.end()) return it;
  const bool is_its_own =
      it->second->master_incarnation == session.master_incarnation;
  return is_its_own ? it : sessions_.end();
}

void TaskRuntime::RemoveSession(const protocol::WorkerSession& session,
                                const absl::Status& cause) {
  RemovedSession removed;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = FindSession(session);
    if (it == sessions_.end()) return;
    removed = TakeOut(it, cause);
  }
  removed.cancel_steps();
}

// Removes the session from both tables at once, so that a session with the same
// id that is created afterwards is in both tables.
TaskRuntime::RemovedSession TaskRuntime::TakeOut(Sessions::const_iterator it,
                                                 const absl::Status& cause) {
  RemovedSession removed;
  removed.cancel_steps = steps_.RemoveSession(it->first, cause);
  removed.session = it->second;
  removed.expects_saves = std::move(removed.session->expects_saves);
  removed.registrations = std::move(removed.session->registrations);
  sessions_.erase(it);
  if (IsMonitoredByOther(*removed.session)) monitored_.End();
  return removed;
}

void TaskRuntime::CancelSteps(std::vector<RemovedSession> sessions) {
  for (RemovedSession& session : sessions) session.cancel_steps();
}

void TaskRuntime::CancelStepsSoon(std::vector<RemovedSession> sessions) {
  if (sessions.empty()) return;
  cancelling_.Begin();
  options_.scheduler->Schedule(
      Pool::kControl, [this, sessions = std::move(sessions)]() mutable {
        CancelSteps(std::move(sessions));  // also releases them
        cancelling_.End();
      });
}

absl::Status TaskRuntime::CheckSessionActive(
    Sessions::const_iterator it) const {
  const bool is_monitored = it != sessions_.end() && it->second->is_monitored;
  return is_draining_ && is_monitored ? absl::OkStatus() : stopped_;
}

int TaskRuntime::num_sessions() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int>(sessions_.size());
}

int TaskRuntime::num_registrations() const {
  absl::ReaderMutexLock lock(&mutex_);
  size_t count = 0;
  for (const auto& [id, session] : sessions_) {
    count += session->registrations.size();
  }
  return static_cast<int>(count);
}

// A request may have waited long. If its client has given it up, others may
// have recreated the containers that the request would clear.
absl::Status TaskRuntime::CheckWanted(absl::Time deadline,
                                      const Cancellation& client) const {
  RETURN_IF_ERROR(client.status());
  if (options_.scheduler->clock().Now() < deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("The reset reached ", options_.task,
                   " after its deadline and has cleared nothing there. Reset "
                   "again if it is still needed."));
}

void TaskRuntime::ClearContainers(const std::vector<std::string>& containers,
                                  absl::Time deadline,
                                  const std::shared_ptr<Cancellation>& client,
                                  Done done) {
  absl::Status wanted = CheckWanted(deadline, *client);
  if (!wanted.ok()) return done(std::move(wanted));
  const std::vector<std::string> defaults = {""};
  Registration::Containers cleared;
  for (const auto& resources : shared_resources_) {
    for (const std::string& name : containers.empty() ? defaults : containers) {
      cleared.insert({resources.get(),
                      name.empty() ? resources->default_container() : name});
    }
  }
  EndSessionsThatUse(cleared);
  for (const auto& resources : shared_resources_) {
    for (const std::string& name : containers.empty() ? defaults : containers) {
      resources->ClearContainer(name);
    }
  }
  // End sessions that have registered a graph since the first search.
  EndSessionsThatUse(cleared);
  done(absl::OkStatus());
}

// Must be called before the resources are removed, so that steps fail with this
// error and not with NOT_FOUND.
void TaskRuntime::EndSessionsThatUse(
    const Registration::Containers& containers) {
  const absl::Status cause = absl::AbortedError(
      absl::StrCat("A reset by another task's master has cleared a container "
                   "on ",
                   options_.task,
                   " in which the session has resources. Create a new session, "
                   "and initialize the variables again."));
  std::vector<RemovedSession> ended;
  {
    absl::MutexLock lock(&mutex_);
    for (const uint64_t id : SessionsThatUse(containers)) {
      const auto it = sessions_.find(id);
      ended_sessions_.Add({it->second->master_incarnation, id});
      ended.push_back(TakeOut(it, cause));
    }
  }
  CancelSteps(std::move(ended));
}

std::vector<uint64_t> TaskRuntime::SessionsThatUse(
    const Registration::Containers& containers) const {
  std::vector<uint64_t> found;
  for (const auto& [id, session] : sessions_) {
    const bool uses = absl::c_any_of(
        session->containers,
        [&](const auto& container) { return containers.contains(container); });
    if (uses) found.push_back(id);
  }
  return found;
}

void TaskRuntime::Drain(const absl::Status& cause) {
  std::vector<RemovedSession> sessions;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = cause;
    is_draining_ = true;
    std::vector<uint64_t> lost;
    for (auto& [incarnation, peer] : peers_) {
      if (peer.connections > 0) continue;
      if (LeaseOf(incarnation, peer) == absl::ZeroDuration()) {
        lost.push_back(incarnation);
      } else {
        BeginLease(incarnation, peer);
      }
    }
    for (const uint64_t incarnation : lost) {
      for (RemovedSession& session : ForgetMaster(incarnation, cause)) {
        sessions.push_back(std::move(session));
      }
    }
  }
  CancelSteps(std::move(sessions));
}

void TaskRuntime::Stop(const absl::Status& cause) {
  std::vector<RemovedSession> sessions;
  std::vector<VariableHolds::Hold> holds;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = cause;
    is_draining_ = false;
    while (!sessions_.empty()) {
      sessions.push_back(TakeOut(sessions_.begin(), cause));
    }
    holds = holds_.TakeAll();
  }
  CancelSteps(std::move(sessions));
  for (VariableHolds::Hold& hold : holds) End(std::move(hold));
}

}  // namespace weft
