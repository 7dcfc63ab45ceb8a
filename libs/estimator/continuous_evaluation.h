// EvaluateContinuously implements the evaluator task: it evaluates each new
// checkpoint of a model that other tasks train, until that training has ended.
//
// Threads: one call at a time, like all calls of an Estimator. The call blocks.
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

// CheckpointProgress is how far a training was when it saved a checkpoint.
struct CheckpointProgress {
  int64_t step = 0;
  bool stopped_early = false;

  // Returns whether a training until `max_steps` is complete. With max_steps
  // null, only an early stop completes it.
  bool IsLast(const std::optional<int64_t>& max_steps) const {
    return stopped_early || (max_steps && step >= *max_steps);
  }
};
absl::StatusOr<CheckpointProgress> ReadProgress(FileSystem& files,
                                                const std::string& prefix);

// Waits until time `until`, and returns true. Returns false on a stop request,
// which is polled every half second. `stop_requested` may be null.
bool WaitUntil(Scheduler& scheduler, absl::Time until,
               const std::function<bool()>& stop_requested);

// Returns whether an evaluation ended with `status` because of a stop request.
bool WasStopped(const absl::Status& status,
                const std::function<bool()>& stop_requested);

// Returns whether a file error may be transient: the file system is unavailable
// or timed out, or the disk is full.
bool MayBeTransient(const absl::Status& status);

// FailureTolerance limits how long consecutive failures of evaluations are
// tolerated. There is no limit while files are unavailable or time out. A full
// disk is tolerated only for a limited time, because the data may never fit.
class FailureTolerance {
 public:
  // Must be called after a failure at `now`. Returns OK if evaluations
  // continue. Otherwise returns `why`; if the tolerated time is over, with that
  // time in its text.
  absl::Status Tolerate(const absl::Status& why, absl::Time now);
  // Must be called after an evaluation that succeeded. `lost_events` is the
  // error of writing its events: a full disk counts as a failure, as in
  // Tolerate; other errors do not.
  absl::Status Succeeded(const absl::Status& lost_events, absl::Time now);

 private:
  std::optional<absl::Time> full_since_;
  int times_full_ = 0;
};

struct ContinuousEvaluationOptions {
  InputFn input_fn;
  // Batches per evaluation; null: all of the input.
  std::optional<int64_t> steps;
  train::HookList hooks;
  std::string name;  // events go to "eval", or "eval_NAME"
  absl::Duration start_delay;
  // Minimum time from the start of one evaluation to the start of the next. The
  // evaluation of the last checkpoint is not delayed.
  absl::Duration throttle;
  // Evaluation ends with a checkpoint of this step or later, or of an early
  // stop. Null: the end of the training is unknown, and evaluation continues
  // until a stop request.
  std::optional<int64_t> max_steps;
  // Returns whether to continue. The argument is the metrics of the last
  // evaluation; null if there was none. The function may be null.
  std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn;
  // Returns true to end, which also ends a running evaluation. May be null.
  std::function<bool()> stop_requested;
  // Called after each evaluation of a checkpoint, to export the model. If it
  // fails because files are UNAVAILABLE or time out, it is called again after a
  // second, and then with growing delays of up to five minutes. May be null.
  std::function<absl::Status(const std::string& checkpoint,
                             const EvalMetrics& metrics, bool is_last)>
      after_evaluation;
};

// Evaluates checkpoints until the training ends. If there are several new
// checkpoints, only the newest is evaluated. A checkpoint that is deleted
// during its evaluation or export is skipped, but NOT_FOUND is returned if it
// was the last one of the training. Returns the last metrics; null if a stop
// was requested before the first evaluation ended.
absl::StatusOr<std::optional<EvalMetrics>> EvaluateContinuously(
    Estimator& estimator, const ContinuousEvaluationOptions& options);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CONTINUOUS_EVALUATION_H_
