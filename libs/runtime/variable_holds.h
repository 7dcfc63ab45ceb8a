// VariableHolds holds variables of a task for a step of some master
// (protocol::StepHold), with the registrations that wait for the end of the
// hold.
//
// Threads: thread-compatible; guarded by the task's lock. What is removed must
// be called, or destroyed, without it.
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
  // Closures to be called at the end of a hold.
  using Waiting = std::vector<absl::AnyInvocable<void()>>;

  struct Hold {
    absl::btree_set<VariableKey> variables;
    // Masters with writers that were not connected when it began: the hold ends
    // when one of them returns.
    absl::btree_set<uint64_t> absent;
    Scheduler::TimerId lease = 0;
    Waiting waiting;
  };

  // Returns false if the holder already has one here, which stays.
  bool Add(const protocol::StepId& holder, Hold hold) {
    return holds_.emplace(KeyOf(holder), std::move(hold)).second;
  }
  // Returns the hold of the holder; null if there is none.
  Hold* Find(const protocol::StepId& holder) {
    const auto it = holds_.find(KeyOf(holder));
    return it == holds_.end() ? nullptr : &it->second;
  }
  // Returns a hold that a graph with these uses must wait for; null if there is
  // none.
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
  // Removes those whose holder is a step of the master.
  std::vector<Hold> TakeOf(uint64_t master_incarnation) {
    return TakeIf([&](const Key& key, const Hold&) {
      return key.first == master_incarnation;
    });
  }
  // Removes those for which the master was absent.
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
  using Key = std::pair<uint64_t, uint64_t>;  // master's incarnation, step
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
