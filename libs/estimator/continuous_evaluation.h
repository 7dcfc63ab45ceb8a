// EvaluateContinuously implements the evaluator task: it evaluates each new
// checkpoint of a model that other tasks train, until that training has ended.
//
// Threads: as the Estimator's; blocks.
#ifndef WEFT_LIBS_ESTIMATOR_CONTINUOUS_EVALUATION_H_
#define WEFT_LIBS_ESTIMATOR_CONTINUOUS_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "libs/estimator/estimator.h"
#include "libs/fs/file_system.h"

namespace weft::estimator {

// Variable that signals an early stop to all tasks (early_stopping.h).
inline constexpr absl::string_view kEarlyStopVariable =
    "signal_early_stopping/STOP";

// Progress of a training at a checkpoint.
struct CheckpointProgress {
  int64_t step = 0;
  bool stopped_early = false;

  // Whether a training until `max_steps` is complete. None: it may continue.
  bool IsLast(const std::optional<int64_t>& max_steps) const {
    return stopped_early || (max_steps && step >= *max_steps);
  }
};
absl::StatusOr<CheckpointProgress> ReadProgress(FileSystem& files,
                                                const std::string& prefix);

// Waits until `until`; returns false on a stop request, which is polled every
// half second. `stop_requested` may be null.
bool WaitUntil(Scheduler& scheduler, absl::Time until,
               const std::function<bool()>& stop_requested);

// Whether an evaluation ended with `status` because of a stop request.
bool WasStopped(const absl::Status& status,
                const std::function<bool()>& stop_requested);

// Whether a file error may be transient: unavailable, late or full.
bool MayBeTransient(const absl::Status& status);

// FailureTolerance limits how long consecutive failures of evaluations are
// tolerated: without limit while files are unavailable or late, but limited
// while a disk is full, because the data may never fit.
class FailureTolerance {
 public:
  // Called after a failure at `now`: OK if evaluations continue; otherwise
  // `why`, finally with the time for which it was tolerated.
  absl::Status Tolerate(const absl::Status& why, absl::Time now);
  // Called after an evaluation that succeeded, except perhaps for its events: a
  // full disk counts as a failure as above; other lost events do not.
  absl::Status Succeeded(const absl::Status& lost_events, absl::Time now);

 private:
  std::optional<absl::Time> full_since_;
  int times_full_ = 0;
};

struct ContinuousEvaluationOptions {
  InputFn input_fn;
  std::optional<int64_t> steps;  // per evaluation; none: all of the input
  train::HookList hooks;
  std::string name;  // events go to "eval", or "eval_NAME"
  absl::Duration start_delay;
  // Time from the start of one evaluation to the start of the next; the last
  // one is not delayed.
  absl::Duration throttle;
  // Ends with the evaluation of a checkpoint of this step or later, or of an
  // early stop. None: the end of training is unknown, and evaluation continues
  // until a stop request.
  std::optional<int64_t> max_steps;
  // Returns false to end, given the metrics of the last evaluation, if any. May
  // be null.
  std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn;
  // Also ends a running evaluation. May be null.
  std::function<bool()> stop_requested;
  // Called after each evaluation of a checkpoint, to export. If files are
  // UNAVAILABLE or late, it is retried after a second and then with growing
  // delays, up to five minutes. May be null.
  std::function<absl::Status(const std::string& checkpoint,
                             const EvalMetrics& metrics, bool is_last)>
      after_evaluation;
};

// Of several new checkpoints only the newest is evaluated; a checkpoint that is
// deleted during its evaluation or export is skipped, NOT_FOUND if it was the
// last one of the training. Returns the last metrics; none if a stop was
// requested before there were any.
absl::StatusOr<std::optional<EvalMetrics>> EvaluateContinuously(
    Estimator& estimator, const ContinuousEvaluationOptions& options);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CONTINUOUS_EVALUATION_H_
