// ResourceRegister records the named resources that the tasks of a cluster
// share: the device of each, its properties, and the sessions that have
// declared it.
//
// An entry is a resource (container, name, kind) on a device. It exists while a
// session that declared it is open, or while the resource exists on the device.
// Only the device's task knows the latter, and reports it asynchronously. So
// each event that makes an entry unconfirmed gets a logical timestamp, and only
// a later report confirms or removes the entry.
//
// Two programs that share a resource must declare it identically. If a resource
// still exists on a device after its declaring sessions have ended, later
// declarations must have the same type and shape, on any device. All other
// comparisons concern only resources that a session places on another task than
// its own (its master's):
//  - If the resource has an entry on the same device, type, shape and
//    definition must agree, as far as they are known.
//  - Otherwise, no session of another task may have placed it on another
//    device.
//  - No session of another task may have placed it on another job, in default
//    containers, whose names are those of the jobs, or may declare another kind
//    of resource with the same name. This applies only if the two sessions are
//    replicas of one program: they share more declarations than would differ.
//
// The following are not compared, so that no correct program is refused:
//  - a session's own declarations;
//  - resources that open sessions have on their own task, because each worker
//    of synchronous training has a local step with the same name;
//  - other devices on which another session of the same task has placed the
//    resource, because one client may work with two unrelated graphs, while
//    replicas are different tasks;
//  - other devices on which the resource exists, if its creator is unknown
//    because the coordinator has restarted since: it may be local to a task.
//
// Cost: comparing and declaring is linear in the number of resources in the
// request, independent of the number of sessions that already declare them.
// Sessions with the same declarations are stored together and compared once.
//
// Not synchronized. Entries point at each other, so the register must not be
// moved.
#ifndef WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_
#define WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/types/span.h"
#include "libs/base/async/ended.h"
#include "libs/coordinator/container_filter.h"
#include "libs/coordinator/disagreement_cause.h"
#include "libs/coordinator/resource_difference.h"
#include "libs/graph/placement_graph.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

class ResourceRegister {
 public:
  // The declaring session, and the task of its master.
  struct Owner {
    uint64_t session = 0;
    std::string task;
  };
  // The result of comparing a placement.
  struct Comparison {
    // Contains only confirmed differences.
    std::vector<ResourceDifference> differences;
    // The causes that LikelyCauses returns; empty if there is no difference.
    std::vector<std::string> causes;
    // The tasks whose next report decides whether there are more differences.
    std::set<std::string> unconfirmed_tasks;
  };

  // If `has_reports` is false, resources that no session declares are never
  // compared.
  explicit ResourceRegister(bool has_reports) : has_reports_(has_reports) {}
  ResourceRegister(const ResourceRegister&) = delete;
  ResourceRegister& operator=(const ResourceRegister&) = delete;

  // Returns the devices on which a resource of this container, name and kind
  // exists. An empty container stands for each device's default container.
  std::set<std::string> Homes(const NamedResource& resource) const;

  // Returns a new logical timestamp, which is later than all previous events.
  uint64_t NextTimestamp() { return ++timestamp_; }
  // Compares resources to be placed with the known ones. If no session declares
  // a known resource any more, a difference from it counts only if its task's
  // report is as recent as `since`.
  Comparison Compare(const Owner& owner, absl::Span<const NodeResource> placed,
                     uint64_t since) const;
  void Declare(const Owner& owner, absl::Span<const NodeResource> placed);
  // Ends the session's declarations. Resources that no other session declares
  // become unconfirmed.
  void EndSession(uint64_t session);
  // Returns whether the session's end was reported recently.
  bool HasEnded(uint64_t session) const { return ended_.Contains(session); }

  // Records that the task has joined, so that reports are requested from it.
  void AddTask(const std::string& task);
  // Records that the task is gone, and with it its containers and its sessions.
  void DropTask(const std::string& task);
  // Records the resources on the task's devices, and the declarations of its
  // master's sessions. Malformed parts are skipped. Returns false if the
  // resources were ignored because containers were cleared after the report was
  // requested.
  bool Report(const std::string& task, const protocol::TaskReport& report);
  // Must be called before each answer to a heartbeat or report of the task.
  // Returns true if the answer must request a report. While a requested report
  // has not arrived, it counts as being as recent as the answer that first
  // requested it.
  bool Answer(const std::string& task);
  // Must be called before the answer to the task's join, which cannot request a
  // report.
  void AnswerJoin(const std::string& task);
  // Makes the next answer to the task request a report.
  void Want(const std::string& task);
  // Requests a report from each task that has sessions.
  void WantSessions();
  // Returns whether the task's report is as recent as `since`, or the task is
  // gone.
  bool IsSettled(const std::string& task, uint64_t since) const;

