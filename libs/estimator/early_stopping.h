// Hooks that end a training depending on the results of its evaluations;
// TensorFlow's tf.estimator.experimental.stop_if_..._hook.
//
//   TrainOptions options;
//   options.hooks = {StopIfNoDecreaseHook(model, "loss", 1000)};
//
// The chief reads the event files of the evaluations periodically. To stop, it
// sets the variable "signal_early_stopping/STOP", which is saved in
// checkpoints, and the other tasks stop when they see it. All tasks that train
// need the hook. A training with the hook cannot resume from a checkpoint saved
// without it.
//
// Begin of the hook returns INVALID_ARGUMENT for invalid options. Threads: as
// the session that trains.
#ifndef WEFT_LIBS_ESTIMATOR_EARLY_STOPPING_H_
#define WEFT_LIBS_ESTIMATOR_EARLY_STOPPING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "libs/estimator/estimator.h"
#include "libs/fs/file_system.h"
#include "libs/train/sessions/session_run_hook.h"

namespace weft::estimator {

// Returns the scalars of all event files of a directory, by step and tag; empty
// if there is no directory yet. A corrupt or incomplete file is read up to its
// first error.
absl::StatusOr<std::map<int64_t, std::map<std::string, double>>>
ReadEvalMetrics(FileSystem& files, const std::string& eval_dir);

struct EarlyStoppingOptions {
  // Directory of the evaluation events; empty: the model's "eval". An
  // Experiment's evaluator writes to eval_dir("continuous") of the model.
  std::string eval_dir;
  // Evaluations before this step are ignored.
  int64_t min_steps = 0;
  // Check interval of the chief; at most one of the two, default: every 60
  // seconds.
  std::optional<double> run_every_secs;
  std::optional<int64_t> run_every_steps;
};

// Stops when `should_stop_fn`, which only the chief calls, returns true. Only
// the check interval of the options is used.
std::shared_ptr<train::SessionRunHook> MakeEarlyStoppingHook(
    const Estimator& estimator,
    std::function<absl::StatusOr<bool>()> should_stop_fn,
    const EarlyStoppingOptions& options = {});

// Stops once an evaluation has the metric above, or below, the threshold.
std::shared_ptr<train::SessionRunHook> StopIfHigherHook(
    const Estimator& estimator, const std::string& metric_name,
    double threshold, const EarlyStoppingOptions& options = {});
std::shared_ptr<train::SessionRunHook> StopIfLowerHook(
    const Estimator& estimator, const std::string& metric_name,
    double threshold, const EarlyStoppingOptions& options = {});
// Stops once the best metric, the highest or the lowest, is this many steps
// old.
std::shared_ptr<train::SessionRunHook> StopIfNoIncreaseHook(
    const Estimator& estimator, const std::string& metric_name,
    int64_t max_steps_without_increase,
    const EarlyStoppingOptions& options = {});
std::shared_ptr<train::SessionRunHook> StopIfNoDecreaseHook(
    const Estimator& estimator, const std::string& metric_name,
    int64_t max_steps_without_decrease,
    const EarlyStoppingOptions& options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EARLY_STOPPING_H_
