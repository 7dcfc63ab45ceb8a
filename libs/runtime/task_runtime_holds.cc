// Implements holds: while a save marks variables of this task, steps that would
// write these variables wait.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/runtime/task_runtime.h"

namespace weft {

void TaskRuntime::SetMaster(std::weak_ptr<protocol::StepHolds> master) {
  absl::MutexLock lock(&mutex_);
  master_ = std::move(master);
}

void TaskRuntime::HoldSteps(const protocol::StepHold& hold, absl::Time,
                            HoldDone done) {
  using Action = protocol::StepHold::Action;
  if (hold.action == Action::kHoldVariables) return done(HoldVariables(hold));
  auto answer = [done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok()) return done(status);
    done(std::vector<protocol::VariableWriter>());
  };
  if (hold.action == Action::kReleaseVariables) {
    return answer(ReleaseVariables(hold.holder));
  }
  std::shared_ptr<protocol::StepHolds> master;
  {
    absl::ReaderMutexLock lock(&mutex_);
    master = master_.lock();
  }
  // If the master is gone, this task is ending and runs no steps.
  if (master == nullptr) return answer(absl::OkStatus());
  master->HoldSteps(hold, std::move(answer));
}

absl::Status TaskRuntime::EndedBefore(const protocol::StepId& holder) const {
  return absl::CancelledError(absl::StrCat("Step ", holder.step,
                                           " ended before it could hold "
                                           "variables on ",
                                           options_.task));
}

absl::StatusOr<std::vector<protocol::VariableWriter>>
TaskRuntime::HoldVariables(const protocol::StepHold& hold) {
  ASSIGN_OR_RETURN(
      const auto registration,
      FindRegistration({hold.holder.master_incarnation, hold.session},
                       hold.registration));
  const absl::btree_set<VariableKey>& variables =
      registration->variables().touched;
  if (registration->variables().MayWrite(variables)) {
    return absl::InvalidArgumentError(
        absl::StrCat("A step that marks variables on ", options_.task,
                     " for a save also writes some of them: it would wait for "
                     "itself. Run the save alone."));
  }
  RETURN_IF_ERROR(AddHold(hold, variables));
  // Graphs that are registered from here on wait for the end of the hold.
  Writers writers = FindWriters(variables);
  VariableHolds::Hold refused;
  const absl::Status kept = NoteWriters(hold.holder, writers, refused);
  if (kept.ok()) return std::move(writers.named);
  End(std::move(refused));
  return kept;
}

absl::Status TaskRuntime::AddHold(
    const protocol::StepHold& hold,
    const absl::btree_set<VariableKey>& variables) {
  absl::MutexLock lock(&mutex_);
  // Stop has ended all holds; a hold that is added afterwards would exist until
  // its lease ends.
  if (!stopped_.ok() && !is_draining_) return stopped_;
  if (ended_holds_.Contains(hold.holder)) return EndedBefore(hold.holder);
  if (holds_.size() >= kMaxHolds) {
    return absl::ResourceExhaustedError(absl::StrCat(
        options_.task, " holds variables for ", kMaxHolds, " steps"));
  }
  VariableHolds::Hold held;
  held.variables = variables;
  held.lease = options_.scheduler->ScheduleAt(
      Pool::kControl, options_.scheduler->clock().Now() + hold.lease,
      [self = weak_from_this(), holder = hold.holder] {
        if (auto runtime = self.lock()) {
          (void)runtime->ReleaseVariables(holder);  // its caller is gone
        }
      });
  const Scheduler::TimerId lease = held.lease;
  if (holds_.Add(hold.holder, std::move(held))) return absl::OkStatus();
  options_.scheduler->CancelTimer(lease);
  return absl::AlreadyExistsError(absl::StrCat(options_.task,
                                               " holds variables for step ",
                                               hold.holder.step, " already"));
}

