#include "libs/runtime/step_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

void CancelAll(const std::vector<std::shared_ptr<Cancellation>>& cancellations,
               const absl::Status& cause) {
  for (const auto& cancellation : cancellations) cancellation->Cancel(cause);
}

int64_t Bytes(const Tensor& tensor) {
  return tensor.IsInitialized() ? static_cast<int64_t>(tensor.num_bytes()) : 0;
}

}  // namespace

void StepTable::AddSession(const protocol::WorkerSession& session) {
  absl::MutexLock lock(&mutex_);
  sessions_.emplace(session.session, Session{.master = session.master});
}

template <typename Predicate>
StepTable::Cancellations StepTable::Select(Predicate predicate) {
  Cancellations result;
  for (auto it = steps_.begin(); it != steps_.end();) {
    const auto current = it++;
    const Entry& entry = current->second;
    if (!predicate(current->first, entry)) continue;
    if (entry.is_running()) {
      result.push_back(entry.cancellation);
    } else {
      DropWaiting(entry);
      steps_.erase(current);
    }
  }
  return result;
}

void StepTable::DropWaiting(const Entry& entry) {
  auto session = sessions_.find(entry.session);
  if (session == sessions_.end()) return;
  session->second.waiting_bytes -= entry.waiting_bytes;
}

void StepTable::RemoveSession(uint64_t session, const absl::Status& cause) {
  Cancellations cancellations;
  {
    absl::MutexLock lock(&mutex_);
    auto it = sessions_.find(session);
    if (it == sessions_.end()) return;
    const uint64_t master = it->second.master;
    cancellations = Select([&](const protocol::StepId&, const Entry& entry) {
      return entry.session == session;
    });
    sessions_.erase(it);
    const bool was_last = std::none_of(
        sessions_.begin(), sessions_.end(),
        [&](const auto& other) { return other.second.master == master; });
    if (was_last) masters_.erase(master);
  }
  CancelAll(cancellations, cause);
}

absl::Status StepTable::Check(const protocol::StepId& step,
                              uint64_t session) const {
  if (!sessions_.contains(session)) {
    return absl::AbortedError(
        absl::StrCat("Session ", session,
                     " is not known on this task. Possibly the task has "
                     "restarted."));
  }
  auto master = masters_.find(step.master);
  if (master == masters_.end()) return absl::OkStatus();
  if (step.step < master->second.steps_over_below) {
    return absl::AbortedError(
        absl::StrCat("Step ", step.step, " is over already."));
  }
  auto aborted = master->second.aborted.find(step.step);
  if (aborted == master->second.aborted.end()) return absl::OkStatus();
  return aborted->second;
}

void StepTable::ForgetOver(uint64_t master, uint64_t steps_over_below) {
  Master& known = masters_[master];
  if (steps_over_below <= known.steps_over_below) return;
  known.steps_over_below = steps_over_below;
  known.aborted.erase(known.aborted.begin(),
                      known.aborted.lower_bound(steps_over_below));
  known.ended.erase(known.ended.begin(),
                    known.ended.lower_bound(steps_over_below));
  for (auto it = steps_.begin(); it != steps_.end();) {
    const auto current = it++;
    if (current->first.master != master) continue;
    if (current->first.step >= steps_over_below) continue;
    if (current->second.is_running()) continue;
    DropWaiting(current->second);
    steps_.erase(current);
  }
}

absl::StatusOr<std::shared_ptr<StepExchange>> StepTable::Begin(
    const protocol::PartitionStep& step, const StepPeers* peers) {
  const protocol::StepId id{step.session.master, step.step};
  absl::MutexLock lock(&mutex_);
  ForgetOver(id.master, step.steps_over_below);
  RETURN_IF_ERROR(Check(id, step.session.session));
  RETURN_IF_ERROR(CheckConnected(peers->senders));
  Entry& entry = steps_[id];
  if (entry.is_running()) {
    return absl::InternalError(
        absl::StrCat("Step ", id.step, " was begun twice on this task."));
  }
  if (entry.exchange == nullptr) {
    entry.exchange = std::make_shared<StepExchange>(step.session, step.step);
    entry.session = step.session.session;
  }
  DropWaiting(entry);
  entry.waiting_bytes = 0;
  entry.cancellation = step.cancellation;
  entry.peers = peers;
  running_.Begin();
  return entry.exchange;
}

void StepTable::End(const protocol::StepId& step, const absl::Status& status) {
  Forget(step, status);
  running_.End();
}

void StepTable::Forget(const protocol::StepId& step,
                       const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  auto it = steps_.find(step);
  const Entry entry = std::move(it->second);
  steps_.erase(it);
  if (!sessions_.contains(entry.session)) return;
  if (!status.ok()) {
    // Values of a failed step may still be on their way.
    masters_[step.master].aborted.emplace(step.step, MarkDerived(status));
  } else if (entry.peers->receivers != nullptr) {
    masters_[step.master].ended.emplace(step.step, entry.peers->receivers);
  }
}

