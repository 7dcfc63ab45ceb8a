// ResourceRegister: which named resources the tasks of a cluster share: on
// which device each lives, what it holds, and which sessions have said so.
//
// An entry is a resource (container, name, kind) on a device. It lives while a
// session that declared it is open, or the object exists on the device, which
// only the device's task knows: it tells in reports, which travel while other
// things happen. So whatever makes the register doubt an entry has a number,
// its moment, and a report settles only doubts that are older than itself.
//
// Two programs that share a resource have to mean the same one. Compared is
// only what a session places on another task than its own (its master's):
//  - with an entry on the same device: type, shape and definition agree, as far
//    as known;
//  - without one: no other task's session has put it on another device;
//  - no other task's session has put it on another job (in default containers,
//    whose names are the jobs') or declares another kind of resource under its
//    name; but that only if the two sessions are of replicas of one program:
//    they share more of what they declare than would differ so.
// Left out on purpose, so that no correct program is refused: a session's own
// declarations; what any session keeps on its own task (each worker of
// synchronous training has a local step of the same name); where another
// session of the same task has put it (one client may work with two graphs
// that have nothing to do with each other; replicas are different tasks); and
// where an object lives of which nobody knows who made it, because the
// coordinator has restarted since (it may be somebody's local one).
//
// A value, not synchronised.
#ifndef WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_
#define WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "libs/coordinator/container_filter.h"
#include "libs/coordinator/disagreement_cause.h"
#include "libs/coordinator/resource_difference.h"
#include "libs/graph/placement_graph.h"
#include "libs/protocol/coordinator.h"

namespace weft {

class ResourceRegister {
 public:
  // Who declares: a session, and the task of its master.
  struct Declarer {
    uint64_t session = 0;
    std::string task;
  };
  // What stands against a placement.
  struct Verdict {
    // Certain ones only.
    std::vector<ResourceDifference> differences;
    // As LikelyCauses tells them; empty where there is no difference.
    std::vector<std::string> causes;
    // Tasks whose next report decides whether more is against it.
    std::set<std::string> doubtful_tasks;
  };

  // Without reports what no session declares stands against nobody.
  explicit ResourceRegister(bool has_reports) : has_reports_(has_reports) {}

  // Devices where a resource of this container, name and kind lives. An empty
  // container: each device's default one.
  std::set<std::string> Homes(const NamedResource& resource) const;

  // A new moment: later than all that has happened.
  uint64_t NextMoment() { return ++moment_; }
  // Differences from what no session declares count only where the task's
  // report is as young as `since`.
  Verdict Compare(const Declarer& declarer,
                  absl::Span<const NodeResource> placed, uint64_t since) const;
  void Declare(const Declarer& declarer, absl::Span<const NodeResource> placed);
  // What is declared by nobody else now is doubted.
  void EndSession(uint64_t session);
  // Not long ago.
  bool HasEnded(uint64_t session) const { return ended_.contains(session); }

  // A task is there: from now on it is asked for reports.
  void AddTask(const std::string& task);
  // It is not there any more: neither are its containers and its sessions.
  void DropTask(const std::string& task);
  // What exists on the task's devices, and what the sessions of its master
  // declare. Malformed parts are left out. False: what exists there was not
  // believed, since containers have been cleared meanwhile.
  bool Report(const std::string& task, const protocol::TaskReport& report);
  // The task is about to be answered; true: it shall bring a report next.
  bool Answer(const std::string& task);
  // Wants one.
  void Want(const std::string& task);
  // Of all tasks that have sessions.
  void WantSessions();
  // The task's report is as young as `since`, or the task is not there.
  bool IsSettled(const std::string& task, uint64_t since) const;

  // Those containers were cleared.
  void Forget(const ContainerFilter& filter);

  // Sessions with declarations, by the task of their master.
  std::map<std::string, int> SessionsOfTasks() const;
  int num_entries() const;

 private:
  struct Key {
    std::string name, kind, container;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    std::map<uint64_t, ResourceFacts> declared;  // by session
    std::optional<ResourceFacts> held;           // as last reported
    // All declarations, the last one first; and its session's task; empty: not
    // known.
    ResourceFacts last;
    std::string last_task;
    // What nobody declares any more is as.
    ResourceFacts Left() const;
    // The moment since when only a younger report knows whether it is there.
    uint64_t doubted = 0;
  };
  using Place = std::pair<Key, std::string>;  // and device
  struct Session {
    std::string task;
    std::map<Place, uint64_t> places;  // and in which order it declared them
    uint64_t num_declared = 0;         // ever
    // The moment since when its task does not report it; 0: it does. Only the
    // second such report ends it: at the first its master may not have heard
    // yet that it was placed.
    uint64_t missed = 0;
  };
  struct Task {
    uint64_t told = 0;      // when it was last answered
    uint64_t wanted = 0;    // a report that is as young
    uint64_t reported = 0;  // as young was its last one
    uint64_t cleared = 0;   // its containers; older reports are wrong
  };
  using Entries = std::map<std::string, Entry>;  // by device

  static Key KeyOf(const NamedResource& resource);
  void DeclareOne(const Declarer& declarer, const NamedResource& resource,
                  const std::string& device);
  void EndDeclarations(uint64_t session);
  void Doubt(const Place& place);
  void ReportHeld(const std::string& task, Task& state,
                  const std::vector<protocol::PlacedResource>& resources);
  void ReportSessions(const std::string& task, Task& state,
                      const std::vector<protocol::DeclaredResources>& sessions);
  Entry& FindOrAdd(const Place& place);
  Entry* Find(const Place& place);
  // With all declarations of it.
  void Erase(const Place& place);
  std::vector<Place> PlacesOn(const std::string& task) const;

  // All places that the session declares, those of `placed` among them.
  std::set<Place> PlacesOf(const Declarer& declarer,
                           absl::Span<const NodeResource> placed) const;
  void CompareOne(const Declarer& declarer, const NodeResource& placed,
                  const std::set<Place>& own, uint64_t since,
                  Verdict& verdict) const;
  void CompareOnDevice(const Declarer& declarer, const NodeResource& placed,
                       const Entry& entry, uint64_t since,
                       Verdict& verdict) const;
  void CompareElsewhere(const Declarer& declarer, const NodeResource& placed,
                        const std::string& device, const Entry& entry,
                        uint64_t since, Verdict& verdict) const;
  // On any device.
  static bool Declares(const std::set<Place>& places, const Key& key);
  static bool Declares(const Session& session, const Key& key);
  // The third rule at the top.
  void CompareNamesakes(const Declarer& declarer,
                        absl::Span<const NodeResource> placed,
                        const std::set<Place>& own, Verdict& verdict) const;
  void FindNamesakes(const Declarer& declarer, const NodeResource& placed,
                     const std::set<Place>& own,
                     std::vector<ResourceDifference>& found) const;
  void AddCauses(const Declarer& declarer,
                 absl::Span<const NodeResource> placed, Verdict& verdict) const;
  // On other tasks than its own, in order.
  DeclaredProgram ProgramOf(uint64_t session) const;
  void AddUnlessDoubtful(ResourceDifference difference, uint64_t since,
                         Verdict& verdict) const;

  const bool has_reports_;
  uint64_t moment_ = 0;
  std::map<Key, Entries> entries_;
  std::map<std::string, std::set<Place>> places_;  // by task of the device
  std::map<uint64_t, Session> sessions_;
  std::map<std::string, Task> tasks_;  // those that are there
  // The last ones, so that a report on its way does not bring them back.
  absl::flat_hash_set<uint64_t> ended_;
  std::deque<uint64_t> ended_order_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_
