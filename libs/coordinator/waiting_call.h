// WaitingCall is a Place, a ListDevices or a fresh GetCluster that is not
// answered yet, with what it waits for: tasks that must join, its turn to be
// placed, or reports.
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
    kQueued,   // to be placed
    kPlacing,  // without the coordinator's lock
  };

  // Of a Place; otherwise null.
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
  std::set<std::string> needed;   // tasks that must be alive
  std::set<std::string> missing;  // tasks that are not alive
  // The tasks whose report decides whether the placement is valid, is the first
  // since they joined, or is part of a status, once it is as recent as `since`
  // (a timestamp of the ResourceRegister; 0: any report is recent enough).
  std::set<std::string> reporting;
  uint64_t since = 0;
  State state = State::kWaits;
  // A needed task has joined or left while it was being placed.
  bool is_outdated = false;
  // Not OK: a needed task has left, and the call fails with this error unless
  // the task is back in time.
  absl::Status has_left;
  absl::Time back_until = absl::InfiniteFuture();
  Scheduler::TimerId timer = 0;
  // When to log what it waits for.
  DoublingTimes lines{absl::InfiniteFuture(), absl::InfiniteDuration()};

  // The task of the session's master; empty for ListDevices and GetCluster.
  std::string own_task() const { return request ? request->task : ""; }
  // When the timer must fire.
  absl::Time NextTime() const;
  // "A session of /job:worker/replica:0/task:0 waits for ... to join"
  std::string Describe() const;
  // Returns DEADLINE_EXCEEDED, with what to do.
  absl::Status TooLate() const;
  // Fails the call. The result holds its `done` and its request, which may take
  // long to free.
  absl::AnyInvocable<void()> Fail(absl::Status why);
};

// "a, b, c and 997 more"
std::string ListTasks(const std::set<std::string>& tasks);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_WAITING_CALL_H_
