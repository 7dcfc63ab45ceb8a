// Membership: who of a cluster's tasks is there, as a state machine. It has no
// clock: every call says what time it is.
//
//            Join                 Leave
//   expected ----> alive ---------------------> left
//                  |  ^ Join       Join (a new incarnation) |
//       Lose, Tick v  |  <----------------------------------+
//                  lost ----------------------> left
//                                 Leave
//
// A task that has left without joining this table, as it or others say, is no
// longer expected: NoteLeft changes it from expected to left.
//
// A process that claims a task while another one is it (ALREADY_EXISTS) does
// not become it because that one's connection was cut: whoever lives joins
// again soon. For as long as it was given to be heard of, the task stays its
// own. Who claims it only afterwards is taken for the one that was started
// again.
//
// A value, not synchronised.
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
    // When another process last claimed the task of one that was alive.
    absl::Time last_claimed = absl::InfinitePast();
    // If lost: until then no other incarnation is the task.
    absl::Time kept_until = absl::InfinitePast();
  };

  // A task that is not heard of for `timeout` is lost; infinite: never.
  Membership(const ClusterSpec& cluster, absl::Duration timeout);

  // A task is there. Joining again changes nothing but the time.
  // INVALID_ARGUMENT: not a task of the cluster; ALREADY_EXISTS: another
  // incarnation of it is alive, since when it was last heard is said; ABORTED:
  // it was until just now, and may come back, or this one has left.
  absl::Status Join(const std::string& task, uint64_t incarnation,
                    absl::Time now);
  // ABORTED unless this incarnation is alive.
  absl::Status Heard(const std::string& task, uint64_t incarnation,
                     absl::Time now);
  // Whoever kept the time was away for `missed` until now, and heard nobody:
  // all that are alive may be silent for as much longer.
  void GiveTime(absl::Duration missed, absl::Time now);
  // This incarnation has left for good, perhaps while its connection was lost.
  // False, and nothing is done, where it was not the task any more.
  bool Leave(const std::string& task, uint64_t incarnation);
  // The task has left as this incarnation without joining, as it or others say.
  // Returns false, and does nothing, unless the task is expected.
  bool NoteLeft(const std::string& task, uint64_t incarnation);
  // False, and nothing is done, unless this incarnation was alive.
  bool Lose(const std::string& task, uint64_t incarnation, absl::Time now);
  // Those that are lost now, having been silent for too long; sorted.
  std::vector<std::string> Tick(absl::Time now);
  // When Tick should be called next; infinite future: nobody can be lost.
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
  // OK unless the task is another incarnation's.
  static absl::Status CheckClaim(const std::string& task, Member& member,
                                 absl::Time now);

  const absl::Duration timeout_;
  std::map<std::string, Member> members_;
  std::map<std::string, std::vector<std::string>> tasks_of_job_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_MEMBERSHIP_H_
