// StepState is the mutable state of one step of one plan. Internal to this
// module.
//
// States are reused: a successful step resets its state, so the next step does
// not allocate.
//
// Threads: slots of a node are written by the threads that run its producers
// and read by the thread that runs it; counters order the two. `tokens` counts
// the active threads and asynchronous kernels: the one that releases the last
// token ends the step.
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

// A Ready is a node that may run now. It is copied member by member: a block
// copy would read it before the processor has combined the recent partial
// writes, which would take as long as a small kernel.
struct Ready {
  Ready() = default;
  Ready(Iteration* in, int32_t index, bool dead)
      : iteration(in), node(index), is_dead(dead) {}
  // Noexcept, so that a closure that holds one does not allocate.
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

// The outputs of a run of a node. slots[i] is output i. However, if `live`
// names an output, slots[0] is that output and all others are dead. The slots
// may be those of the node's inputs. The first `size` slots must be emptied
// after propagation.
struct Outputs {
  Slot* slots = nullptr;
  int size = 0;
  int live = -1;
};

// The state that an asynchronous kernel holds until it ends.
struct AsyncEntry {
  Ready ready;
  std::optional<OpKernelContext> context;
  std::unique_ptr<Slot[]> outputs;
  // Set while the kernel runs, for DescribeWaits.
  std::atomic<bool> waits{false};
  absl::Time begin;  // in a traced step
};

// The slots and counters of one run of a frame's nodes.
struct Iteration {
  Iteration(StepState& step, const FrameInfo& frame_info);

  // Called before a run.
  void ResetCounters();
  // Called after an aborted run: clears the slots.
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
  // Low half: pending edges; high half: how many of the arrived ones were dead.
  std::unique_ptr<std::atomic<int64_t>[]> counters;
  std::unique_ptr<AsyncEntry[]> async_entries;

  // The rest is used only in loops, under the lock of LoopFrames.
  LoopFrame* frame = nullptr;  // null outside loops
  int64_t number = 0;
  int outstanding = 0;  // ready or running nodes
  absl::InlinedVector<LoopFrame*, 1> children;
};

class StepState {
 public:
  explicit StepState(const PlanImpl& plan);
  ~StepState();
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

  // Starts a step; holds one token for the caller. From here on the state owns
  // itself: it is returned to the plan when the step is over.
  void Begin(std::shared_ptr<const PlanImpl> keep_plan,
             const StepArgs& step_args,
             absl::AnyInvocable<void(absl::Status)> step_done);

  // Returns true once no new node may run.
  bool IsStopped() const { return context.cancellation->IsCancelled(); }

  // A node failed. Its error becomes the step's unless it follows from the
  // step's cancellation; then all waiting kernels are released.
  void Fail(const NodeItem& item, const absl::Status& status);
  // A kernel has launched work that a device with its own memory runs later.
  void NoteLaunch(const NodeItem& item) {
    if (has_launches_ && !item.view.is_on_host) launched_.Add(item);
  }
  // Something was not run because the step was stopped.
  void NoteDropped() { incomplete_.store(true, std::memory_order_relaxed); }

  // Returns whether the caller's token is the last, so that releasing it ends
  // the step here.
  bool IsLastToken() const {
    return tokens_.load(std::memory_order_acquire) == 1;
  }
  // Returns whether no other thread or asynchronous kernel works on the step.
  // The caller holds a token, and only the holder of a token may add another,
  // so this stays true until the caller adds one. Any thread that worked on the
  // step before has released its token after that, and any later one gets a
  // token first. So until then the caller needs neither locks nor atomic
  // read-modify-write instructions for the step's state.
  bool WorksAlone() const { return IsLastToken(); }
  void AddToken() { tokens_.fetch_add(1, std::memory_order_relaxed); }
  // The caller must not access the state afterwards.
  void ReleaseToken() {
    if (tokens_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
  }

  // Takes empty slots for the outputs of any one node, for one thread. They
  // must be returned, empty, before the token that they were taken with.
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
  // Counters of Merge nodes outside loops, while several threads are active.
  absl::Mutex merge_mutex;

 private:
  void Finish();
  absl::Status Result() const;
  // The text that a node's error has in addition to its name.
  std::string ErrorContext(const absl::Status& status) const;

  bool has_launches_ = false;
  LastNodes launched_;
  std::shared_ptr<const PlanImpl> keep_plan_;
  absl::AnyInvocable<void(absl::Status)> done_;
  std::atomic<int> tokens_{0};
  std::atomic<bool> incomplete_{false};
  std::atomic<Slot*> spare_outputs_{nullptr};  // owned
  mutable absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first one of a node
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_STEP_STATE_H_
