// GradientAccumulator sums gradients of one global step until enough have
// arrived, for synchronous training. It corresponds to TensorFlow's
// ConditionalAccumulator (core/framework/resource_op_kernel and
// conditional_accumulator_base.cc).
//
// A gradient that was computed before the accumulator's global step is silently
// dropped. Take waits, without a thread, for the required number of gradients.
// It returns their average, empties the accumulator, and advances its global
// step. A Take whose step is cancelled takes no gradients.
//
// The accumulator outlives the training session, and the variables of the
// training may be restored to an earlier step: see BeginAnew.
//
// After its global step is set, the accumulator increases it by one with each
// Take. The global step of the training may increase by more than one with each
// Take. The steps of gradients are then ahead of the accumulator's step.
//
// Gradients are added in the order of arrival, so the last bits of a sum may
// differ between runs. Gradients with a replica number are kept separately
// until they are taken, and are then added in the order of these numbers. Only
// the first gradient of a replica in each global step counts. This costs the
// memory of the required number of gradients, and all additions happen in the
// Take. All gradients of one accumulator must have a replica number, or none of
// them.
//
// Threads: all methods may be called from any thread. Callbacks run without a
// lock held, on the thread of the call that let them complete.
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
#include "libs/base/async/cancellation.h"
#include "libs/resource/resource.h"
#include "libs/tensor/tensor.h"

namespace weft {

// GradientSum adds up the gradients of an accumulator. A gradient consists of
// dense tensors, or of some rows of them. GradientSum is used under the
// accumulator's lock.
class GradientSum {
 public:
  virtual ~GradientSum() = default;
  // Returns OK if the gradient can be added to the sum, and also to the
  // gradient `other` unless that is empty.
  virtual absl::Status Check(absl::Span<const Tensor> gradient,
                             absl::Span<const Tensor> other) const = 0;
  // Adds a gradient. `is_first` marks the first gradient after Take. An error
  // leaves the sum unchanged.
  virtual absl::Status Add(absl::Span<const Tensor> gradient,
                           bool is_first) = 0;
  // Returns the average or sum of the gradients and resets the sum. REQUIRES:
  // `count` is the number of gradients added since the last Take or Forget, and
  // is at least 1.
  virtual absl::StatusOr<std::vector<Tensor>> Take(int64_t count) = 0;
  // Drops the gradients added so far.
  virtual void Forget() = 0;
};

struct GradientAccumulatorOptions {
  DataType dtype = DT_INVALID;
  PartialShape shape;
  bool is_sparse = false;
  bool takes_mean = true;  // otherwise it takes the sum

  friend bool operator==(const GradientAccumulatorOptions&,
                         const GradientAccumulatorOptions&) = default;
};

// A GradientAccumulator must be owned by a shared_ptr, because waiting calls
// keep it alive.
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
  // Sets the global step like SetGlobalStep, for a training that starts or
  // resumes from a checkpoint at this global step. Gradients of an earlier
  // training do not count in the steps of the new one. Gradients that are
  // already in the accumulator are dropped. Only before the first training
  // begins they are kept, because they come from replicas that started before
  // the chief.
  // Gradients of steps that the restore rolled back and that arrive later are
  // dropped until those steps are reached again. If the global step of the
  // training was seen to run ahead of the accumulator's step, the accumulator
  // cannot tell when a step is reached again, and drops none of them. A caller
  // that knows the training of a gradient passes it to Apply.
  absl::Status BeginAnew(const Cancellation& step, int64_t global_step);

  // Returns the number of calls of BeginAnew, which identifies the current
  // training.
  int64_t training() const;

  // Adds a gradient that was computed in global step `local_step`, by the given
  // replica if it is numbered. A gradient whose computation began in an earlier
  // `training` is dropped, because the variables that it read may have had
  // other values. Gradients from before the first training are not dropped.
  // Returns INVALID_ARGUMENT for the errors of the sum, and if some gradients
  // of this accumulator are numbered and some are not.
  absl::Status Apply(const Cancellation& step, int64_t local_step,
                     absl::Span<const Tensor> gradient,
                     std::optional<int64_t> replica = std::nullopt,
                     std::optional<int64_t> training = std::nullopt);

  // Calls `done` exactly once, with the average or sum when there are
  // `num_required` or more gradients. `step` must live until then. REQUIRES:
  // num_required > 0.
  void Take(Cancellation& step, int64_t num_required, Taken done);

  // Waits like Take, but takes no gradients: calls `done` with the number of
  // gradients once there are `num_required`. Does not wait for earlier takes.
  void WhenAccumulated(Cancellation& step, int64_t num_required, Counted done);

 private:
  struct Attempt {
    Attempt(Cancellation& of, int64_t required)
        : step(of), num_required(required) {}
    Cancellation& step;
    const int64_t num_required;
    // Exactly one of `taken` and `counted` is set.
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
  // Completes the waiting calls that can complete now.
  void Advance(Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceCounts(Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOld(int64_t local_step, std::optional<int64_t> training) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps a gradient until it is taken. Returns false if the accumulator
  // already has a gradient of this replica.
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
  // Gradients of numbered replicas, not yet added to sum_.
  std::map<int64_t, std::vector<Tensor>> kept_ ABSL_GUARDED_BY(mutex_);
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;  // including kept_
  int64_t global_step_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t training_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_taken_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t latest_step_ ABSL_GUARDED_BY(mutex_) = 0;  // of all gradients
  // Steps after global_step_ up to undone_step_ were rolled back.
  int64_t undone_step_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether a Take has completed since the current training began. If so,
  // gradients of steps after global_step_ show that the training's global step
  // runs ahead of the accumulator's.
  bool has_taken_in_training_ ABSL_GUARDED_BY(mutex_) = false;
  bool steps_run_ahead_ ABSL_GUARDED_BY(mutex_) = false;
  Attempts takes_ ABSL_GUARDED_BY(mutex_);
  Attempts counts_ ABSL_GUARDED_BY(mutex_);  // calls of WhenAccumulated
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_GRADIENT_ACCUMULATOR_H_
