#include "libs/runtime/step_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// The maximum number of aborted steps of one master whose error is remembered.
constexpr size_t kMaxCauses = 1024;
// Smaller tensors are freed on the thread that drops them.
constexpr size_t kLargeBytes = 64 << 10;

void CancelAll(const std::vector<std::shared_ptr<Cancellation>>& cancellations,
               const absl::Status& cause) {
  for (const auto& cancellation : cancellations) cancellation->Cancel(cause);
}

}  // namespace

void StepTable::AddSession(const protocol::WorkerSession& session) {
  absl::MutexLock lock(&mutex_);
  Session& added = sessions_[session.session];
  if (added.unclaimed != nullptr) return;
  added.master_incarnation = session.master_incarnation;
  added.unclaimed = std::make_shared<UnclaimedBytes>(max_unclaimed_bytes_);
  ++masters_[session.master_incarnation].sessions;
}

std::shared_ptr<Cancellation> StepTable::MarkCancelled(
    Entry& entry, const absl::Status& cause) {
  if (entry.cancelled.ok()) entry.cancelled = cause;
  return entry.cancellation;
}

StepTable::Steps::iterator StepTable::Drop(Master& master, Steps::iterator step,
                                           Dropped& dropped) {
  dropped.Add(std::move(step->second.exchange));
  return master.steps.erase(step);
}

StepTable::Cancellations StepTable::CancelSteps(Master& master,
                                                uint64_t session,
                                                const absl::Status& cause,
                                                Dropped& dropped) {
  Cancellations cancellations;
  for (auto it = master.steps.begin(); it != master.steps.end();) {
    Entry& entry = it->second;
    if (session != 0 && entry.session != session) {
      ++it;
    } else if (entry.is_running()) {
      cancellations.push_back(MarkCancelled(entry, cause));
      ++it;
    } else {
      it = Drop(master, it, dropped);
    }
  }
  return cancellations;
}

absl::AnyInvocable<void()> StepTable::RemoveSession(uint64_t session,
                                                    const absl::Status& cause) {
  Dropped dropped(reclaimer_);
  absl::MutexLock lock(&mutex_);
  auto it = sessions_.find(session);
  if (it == sessions_.end()) return [] {};
  const uint64_t id = it->second.master_incarnation;
  sessions_.erase(it);
  Master& master = masters_[id];
  Cancellations cancellations = CancelSteps(master, session, cause, dropped);
  --master.sessions;
  ForgetIfGone(id);
  return
      [cancellations = std::move(cancellations), dropped = std::move(dropped),
       cause] { CancelAll(cancellations, cause); };
}

void StepTable::ForgetIfGone(uint64_t master_incarnation) {
  auto it = masters_.find(master_incarnation);
  if (it == masters_.end() || it->second.sessions > 0) return;
  it->second.aborted.clear();
  it->second.aborted_before.Clear();
  it->second.ended.Clear();
  if (it->second.steps.empty()) masters_.erase(it);
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

absl::Status StepTable::CheckSession(
    const protocol::WorkerSession& session) const {
  auto found = sessions_.find(session.session);
  if (found != sessions_.end() &&
      found->second.master_incarnation == session.master_incarnation) {
    return absl::OkStatus();
  }
  return absl::AbortedError(
      absl::StrCat("Session ", session.session, " is not known on ", task_,
                   ". Possibly this task has restarted."));
}

absl::Status StepTable::CheckStep(const Master& master, uint64_t step,
                                  const StepPeers* peers) const {
  if (step < master.steps_finished_below ||
      master.more_finished.Contains(step)) {
    return absl::AbortedError(
        absl::StrCat("Step ", step, " has already ended on ", task_, "."));
  }
  auto aborted = master.aborted.find(step);
  if (aborted != master.aborted.end()) {
    const auto& [cause, edge] = aborted->second;
    return edge == 0 ? cause : NameEdge(edge, peers, cause);
  }
  if (!master.aborted_before.Contains(step)) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("Step ", step, " was aborted before on ", task_, "."));
}

