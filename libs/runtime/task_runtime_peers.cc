// Implements peers: connections to other tasks, and the leases of the sessions
// of their masters.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/bus/transport.h"
#include "libs/protocol/peer_checks.h"
#include "libs/runtime/task_runtime.h"

namespace weft {

std::string TaskRuntime::TaskOf(uint64_t master_incarnation) const {
  if (master_incarnation == options_.incarnation) return options_.task;
  const auto it = peers_.find(master_incarnation);
  if (it == peers_.end() || it->second.connections == 0) return "";
  return it->second.task;
}

std::vector<uint64_t> TaskRuntime::OthersOf(const std::string& task,
                                            uint64_t incarnation,
                                            bool connected) const {
  std::vector<uint64_t> result;
  for (const auto& [other, peer] : peers_) {
    if (other == incarnation || peer.task != task) continue;
    if ((peer.connections > 0) == connected) result.push_back(other);
  }
  return result;
}

bool TaskRuntime::IsTaken(const std::string& task, uint64_t incarnation) const {
  for (const auto& [other, peer] : peers_) {
    if (other == incarnation || peer.task != task) continue;
    if (peer.is_claimed || (peer.connections > 0 && !peer.claims)) return true;
  }
  return false;
}

absl::Status TaskRuntime::PeerConnected(const std::string& task,
                                        uint64_t incarnation) {
  std::vector<uint64_t> predecessors;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(
        protocol::CheckIsOneTask(incarnation, task, TaskOf(incarnation)));
    PeerState& peer = peers_[incarnation];
    peer.task = task;
    peer.has_ended = false;
    if (peer.connections++ == 0) {
      peer.claims =
          !std::exchange(peer.is_claimed, false) && IsTaken(task, incarnation);
    }
    if (peer.lease != 0) options_.scheduler->CancelTimer(peer.lease);
    peer.lease = 0;
    if (!peer.claims) {
      predecessors = OthersOf(task, incarnation, /*connected=*/false);
      steps_.PeerConnected(task);
    }
  }
  EndHoldsWithout(incarnation);
  for (uint64_t other : predecessors) DropPredecessor(task, other);
  return absl::OkStatus();
}

void TaskRuntime::DropPredecessor(const std::string& task,
                                  uint64_t incarnation) {
  DropMaster(incarnation, absl::AbortedError(absl::StrCat("The task ", task,
                                                          " has restarted.")));
}

bool TaskRuntime::PeerLost(const std::string& task, uint64_t incarnation,
                           const absl::Status& why) {
  const absl::Status cause = absl::UnavailableError(
      absl::StrCat("The connection between ", options_.task, " and ", task,
                   " was lost: ", why.message()));
  const bool has_ended = why == bus::TaskHasEnded(task);
  const bool is_claimant = LoseConnection(incarnation, has_ended);
  EndHoldsOf(incarnation);
  StepTable::Loss lost;
  if (!is_claimant) lost = steps_.PeerLost(task, cause);
  const bool driven = steps_.CancelStepsOf(incarnation, MarkDerived(cause));
  for (const protocol::StepId& step : lost.ended) AbortAt(task, step, cause);
  return lost.was_needed || driven;
}

bool TaskRuntime::DropUnusedConnection(const std::string& task,
                                       uint64_t incarnation) {
  absl::MutexLock lock(&mutex_);
  const auto it = peers_.find(incarnation);
  if (it == peers_.end() || it->second.connections < 2) return false;
  --it->second.connections;
  if (!it->second.claims) steps_.ConnectionClosed(task);
  return true;
}

bool TaskRuntime::LoseConnection(uint64_t incarnation, bool has_ended) {
  absl::MutexLock lock(&mutex_);
  const auto it = peers_.find(incarnation);
  if (it == peers_.end() || it->second.connections == 0) return false;
  PeerState& peer = it->second;
  peer.has_ended |= has_ended;
  if (--peer.connections > 0) return peer.claims;
  peer.is_claimed =
      !peer.claims &&
      !OthersOf(peer.task, incarnation, /*connected=*/true).empty();
  BeginLease(incarnation, peer);
  return peer.claims;
}

bool TaskRuntime::HasMonitoredSession(uint64_t incarnation) const {
  return absl::c_any_of(sessions_, [&](const auto& entry) {
    return entry.second->master_incarnation == incarnation &&
           entry.second->is_monitored;
  });
}

