// ResourceRegister: which named resources the tasks of a cluster share: on
// which device each lives, what it holds, and which sessions have said so.
//
// An entry is a resource (container, name, kind) on a device. It lives while a
// session that declared it is open, or the object exists on the device, which
// only the device's task knows: it tells in reports, which travel while other
// things happen. So whatever makes the register doubt an entry has a number,
// its moment, and a report settles only doubts that are older than itself.
//
// Two programs that share a resource have to mean the same one. What has lived
// on a device since sessions that have ended has to have the declared type and
// shape, wherever it is. All else that is compared is what a session places on
// another task than its own (its master's):
//  - with an entry on the same device: type, shape and definition agree, as far
//    as known;
//  - without one: no other task's session has put it on another device;
//  - no other task's session has put it on another job (in default containers,
//    whose names are the jobs') or declares another kind of resource under its
//    name; but that only if the two sessions are of replicas of one program:
//    they share more of what they declare than would differ so.
// Left out on purpose, so that no correct program is refused: a session's own
// declarations; what open sessions keep on their own task (each worker of
// synchronous training has a local step of the same name); where another
// session of the same task has put it (one client may work with two graphs
// that have nothing to do with each other; replicas are different tasks); and
// where an object lives of which nobody knows who made it, because the
// coordinator has restarted since (it may be somebody's local one).
//
// Cost. To compare and declare takes as long as there are resources in the
// request, however many sessions declare them already: sessions that say the
// same are kept together, and looked at once.
//
// Not synchronised; entries point at each other, so it stays where it is.
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
#include "libs/base/ended.h"
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
  ResourceRegister(const ResourceRegister&) = delete;
  ResourceRegister& operator=(const ResourceRegister&) = delete;

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
  // Not long ago, and somebody has said so.
  bool HasEnded(uint64_t session) const { return ended_.Contains(session); }

  // A task is there: from now on it is asked for reports.
  void AddTask(const std::string& task);
  // It is not there any more: neither are its containers and its sessions.
  void DropTask(const std::string& task);
  // What exists on the task's devices, and what the sessions of its master
  // declare. Malformed parts are left out. False: what exists there was not
  // believed, since containers have been cleared meanwhile.
  bool Report(const std::string& task, const protocol::TaskReport& report);
  // A heartbeat or report of the task is about to be answered; true: the answer
  // asks for a report. A report that was requested and has not arrived counts
  // as young as the answer that first requested it.
  bool Answer(const std::string& task);
  // The task is about to be answered that it has joined, without being asked
  // for a report.
  void AnswerJoin(const std::string& task);
  // Wants one.
  void Want(const std::string& task);
  // Of all tasks that have sessions.
  void WantSessions();
  // The task's report is as young as `since`, or the task is not there.
  bool IsSettled(const std::string& task, uint64_t since) const;

  // Those containers were cleared.
  void Forget(const ContainerFilter& filter);

  // What open sessions declare on the task's devices and its last report did
  // not contain, in the order of their first declarations. Each IsOnlyDeclared.
  std::vector<protocol::PlacedResource> OnlyDeclaredOn(
      const std::string& task) const;

  // Sessions with declarations, by the task of their master.
  std::map<std::string, int> SessionsOfTasks() const;
  // Those of them that declare a resource in a container, by the task of their
  // master and by the container.
  std::map<std::string, std::map<std::string, int>> SessionsByContainer() const;
  int num_entries() const;
  // How often an entry, or what a session says of one, was looked at so far: a
  // measure of the work, which does not depend on the machine.
  uint64_t num_looks() const { return num_looks_; }

 private:
  // What a program names. Ordered so that all kinds of one name are neighbours.
  struct Key {
    std::string container, name, kind;
    auto operator<=>(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H hash, const Key& key) {
      return H::combine(std::move(hash), key.container, key.name, key.kind);
    }
  };
  // A session, its task's number first: those of one task are neighbours.
  using Declarant = std::pair<int, uint64_t>;
  // What some sessions say in the same words.
  struct Declaration {
    ResourceFacts facts;
    absl::btree_set<Declarant> by;  // never empty
  };
  struct Devices;
  // A resource on a device. However many sessions declare it, as replicas do
  // they say it in few different ways.
  struct Entry {
    uint64_t number = 0;  // its own, never another's
    // Of the maps that it lies in.
    const Key* key = nullptr;
    const std::string* device = nullptr;
    Devices* devices = nullptr;
    std::string task;  // of the device
    std::vector<Declaration> declared;
    std::optional<ResourceFacts> held;  // as last reported
    // All declarations, the last one first; and its session's task; empty: not
    // known.
    ResourceFacts last;
    std::string last_task;
    // What nobody declares any more is as.
    ResourceFacts Left() const;
    // The moment since when only a younger report knows whether it is there.
    uint64_t doubted = 0;
  };
  using Entries = absl::btree_map<uint64_t, Entry*>;  // by their numbers
  // Where the resource of one key is.
  struct Devices {
    std::map<std::string, Entry> entries;  // by device
    // Those that were put there from another task than the device's.
    Entries shared;
  };
  struct Declared {
    Entry* entry = nullptr;
    uint64_t order = 0;  // in which the session declared it
  };
  struct Session {
    std::string task;
    int task_number = 0;
    absl::btree_map<uint64_t, Declared> places;  // by the entry's number
    uint64_t num_declared = 0;                   // ever
    // The moment since when its task does not report it; 0: it does. Only the
    // second such report ends it: at the first its master may not have heard
    // yet that it was placed.
    uint64_t missed = 0;
    // The same for all that declare the same on other tasks than their own; and
    // that under which it is in `programs_`. 0: none.
    uint64_t program = 0;
    uint64_t listed = 0;
    bool is_stale = false;  // these two differ
  };
  struct Task {
    // The answer that its next report is younger than: the last one, or the one
    // that asked for a report which has not come.
    uint64_t told = 0;
    bool is_asked = false;  // for a report, which has not come
    uint64_t wanted = 0;    // a report that is as young
    uint64_t reported = 0;  // as young was its last one
    uint64_t cleared = 0;   // its containers; older reports are wrong
  };

  static Key KeyOf(const NamedResource& resource);

  // Declaring.
  void DeclareOne(const Declarer& declarer, const NamedResource& resource,
                  const std::string& device);
  Session& FindOrAddSession(const Declarer& declarer);
  static void AddDeclaration(Entry& entry, Declarant by,
                             const ResourceFacts& facts);
  // What it said; nothing of it is left.
  static ResourceFacts TakeDeclaration(Entry& entry, Declarant by);
  // The session has come to declare the entry, or does not any more.
  void NoteChange(uint64_t id, Session& session, const Entry& entry);
  void ListPrograms();
  void Unlist(uint64_t id, const Session& session);
  void EndDeclarations(uint64_t session);
  void Doubt(Entry& entry);
  void ReportHeld(const std::string& task, Task& state,
                  const std::vector<protocol::PlacedResource>& resources);
  void ReportSessions(const std::string& task, Task& state,
                      const std::vector<protocol::DeclaredResources>& sessions);
  std::vector<uint64_t> SessionsOf(const std::string& task) const;

  // Entries.
  Entry& FindOrAdd(const Key& key, const std::string& device);
  // With all declarations of it.
  void Erase(Entry& entry);
  void NoteWhetherShared(Entry& entry);
  bool IsShared(const Entry& entry) const;
  std::vector<Entry*> EntriesOn(const std::string& task) const;
  // Of a task that has declared something; -1: it has not.
  int NumberOf(const std::string& task) const;
  int FindOrAddNumber(const std::string& task);

  // Comparing: in resource_comparison.cc.

  // What the session declares, that which is to be placed included.
  struct Own;
  // Another resource of the name of one that is to be placed.
  struct Namesake {
    const NodeResource* placed = nullptr;
    const Entry* entry = nullptr;
  };
  Own OwnOf(const Declarer& declarer,
            absl::Span<const NodeResource> placed) const;
  // The first, unless its task is one of these two.
  static const Declarant* FirstOfOthers(const absl::btree_set<Declarant>& by,
                                        int task, int other_task);
  void CompareOne(const Declarer& declarer, const NodeResource& placed,
                  const Own& own, uint64_t since, Verdict& verdict) const;
  void CompareOnOwnTask(const Declarer& declarer, const NodeResource& placed,
                        uint64_t since, Verdict& verdict) const;
  void CompareOnDevice(const Declarer& declarer, const NodeResource& placed,
                       const Entry& entry, uint64_t since,
                       Verdict& verdict) const;
  void CompareElsewhere(const Declarer& declarer, const NodeResource& placed,
                        const Entry& entry, uint64_t since,
                        Verdict& verdict) const;
  // On any device.
  bool Declares(const Own& own, const Key& key) const;
  bool Declares(const Session& session, const Key& key) const;
  // The third rule at the top.
  void CompareNamesakes(const Declarer& declarer,
                        absl::Span<const NodeResource> placed, const Own& own,
                        Verdict& verdict) const;
  void FindNamesakes(const NodeResource& placed, const Own& own,
                     std::vector<Namesake>& found) const;
  std::vector<ResourceDifference> DifferencesFrom(
      const Declarer& declarer, const Declarant& there,
      absl::Span<const Namesake> namesakes) const;
  bool SharesMoreThan(size_t count, const Session& session,
                      const Own& own) const;
  void AddCauses(const Declarer& declarer,
                 absl::Span<const NodeResource> placed, Verdict& verdict) const;
  // On other tasks than its own, in order.
  DeclaredProgram ProgramOf(uint64_t session) const;
  // The difference from an entry that nobody declares any more and that is as
  // `left`, unless the entry's task has to say first whether it is there still.
  void AddLeft(const Declarer& declarer, const NodeResource& placed,
               const Entry& entry, ResourceFacts left, uint64_t since,
               Verdict& verdict) const;

  const bool has_reports_;
  mutable uint64_t num_looks_ = 0;
  uint64_t moment_ = 0;
  uint64_t num_entries_made_ = 0;
  std::map<Key, Devices> entries_;
  std::map<std::string, Entries> on_task_;  // by task of the device
  std::map<std::string, int> jobs_;  // of the devices, and how many entries
  std::map<uint64_t, Session> sessions_;
  std::map<std::string, std::set<uint64_t>> sessions_of_;  // by task
  // Sessions that declare the same, by their number: Session::program.
  std::map<uint64_t, absl::btree_set<Declarant>> programs_;
  std::vector<uint64_t> stale_;  // sessions
  std::map<std::string, int> task_numbers_;
  std::map<std::string, Task> tasks_;  // those that are there
  // The last ones, so that a report on its way does not bring them back.
  // Reports that were built before a session ended arrive long before so many
  // more have ended.
  Ended<uint64_t> ended_{4096};
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_RESOURCE_REGISTER_H_