// Returns the tasks to which the step may have sent values. A step that failed
// on this task has notified its receivers itself, so they are not returned.
absl::btree_set<std::string> StepTable::ReceiversOf(const Master& master,
                                                    uint64_t step) {
  std::vector<SentSteps::Receivers> sets = master.ended.ReceiversOf(step);
  const auto found = master.steps.find(step);
  if (found != master.steps.end() && found->second.is_running()) {
    sets.push_back(found->second.peers->receivers);
  }
  absl::btree_set<std::string> tasks;
  for (const SentSteps::Receivers& set : sets) {
    if (set != nullptr) tasks.insert(set->begin(), set->end());
  }
  return tasks;
}

void StepTable::Remember(Master& master, uint64_t step, Aborted aborted) {
  if (master.aborted_before.Contains(step)) return;
  master.aborted.emplace(step, std::move(aborted));
  if (master.aborted.size() <= kMaxCauses) return;
  master.aborted_before.Add(master.aborted.begin()->first);
  master.aborted.erase(master.aborted.begin());
}

StepTable::Entry& StepTable::FindOrAdd(const protocol::WorkerSession& session,
                                       uint64_t step) {
  Entry& entry = masters_[session.master_incarnation].steps[step];
  if (entry.exchange == nullptr) {
    entry.exchange = std::make_shared<StepExchange>(
        session, step, sessions_[session.session].unclaimed);
    entry.session = session.session;
  }
  return entry;
}

StepTable::Entry* StepTable::Find(const protocol::StepId& step) {
  auto master = masters_.find(step.master_incarnation);
  if (master == masters_.end()) return nullptr;
  auto found = master->second.steps.find(step.step);
  return found == master->second.steps.end() ? nullptr : &found->second;
}

// Steps below the previous value of steps_finished_below were processed by an
// earlier call. Only running ones are left of these, and they are removed when
// they end.
void StepTable::ForgetFinished(Master& master, uint64_t steps_finished_below,
                               Dropped& dropped) {
  if (steps_finished_below <= master.steps_finished_below) return;
  auto it = master.steps.lower_bound(master.steps_finished_below);
  while (it != master.steps.end() && it->first < steps_finished_below) {
    ++looked_at_;
    it = it->second.is_running() ? std::next(it) : Drop(master, it, dropped);
  }
  master.steps_finished_below = steps_finished_below;
  master.aborted.erase(master.aborted.begin(),
                       master.aborted.lower_bound(steps_finished_below));
  master.aborted_before.ForgetBelow(steps_finished_below);
  master.ended.ForgetBelow(steps_finished_below);
}

void StepTable::DropFinished(Master& master, uint64_t from, uint64_t to,
                             Dropped& dropped) {
  auto it = master.steps.lower_bound(from);
  while (it != master.steps.end() && it->first < to) {
    ++looked_at_;
    const bool stays =
        it->second.is_running() || !master.more_finished.Contains(it->first);
    it = stays ? std::next(it) : Drop(master, it, dropped);
  }
}

// A request that a later request has overtaken contains no new information.
void StepTable::ForgetMoreFinished(Master& master,
                                   const protocol::FinishedSteps& over,
                                   Dropped& dropped) {
  if (over.below <= master.more_finished.below) return;
  const protocol::FinishedSteps before =
      std::exchange(master.more_finished, over);
  // Steps below the previous value were processed by an earlier call, except
  // those that were still running then.
  for (const uint64_t step : before.running) {
    DropFinished(master, step, step + 1, dropped);
  }
  DropFinished(master, before.below, over.below, dropped);
  absl::erase_if(master.aborted, [&](const auto& aborted) {
    return over.Contains(aborted.first);
  });
  master.aborted_before.Forget(over);
  master.ended.Forget(over);
}

absl::StatusOr<std::shared_ptr<StepExchange>> StepTable::Begin(
    const protocol::PartitionStep& step, const StepPeers* peers) {
  Dropped dropped(reclaimer_);
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckSession(step.session));
  Master& master = masters_[step.session.master_incarnation];
  ForgetFinished(master, step.steps_finished_below, dropped);
  if (step.more_finished != nullptr) {
    ForgetMoreFinished(master, *step.more_finished, dropped);
  }
  RETURN_IF_ERROR(CheckStep(master, step.step, peers));
  RETURN_IF_ERROR(CheckConnected(peers->senders));
  Entry& entry = FindOrAdd(step.session, step.step);
  if (entry.is_running()) {
    return absl::InternalError(
        absl::StrCat("Step ", step.step, " was begun twice on this task."));
  }
  entry.exchange->BeginReceiving(&peers->edges);
  entry.cancellation = step.cancellation;
  entry.peers = peers;
  running_.Begin();
  return entry.exchange;
}

