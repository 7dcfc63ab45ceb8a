// WaitingCall: a Place, a ListDevices or a fresh GetCluster that is not
// answered yet, and what it waits for: tasks that have to join, its turn to be
// placed, or reports.
//
// A value, not synchronised.
#ifndef WEFT_LIBS_COORDINATOR_WAITING_CALL_H_
#define WEFT_LIBS_COORDINATOR_WAITING_CALL_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/cancellation.h"
#include "libs/base/doubling_times.h"
#include "libs/base/scheduler.h"
#include "libs/cluster/device_filters.h"
#include "libs/device/device.h"
#include "libs/protocol/coordinator.h"

namespace weft {

struct WaitingCall {
  enum class State {
    kWaits,
    kQueued,   // to be placed
    kPlacing,  // without the coordinator's lock
  };

  // Of a Place; else null.
  std::shared_ptr<const protocol::PlacementRequest> request;
  protocol::Coordinator::Answer<protocol::PlacementReply> place_done;
  protocol::Coordinator::Answer<std::vector<DeviceAttributes>> list_done;
  protocol::Coordinator::Answer<protocol::ClusterStatus> status_done;

  // Cancels the call early; may be null. The token identifies the coordinator's
  // callback.
  std::shared_ptr<Cancellation> cancellation;
  Cancellation::Token token = 0;
  absl::Time deadline;
  DeviceFilters filters;
  std::set<std::string> needed;   // tasks that have to be there
  std::set<std::string> missing;  // those that are not
  // Tasks whose report decides whether it may be placed as it was, is the first
  // since they joined, or is part of a status, once it is as young as `since`
  // (a moment of the ResourceRegister; 0: any report will do).
  std::set<std::string> reporting;
  uint64_t since = 0;
  State state = State::kWaits;
  // A needed task has come or gone while it was being placed.
  bool is_outdated = false;
  // Not OK: a task that it needs has left, and this is why the call fails
  // unless the task is back in time.
  absl::Status has_left;
  absl::Time back_until = absl::InfiniteFuture();
  Scheduler::TimerId timer = 0;
  // When the log lines that say what it waits for are due.
  DoublingTimes lines{absl::InfiniteFuture(), absl::InfiniteDuration()};

  // The task of the session's master; empty for ListDevices and GetCluster.
  std::string own_task() const { return request ? request->task : ""; }
  // When the timer is to fire.
  absl::Time NextTime() const;
  // "A session of /job:worker/replica:0/task:0 waits for ... to join"
  std::string Describe() const;
  // DEADLINE_EXCEEDED, with what would have helped.
  absl::Status TooLate() const;
  // Leaves the call without its `done` and its request, which may take long to
  // be let go of: what it hands out holds both.
  absl::AnyInvocable<void()> Fail(absl::Status why);
};

// "a, b, c and 997 more"
std::string ListTasks(const std::set<std::string>& tasks);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_WAITING_CALL_H_
