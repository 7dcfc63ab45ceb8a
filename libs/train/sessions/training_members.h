// TrainingMembers is a table, colocated with the global step, in which each
// program of a training records under its name that it trains, has ended, was
// asked to stop or has failed. Programs that share variables thus know of each
// other, whichever servers their sessions use.
//
// A program rewrites its entry every few seconds (Beat). An entry that no
// longer changes belongs to a lost program.
//
// The table outlives sessions, and also training runs if the servers keep
// running. A reader recognizes entries of an earlier training by their silence,
// or by their training number.
//
// Threads: all methods from any thread after AddNodes. Methods that take a
// session run a step in it, for at most five seconds (DEADLINE_EXCEEDED).
#ifndef WEFT_LIBS_TRAIN_SESSIONS_TRAINING_MEMBERS_H_
#define WEFT_LIBS_TRAIN_SESSIONS_TRAINING_MEMBERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"

namespace weft::train {

class TrainingMembers {
 public:
  // kFailed: a hook has rejected the program's last step.
  enum class State { kTraining, kEnded, kLeft, kFailed };
  struct Member {
    std::string name;
    State state = State::kTraining;
    int64_t training = 0;
    // Encoded entry of the table. It is different each time a program writes
    // it.
    int64_t value = 0;
    // Time since this reader saw the entry change. It is zero at the first
    // Read, and at the first Read after RestartSilence.
    absl::Duration silence;
  };

  // `table` is the shared name of the table, which must be the same in all
  // programs. Trainings whose global steps differ in container or name have
  // separate tables. `name` is the unique name of this program.
  TrainingMembers(std::string table, std::string name);

  const std::string& name() const { return name_; }

  // Returns a unique name: `label`, which must not contain '#', and a random
  // id. `random` may be null: the system's.
  static std::string UniqueName(absl::string_view label, Random* random);
  // Returns the label in a name, which identifies the program in logs.
  static std::string LabelOf(absl::string_view name);

  // Adds the nodes. Called once, before the graph is final. `global_step` is
  // the handle of the variable.
  absl::Status AddNodes(const Scope& scope, const Output& global_step);

  // Writes this program's entry. `training` is the number of the session's
  // training; readers compare it with their own.
  absl::Status Report(Session& session, State state, int64_t training = 0)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the same state with the number of another training.
  absl::Status Renumber(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Rewrites the entry as a heartbeat.
  absl::Status Beat(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns all entries, including this program's, ordered by name.
  absl::StatusOr<std::vector<Member>> Read(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Must be called for a new session, because programs could not write their
  // entries while the previous session was lost.
  void RestartSilence() ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes entries. A program that still runs writes its entry again.
  absl::Status Remove(Session& session, const std::vector<std::string>& names);

 private:
  struct Entry {
    State state = State::kTraining;
    int64_t training = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Seen {
    int64_t value = 0;
    absl::Time since;
  };
  // Next value of this program's entry, different each time, and from the
  // values that earlier programs of this name have written.
  int64_t NextValue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration SilenceOf(const std::string& name, int64_t value,
                           absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string table_;
  const std::string name_;
  Output value_;  // a placeholder
  Operation write_;
  Output names_, values_;  // of all entries
  Output removed_names_;   // a placeholder
  Operation remove_;
  absl::Mutex mutex_;
  Entry entry_ ABSL_GUARDED_BY(mutex_);
  int64_t num_beats_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_TRAINING_MEMBERS_H_
