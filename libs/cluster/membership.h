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
// A task that has left without joining this table, as reported by itself or
// others, is no longer expected: NoteLeft changes it from expected to left.
//
// A process that claims a task while another process has it (ALREADY_EXISTS)
// does not get it because the other's connection was cut: a live process soon
// joins again. The task is reserved for it for the timeout. A process that
// first claims the task after the loss counts as a restart and gets it.
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
    // Of the last Join, or the one that left without joining; 0: neither.
    uint64_t incarnation = 0;
    absl::Time last_heard;
    // When another process last claimed the task of a live one.
    absl::Time last_claimed = absl::InfinitePast();
    // If lost: until then no other incarnation gets the task.
    absl::Time kept_until = absl::InfinitePast();
  };

  // A task that is silent for `timeout` is lost; infinite: never.
  Membership(const ClusterSpec& cluster, absl::Duration timeout);

  // A task joins. Joining again only updates the time. INVALID_ARGUMENT: not a
  // task of the cluster; ALREADY_EXISTS: another incarnation of it is alive,
  // with the time it was last heard; ABORTED: it was alive until recently, and
  // may come back, or this incarnation has left.
  absl::Status Join(const std::string& task, uint64_t incarnation,
                    absl::Time now);
  // Returns ABORTED unless this incarnation is alive.
  absl::Status RecordHeartbeat(const std::string& task, uint64_t incarnation,
                               absl::Time now);
  // The timekeeper was stalled for `missed` until now, and heard no task: all
  // live tasks may be silent for that much longer.
  void ExtendTimeouts(absl::Duration missed, absl::Time now);
  // This incarnation has left for good, perhaps while its connection was lost.
  // Returns false without effect if it does not have the task any more.
  bool Leave(const std::string& task, uint64_t incarnation);
  // The task has left as this incarnation without joining, as reported by
  // itself or others. Returns false without effect unless the task is expected.
  bool NoteLeft(const std::string& task, uint64_t incarnation);
  // Returns false without effect unless this incarnation was alive.
  bool Lose(const std::string& task, uint64_t incarnation, absl::Time now);
  // Returns the tasks that are now lost after a silence; sorted.
  std::vector<std::string> Tick(absl::Time now);
  // When Tick must be called next; infinite future: no task can be lost.
  absl::Time NextTick() const;

  // By canonical name; all tasks of the spec.
  const std::map<std::string, Member>& members() const { return members_; }
  bool IsAlive(const std::string& task) const;
  bool HasLeft(const std::string& task) const;
  // Canonical names, by job.
  const std::map<std::string, std::vector<std::string>>& tasks_of_job() const {
    return tasks_of_job_;
  }
  // Jobs whose tasks have all left; sorted.
  std::vector<std::string> FinishedJobs() const;

 private:
  Member* FindAlive(const std::string& task, uint64_t incarnation);
  // OK unless another incarnation has the task.
  static absl::Status CheckClaim(const std::string& task, Member& member,
                                 absl::Time now);

  const absl::Duration timeout_;
  std::map<std::string, Member> members_;
  std::map<std::string, std::vector<std::string>> tasks_of_job_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_MEMBERSHIP_H_