  // Forgets resources in containers that were cleared.
  void Forget(const ContainerFilter& filter);

  // Returns the resources on the task's devices that open sessions declare and
  // that the task's last report did not contain, in the order of their first
  // declarations. IsOnlyDeclared is true for each of them.
  std::vector<protocol::PlacedResource> OnlyDeclaredOn(
      const std::string& task) const;

  // Returns the number of sessions with declarations, by the task of their
  // master.
  std::map<std::string, int> SessionsOfTasks() const;
  // Returns, by task of their master and by container, the number of sessions
  // that declare a resource in the container.
  std::map<std::string, std::map<std::string, int>> SessionsByContainer() const;
  int num_entries() const;
  // Returns the number of entries and declarations examined so far, which
  // measures the work independently of the machine.
  uint64_t num_looks() const { return num_looks_; }

 private:
  // Identifies a resource in a program. In the order of keys, all kinds of one
  // name are adjacent.
  struct Key {
    std::string container, name, kind;
    auto operator<=>(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H hash, const Key& key) {
      return H::combine(std::move(hash), key.container, key.name, key.kind);
    }
  };
  // A session, after the number of its task, so that the sessions of a task are
  // adjacent in a set.
  using DeclaringSession = std::pair<int, uint64_t>;
  // A declaration, shared by all sessions that declare the same.
  struct Declaration {
    ResourceFacts facts;
    absl::btree_set<DeclaringSession> by;  // never empty
  };
  struct Devices;
  // A resource on a device. It has few different declarations, even if many
  // sessions declare it, because replicas declare the same.
  struct Entry {
    uint64_t number = 0;  // unique, never reused
    // Point into the maps that contain the entry.
    const Key* key = nullptr;
    const std::string* device = nullptr;
    Devices* devices = nullptr;
    std::string task;  // the device's task
    std::vector<Declaration> declared;
    std::optional<ResourceFacts> held;  // as last reported
    // The combination of all declarations, in which the latest takes
    // precedence, and the task of the latest session. An empty task means that
    // it is unknown.
    ResourceFacts last;
    std::string last_task;
    // Returns the properties of a resource that no session declares any more.
    ResourceFacts Left() const;
    // Only a report later than this timestamp can confirm that the resource
    // exists.
    uint64_t unconfirmed_at = 0;
  };
  using Entries = absl::btree_map<uint64_t, Entry*>;  // by Entry::number
  // All devices on which the resource of one key has an entry.
  struct Devices {
    std::map<std::string, Entry> entries;  // by device
    // The entries that sessions of another task than the device's declare.
    Entries shared;
  };
  struct Declared {
    Entry* entry = nullptr;
    uint64_t order = 0;  // position among its declarations
  };
  struct Session {
    std::string task;
    int task_number = 0;
    absl::btree_map<uint64_t, Declared> places;  // by Entry::number
    uint64_t num_declared = 0;                   // number of all declarations
    // The timestamp since which the task's reports lack the session; 0 if the
    // last report contained it. Only the second such report ends the session:
    // at the first, the master may not know yet that the session was placed.
    uint64_t missed = 0;
    // `program` is a number that all sessions with the same declarations on
    // other tasks have in common. `listed` is the key under which the session
    // is in `programs_`. 0: none.
    uint64_t program = 0;
    uint64_t listed = 0;
    bool is_stale = false;  // `program` and `listed` differ
  };
  struct Task {
    // The timestamp of the answer that precedes the task's next report. That is
    // the last answer or, if a requested report has not arrived, the answer
    // that requested it.
    uint64_t answered = 0;
    bool is_asked = false;  // a requested report has not arrived
    uint64_t wanted = 0;    // the wanted report must be as recent
    uint64_t reported = 0;  // how recent the last report was
    // When the task's containers were cleared; older reports are invalid.
    uint64_t cleared = 0;
  };

  static Key KeyOf(const NamedResource& resource);

