#include "libs/runtime/step_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Of one master, in each of two maps; the oldest are forgotten first. A master
// one of whose steps does not end says of none that it is over.
constexpr size_t kMaxRemembered = 65536;

template <typename Map>
void ForgetOldest(Map& map) {
  if (map.size() > kMaxRemembered) map.erase(map.begin());
}

using Found =
    std::vector<std::pair<protocol::StepId, std::shared_ptr<Cancellation>>>;

// In the order of the steps, so that a simulation repeats.
std::vector<std::shared_ptr<Cancellation>> InOrder(Found found) {
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.master, a.first.step) <
           std::tie(b.first.master, b.first.step);
  });
  std::vector<std::shared_ptr<Cancellation>> result;
  for (auto& [id, cancellation] : found) {
    result.push_back(std::move(cancellation));
  }
  return result;
}

void CancelAll(const std::vector<std::shared_ptr<Cancellation>>& cancellations,
               const absl::Status& cause) {
  for (const auto& cancellation : cancellations) cancellation->Cancel(cause);
}

}  // namespace

void StepTable::AddSession(const protocol::WorkerSession& session) {
  absl::MutexLock lock(&mutex_);
  Session& added = sessions_[session.session];
  if (added.unclaimed != nullptr) return;
  added.master = session.master;
  added.unclaimed = std::make_shared<UnclaimedBytes>(max_unclaimed_bytes_);
}

template <typename Predicate>
StepTable::Cancellations StepTable::Select(Predicate predicate) {
  Found found;
  for (auto it = steps_.begin(); it != steps_.end();) {
    const auto current = it++;
    const Entry& entry = current->second;
    if (!predicate(current->first, entry)) continue;
    if (entry.is_running()) {
      found.emplace_back(current->first, entry.cancellation);
    } else {
      steps_.erase(current);
    }
  }
  return InOrder(std::move(found));
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

absl::Status StepTable::NameEdge(uint64_t edge, const StepPeers* peers,
                                 const absl::Status& cause) const {
  std::string name = absl::StrCat("edge ", edge);
  if (peers != nullptr) {
    auto it = peers->edges.find(edge);
    if (it != peers->edges.end()) name = absl::StrCat("tensor ", it->second);
  }
  return Annotate(cause, absl::StrCat(name, ": ", task_));
}

absl::Status StepTable::Check(const protocol::StepId& step, uint64_t session,
                              const StepPeers* peers) const {
  if (!sessions_.contains(session)) {
    return absl::AbortedError(
        absl::StrCat("Session ", session, " is not known on ", task_,
                     ". Possibly this task has restarted."));
  }
  auto master = masters_.find(step.master);
  if (master == masters_.end()) return absl::OkStatus();
  if (step.step < master->second.steps_over_below) {
    return absl::AbortedError(
        absl::StrCat("Step ", step.step, " is over already on ", task_, "."));
  }
  auto aborted = master->second.aborted.find(step.step);
  if (aborted == master->second.aborted.end()) return absl::OkStatus();
  const auto& [cause, edge] = aborted->second;
  return edge == 0 ? cause : NameEdge(edge, peers, cause);
}

void StepTable::Remember(const protocol::StepId& step, Aborted aborted) {
  auto& all = masters_[step.master].aborted;
  all.emplace(step.step, std::move(aborted));
  ForgetOldest(all);
}

StepTable::Entry& StepTable::FindOrAdd(const protocol::WorkerSession& session,
                                       uint64_t step) {
  Entry& entry = steps_[{session.master, step}];
  if (entry.exchange == nullptr) {
    entry.exchange = std::make_shared<StepExchange>(
        session, step, sessions_[session.session].unclaimed);
    entry.session = session.session;
  }
  return entry;
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
    steps_.erase(current);
  }
}

