// EvaluateContinuously: evaluates each new checkpoint of a model that others
// train, until that training has ended; what an evaluator task does.
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

// The variable by which an early stop is told to all tasks
// (early_stopping.h).
inline constexpr absl::string_view kEarlyStopVariable =
    "signal_early_stopping/STOP";

// How far a training was when it saved.
struct CheckpointProgress {
  int64_t step = 0;
  bool stopped_early = false;

  // Whether a training until `max_steps` goes no further. None: it may.
  bool IsLast(const std::optional<int64_t>& max_steps) const {
    return stopped_early || (max_steps && step >= *max_steps);
  }
};
absl::StatusOr<CheckpointProgress> ReadProgress(FileSystem& files,
                                                const std::string& prefix);

// Waits; false when it was asked to stop meanwhile, at most half a second ago.
// `stop_requested` may be null.
bool WaitUntil(Scheduler& scheduler, absl::Time until,
               const std::function<bool()>& stop_requested);

// Whether an evaluation ended with `status` since it was asked to stop.
bool WasStopped(const absl::Status& status,
                const std::function<bool()>& stop_requested);

// Whether what files said may be otherwise in a while: they are away, late or
// full.
bool MayPass(const absl::Status& status);

// How long failures of evaluations are borne, one after the other: while files
// are away or late without end, but not so while something is full, for what
// does not fit may never do so.
class EvaluationPatience {
 public:
  // After a failure at `now`: OK where evaluations go on; else `why`, in the
  // end with how long it was borne.
  absl::Status Bear(const absl::Status& why, absl::Time now);
  // After one that succeeded, but perhaps for its events: what is too full for
  // them is borne as above; other events that are lost are nothing to bear.
  absl::Status Succeeded(const absl::Status& lost_events, absl::Time now);

 private:
  std::optional<absl::Time> full_since_;
  int times_full_ = 0;
};

struct ContinuousEvaluationOptions {
  InputFn input_fn;
  std::optional<int64_t> steps;  // of each evaluation; none: all of the input
  train::HookList hooks;
  std::string name;  // events go to "eval", or "eval_NAME"
  absl::Duration start_delay;
  // From the beginning of an evaluation to that of the next one, but for the
  // last, which does not wait.
  absl::Duration throttle;
  // Ends with the evaluation of a checkpoint of this step, or a later one, or
  // of an early stop. None: it does not know when the training has ended, and
  // goes on until it is asked to stop.
  std::optional<int64_t> max_steps;
  // False for the metrics of the last evaluation, before there are any too: it
  // ends. May be null.
  std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn;
  // Ends an evaluation that is under way, too. May be null.
  std::function<bool()> stop_requested;
  // After each evaluation of a checkpoint: exports; again, where it failed
  // since the files were UNAVAILABLE or late, after a second and then less and
  // less often, down to once in five minutes. May be null.
  std::function<absl::Status(const std::string& checkpoint,
                             const EvalMetrics& metrics, bool is_last)>
      after_evaluation;
};

// Of several new checkpoints only the newest is evaluated; one that goes while
// it is evaluated or exported is left for the next; NOT_FOUND where that was
// the last one of the training. Returns the last metrics; none: it was asked to
// stop before there were any.
absl::StatusOr<std::optional<EvalMetrics>> EvaluateContinuously(
    Estimator& estimator, const ContinuousEvaluationOptions& options);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CONTINUOUS_EVALUATION_H_
