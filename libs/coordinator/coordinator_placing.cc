// Implements placement. A graph may be large, so its nodes are placed without
// the lock, which heartbeats need. Graphs are placed one at a time, so that
// registrations are deterministic and each placement sees what the previous one
// has registered.
#include <utility>

#include "libs/coordinator/coordinator_impl.h"
#include "libs/coordinator/resource_difference.h"

namespace weft {
namespace {

// How long a placement waits for a task that has left, because the task may be
// restarting.
constexpr absl::Duration kReturnTime = absl::Seconds(5);

}  // namespace

void Coordinator::Impl::Kick() {
  if (is_placing_ || queue_.empty() || closed_) return;
  is_placing_ = true;
  scheduler_.Schedule(Pool::kGraph, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->PlaceNext();
  });
}

void Coordinator::Impl::PlaceNext() {
  std::optional<PlacementWork> work;
  {
    DeferredCallbacks callbacks;
    absl::MutexLock lock(&mutex_);
    work = TakeWork(callbacks);
    if (!work) is_placing_ = false;
  }
  if (!work) return;
  absl::StatusOr<Placement> placement = work->Place();
  DeferredCallbacks callbacks;
  absl::MutexLock lock(&mutex_);
  is_placing_ = false;
  Placed(*work, std::move(placement), callbacks);
  Kick();
}

std::optional<PlacementWork> Coordinator::Impl::TakeWork(
    DeferredCallbacks& callbacks) {
  while (!queue_.empty()) {
    const auto it = calls_.find(queue_.front());
    queue_.pop_front();
    if (it == calls_.end()) continue;
    WaitingCall& call = it->second;
    call.state = WaitingCall::State::kWaits;
    if (absl::Status status = CheckMaster(call); !status.ok()) {
      Fail(it, std::move(status), callbacks);
      continue;
    }
    if (!call.missing.empty() || !call.reporting.empty()) {
      if (ends_waits_) Fail(it, Stopping(), callbacks);
      continue;
    }
    call.state = WaitingCall::State::kPlacing;
    call.is_outdated = false;
    return PlacementWork(
        it->first, call.request,
        tasks_.Devices(call.needed, call.filters, call.request->task),
        tasks_.Left(call.needed), register_);
  }
  return std::nullopt;
}

void Coordinator::Impl::Placed(const PlacementWork& work,
                               absl::StatusOr<Placement> placement,
                               DeferredCallbacks& callbacks) {
  const uint64_t id = work.call();
  const auto it = calls_.find(id);
  // The call has been answered: it is past its deadline, or its session has
  // ended.
  if (it == calls_.end()) return;
  it->second.state = WaitingCall::State::kWaits;
  if (it->second.is_outdated) return Advance(id, callbacks);
  if (!placement.ok()) {
    if (AwaitReturn(it, work.left_task(), placement.status())) return;
    return Fail(it, placement.status(), callbacks);
  }
  Settle(it, *std::move(placement), callbacks);
}

bool Coordinator::Impl::AwaitReturn(Calls::iterator it, const std::string& task,
                                    const absl::Status& why) {
  WaitingCall& call = it->second;
  if (task.empty() || ends_waits_) return false;
  if (call.back_until == absl::InfiniteFuture()) {
    call.back_until = Now() + kReturnTime;
  }
  if (Now() >= call.back_until) return false;
  call.missing.insert(task);
  call.has_left = why;
  if (call.timer != 0) scheduler_.CancelTimer(call.timer);
  ArmTimer(it->first, call);
  return true;
}

void Coordinator::Impl::Settle(Calls::iterator it, Placement placement,
                               DeferredCallbacks& callbacks) {
  WaitingCall& call = it->second;
  if (!call.request->isolated && !call.request->explain) {
    const ResourceRegister::Owner owner{call.request->session,
                                        call.request->task};
    const std::vector<NodeResource> resources =
        DeclaredResources(call.request->graph, placement.devices);
    if (call.since == 0) call.since = register_.NextTimestamp();
    ResourceRegister::Comparison comparison =
        register_.Compare(owner, resources, call.since);
    if (!comparison.differences.empty()) {
      // Request a report from the other session's task: if the session does not
      // exist any more, its resources will no longer conflict.
      for (const ResourceDifference& difference : comparison.differences) {
        if (!difference.there_is_left()) register_.Want(difference.there_task);
      }
      return Fail(it, ToStatus(comparison.differences, comparison.causes),
                  callbacks);
    }
    for (const std::string& task : comparison.unconfirmed_tasks)
      register_.Want(task);
    call.reporting = std::move(comparison.unconfirmed_tasks);
    if (!call.reporting.empty()) return Advance(it->first, callbacks);
    register_.Declare(owner, resources);
  }
  WaitingCall placed = Remove(it, callbacks);
  // The request is freed without the lock, because that may take long.
  callbacks.Add([reply = PlacementReply{std::move(placement.devices),
                                        std::move(placement.reasons)},
                 request = std::move(placed.request),
                 done = std::move(placed.place_done)]() mutable {
    done(std::move(reply));
  });
}

}  // namespace weft