absl::StatusOr<std::shared_ptr<StepExchange>> StepTable::Begin(
    const protocol::PartitionStep& step, const StepPeers* peers) {
  const protocol::StepId id{step.session.master, step.step};
  absl::MutexLock lock(&mutex_);
  // Nothing is kept of the master of a session that has just ended here.
  if (sessions_.contains(step.session.session)) {
    ForgetOver(id.master, step.steps_over_below);
  }
  RETURN_IF_ERROR(Check(id, step.session.session, peers));
  RETURN_IF_ERROR(CheckConnected(peers->senders));
  Entry& entry = FindOrAdd(step.session, step.step);
  if (entry.is_running()) {
    return absl::InternalError(
        absl::StrCat("Step ", id.step, " was begun twice on this task."));
  }
  entry.exchange->BeginReceiving(&peers->edges);
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
    Remember(step, {MarkDerived(status)});
  } else if (entry.peers->receivers != nullptr) {
    auto& ended = masters_[step.master].ended;
    ended.emplace(step.step, entry.peers->receivers);
    ForgetOldest(ended);
  }
}

std::shared_ptr<StepExchange> StepTable::Admit(const protocol::Push& push) {
  const protocol::StepId id{push.session.master, push.step};
  absl::MutexLock lock(&mutex_);
  if (!Check(id, push.session.session, nullptr).ok()) return nullptr;
  return FindOrAdd(push.session, push.step).exchange;
}

bool StepTable::Refuse(const protocol::StepId& step, uint64_t edge,
                       const absl::Status& cause) {
  std::shared_ptr<Cancellation> running;
  absl::Status named;
  {
    absl::MutexLock lock(&mutex_);
    auto it = steps_.find(step);
    if (it == steps_.end()) return false;
    if (it->second.is_running()) {
      running = it->second.cancellation;
      named = NameEdge(edge, it->second.peers, cause);
    } else {
      Remember(step, {cause, edge});
      steps_.erase(it);
    }
  }
  if (running) running->Cancel(named);
  return true;
}

void StepTable::PushFailed(const protocol::Push& push,
                           const absl::Status& why) {
  const protocol::StepId id{push.session.master, push.step};
  if (!Refuse(id, push.edge, why)) Abort(id, 0, why);
}

void StepTable::Deliver(protocol::Push push) {
  std::shared_ptr<StepExchange> exchange = Admit(push);
  if (exchange == nullptr) return;
  const protocol::StepId id{push.session.master, push.step};
  const uint64_t edge = push.edge;
  if (!push.landed.ok()) {
    Refuse(id, edge, push.landed);
    return;
  }
  absl::Status delivered = exchange->Deliver(std::move(push));
  if (absl::IsResourceExhausted(delivered)) Refuse(id, edge, delivered);
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
      Remember(step, {cause});
      if (it != steps_.end()) steps_.erase(it);
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

bool StepTable::PeerLost(const std::string& task, const absl::Status& cause) {
  Cancellations cancellations;
  {
    absl::MutexLock lock(&mutex_);
    auto connected = connected_.find(task);
    if (connected != connected_.end() && --connected->second == 0) {
      connected_.erase(connected);
    }
    Found found;
    for (const auto& [id, entry] : steps_) {
      if (!entry.is_running() || !entry.peers->all.contains(task)) continue;
      found.emplace_back(id, entry.cancellation);
    }
    cancellations = InOrder(std::move(found));
  }
  CancelAll(cancellations, cause);
  return !cancellations.empty();
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

bool StepTable::CancelStepsOf(uint64_t master, const absl::Status& cause) {
  Cancellations cancellations;
  {
    absl::MutexLock lock(&mutex_);
    cancellations = Select([&](const protocol::StepId& id, const Entry&) {
      return id.master == master;
    });
  }
  CancelAll(cancellations, cause);
  return !cancellations.empty();
}

StepTable::Size StepTable::size() const {
  absl::MutexLock lock(&mutex_);
  Size size;
  for (const auto& [id, entry] : steps_) {
    ++(entry.is_running() ? size.running : size.waiting);
    size.waiting_bytes += entry.exchange->unclaimed_bytes();
  }
  size.masters = static_cast<int>(masters_.size());
  for (const auto& [id, master] : masters_) {
    size.aborted += static_cast<int>(master.aborted.size());
    size.ended += static_cast<int>(master.ended.size());
  }
  return size;
}

}  // namespace weft
