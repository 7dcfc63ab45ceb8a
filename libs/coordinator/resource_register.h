// ResourceRegister records the named resources that the tasks of a cluster
// share: the device of each, its properties, and the sessions that have
// declared it.
//
// An entry is a resource (container, name, kind) on a device. It exists while a
// session that declared it is open, or while the resource exists on the device.
// Only the device's task knows the latter, and reports it asynchronously. So
// each event that makes an entry unconfirmed has a logical timestamp, and only
// a later report confirms or removes the entry.
//
// Two programs that share a resource must declare it identically. A resource
// that exists on a device and whose declaring sessions have ended must have the
// declared type and shape, on any device. All other comparisons concern only
// resources that a session places on another task than its own (its master's):
//  - with an entry on the same device: type, shape and definition must agree,
//    as far as known;
//  - without one: no other task's session has placed it on another device;
//  - no other task's session has placed it on another job (in default
//    containers, whose names are the jobs') or declares another kind of
//    resource of the same name; but only if the two sessions are replicas of
//    one program: they share more declarations than would differ.
// The following is not compared, so that no correct program is refused: a
// session's own declarations; resources that open sessions have on their own
// task (each worker of synchronous training has a local step of the same name);
// where another session of the same task has placed it (one client may work
// with two unrelated graphs; replicas are different tasks); and where a
// resource exists whose creator is unknown because the coordinator has
// restarted since (it may be local to some task).
//
// Cost. Comparing and declaring is linear in the number of resources in the
// request, independent of the number of sessions that already declare them:
// sessions with the same declarations are stored together and compared once.
//
// Not synchronized; entries point at each other, so it must not be moved.
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
    // Only confirmed ones.
    std::vector<ResourceDifference> differences;
    // As returned by LikelyCauses; empty if there is no difference.
    std::vector<std::string> causes;
    // The tasks whose next report decides whether there are more differences.
    std::set<std::string> unconfirmed_tasks;
  };

  // Without reports, resources that no session declares cause no differences.
  explicit ResourceRegister(bool has_reports) : has_reports_(has_reports) {}
  ResourceRegister(const ResourceRegister&) = delete;
  ResourceRegister& operator=(const ResourceRegister&) = delete;

  // The devices where a resource of this container, name and kind exists. An
  // empty container: each device's default container.
  std::set<std::string> Homes(const NamedResource& resource) const;

  // Returns a new logical timestamp, later than all previous events.
  uint64_t NextTimestamp() { return ++timestamp_; }
  // Differences from resources that no session declares count only if the
  // task's report is as recent as `since`.
  Comparison Compare(const Owner& owner, absl::Span<const NodeResource> placed,
                     uint64_t since) const;
  void Declare(const Owner& owner, absl::Span<const NodeResource> placed);
  // Resources that no other session declares become unconfirmed.
  void EndSession(uint64_t session);
  // Whether the session has ended recently, as far as was reported.
  bool HasEnded(uint64_t session) const { return ended_.Contains(session); }

  // The task has joined: from now on it is asked for reports.
  void AddTask(const std::string& task);
  // The task is gone, with its containers and its sessions.
  void DropTask(const std::string& task);
  // Records the resources on the task's devices, and the declarations of its
  // master's sessions. Malformed parts are skipped. Returns false if the
  // resources were ignored because containers have been cleared in the
  // meantime.
  bool Report(const std::string& task, const protocol::TaskReport& report);
  // A heartbeat or report of the task is about to be answered; returns true if
  // the answer must request a report. A requested report that has not arrived
  // is as recent as the answer that first requested it.
  bool Answer(const std::string& task);
  // The task's join is about to be answered, without requesting a report.
  void AnswerJoin(const std::string& task);
  // Requests a report.
  void Want(const std::string& task);
  // Requests a report of all tasks that have sessions.
  void WantSessions();
  // Whether the task's report is as recent as `since`, or the task is gone.
  bool IsSettled(const std::string& task, uint64_t since) const;

  // Forgets the resources of containers that were cleared.
  void Forget(const ContainerFilter& filter);

  // The resources that open sessions declare on the task's devices and that its
  // last report did not contain, in the order of their first declarations. Each
  // IsOnlyDeclared.
  std::vector<protocol::PlacedResource> OnlyDeclaredOn(
      const std::string& task) const;

  // The number of sessions with declarations, by the task of their master.
  std::map<std::string, int> SessionsOfTasks() const;
  // Of these, the number that declare a resource in a container, by the task of
  // their master and by the container.
  std::map<std::string, std::map<std::string, int>> SessionsByContainer() const;
  int num_entries() const;
  // The number of entries and declarations examined so far: a
  // machine-independent measure of the work.
  uint64_t num_looks() const { return num_looks_; }

 private:
  // Identifies a resource in a program. Ordered so that all kinds of one name
  // are adjacent.
  struct Key {
    std::string container, name, kind;
    auto operator<=>(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H hash, const Key& key) {
      return H::combine(std::move(hash), key.container, key.name, key.kind);
    }
  };
  // A session, its task's number first: those of one task are adjacent.
  using DeclaringSession = std::pair<int, uint64_t>;
  // A declaration shared by the sessions that declare the same.
  struct Declaration {
    ResourceFacts facts;
    absl::btree_set<DeclaringSession> by;  // never empty
  };
  struct Devices;
  // A resource on a device. It has few different declarations, however many
  // sessions declare it, because replicas declare the same.
  struct Entry {
    uint64_t number = 0;  // unique, never reused
    // In the maps that contain it.
    const Key* key = nullptr;
    const std::string* device = nullptr;
    Devices* devices = nullptr;
    std::string task;  // of the device
    std::vector<Declaration> declared;
    std::optional<ResourceFacts> held;  // as last reported
    // All declarations, the latest first; and the task of its session; empty:
    // unknown.
    ResourceFacts last;
    std::string last_task;
    // The properties of a resource that no session declares any more.
    ResourceFacts Left() const;
    // The timestamp since when only a later report can confirm that it exists.
    uint64_t unconfirmed_at = 0;
  };
  using Entries = absl::btree_map<uint64_t, Entry*>;  // by their numbers
  // The devices of the resource of one key.
  struct Devices {
    std::map<std::string, Entry> entries;  // by device
    // Entries declared from another task than the device's.
    Entries shared;
  };
  struct Declared {
    Entry* entry = nullptr;
    uint64_t order = 0;  // of the session's declarations
  };
  struct Session {
    std::string task;
    int task_number = 0;
    absl::btree_map<uint64_t, Declared> places;  // by the entry's number
    uint64_t num_declared = 0;                   // total
    // The timestamp since when its task does not report it; 0: it does. Only
    // the second such report ends it: at the first its master may not know yet
    // that it was placed.
    uint64_t missed = 0;
    // A number shared by all sessions with the same declarations on other
    // tasks; and the one under which it is in `programs_`. 0: none.
    uint64_t program = 0;
    uint64_t listed = 0;
    bool is_stale = false;  // the two differ
  };
  struct Task {
    // The answer that precedes its next report: the last one, or the one that
    // requested a report which has not arrived.
    uint64_t answered = 0;
    bool is_asked = false;  // for a report that has not arrived
    uint64_t wanted = 0;    // a report that is as recent
    uint64_t reported = 0;  // how recent its last report was
    // When its containers were cleared; older reports are invalid.
    uint64_t cleared = 0;
  };

  static Key KeyOf(const NamedResource& resource);

  // Declaring.
  void DeclareOne(const Owner& owner, const NamedResource& resource,
                  const std::string& device);
  Session& FindOrAddSession(const Owner& owner);
  static void AddDeclaration(Entry& entry, DeclaringSession by,
                             const ResourceFacts& facts);
  // Removes and returns a session's declaration.
  static ResourceFacts TakeDeclaration(Entry& entry, DeclaringSession by);
  // The session has started or stopped declaring the entry.
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

  // Entries.
  Entry& FindOrAdd(const Key& key, const std::string& device);
  // Together with all its declarations.
  void Erase(Entry& entry);
  void NoteWhetherShared(Entry& entry);
  bool IsShared(const Entry& entry) const;
  std::vector<Entry*> EntriesOn(const std::string& task) const;
  // Of a task with declarations; -1: it has none.
  int NumberOf(const std::string& task) const;
  int FindOrAddNumber(const std::string& task);

  // Comparing: in resource_comparison.cc.

  // The session's declarations, including those to be placed.
  struct Own;
  // Another resource with the name of one that is to be placed.
  struct ConflictingResource {
    const NodeResource* placed = nullptr;
    const Entry* entry = nullptr;
  };
  Own OwnOf(const Owner& owner, absl::Span<const NodeResource> placed) const;
  // Returns the first one, unless its task is one of these two.
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
  // On any device.
  bool Declares(const Own& own, const Key& key) const;
  bool Declares(const Session& session, const Key& key) const;
  // The third rule at the top.
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
  // On tasks other than its own, in order.
  DeclaredProgram ProgramOf(uint64_t session) const;
  // Adds the difference from an entry that no session declares any more and
  // that has the properties `left`, unless the entry's task must first confirm
  // that it still exists.
  void AddLeft(const Owner& owner, const NodeResource& placed,
               const Entry& entry, ResourceFacts left, uint64_t since,
               Comparison& result) const;

  const bool has_reports_;
  mutable uint64_t num_looks_ = 0;
  uint64_t timestamp_ = 0;
  uint64_t num_entries_made_ = 0;
  std::map<Key, Devices> entries_;
  std::map<std::string, Entries> on_task_;  // by task of the device
  // Of the devices, and the number of entries.
  std::map<std::string, int> jobs_;
  std::map<uint64_t, Session> sessions_;
  std::map<std::string, std::set<uint64_t>> sessions_of_;  // by task
  // Sessions with the same declarations, by their number: Session::program.
  std::map<uint64_t, absl::btree_set<DeclaringSession>> programs_;
  std::vector<uint64_t> stale_;  // sessions
  std::map<std::string, int> task_numbers_;
  std::map<std::string, Task> tasks_;  // tasks that have joined
  // The latest ended sessions, so that a report in flight does not revive them.
  // Reports built before a session ended arrive long before that many more have
  // ended.
  Ended<uint64_t> ended_{4096};
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_
