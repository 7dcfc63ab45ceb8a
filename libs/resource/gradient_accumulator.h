// GradientAccumulator: sums gradients of one global step until enough have
// come, for synchronous training. TensorFlow's ConditionalAccumulator
// (core/framework/resource_op_kernel and conditional_accumulator_base.cc).
//
// A gradient that was computed before the accumulator's global step is dropped
// in silence. Taking the average waits, without a thread, until as many
// gradients are there as are asked for; it empties the accumulator and moves
// its global step on. A take whose step is cancelled has taken nothing.
//
// It outlives the session that trains, and may find its variable restored to an
// earlier step: see BeginAnew.
//
// It counts its takes from the global step that it was given. The training's
// own global step may grow by more than one with each take; then the steps of
// gradients run ahead of this count.
//
// Gradients are added up in the order in which they come, so the last bits of a
// sum may differ from run to run. Those that come with the number of their
// replica are kept as they are until they are taken, and are then added up in
// the order of these numbers; of one replica the first of each global step
// counts. That costs the memory of as many gradients as are asked for, and
// leaves all additions to the take. An accumulator gets gradients of one kind.
//
// Threads: all methods may be called from any thread. Functions given run
// without a lock held, on the thread that made it possible.
#ifndef WEFT_LIBS_RESOURCE_GRADIENT_ACCUMULATOR_H_
#define WEFT_LIBS_RESOURCE_GRADIENT_ACCUMULATOR_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/resource/resource.h"
#include "libs/tensor/tensor.h"

namespace weft {

// What an accumulator sums up: dense tensors, or some rows of them. Used under
// the accumulator's lock.
class GradientSum {
 public:
  virtual ~GradientSum() = default;
  // Whether a gradient is one that could be added, and then to `other`, unless
  // that is empty.
  virtual absl::Status Check(absl::Span<const Tensor> gradient,
                             absl::Span<const Tensor> other) const = 0;
  // Adds a gradient, the first one after Take if `is_first`; an error leaves
  // the sum as it was.
  virtual absl::Status Add(absl::Span<const Tensor> gradient,
                           bool is_first) = 0;
  // The average, or sum, of `count` gradients, which it forgets. REQUIRES: so
  // many were added since the last Take or Forget, and one at least.
  virtual absl::StatusOr<std::vector<Tensor>> Take(int64_t count) = 0;
  // There are none, as far as any were added.
  virtual void Forget() = 0;
};

struct GradientAccumulatorOptions {
  DataType dtype = DT_INVALID;
  PartialShape shape;
  bool is_sparse = false;
  bool takes_mean = true;  // else the sum

  friend bool operator==(const GradientAccumulatorOptions&,
                         const GradientAccumulatorOptions&) = default;
};

// Held by shared_ptr: who waits keeps it.
class GradientAccumulator
    : public Resource,
      public std::enable_shared_from_this<GradientAccumulator> {
 public:
  static constexpr absl::string_view kTypeName = "GradientAccumulator";

  using Taken = absl::AnyInvocable<void(absl::StatusOr<std::vector<Tensor>>)>;
  using Counted = absl::AnyInvocable<void(absl::StatusOr<int64_t>)>;

  GradientAccumulator(std::string name, GradientAccumulatorOptions options,
                      std::unique_ptr<GradientSum> sum);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  const GradientAccumulatorOptions& options() const { return options_; }

  int64_t num_accumulated() const;
  absl::Status SetGlobalStep(const Cancellation& step, int64_t global_step);
  // The same for a training that begins, or goes on from a checkpoint, in this
  // global step. What an earlier one has given counts in none of its steps:
  // gradients that are here go (unless no training has begun here before: those
  // are of replicas that came before the chief), and ones still to come of
  // steps that are now undone are dropped until these have come again. Where
  // the training's global step was seen to run ahead of the count of takes, the
  // accumulator cannot tell when they come again, and drops none of them.
  // Whoever knows in which training a gradient was computed tells it to Apply.
  absl::Status BeginAnew(const Cancellation& step, int64_t global_step);

  // How often BeginAnew was called: the number of the training that goes on.
  int64_t training() const;

  // Adds a gradient that was computed in global step `local_step`, by the
  // replica of that number, if it has one. One that was begun to be computed in
  // an earlier `training` is dropped, unless that was before the first:
  // whatever its step, the variables that it has read may have been others.
  // INVALID_ARGUMENT, besides what the sum says, where others have come of the
  // other kind.
  absl::Status Apply(const Cancellation& step, int64_t local_step,
                     absl::Span<const Tensor> gradient,
                     std::optional<int64_t> replica = std::nullopt,
                     std::optional<int64_t> training = std::nullopt);

  // Calls `done` exactly once, with what the sum makes of `num_required`
  // gradients or more; `step` lives until then. REQUIRES: num_required > 0.
  void Take(Cancellation& step, int64_t num_required, Taken done);

  // The same without taking any: how many are there, once they are enough for
  // `num_required`. Waits for no take.
  void WhenAccumulated(Cancellation& step, int64_t num_required, Counted done);

 private:
  struct Attempt {
    Attempt(Cancellation& of, int64_t required)
        : step(of), num_required(required) {}
    Cancellation& step;
    const int64_t num_required;
    // One of the two.
    Taken taken;
    Counted counted;
    Cancellation::Token token = 0;
    bool over = false;
    absl::Status status;
    std::vector<Tensor> average;
    int64_t count = 0;
  };
  using Attempts = std::deque<std::shared_ptr<Attempt>>;
  using Finished = std::vector<std::shared_ptr<Attempt>>;

  void Submit(std::shared_ptr<Attempt> attempt);
  void Cancel(const std::shared_ptr<Attempt>& attempt,
              const absl::Status& cause);
  Attempts& WaitingWith(const Attempt& attempt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends what can end now.
  void Advance(Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceCounts(Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOld(int64_t local_step, std::optional<int64_t> training) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps a gradient until it is taken; false where the replica's is there.
  absl::StatusOr<bool> Keep(absl::Span<const Tensor> gradient, int64_t replica)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::vector<Tensor>> TakeSum()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Finish(const Finished& finished);
  static void Tell(Attempt& attempt);

  const std::string name_;
  const GradientAccumulatorOptions options_;
  mutable absl::Mutex mutex_;
  const std::unique_ptr<GradientSum> sum_ ABSL_PT_GUARDED_BY(mutex_);
  // Of replicas with a number; not in sum_ yet.
  std::map<int64_t, std::vector<Tensor>> kept_ ABSL_GUARDED_BY(mutex_);
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;  // with those kept
  int64_t global_step_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t training_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_taken_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t latest_step_ ABSL_GUARDED_BY(mutex_) = 0;  // of all gradients
  // Steps up to this one, but for those up to global_step_, were undone.
  int64_t undone_step_ ABSL_GUARDED_BY(mutex_) = 0;
  // Since the training began; then gradients of later steps than global_step_
  // tell that the training's global step runs ahead of it.
  bool has_taken_in_training_ ABSL_GUARDED_BY(mutex_) = false;
  bool steps_run_ahead_ ABSL_GUARDED_BY(mutex_) = false;
  Attempts takes_ ABSL_GUARDED_BY(mutex_);
  Attempts counts_ ABSL_GUARDED_BY(mutex_);  // who only wants to be told
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_GRADIENT_ACCUMULATOR_H_