absl::Status TaskRuntime::NoteWriters(const protocol::StepId& holder,
                                      const Writers& writers,
                                      VariableHolds::Hold& refused) {
  absl::MutexLock lock(&mutex_);
  VariableHolds::Hold* const held = holds_.Find(holder);
  if (held == nullptr) return EndedBefore(holder);
  if (writers.named.size() > kMaxWriters) {
    refused = holds_.Take(holder);
    return absl::ResourceExhaustedError(
        absl::StrCat(options_.task, " has ", writers.named.size(),
                     " graphs that write the variables, and can name ",
                     kMaxWriters, ". Release callables."));
  }
  for (const uint64_t incarnation : writers.absent) {
    if (const std::string task = TaskOf(incarnation); !task.empty()) {
      refused = holds_.Take(holder);
      return absl::AbortedError(absl::StrCat(
          task, ", whose steps write the variables, has connected to ",
          options_.task, " while others were held. Save again."));
    }
  }
  held->absent = writers.absent;
  return absl::OkStatus();
}

std::vector<TaskRuntime::SessionGraphs> TaskRuntime::AllGraphs() const {
  std::vector<SessionGraphs> all;
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [id, session] : sessions_) {
    const uint64_t incarnation = session->master_incarnation;
    SessionGraphs& graphs = all.emplace_back(
        SessionGraphs{TaskOf(incarnation), {incarnation, id}, {}});
    graphs.registrations.assign(session->registrations.begin(),
                                session->registrations.end());
    for (const auto& [number, entry] : session->released) {
      if (auto running = entry.lock()) {
        graphs.registrations.emplace_back(number, std::move(running));
      }
    }
  }
  return all;
}

// Runs concurrently with steps, because there may be tens of thousands of
// graphs to check.
TaskRuntime::Writers TaskRuntime::FindWriters(
    const absl::btree_set<VariableKey>& variables) const {
  Writers writers;
  for (const SessionGraphs& graphs : AllGraphs()) {
    for (const auto& [number, registration] : graphs.registrations) {
      if (!registration->variables().MayWrite(variables)) continue;
      if (graphs.task.empty()) {
        writers.absent.insert(graphs.session.master_incarnation);
        break;
      }
      writers.named.push_back({graphs.task, graphs.session, number});
    }
  }
  return writers;
}

absl::Status TaskRuntime::ReleaseVariables(const protocol::StepId& holder) {
  VariableHolds::Hold released;
  {
    absl::MutexLock lock(&mutex_);
    if (holds_.Find(holder) == nullptr) {
      ended_holds_.Add(holder);
      return absl::FailedPreconditionError(
          absl::StrCat(options_.task, " does not hold variables for step ",
                       holder.step, " any more"));
    }
    released = holds_.Take(holder);
  }
  End(std::move(released));
  return absl::OkStatus();
}

void TaskRuntime::EndHoldsOf(uint64_t master_incarnation) {
  std::vector<VariableHolds::Hold> ended;
  std::shared_ptr<protocol::StepHolds> master;
  {
    absl::MutexLock lock(&mutex_);
    const auto peer = peers_.find(master_incarnation);
    if (peer != peers_.end() && peer->second.connections > 0) return;
    ended = holds_.TakeOf(master_incarnation);
    master = master_.lock();
  }
  for (VariableHolds::Hold& hold : ended) End(std::move(hold));
  if (master != nullptr) master->EndHolds(master_incarnation);
}

void TaskRuntime::EndHoldsWithout(uint64_t master_incarnation) {
  std::vector<VariableHolds::Hold> ended;
  {
    absl::MutexLock lock(&mutex_);
    ended = holds_.TakeWithout(master_incarnation);
  }
  for (VariableHolds::Hold& hold : ended) End(std::move(hold));
}

void TaskRuntime::End(VariableHolds::Hold hold) {
  options_.scheduler->CancelTimer(hold.lease);
  for (auto& then : hold.waiting) then();
}

void TaskRuntime::AfterHolds(const VariableUses& uses,
                             absl::AnyInvocable<void()> then) {
  {
    absl::MutexLock lock(&mutex_);
    if (VariableHolds::Hold* const hold = holds_.FindFor(uses)) {
      hold->waiting.push_back([this, uses, then = std::move(then)]() mutable {
        AfterHolds(uses, std::move(then));
      });
      return;
    }
  }
  then();
}

}  // namespace weft
