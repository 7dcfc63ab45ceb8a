// ReadyLoop is the trampoline of one thread in one step: it runs ready nodes
// until none is left for this thread. Internal to this module.
#ifndef WEFT_LIBS_EXECUTOR_READY_LOOP_H_
#define WEFT_LIBS_EXECUTOR_READY_LOOP_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "libs/executor/step_state.h"

namespace weft {

// A ReadyLoop lives on the stack of its thread. It holds one token of the step.
class ReadyLoop {
 public:
  ReadyLoop(StepState& state, RunWhere where);
  ~ReadyLoop();
  ReadyLoop(const ReadyLoop&) = delete;
  ReadyLoop& operator=(const ReadyLoop&) = delete;

  // Returns the innermost loop that runs on this thread, or null.
  static ReadyLoop* Current();

  StepState& state() const { return state_; }

  // Called when the `done` of an asynchronous kernel is destroyed without
  // having been called. Returns true if this loop runs the kernel's
  // ComputeAsync now; then the loop fails the node when ComputeAsync has
  // returned or thrown.
  bool FailsLater(const AsyncEntry& entry) {
    if (starting_ != &entry) return false;
    is_done_lost_ = true;
    return true;
  }

  // Adds nodes to run. Nodes that are worth another thread go to the pool.
  void Add(const ReadyList& nodes);
  // Runs until no node is left, then releases the token: the step may be over
  // when this returns.
  void Run();

 private:
  bool MayRunOnReader(const Ready& ready);
  bool IsLong(const Ready& ready) const;
  bool IsWorthHandingOver(const Ready& ready) const;
  bool MayTakeLong(const Ready& ready, const NodeItem& item) const;
  bool HasMore() const { return has_kept_ || !ready_.empty(); }
  // Keeps a node that takes long, to run it last. REQUIRES: no node is kept.
  void Keep(const Ready& node) {
    kept_ = node;
    has_kept_ = true;
  }
  // Takes the node that runs next; returns false if none is left.
  bool Next(Ready& ready) {
    if (!ready_.empty()) {
      ready = ready_.back();
      ready_.pop_back();
      if (waiting_nanoseconds_ > 0) NoteBegun(ready);
      return true;
    }
    ready = kept_;
    return std::exchange(has_kept_, false);
  }
  void NoteBegun(const Ready& ready) {
    const uint64_t cost =
        ready.iteration->state.plan.nodes[ready.node].cost_or_zero();
    waiting_nanoseconds_ -= std::min(waiting_nanoseconds_, cost);
  }
  // Runs a node. Tracing is a template parameter, so that an untraced step
  // checks for it only once per node.
  template <bool kTraced>
  void RunNode(const Ready& ready);
  template <bool kTraced>
  void RunKernel(const Ready& ready, const NodeItem& item);
  static bool IsTimed(const NodeItem& item);
  absl::Status ComputeTimed(const NodeItem& item, OpKernelContext& context);
  // Returns the kernel's status; an exception becomes its error.
  absl::Status Compute(const NodeItem& item, OpKernelContext& context);
  void ComputeAsync(const NodeItem& item, AsyncEntry& entry);
  template <bool kTraced>
  void RunOnConst(const Ready& ready, const NodeItem& item);
  // Ends the run of a node that has not succeeded. A node that found a lock
  // taken and gave up (IsGivenUp) runs again on the compute pool.
  void End(const Ready& ready, const NodeItem& item,
           const absl::Status& status);
  WhenLocked WhenLockedHere() const;
  template <bool kTraced>
  void RunAsync(const Ready& ready, const NodeItem& item);
  // Completes a run: propagates its outputs.
  template <bool kTraced>
  void Complete(const Ready& ready, const NodeItem& item, bool is_dead,
                const Outputs& outputs);
  // Completes a run whose outputs are the slots of its inputs.
  template <bool kTraced>
  void CompleteInPlace(const Ready& ready, const NodeItem& item,
                       const Outputs& outputs);
  void HandOn(const Ready& ready, bool is_dead, const Outputs& outputs);
  // Returns the empty slots in which the node's run creates its outputs.
  Outputs PlaceOutputs(const Ready& ready, const NodeItem& item);
  void Drop();

  StepState& state_;
  const RunWhere where_;
  ReadyLoop* const outer_;
  ReadyList ready_;  // the last one runs first
  ReadyList fresh_;  // the nodes made ready by the last node
  Ready kept_;       // a long-running node, which runs when no other is left
  bool has_kept_ = false;
  // The expected total run time of the nodes in `ready_` that are neither short
  // nor cheap.
  uint64_t waiting_nanoseconds_ = 0;
  int nodes_until_clock_ = 0;
  absl::Time give_up_at_ = absl::InfinitePast();  // unknown yet
  // Slots for outputs; null until a node needs them. The slots are empty
  // between runs of nodes.
  std::unique_ptr<Slot[]> outputs_;
  // While an asynchronous kernel's ComputeAsync runs: its entry, and whether
  // its `done` was destroyed without a call.
  const AsyncEntry* starting_ = nullptr;
  bool is_done_lost_ = false;
  // When the running node began, in a traced step.
  absl::Time begin_;
  size_t sent_bytes_ = 0;
};

// Continues with the nodes on the compute pool, on one thread. Takes over a
// token of the caller.
void ContinueOnPool(StepState& state, const ReadyList& nodes);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_READY_LOOP_H_
