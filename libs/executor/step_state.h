// StepState: everything that changes while one step runs one plan. Internal to
// this room.
//
// States are used again: a step that ends well leaves its state as it found
// it, so the next step allocates nothing.
//
// Threads: slots of a node are written by whoever runs its producers and read
// by whoever runs it; counters order the two. `tokens` counts the threads and
// asynchronous kernels at work: who takes the last one ends the step.
#ifndef WEFT_LIBS_EXECUTOR_STEP_STATE_H_
#define WEFT_LIBS_EXECUTOR_STEP_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "libs/executor/device_errors.h"
#include "libs/executor/loop_frames.h"
#include "libs/executor/node_trace.h"
#include "libs/executor/plan.h"

namespace weft {

struct Iteration;
class StepState;

// A node that may run now. Copied member by member: as one block it would be
// read before the processor has put together what was just written in parts,
// and that would take as long as a small kernel.
struct Ready {
  Ready() = default;
  Ready(Iteration* in, int32_t index, bool dead)
      : iteration(in), node(index), is_dead(dead) {}
  // Without exceptions, so that a closure that holds one needs no memory.
  Ready(const Ready& other) noexcept
      : iteration(other.iteration), node(other.node), is_dead(other.is_dead) {}
  Ready& operator=(const Ready& other) noexcept {
    iteration = other.iteration;
    node = other.node;
    is_dead = other.is_dead;
    return *this;
  }

  Iteration* iteration = nullptr;
  int32_t node = 0;
  bool is_dead = false;
};

using ReadyList = absl::InlinedVector<Ready, 32>;

// What the run of a node has made: slots[i] is output i; or, where `live` names
// one, slots[0] is that one and all others are dead. They may be slots of the
// node's inputs. `size` of them are to be emptied once they are handed on.
struct Outputs {
  Slot* slots = nullptr;
  int size = 0;
  int live = -1;
};

// What an asynchronous kernel holds on to until it ends.
struct AsyncEntry {
  Ready ready;
  std::optional<OpKernelContext> context;
  std::unique_ptr<Slot[]> outputs;
  // Between its begin and its end; for whoever asks what the step waits for.
  std::atomic<bool> waits{false};
  absl::Time begin;  // in a step that is traced
};

// The slots and counters of one run of a frame's nodes.
struct Iteration {
  Iteration(StepState& step, const FrameInfo& frame_info);

  // Before a run.
  void ResetCounters();
  // After a run that was given up: forgets what lies in the slots.
  void ResetSlots();
  LoopPosition position() const;
  // Adds what its asynchronous kernels wait for now. Any thread, while the
  // iteration lives.
  void DescribeWaits(std::vector<std::string>& waits) const;
  // The same, counted by op.
  void CountWaits(std::map<std::string, int64_t>& waits) const;

  StepState& state;
  const FrameInfo& info;
  std::unique_ptr<Slot[]> slots;
  // Low half: edges to come; high half: how many of those that came were dead.
  std::unique_ptr<std::atomic<int64_t>[]> counters;
  std::unique_ptr<AsyncEntry[]> async_entries;

  // The rest is used in loops only, under the lock of LoopFrames.
  LoopFrame* frame = nullptr;  // null outside loops
  int64_t number = 0;
  int outstanding = 0;  // nodes that are ready or running
  absl::InlinedVector<LoopFrame*, 1> children;
};

class StepState {
 public:
  explicit StepState(const PlanImpl& plan);
  ~StepState();
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

  // Takes one step on; holds one token for the caller. From here on the state
  // belongs to itself: it goes back to the plan when the step is over.
  void Begin(std::shared_ptr<const PlanImpl> keep_plan,
             const StepArgs& step_args,
             absl::AnyInvocable<void(absl::Status)> step_done);

  // True once nothing new should run.
  bool IsStopped() const { return context.cancellation->IsCancelled(); }

  // A node failed. Its error is the step's unless it follows from the step's
  // cancellation; then everything that waits is released.
  void Fail(const NodeItem& item, const absl::Status& status);
  // A kernel has launched what a device with memory of its own runs later.
  void NoteLaunch(const NodeItem& item) {
    if (has_launches_ && !item.view.is_on_host) launched_.Add(item);
  }
  // Something was not run because the step was stopped.
  void NoteDropped() { incomplete_.store(true, std::memory_order_relaxed); }

  // Whether the caller's token is the last, so that releasing it ends the step
  // here.
  bool IsLastToken() const {
    return tokens_.load(std::memory_order_acquire) == 1;
  }
  // Whether no other thread works on the step, nor an asynchronous kernel. The
  // caller holds a token and only who holds one may add another, so this stays
  // true until the caller does; whoever worked on the step before gave a token
  // back after it, and whoever comes is given one first. So meanwhile the
  // caller needs neither locks nor locked instructions for what only those
  // touch.
  bool WorksAlone() const { return IsLastToken(); }
  void AddToken() { tokens_.fetch_add(1, std::memory_order_relaxed); }
  // The caller must not touch the state afterwards.
  void ReleaseToken() {
    if (tokens_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
  }

  // Room for the outputs of any one node, empty, for one thread. Give it back,
  // as empty, before the token that it was taken with.
  std::unique_ptr<Slot[]> TakeOutputs();
  void GiveBack(std::unique_ptr<Slot[]> outputs);

  const PlanImpl& plan;
  StepContext context;
  absl::Span<const Tensor> args;
  absl::Span<Tensor> retvals;
  Outbox* outbox = nullptr;
  std::unique_ptr<NodeTrace> trace;  // null unless the step is traced
  Iteration root;
  LoopFrames loops;
  // Counters of Merge nodes outside loops, while several threads are at work.
  absl::Mutex merge_mutex;

 private:
  void Finish();
  absl::Status Result() const;
  // What the error of a node says besides its name.
  std::string WhereAndWhy(const absl::Status& status) const;

  bool has_launches_ = false;
  LastNodes launched_;
  std::shared_ptr<const PlanImpl> keep_plan_;
  absl::AnyInvocable<void(absl::Status)> done_;
  std::atomic<int> tokens_{0};
  std::atomic<bool> incomplete_{false};
  std::atomic<Slot*> spare_outputs_{nullptr};  // owned
  mutable absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first of a node
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_STEP_STATE_H_
