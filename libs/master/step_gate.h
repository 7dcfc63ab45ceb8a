// StepGate knows which callables of a session must not start steps for now,
// because a step of some master holds them (protocol::StepHold), which running
// steps each hold waits for, and which steps wait for its end.
//
// Threads: thread-compatible; guarded by the session's lock. The returned
// callbacks must be called without it.
#ifndef WEFT_LIBS_MASTER_STEP_GATE_H_
#define WEFT_LIBS_MASTER_STEP_GATE_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

class StepGate {
 public:
  using Callback = absl::AnyInvocable<void()>;
  using Callbacks = std::vector<Callback>;

  // Returns whether nothing is held or waiting, so that the gate need not be
  // notified of steps.
  bool IsIdle() const { return holds_.empty() && waiting_.empty(); }
  bool IsOpenFor(uint64_t callable) const {
    return absl::c_none_of(holds_, [&](const auto& entry) {
      return entry.second.callables.contains(callable);
    });
  }

  // Holds the callables until Remove. `quiet` is returned by the call that ends
  // the last of the steps `running`, or by this one. A second hold of the same
  // holder extends the first.
  [[nodiscard]] Callbacks Add(const protocol::StepId& holder,
                              const absl::btree_set<uint64_t>& callables,
                              absl::btree_set<uint64_t> running,
                              Callback quiet) {
    Hold& hold = holds_[KeyOf(holder)];
    hold.callables.insert(callables.begin(), callables.end());
    hold.waits.push_back({std::move(running), std::move(quiet)});
    return TakeQuiet();
  }

  // Lets a step of a held callable wait. When the hold ends, `is_held` is
  // cleared and then `begin` is returned.
  void Wait(uint64_t callable, uint64_t step, bool* is_held, Callback begin) {
    waiting_.push_back({callable, step, is_held, std::move(begin)});
  }
  // Returns the `begin` of all waiting steps, held or not.
  [[nodiscard]] Callbacks TakeWaiting() {
    return TakeSteps([](const HeldStep&) { return true; });
  }
  // Returns the `begin` of one step, if it waits.
  [[nodiscard]] Callbacks TakeWaiting(uint64_t step) {
    return TakeSteps(
        [step](const HeldStep& waiting) { return waiting.step == step; });
  }

  [[nodiscard]] Callbacks StepEnded(uint64_t step) {
    for (auto& [holder, hold] : holds_) {
      for (Quiet& wait : hold.waits) wait.steps.erase(step);
    }
    return TakeQuiet();
  }

  // Returns a step for which the holder still waits, or 0.
  uint64_t FindWaitedFor(const protocol::StepId& holder) const {
    const auto it = holds_.find(KeyOf(holder));
    if (it == holds_.end()) return 0;
    for (const Quiet& wait : it->second.waits) {
      if (!wait.steps.empty()) return *wait.steps.begin();
    }
    return 0;
  }

  // Ends the hold and returns the pending callbacks: those of waiting steps,
  // and a `quiet` that was not returned yet. Has no effect if the hold is
  // unknown.
  [[nodiscard]] Callbacks Remove(const protocol::StepId& holder) {
    Callbacks result;
    const auto it = holds_.find(KeyOf(holder));
    if (it == holds_.end()) return result;
    for (Quiet& wait : it->second.waits) {
      result.push_back(std::move(wait.quiet));
    }
    holds_.erase(it);
    for (Callback& begin : TakeSteps([this](const HeldStep& waiting) {
           return IsOpenFor(waiting.callable);
         })) {
      result.push_back(std::move(begin));
    }
    return result;
  }

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // master's incarnation, step
  // Called when the steps have ended.
  struct Quiet {
    absl::btree_set<uint64_t> steps;
    Callback quiet;
  };
  struct Hold {
    absl::btree_set<uint64_t> callables;
    std::vector<Quiet> waits;
  };
  struct HeldStep {
    uint64_t callable = 0;
    uint64_t step = 0;
    bool* is_held = nullptr;
    Callback begin;
  };

  static Key KeyOf(const protocol::StepId& holder) {
    return {holder.master_incarnation, holder.step};
  }
  Callbacks TakeQuiet() {
    Callbacks quiet;
    for (auto& [holder, hold] : holds_) {
      for (auto it = hold.waits.begin(); it != hold.waits.end();) {
        if (it->steps.empty()) {
          quiet.push_back(std::move(it->quiet));
          it = hold.waits.erase(it);
        } else {
          ++it;
        }
      }
    }
    return quiet;
  }

  template <typename Predicate>
  Callbacks TakeSteps(Predicate may_begin) {
    Callbacks begins;
    std::vector<HeldStep> still;
    for (HeldStep& step : waiting_) {
      if (may_begin(step)) {
        *step.is_held = false;
        begins.push_back(std::move(step.begin));
      } else {
        still.push_back(std::move(step));
      }
    }
    waiting_ = std::move(still);
    return begins;
  }

  std::map<Key, Hold> holds_;
  std::vector<HeldStep> waiting_;  // in their order
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_STEP_GATE_H_
