// TrainAndEvaluate runs a complete training, as any task of a cluster or as a
// single program, like TensorFlow's tf.estimator.train_and_evaluate.
//
//   return TrainAndEvaluate(model, {.input_fn = train, .max_steps = 1000},
//                           {.input_fn = eval});
//
// | task               | does                                                 |
// |--------------------|------------------------------------------------------|
// | alone              | trains; evaluates new checkpoints, and the last      |
// | chief, worker      | trains, beside a server of its own                   |
// | master             | a chief that evaluates as well                       |
// | ps                 | serves until the training has ended                  |
// | evaluator          | evaluates each new checkpoint, until that of         |
// |                    | max_steps or of an early stop                        |
//
// Without max_steps, training ends with its input. The evaluator does not learn
// of that end, so it runs until a stop request.
//
// If an evaluation during training fails because files are unavailable or time
// out, or a disk is full, the error is logged, and the next checkpoint is
// evaluated. The last evaluation is retried for about a minute. A disk that
// stays full for an hour and three evaluations, even if only for their events,
// ends the training, as does any other error.
//
// Workers start as soon as variables have values, and the evaluator as soon as
// there is a checkpoint. TensorFlow's start delays are optional.
//
// At the end, a chief (or master) waits for the workers, up to
// TaskOptions::wait_for_workers, and the parameter servers end after the chief.
// In a cluster without a chief job, where worker 0 is the chief, the parameter
// servers end after the workers. A task that ended with an error, or was
// killed, may be restarted: training continues. A task whose server is shut
// down saves and ends; a task whose server is rejected by the cluster ends with
// that error.
#ifndef WEFT_LIBS_ESTIMATOR_TRAIN_AND_EVALUATE_H_
#define WEFT_LIBS_ESTIMATOR_TRAIN_AND_EVALUATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/exporter.h"
#include "libs/estimator/task_server.h"

namespace weft::estimator {

struct TrainSpec {
  InputFn input_fn;
  // Global step at which training ends. Null: training ends with the input. An
  // evaluator then does not know the end, and runs until a stop request.
  std::optional<int64_t> max_steps;
  train::HookList hooks;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
};

struct EvalSpec {
  InputFn input_fn;
  std::optional<int64_t> steps = 100;  // in batches; null: all of the input
  std::string name;                    // events go to "eval", or "eval_NAME"
  train::HookList hooks;
  // Exporters, called in order after each evaluation. Names must be unique. If
  // files are unavailable or time out, exports are retried, starting with the
  // exporter that failed.
  std::vector<std::shared_ptr<Exporter>> exporters;
  // Delay of an evaluator's start. TensorFlow's default is 120.
  double start_delay_secs = 0;
  // Minimum time from the start of one evaluation to the start of the next. The
  // first and the last evaluation are not delayed.
  double throttle_secs = 600;
};

// TaskOptions describes how this program runs as the task of its RunConfig.
struct TaskOptions {
  // Returns true if the program must exit: a training task saves first, and an
  // evaluation ends without results. Called on any thread, also concurrently;
  // must return at once. May be null.
  std::function<bool()> stop_requested;
  // How long to wait for other tasks at the end. A chief waits for the workers,
  // whose last steps need the parameter servers. Other training tasks wait for
  // the end of the coordinator's task, so that a program may train again. With
  // a job "coordinator", a task waits for the other tasks of its own job
  // instead.
  absl::Duration wait_for_workers = absl::Minutes(5);
  bool insecure = false;  // see ServerOptions
  // See ServerOptions; evaluators have no server.
  std::optional<int> metrics_port;
  TaskServerFactory server_factory = StartTaskServer;
};

struct TrainAndEvaluateResult {
  // Metrics of the last evaluation in this program; null if it did not
  // evaluate.
  std::optional<EvalMetrics> metrics;
  // Directories that exporters created after the last evaluation.
  std::vector<std::string> exports;
};

// Runs the training. INVALID_ARGUMENT for invalid specs, and for an evaluator
// with an index other than 0. NOT_FOUND if there is no checkpoint to evaluate
// at the end.
absl::StatusOr<TrainAndEvaluateResult> TrainAndEvaluate(
    Estimator& estimator, const TrainSpec& train_spec,
    const EvalSpec& eval_spec, const TaskOptions& task = {});

// ---- Parts of TrainAndEvaluate ----

// Runs Estimator::Train as the task of the config. If the cluster has more than
// one task, also runs a server for the task.
absl::Status TrainAsTask(Estimator& estimator, const InputFn& input_fn,
                         TrainOptions options, const TaskOptions& task = {});

// Runs the parameter server task, which serves until the training has ended.
absl::Status RunStdServer(const RunConfig& config,
                          const TaskOptions& task = {});

// Runs the evaluator task, until the checkpoint of max_steps or of an early
// stop is evaluated; see continuous_evaluation.h. NOT_FOUND if that checkpoint
// was deleted before its evaluation.
absl::StatusOr<TrainAndEvaluateResult> EvaluateAsTask(
    Estimator& estimator, const EvalSpec& eval_spec,
    std::optional<int64_t> max_steps, const TaskOptions& task = {},
    std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn =
        nullptr);

// Calls the exporters for a checkpoint, like after an evaluation. Returns the
// created directories.
absl::StatusOr<std::vector<std::string>> ExportCheckpoint(
    Estimator& estimator, const EvalSpec& eval_spec,
    const std::string& checkpoint_path, const EvalMetrics& metrics,
    bool is_the_final_export);

struct EvaluateWhileTrainingOptions {
  EvalSpec eval;
  std::optional<int64_t> max_steps;
  // Steps between evaluations; 0: only the end is evaluated. Null:
  // throttle_secs is used instead.
  std::optional<int64_t> min_eval_frequency;
};
// Runs TrainAsTask, and evaluates new checkpoints and the last one.
absl::StatusOr<TrainAndEvaluateResult> TrainWithEvaluations(
    Estimator& estimator, const InputFn& input_fn, TrainOptions options,
    const EvaluateWhileTrainingOptions& evaluations,
    const TaskOptions& task = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_TRAIN_AND_EVALUATE_H_