  // ---- declaring ----
  void DeclareOne(const Owner& owner, const NamedResource& resource,
                  const std::string& device);
  Session& FindOrAddSession(const Owner& owner);
  static void AddDeclaration(Entry& entry, DeclaringSession by,
                             const ResourceFacts& facts);
  // Removes the session's declaration from the entry, and returns it.
  static ResourceFacts TakeDeclaration(Entry& entry, DeclaringSession by);
  // Records that the session has started or stopped declaring the entry.
  void NoteChange(uint64_t id, Session& session, const Entry& entry);
  void ListPrograms();
  void Unlist(uint64_t id, const Session& session);
  void EndDeclarations(uint64_t session);
  void MarkUnconfirmed(Entry& entry);
  void ReportHeld(const std::string& task, Task& state,
                  const std::vector<protocol::PlacedResource>& resources);
  void ReportSessions(const std::string& task, Task& state,
                      const std::vector<protocol::DeclaredResources>& sessions);
  std::vector<uint64_t> SessionsOf(const std::string& task) const;

  // ---- entries ----
  Entry& FindOrAdd(const Key& key, const std::string& device);
  // Removes the entry together with all its declarations.
  void Erase(Entry& entry);
  void NoteWhetherShared(Entry& entry);
  bool IsShared(const Entry& entry) const;
  std::vector<Entry*> EntriesOn(const std::string& task) const;
  // Returns the number of a task that has declarations; -1 for other tasks.
  int NumberOf(const std::string& task) const;
  int FindOrAddNumber(const std::string& task);

  // ---- comparing, in resource_comparison.cc ----

  // The session's declarations, including the resources to be placed.
  struct Own;
  // A known resource that conflicts with one to be placed, because their names
  // are the same.
  struct ConflictingResource {
    const NodeResource* placed = nullptr;
    const Entry* entry = nullptr;
  };
  Own OwnOf(const Owner& owner, absl::Span<const NodeResource> placed) const;
  // Returns the first session whose task is neither `task` nor `other_task`;
  // null if there is none.
  static const DeclaringSession* FirstOfOthers(
      const absl::btree_set<DeclaringSession>& by, int task, int other_task);
  void CompareOne(const Owner& owner, const NodeResource& placed,
                  const Own& own, uint64_t since, Comparison& result) const;
  void CompareOnOwnTask(const Owner& owner, const NodeResource& placed,
                        uint64_t since, Comparison& result) const;
  void CompareOnDevice(const Owner& owner, const NodeResource& placed,
                       const Entry& entry, uint64_t since,
                       Comparison& result) const;
  void CompareElsewhere(const Owner& owner, const NodeResource& placed,
                        const Entry& entry, uint64_t since,
                        Comparison& result) const;
  // Return whether the session declares the resource on any device.
  bool Declares(const Own& own, const Key& key) const;
  bool Declares(const Session& session, const Key& key) const;
  // Applies the third rule in the comment at the top.
  void CompareConflicting(const Owner& owner,
                          absl::Span<const NodeResource> placed, const Own& own,
                          Comparison& result) const;
  void FindConflicting(const NodeResource& placed, const Own& own,
                       std::vector<ConflictingResource>& found) const;
  std::vector<ResourceDifference> DifferencesFrom(
      const Owner& owner, const DeclaringSession& there,
      absl::Span<const ConflictingResource> conflicting) const;
  bool SharesMoreThan(size_t count, const Session& session,
                      const Own& own) const;
  void AddCauses(const Owner& owner, absl::Span<const NodeResource> placed,
                 Comparison& result) const;
  // Returns the session's declarations on other tasks than its own, in order.
  DeclaredProgram ProgramOf(uint64_t session) const;
  // Adds a difference from an entry that no session declares any more and that
  // has the properties `left`. If the entry's task must first confirm that the
  // resource still exists, adds the task to unconfirmed_tasks instead.
  void AddLeft(const Owner& owner, const NodeResource& placed,
               const Entry& entry, ResourceFacts left, uint64_t since,
               Comparison& result) const;

  const bool has_reports_;
  mutable uint64_t num_looks_ = 0;
  uint64_t timestamp_ = 0;
  uint64_t num_entries_made_ = 0;
  std::map<Key, Devices> entries_;
  std::map<std::string, Entries> on_task_;  // by the device's task
  // The number of entries on devices of each job.
  std::map<std::string, int> jobs_;
  std::map<uint64_t, Session> sessions_;
  std::map<std::string, std::set<uint64_t>> sessions_of_;  // by task
  // The sessions with the same declarations, by their number, Session::program.
  std::map<uint64_t, absl::btree_set<DeclaringSession>> programs_;
  std::vector<uint64_t> stale_;  // ids of stale sessions
  std::map<std::string, int> task_numbers_;
  std::map<std::string, Task> tasks_;  // tasks that have joined
  // The sessions that ended last, so that a report in flight does not revive
  // them. 4096 are enough, because a report arrives long before that many
  // sessions have ended.
  Ended<uint64_t> ended_{4096};
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_