absl::Status StepTable::End(const protocol::StepId& step, absl::Status status) {
  status = Forget(step, std::move(status));
  running_.End();
  return status;
}

absl::Status StepTable::Forget(const protocol::StepId& step,
                               absl::Status status) {
  Entry entry;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  Master& master = masters_[step.master_incarnation];
  auto it = master.steps.find(step.step);
  entry = std::move(it->second);
  master.steps.erase(it);
  if (status.ok()) status = entry.cancelled;
  if (!sessions_.contains(entry.session)) {
    ForgetIfGone(step.master_incarnation);
  } else if (!status.ok()) {
    // Values of a failed step may still be in flight, so the step must be
    // remembered.
    Remember(master, step.step, {MarkDerived(status)});
  } else if (entry.peers->receivers != nullptr) {
    master.ended.Add(step.step, entry.peers->receivers);
  }
  return status;
}

std::shared_ptr<StepExchange> StepTable::Admit(const protocol::Push& push) {
  absl::MutexLock lock(&mutex_);
  if (!CheckSession(push.session).ok()) return nullptr;
  const Master& master = masters_[push.session.master_incarnation];
  if (!CheckStep(master, push.step, nullptr).ok()) return nullptr;
  return FindOrAdd(push.session, push.step).exchange;
}

bool StepTable::Refuse(const protocol::StepId& step, uint64_t edge,
                       const absl::Status& cause) {
  std::shared_ptr<Cancellation> running;
  Dropped dropped(reclaimer_);
  absl::Status named;
  {
    absl::MutexLock lock(&mutex_);
    Entry* entry = Find(step);
    if (entry == nullptr) return false;
    if (entry->is_running()) {
      named = NameEdge(edge, entry->peers, cause);
      running = MarkCancelled(*entry, named);
    } else {
      dropped.Add(std::move(entry->exchange));
      Master& master = masters_[step.master_incarnation];
      master.steps.erase(step.step);
      Remember(master, step.step, {cause, edge});
    }
  }
  CancelSoon(std::move(running), named);
  return true;
}

void StepTable::CancelSoon(std::shared_ptr<Cancellation> step,
                           const absl::Status& cause) const {
  if (step == nullptr) return;
  scheduler_.Schedule(Pool::kControl,
                      [step = std::move(step), cause] { step->Cancel(cause); });
}

void StepTable::DropValue(Tensor value) const {
  if (value.TotalBytes() < kLargeBytes) return;
  reclaimer_->Own(std::make_unique<Tensor>(std::move(value)));
}

void StepTable::PushFailed(const protocol::Push& push,
                           const absl::Status& why) {
  const protocol::StepId id{push.session.master_incarnation, push.step};
  if (!Refuse(id, push.edge, why)) AbortSoon(id, why);
}

void StepTable::Deliver(protocol::Push push) {
  std::shared_ptr<StepExchange> exchange = Admit(push);
  if (exchange == nullptr) return DropValue(std::move(push.tensor));
  const protocol::StepId id{push.session.master_incarnation, push.step};
  const uint64_t edge = push.edge;
  if (!push.received.ok()) {
    Refuse(id, edge, push.received);
    return DropValue(std::move(push.tensor));
  }
  absl::Status delivered = exchange->Deliver(push);
  if (absl::IsResourceExhausted(delivered)) Refuse(id, edge, delivered);
  if (!delivered.ok()) DropValue(std::move(push.tensor));
  // If an edge delivers two values, the sender is at fault.
  if (absl::IsInternal(delivered)) AbortSoon(id, delivered);
}

