// LoopFrames holds the running loops of a step: for each entry into a loop a
// frame, with up to parallel_iterations iterations at a time. Internal to this
// module; the rules are those of TensorFlow's executor
// (core/common_runtime/propagator_state.cc):
//
//  - Enter starts iteration 0 of a frame; a constant Enter's value goes to
//    every iteration.
//  - NextIteration goes to the next one; it waits while too many are running;
//    a dead one stops there, which is how a loop ends.
//  - Exit goes to the iteration in which the frame was entered. A dead Exit is
//    held back until it is known that no iteration makes it live.
//  - An iteration is over when none of its nodes is ready or running, frames
//    it entered are over and the iteration before it is over.
//
// Threads: one lock for all frames of a step, taken after each node of a loop;
// but not by a thread that works on the step alone (StepState::WorksAlone).
#ifndef WEFT_LIBS_EXECUTOR_LOOP_FRAMES_H_
#define WEFT_LIBS_EXECUTOR_LOOP_FRAMES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "libs/executor/plan.h"

namespace weft {

struct Iteration;
struct Outputs;
struct Ready;
class StepState;
using ReadyList = absl::InlinedVector<Ready, 32>;

// A value that waits for an iteration: a loop invariant, or a NextIteration
// that came too early. Dead ones have a dead slot.
struct WaitingValue {
  const NodeItem* source = nullptr;
  Slot value;
};

struct LoopFrame {
  int info_index = 0;
  Iteration* parent = nullptr;
  uint64_t id = 0;
  int pending_enters = 0;
  int parallel_iterations = 1;
  int64_t newest = 0;                                 // number
  std::deque<std::unique_ptr<Iteration>> iterations;  // running, in order
  std::vector<WaitingValue> waiting;     // for the iteration after the newest
  std::vector<WaitingValue> invariants;  // of constant Enters: for each one
  std::vector<const NodeItem*> dead_exits;  // of the newest iteration
};

class LoopFrames {
 public:
  explicit LoopFrames(StepState& state);
  ~LoopFrames();

  // Propagates the outputs of a node that ran in a loop, or enters or leaves
  // one, and ends the iterations and frames that are over as a result.
  void Propagate(const Ready& ran, const NodeItem& item, bool is_dead,
                 const Outputs& outputs,
                 ReadyList& ready) ABSL_NO_THREAD_SAFETY_ANALYSIS;

  // Drops all frames and iterations of an aborted step.
  void Clear();

  // Call the methods of the same name of all iterations. May be called from any
  // thread.
  void DescribeWaits(std::vector<std::string>& waits) const;
  void CountWaits(std::map<std::string, int64_t>& waits) const;

 private:
  // The following requires the lock, or the only thread of the step.
  void Activate(Iteration& to, const NodeItem& source, bool is_dead,
                const Outputs& outputs, bool may_move, ReadyList& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ActivateWaiting(Iteration& to, WaitingValue& waiting, ReadyList& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enter(Iteration& from, const NodeItem& item, bool is_dead,
             const Outputs& outputs, ReadyList& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Exit(Iteration& from, const NodeItem& item, const Outputs& outputs,
            ReadyList& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void HoldBack(Iteration& from, const NodeItem& dead_exit);
  void Next(Iteration& from, const NodeItem& item, const Outputs& outputs,
            ReadyList& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  LoopFrame& FindOrCreate(Iteration& parent, int info_index)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<Iteration> NewIteration(int info_index);
  Iteration& AddIteration(LoopFrame& frame)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts the next iteration with all values that wait for it.
  Iteration& StartNext(LoopFrame& frame, ReadyList& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndFinished(LoopFrame& frame, ReadyList& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndFrame(LoopFrame& frame, ReadyList& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StepState& state_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<LoopFrame>> frames_ ABSL_GUARDED_BY(mutex_);
  // Iterations that have ended successfully, for reuse, by index of the frame.
  std::vector<std::vector<std::unique_ptr<Iteration>>> spare_
      ABSL_GUARDED_BY(mutex_);
  // Iterations with asynchronous kernels, running or spare. The lock is
  // innermost, and taken where iterations are created and dropped.
  mutable absl::Mutex waits_mutex_;
  std::vector<const Iteration*> with_waits_ ABSL_GUARDED_BY(waits_mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_LOOP_FRAMES_H_
