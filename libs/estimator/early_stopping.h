// Hooks that end a training depending on the results of its evaluations, like
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
// Begin() of a hook returns INVALID_ARGUMENT for invalid options. The session
// that trains calls the hook, so the threads are those of the session.
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

// Returns the scalars in all event files of a directory, by step and tag; empty
// if the directory does not exist yet. A corrupt or incomplete file is read up
// to its first error.
absl::StatusOr<std::map<int64_t, std::map<std::string, double>>>
ReadEvalMetrics(FileSystem& files, const std::string& eval_dir);

struct EarlyStoppingOptions {
  // Directory of the evaluation events; empty: directory "eval" of the model.
  // The evaluator of an Experiment writes to the model's
  // eval_dir("continuous").
  std::string eval_dir;
  // Evaluations before this step are ignored.
  int64_t min_steps = 0;
  // Check interval of the chief. At most one of the two may be set; by default
  // the chief checks every 60 seconds.
  std::optional<double> run_every_secs;
  std::optional<int64_t> run_every_steps;
};

// Returns a hook that stops when `should_stop_fn` returns true. Only the chief
// calls the function. Of the options, only the check interval is used.
std::shared_ptr<train::SessionRunHook> MakeEarlyStoppingHook(
    const Estimator& estimator,
    std::function<absl::StatusOr<bool>()> should_stop_fn,
    const EarlyStoppingOptions& options = {});

// Return a hook that stops once the metric of an evaluation is above the
// threshold (StopIfHigherHook), or below it (StopIfLowerHook).
std::shared_ptr<train::SessionRunHook> StopIfHigherHook(
    const Estimator& estimator, const std::string& metric_name,
    double threshold, const EarlyStoppingOptions& options = {});
std::shared_ptr<train::SessionRunHook> StopIfLowerHook(
    const Estimator& estimator, const std::string& metric_name,
    double threshold, const EarlyStoppingOptions& options = {});
// Return a hook that stops once the metric has not improved for the given
// number of steps. Higher values are better for StopIfNoIncreaseHook, lower
// values for StopIfNoDecreaseHook.
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
