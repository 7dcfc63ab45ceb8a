// VariableHolds: the variables of a task that are held for a step of some
// master (protocol::StepHold), and the registrations that wait for their end.
//
// Threads: thread-compatible; under the task's lock. What is taken out is
// called, or destroyed, without it.
#ifndef WEFT_LIBS_RUNTIME_VARIABLE_HOLDS_H_
#define WEFT_LIBS_RUNTIME_VARIABLE_HOLDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "libs/base/scheduler.h"
#include "libs/protocol/worker.h"
#include "libs/runtime/variable_uses.h"

namespace weft {

class VariableHolds {
 public:
  // What waits for the end of a hold: to be called.
  using Waiting = std::vector<absl::AnyInvocable<void()>>;

  struct Hold {
    absl::btree_set<VariableKey> variables;
    // Masters with writers that were not connected when it began: with the
    // return of one it holds no longer.
    absl::btree_set<uint64_t> absent;
    Scheduler::TimerId lease = 0;
    Waiting waiting;
  };

  // False: the holder has one here already, which stays.
  bool Add(const protocol::StepId& holder, Hold hold) {
    return holds_.emplace(KeyOf(holder), std::move(hold)).second;
  }
  // One that ends with the holder; null where none is there.
  Hold* Find(const protocol::StepId& holder) {
    const auto it = holds_.find(KeyOf(holder));
    return it == holds_.end() ? nullptr : &it->second;
  }
  // One that what is used so has to wait for; null where there is none.
  Hold* FindFor(const VariableUses& uses) {
    for (auto& [holder, hold] : holds_) {
      if (uses.MayWrite(hold.variables)) return &hold;
    }
    return nullptr;
  }
  // Takes out one that is there.
  Hold Take(const protocol::StepId& holder) {
    return std::move(holds_.extract(KeyOf(holder)).mapped());
  }
  // Takes out those whose holder is a step of the master.
  std::vector<Hold> TakeOf(uint64_t master_incarnation) {
    return TakeIf([&](const Key& key, const Hold&) {
      return key.first == master_incarnation;
    });
  }
  // Takes out those for which the master was absent.
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
