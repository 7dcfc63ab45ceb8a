// VariableHolds contains the holds of a task. A hold reserves variables for a
// step of some master (protocol::StepHold). Registrations of graphs that write
// these variables wait for the end of the hold.
//
// Threads: thread-compatible; guarded by the task's lock. Removed holds must be
// destroyed, and their closures called, without that lock.
#ifndef WEFT_LIBS_RUNTIME_VARIABLE_HOLDS_H_
#define WEFT_LIBS_RUNTIME_VARIABLE_HOLDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/protocol/worker/worker.h"
#include "libs/runtime/variable_uses.h"

namespace weft {

class VariableHolds {
 public:
  // The closures that must be called at the end of a hold.
  using Waiting = std::vector<absl::AnyInvocable<void()>>;

  struct Hold {
    absl::btree_set<VariableKey> variables;
    // The masters with writers that were not connected when the hold began. The
    // hold ends when one of them reconnects.
    absl::btree_set<uint64_t> absent;
    Scheduler::TimerId lease = 0;
    Waiting waiting;
  };

  // Returns false if the holder already has a hold here, which is then
  // unchanged.
  bool Add(const protocol::StepId& holder, Hold hold) {
    return holds_.emplace(KeyOf(holder), std::move(hold)).second;
  }
  // Returns the hold of the holder; null if there is none.
  Hold* Find(const protocol::StepId& holder) {
    const auto it = holds_.find(KeyOf(holder));
    return it == holds_.end() ? nullptr : &it->second;
  }
  // Returns a hold for which a graph with these uses must wait; null if there
  // is none.
  Hold* FindFor(const VariableUses& uses) {
    for (auto& [holder, hold] : holds_) {
      if (uses.MayWrite(hold.variables)) return &hold;
    }
    return nullptr;
  }
  // Removes an existing hold.
  Hold Take(const protocol::StepId& holder) {
    return std::move(holds_.extract(KeyOf(holder)).mapped());
  }
  // Removes and returns the holds whose holder is a step of the master.
  std::vector<Hold> TakeOf(uint64_t master_incarnation) {
    return TakeIf([&](const Key& key, const Hold&) {
      return key.first == master_incarnation;
    });
  }
  // Removes and returns the holds for which the master counted as absent.
  std::vector<Hold> TakeWithout(uint64_t master_incarnation) {
    return TakeIf([&](const Key&, const Hold& hold) {
      return hold.absent.contains(master_incarnation);
    });
  }
  std::vector<Hold> TakeAll() {
    return TakeIf([](const Key&, const Hold&) { return true; });
  }

  size_t size() const { return holds_.size(); }

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // incarnation of master, step
  static Key KeyOf(const protocol::StepId& holder) {
    return {holder.master_incarnation, holder.step};
  }
  template <typename Predicate>
  std::vector<Hold> TakeIf(Predicate is_wanted) {
    std::vector<Hold> taken;
    for (auto it = holds_.begin(); it != holds_.end();) {
      if (is_wanted(it->first, it->second)) {
        taken.push_back(std::move(it->second));
        it = holds_.erase(it);
      } else {
        ++it;
      }
    }
    return taken;
  }

  std::map<Key, Hold> holds_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_VARIABLE_HOLDS_H_