absl::Duration TaskRuntime::LeaseOf(uint64_t incarnation,
                                    const PeerState& peer) const {
  const absl::Duration lease =
      peer.is_claimed ? std::min(options_.claim_grace, options_.master_lease)
                      : options_.master_lease;
  if (!is_draining_) return lease;
  if (peer.has_ended || !HasMonitoredSession(incarnation)) {
    return absl::ZeroDuration();
  }
  return std::min(lease, options_.drain_lease);
}

void TaskRuntime::BeginLease(uint64_t incarnation, PeerState& peer) {
  if (peer.lease != 0) options_.scheduler->CancelTimer(peer.lease);
  peer.lease = options_.scheduler->ScheduleAt(
      Pool::kControl,
      options_.scheduler->clock().Now() + LeaseOf(incarnation, peer),
      [self = weak_from_this(), incarnation, loss = ++peer.losses] {
        if (auto runtime = self.lock()) {
          runtime->LeaseExpired(incarnation, loss);
        }
      });
}

bool TaskRuntime::EndClaims(const std::string& task, uint64_t incarnation) {
  const std::vector<uint64_t> successors =
      OthersOf(task, incarnation, /*connected=*/true);
  for (const uint64_t successor : successors) {
    PeerState& peer = peers_.at(successor);
    if (!std::exchange(peer.claims, false)) continue;
    for (int i = 0; i < peer.connections; ++i) steps_.PeerConnected(task);
  }
  return !successors.empty();
}

void TaskRuntime::AbortAt(const std::string& task, const protocol::StepId& step,
                          const absl::Status& cause) {
  protocol::Worker* worker =
      options_.peers ? options_.peers->Find(task) : nullptr;
  if (worker == nullptr) return;
  const absl::Time deadline =
      options_.scheduler->clock().Now() + options_.master_lease;
  // The call is sent as soon as the task is connected again.
  worker->GetStatusWhenConnected(
      deadline,
      [worker, step,
       cause](const absl::StatusOr<std::vector<DeviceAttributes>>& status) {
        if (!status.ok()) return;
        worker->Abort(step, 0, cause, [](const absl::Status&) {});
      });
}

// The check whether the master is back holds the same lock as the removal of
// its sessions. So sessions that the master makes after its return are kept.
void TaskRuntime::LeaseExpired(uint64_t incarnation, uint64_t loss) {
  std::vector<RemovedSession> sessions;
  {
    absl::MutexLock lock(&mutex_);
    auto it = peers_.find(incarnation);
    if (it == peers_.end() || it->second.connections > 0) return;
    if (it->second.losses != loss) return;  // it was back in between
    sessions = EndLease(incarnation, it->second);
  }
  CancelSteps(std::move(sessions));
}

std::vector<TaskRuntime::RemovedSession> TaskRuntime::EndLease(
    uint64_t incarnation, PeerState& peer) {
  const bool was_claimed = std::exchange(peer.is_claimed, false);
  if (!was_claimed || EndClaims(peer.task, incarnation)) {
    return ForgetMaster(
        incarnation, absl::AbortedError(absl::StrCat(
                         "The session's master", peer.task.empty() ? "" : ", ",
                         peer.task, ", was lost and did not come back.")));
  }
  BeginLease(incarnation, peer);
  return {};
}

void TaskRuntime::DropMaster(uint64_t incarnation, const absl::Status& cause) {
  std::vector<RemovedSession> sessions;
  {
    absl::MutexLock lock(&mutex_);
    sessions = ForgetMaster(incarnation, cause);
  }
  CancelStepsSoon(std::move(sessions));
}

std::vector<TaskRuntime::RemovedSession> TaskRuntime::ForgetMaster(
    uint64_t incarnation, const absl::Status& cause) {
  auto peer = peers_.find(incarnation);
  if (peer != peers_.end() && peer->second.connections <= 0) {
    if (peer->second.lease != 0) {
      options_.scheduler->CancelTimer(peer->second.lease);
    }
    peers_.erase(peer);
  }
  std::vector<RemovedSession> sessions;
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (it->second->master_incarnation != incarnation) {
      ++it;
      continue;
    }
    const uint64_t id = it->first;
    sessions.push_back(TakeOut(it, MarkDerived(cause)));
    it = sessions_.upper_bound(id);  // all iterators are invalid now
  }
  return sessions;
}

}  // namespace weft