std::shared_ptr<StepExchange> StepTable::Admit(const protocol::Push& push) {
  const protocol::StepId id{push.session.master, push.step};
  absl::MutexLock lock(&mutex_);
  if (!Check(id, push.session.session).ok()) return nullptr;
  Entry& entry = steps_[id];
  if (entry.exchange == nullptr) {
    entry.exchange = std::make_shared<StepExchange>(push.session, push.step);
    entry.session = push.session.session;
  }
  if (entry.is_running()) return entry.exchange;
  Session& session = sessions_[push.session.session];
  const int64_t bytes = Bytes(push.tensor);
  if (bytes > max_waiting_bytes_ - session.waiting_bytes) {
    masters_[id.master].aborted.emplace(
        id.step,
        absl::ResourceExhaustedError(absl::StrCat(
            "Values that arrived before their step began take more than ",
            max_waiting_bytes_, " bytes: step ", id.step, ", edge ", push.edge,
            ".")));
    DropWaiting(entry);
    steps_.erase(id);
    return nullptr;
  }
  entry.waiting_bytes += bytes;
  session.waiting_bytes += bytes;
  return entry.exchange;
}

void StepTable::Deliver(protocol::Push push) {
  std::shared_ptr<StepExchange> exchange = Admit(push);
  if (exchange == nullptr) return;
  const protocol::StepId id{push.session.master, push.step};
  absl::Status delivered = exchange->Deliver(std::move(push));
  // An edge that brings two values is a fault of the other end's.
  if (absl::IsInternal(delivered)) Abort(id, 0, delivered);
}

void StepTable::Abort(const protocol::StepId& step, uint64_t steps_over_below,
                      const absl::Status& cause) {
  std::shared_ptr<Cancellation> running;
  {
    absl::MutexLock lock(&mutex_);
    const bool is_known_master = std::any_of(
        sessions_.begin(), sessions_.end(),
        [&](const auto& s) { return s.second.master == step.master; });
    if (!is_known_master) return;
    ForgetOver(step.master, steps_over_below);
    Master& master = masters_[step.master];
    if (step.step < master.steps_over_below) return;
    auto it = steps_.find(step);
    if (it != steps_.end() && it->second.is_running()) {
      running = it->second.cancellation;
    } else {
      master.aborted.emplace(step.step, cause);
      if (it != steps_.end()) {
        DropWaiting(it->second);
        steps_.erase(it);
      }
    }
  }
  if (running) running->Cancel(cause);
}

void StepTable::PeerConnected(const std::string& task) {
  absl::MutexLock lock(&mutex_);
  ++connected_[task];
}

absl::Status StepTable::CheckConnected(const PeerTasks& senders) const {
  for (const std::string& task : senders) {
    if (connected_.contains(task)) continue;
    return absl::UnavailableError(
        absl::StrCat("There is no connection from ", task,
                     ", which is to send values for this step. Is it "
                     "running?"));
  }
  return absl::OkStatus();
}

void StepTable::PeerLost(const std::string& task, const absl::Status& cause) {
  Cancellations cancellations;
  {
    absl::MutexLock lock(&mutex_);
    auto connected = connected_.find(task);
    if (connected != connected_.end() && --connected->second == 0) {
      connected_.erase(connected);
    }
    for (const auto& [id, entry] : steps_) {
      if (!entry.is_running() || !entry.peers->all.contains(task)) continue;
      cancellations.push_back(entry.cancellation);
    }
  }
  CancelAll(cancellations, cause);
}

std::vector<protocol::StepId> StepTable::TakeEndedSentTo(
    const std::string& task) {
  std::vector<protocol::StepId> result;
  absl::MutexLock lock(&mutex_);
  for (auto& [incarnation, master] : masters_) {
    for (auto it = master.ended.begin(); it != master.ended.end();) {
      if (it->second->contains(task)) {
        result.push_back({incarnation, it->first});
        it = master.ended.erase(it);
      } else {
        ++it;
      }
    }
  }
  return result;
}

void StepTable::CancelStepsOf(uint64_t master, const absl::Status& cause) {
  Cancellations cancellations;
  {
    absl::MutexLock lock(&mutex_);
    cancellations = Select([&](const protocol::StepId& id, const Entry&) {
      return id.master == master;
    });
  }
  CancelAll(cancellations, cause);
}

StepTable::Size StepTable::size() const {
  absl::MutexLock lock(&mutex_);
  Size size;
  for (const auto& [id, entry] : steps_) {
    ++(entry.is_running() ? size.running : size.waiting);
    size.waiting_bytes += entry.waiting_bytes;
  }
  size.masters = static_cast<int>(masters_.size());
  for (const auto& [id, master] : masters_) {
    size.aborted += static_cast<int>(master.aborted.size());
  }
  return size;
}

}  // namespace weft
