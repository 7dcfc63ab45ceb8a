// TrainingMembers: a table beside the global step in which each program of a
// training says, under its name, that it trains, has ended, was asked to leave
// or has failed. So programs that share variables know of each other, whichever
// servers their sessions use.
//
// A program writes its entry again every few seconds (Beat). An entry that does
// not change any more is of a program that was lost.
//
// The table outlives sessions, and trainings on servers that go on running. A
// reader judges entries of an earlier training by their silence, or by the
// number of the training that they were written with.
//
// Threads: all methods from any thread after AddNodes. Those that take a
// session run a step in it, for five seconds at most (DEADLINE_EXCEEDED).
#ifndef WEFT_LIBS_TRAIN_TRAINING_MEMBERS_H_
#define WEFT_LIBS_TRAIN_TRAINING_MEMBERS_H_

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
  // kFailed: a hook has refused the program's last step.
  enum class State { kTraining, kEnded, kLeft, kFailed };
  struct Member {
    std::string name;
    State state = State::kTraining;
    int64_t training = 0;
    // As the table holds it: another one each time that a program writes it.
    int64_t value = 0;
    // Since this reader saw the entry change; zero at its first Read, and at
    // the first one after RestartSilence.
    absl::Duration silence;
  };

  // `table`: the shared name, the same in all programs. Trainings whose global
  // steps differ in container or name have tables of their own. `name`: of this
  // program, another one in each.
  TrainingMembers(std::string table, std::string name);

  const std::string& name() const { return name_; }

  // A name that no other program has: `label`, which has no '#', and a random
  // id. `random` may be null: the system's.
  static std::string UniqueName(absl::string_view label, Random* random);
  // Of any name: the label, by which logs name the program.
  static std::string LabelOf(absl::string_view name);

  // Once, before the graph is final. `global_step` is the variable's handle.
  absl::Status AddNodes(const Scope& scope, const Output& global_step);

  // Writes this program's entry. `training` numbers the training that a session
  // belongs to; entries of others are compared by their reader.
  absl::Status Say(Session& session, State state, int64_t training = 0)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the same state with the number of another training.
  absl::Status Renumber(Session& session, int64_t training)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes it again: the program is there.
  absl::Status Beat(Session& session) ABSL_LOCKS_EXCLUDED(mutex_);

  // All entries, this program's among them, in the order of their names.
  absl::StatusOr<std::vector<Member>> Read(Session& session)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // For a new session: programs could not write their entries while the one
  // before was lost.
  void RestartSilence() ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes entries. A program that is still there writes its own again.
  absl::Status Remove(Session& session, const std::vector<std::string>& names)
      ABSL_LOCKS_EXCLUDED(mutex_);

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
  // Of this entry, different each time, and from what earlier programs of this
  // name have written.
  int64_t NextValue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration SilenceOf(const std::string& name, int64_t value,
                           absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string table_;
  const std::string name_;
  Output value_;  // a placeholder
  Operation write_;
  Output names_, values_;  // of all
  Output removed_names_;   // a placeholder
  Operation remove_;
  absl::Mutex mutex_;
  Entry entry_ ABSL_GUARDED_BY(mutex_);
  int64_t num_beats_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_TRAINING_MEMBERS_H_