StepTable::AbortedStep StepTable::MarkAborted(const protocol::StepId& step,
                                              uint64_t steps_finished_below,
                                              const absl::Status& cause) {
  AbortedStep aborted;
  Dropped dropped(reclaimer_);
  absl::MutexLock lock(&mutex_);
  auto found = masters_.find(step.master_incarnation);
  if (found == masters_.end() || found->second.sessions == 0) return aborted;
  Master& master = found->second;
  ForgetFinished(master, steps_finished_below, dropped);
  if (step.step < master.steps_finished_below ||
      master.more_finished.Contains(step.step)) {
    return aborted;
  }
  aborted.receivers = ReceiversOf(master, step.step);
  Entry* entry = Find(step);
  if (entry != nullptr && entry->is_running()) {
    aborted.running = MarkCancelled(*entry, cause);
  } else {
    if (entry != nullptr) dropped.Add(std::move(entry->exchange));
    master.steps.erase(step.step);
    Remember(master, step.step, {cause});
  }
  return aborted;
}

absl::btree_set<std::string> StepTable::Abort(const protocol::StepId& step,
                                              uint64_t steps_finished_below,
                                              const absl::Status& cause) {
  AbortedStep aborted = MarkAborted(step, steps_finished_below, cause);
  if (aborted.running != nullptr) aborted.running->Cancel(cause);
  return std::move(aborted.receivers);
}

void StepTable::AbortSoon(const protocol::StepId& step,
                          const absl::Status& cause) {
  CancelSoon(MarkAborted(step, 0, cause).running, cause);
}

void StepTable::PeerConnected(const std::string& task) {
  absl::MutexLock lock(&mutex_);
  ++connected_[task];
}

void StepTable::CountClosed(const std::string& task) {
  const auto connected = connected_.find(task);
  if (connected == connected_.end() || --connected->second > 0) return;
  connected_.erase(connected);
}

void StepTable::ConnectionClosed(const std::string& task) {
  absl::MutexLock lock(&mutex_);
  CountClosed(task);
}

absl::Status StepTable::CheckConnected(const PeerTasks& senders) const {
  for (const std::string& task : senders) {
    if (connected_.contains(task)) continue;
    return absl::UnavailableError(
        absl::StrCat("There is no connection from ", task,
                     ", which sends values for this step. Is it "
                     "running?"));
  }
  return absl::OkStatus();
}

StepTable::Loss StepTable::PeerLost(const std::string& task,
                                    const absl::Status& cause) {
  Cancellations cancellations;
  Loss loss;
  {
    absl::MutexLock lock(&mutex_);
    CountClosed(task);
    for (auto& [incarnation, master] : masters_) {
      for (auto& [id, entry] : master.steps) {
        if (!entry.is_running() || !entry.peers->all.contains(task)) continue;
        cancellations.push_back(MarkCancelled(entry, cause));
      }
      for (const uint64_t step : master.ended.TakeSentTo(task)) {
        loss.ended.push_back({incarnation, step});
      }
    }
  }
  loss.was_needed = !cancellations.empty();
  CancelAll(cancellations, cause);
  return loss;
}

bool StepTable::CancelStepsOf(uint64_t master_incarnation,
                              const absl::Status& cause) {
  Dropped dropped(reclaimer_);
  Cancellations cancellations;
  {
    absl::MutexLock lock(&mutex_);
    auto found = masters_.find(master_incarnation);
    if (found == masters_.end()) return false;
    cancellations = CancelSteps(found->second, /*session=*/0, cause, dropped);
  }
  CancelAll(cancellations, cause);
  return !cancellations.empty();
}

StepTable::Size StepTable::size() const {
  absl::MutexLock lock(&mutex_);
  Size size;
  size.masters = static_cast<int>(masters_.size());
  size.looked_at = looked_at_;
  for (const auto& [incarnation, master] : masters_) {
    size.aborted += static_cast<int>(master.aborted.size()) +
                    static_cast<int>(master.aborted_before.size());
    size.ended += static_cast<int>(master.ended.size());
    for (const auto& [id, entry] : master.steps) {
      ++(entry.is_running() ? size.running : size.waiting);
      size.waiting_bytes += entry.exchange->unclaimed_bytes();
      size.meetings += entry.exchange->num_meetings();
    }
  }
  return size;
}

}  // namespace weft
