// Membership is the state machine of a cluster's tasks. It has no clock: every
// call passes the time.
//
//            Join                 Leave
//   expected ----> alive ---------------------> left
//                  |  ^ Join       Join (a new incarnation) |
//       Lose, Tick v  |  <----------------------------------+
//                  lost ----------------------> left
//                                 Leave
//
// NoteLeft changes a task from expected to left. It is called if the task
// itself or other tasks report that the task has left without joining this
// table.
//
// A claim is a Join for a task that another live process has; it fails with
// ALREADY_EXISTS. If the connection of the live process is then cut, the
// claimant does not get the task, because the live process soon joins again:
// the task is reserved for it for the timeout. A process that first tries to
// join after the loss counts as a restarted task and gets the task.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_CLUSTER_MEMBERSHIP_H_
#define WEFT_LIBS_CLUSTER_MEMBERSHIP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/cluster/cluster_spec.h"

namespace weft {

class Membership {
 public:
  enum class State { kExpected, kAlive, kLost, kLeft };

  struct Member {
    State state = State::kExpected;
    // The incarnation of the last Join, or the one that left without joining.
    // 0: neither has happened.
    uint64_t incarnation = 0;
    absl::Time last_heard;
    // When another process last claimed the task while it was alive.
    absl::Time last_claimed = absl::InfinitePast();
    // Only for a lost task: until this time, no other incarnation gets the
    // task.
    absl::Time kept_until = absl::InfinitePast();
  };

  // A task that sends no heartbeat for `timeout` is lost. Infinite: tasks are
  // never lost for that reason.
  Membership(const ClusterSpec& cluster, absl::Duration timeout);

  // Lets a task join. If the same incarnation joins again, only its time is
  // updated.
  //
  // Errors: INVALID_ARGUMENT if the task is not in the cluster; ALREADY_EXISTS,
  // with the time of its last heartbeat, if another incarnation is alive;
  // ABORTED if another incarnation was alive until recently and may come back,
  // or if this incarnation has left.
  absl::Status Join(const std::string& task, uint64_t incarnation,
                    absl::Time now);
  // Records a heartbeat. Returns ABORTED unless this incarnation is alive.
  absl::Status RecordHeartbeat(const std::string& task, uint64_t incarnation,
                               absl::Time now);
  // Must be called if the caller was stalled for the time `missed` until now,
  // and received no heartbeats meanwhile. Extends the timeouts of all live
  // tasks by that time.
  void ExtendTimeouts(absl::Duration missed, absl::Time now);
  // Records that this incarnation has left for good, perhaps while its
  // connection was lost. Returns false, without effect, if it does not have the
  // task any more.
  bool Leave(const std::string& task, uint64_t incarnation);
  // Records that the task has left as this incarnation without joining, as
  // reported by itself or by other tasks. Returns false, without effect, unless
  // the task is expected.
  bool NoteLeft(const std::string& task, uint64_t incarnation);
  // Records that the connection to this incarnation was lost. Returns false,
  // without effect, unless it was alive.
  bool Lose(const std::string& task, uint64_t incarnation, absl::Time now);
  // Returns the tasks that have sent no heartbeat for too long, sorted; they
  // are lost from now on.
  std::vector<std::string> Tick(absl::Time now);
  // Returns when Tick must be called next; infinite future if no task can be
  // lost.
  absl::Time NextTick() const;

  // Returns all tasks of the spec, by canonical name.
  const std::map<std::string, Member>& members() const { return members_; }
  bool IsAlive(const std::string& task) const;
  bool HasLeft(const std::string& task) const;
  // Returns the canonical names of the tasks, by job.
  const std::map<std::string, std::vector<std::string>>& tasks_of_job() const {
    return tasks_of_job_;
  }
  // Returns the jobs whose tasks have all left, sorted.
  std::vector<std::string> FinishedJobs() const;

 private:
  Member* FindAlive(const std::string& task, uint64_t incarnation);
  // Returns OK unless another incarnation has the task.
  static absl::Status CheckClaim(const std::string& task, Member& member,
                                 absl::Time now);

  const absl::Duration timeout_;
  std::map<std::string, Member> members_;
  std::map<std::string, std::vector<std::string>> tasks_of_job_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_MEMBERSHIP_H_
