// WaitingCall is a Place, a ListDevices or a fresh GetCluster call that is not
// answered yet. It records what the call waits for: tasks that must join,
// earlier placements, or reports.
//
// A value, not synchronized.
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
#include "libs/base/async/cancellation.h"
#include "libs/base/doubling_times.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/cluster/device_filters.h"
#include "libs/device/device.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

struct WaitingCall {
  enum class State {
    kWaits,
    kQueued,   // waits to be placed
    kPlacing,  // being placed, without the lock
  };

  // The request of a Place call; otherwise null.
  std::shared_ptr<const protocol::PlacementRequest> request;
  protocol::Coordinator::Answer<protocol::PlacementReply> place_done;
  protocol::Coordinator::Answer<std::vector<DeviceAttributes>> list_done;
  protocol::Coordinator::Answer<protocol::ClusterStatus> status_done;

  // Cancels the call early; may be null. `token` identifies the callback that
  // the coordinator has registered with it.
  std::shared_ptr<Cancellation> cancellation;
  Cancellation::Token token = 0;
  absl::Time deadline;
  DeviceFilters filters;
  std::set<std::string> needed;   // tasks that must be alive
  std::set<std::string> missing;  // tasks that are not alive
  // The tasks for whose report the call waits. The report decides whether the
  // placement is valid, is the first since the task joined, or is part of a
  // status. It must be as recent as `since`, a timestamp of the
  // ResourceRegister; 0 means that any report is recent enough.
  std::set<std::string> reporting;
  uint64_t since = 0;
  State state = State::kWaits;
  // Whether a needed task has joined or left while the graph was being placed,
  // so that it must be placed again.
  bool is_outdated = false;
  // If not OK, a needed task has left. The call fails with this error unless
  // the task is back at the time `back_until`.
  absl::Status has_left;
  absl::Time back_until = absl::InfiniteFuture();
  Scheduler::TimerId timer = 0;
  // When to log what the call waits for.
  DoublingTimes lines{absl::InfiniteFuture(), absl::InfiniteDuration()};

  // Returns the task of the session's master; empty for ListDevices and
  // GetCluster.
  std::string own_task() const { return request ? request->task : ""; }
  // Returns when the timer must fire.
  absl::Time NextTime() const;
  // Returns what the call waits for: "A session of /job:worker/replica:0/task:0
  // waits for ... to join".
  std::string Describe() const;
  // Returns DEADLINE_EXCEEDED, with what the call waited for and what to do.
  absl::Status TooLate() const;
  // Fails the call. Returns a closure that calls `done` and frees the request,
  // which may take long.
  absl::AnyInvocable<void()> Fail(absl::Status why);
};

// Formats a list of tasks for a message: "a, b, c and 997 more".
std::string ListTasks(const std::set<std::string>& tasks);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_WAITING_CALL_H_
