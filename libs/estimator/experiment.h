// Experiment combines a model with its training and evaluation data, and runs
// on every task of a cluster; TensorFlow's tf.contrib.learn.Experiment and
// learn_runner.
//
//   auto experiment_fn = [](const RunConfig& config, const HParams& params)
//       -> absl::StatusOr<Experiment> {
//     return Experiment({.estimator = DnnClassifier(options, config),
//                        .train_input_fn = train, .eval_input_fn = eval,
//                        .train_steps = 1000});
//   };
//   return learn_runner::Run(experiment_fn, config);
//
// Threads: one call at a time. All block.
#ifndef WEFT_LIBS_ESTIMATOR_EXPERIMENT_H_
#define WEFT_LIBS_ESTIMATOR_EXPERIMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/exporter.h"
#include "libs/estimator/hparams.h"
#include "libs/estimator/run_config.h"
#include "libs/estimator/train_and_evaluate.h"

namespace weft::estimator {

struct ExperimentOptions {
  Estimator estimator;
  InputFn train_input_fn;
  InputFn eval_input_fn;
  // Trains until this global step; none: until the input ends.
  std::optional<int64_t> train_steps;
  std::optional<int64_t> eval_steps = 100;  // batches; none: all of the input
  train::HookList train_monitors;
  train::HookList eval_hooks;
  // Delay before an evaluation by Evaluate and ContinuousEval; TensorFlow's is
  // 120.
  double eval_delay_secs = 0;
  double continuous_eval_throttle_secs = 60;
  // For TrainAndEvaluate: minimum number of steps between evaluations of new
  // checkpoints; 0: evaluates only at the end.
  int64_t min_eval_frequency = 1;
  // If true, worker i waits for global step int(8000 * ln(i + 1)), or for
  // train_steps if that is less.
  bool delay_workers_by_global_step = false;
  std::vector<std::shared_ptr<Exporter>> exporters;
  // For ContinuousTrainAndEval; none: a tenth of train_steps, or 1000.
  std::optional<int64_t> train_steps_per_iteration;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
};

// The result of a schedule.
using ExperimentResult = TrainAndEvaluateResult;

class Experiment {
 public:
  // Does not run anything.
  explicit Experiment(ExperimentOptions options)
      : options_(std::move(options)) {}

  const Estimator& estimator() const { return options_.estimator; }

  // The schedules. `task` describes how this program runs as a task.

  // Trains as the task of the config, beside a server.
  absl::StatusOr<ExperimentResult> Train(const TaskOptions& task = {});
  // Evaluates the newest checkpoint, once; events go to "eval_one_pass".
  absl::StatusOr<ExperimentResult> Evaluate(const TaskOptions& task = {});
  // Evaluates each new checkpoint, until one has train_steps; events go to
  // "eval_continuous". `predicate_fn` as in ContinuousEvaluationOptions.
  absl::StatusOr<ExperimentResult> ContinuousEval(
      const TaskOptions& task = {},
      std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn =
          nullptr);
  // As ContinuousEval on the training data; events go to
  // "eval_continuous_on_train_data". Nothing is exported.
  absl::StatusOr<ExperimentResult> ContinuousEvalOnTrainData(
      const TaskOptions& task = {});
  // Alternates training and evaluation, and evaluates at the end; events go to
  // "eval".
  absl::StatusOr<ExperimentResult> TrainAndEvaluate(
      const TaskOptions& task = {});
  // Evaluates after every train_steps_per_iteration; events go to
  // "eval_one_pass". INVALID_ARGUMENT in a cluster.
  absl::StatusOr<ExperimentResult> ContinuousTrainAndEval(
      const TaskOptions& task = {});
  // Runs a parameter server.
  absl::StatusOr<ExperimentResult> RunStdServer(const TaskOptions& task = {});
  // Runs one training step, one evaluation step, and all exports, as a smoke
  // test.
  absl::StatusOr<ExperimentResult> Test(const TaskOptions& task = {});

 private:
  TrainOptions TrainingOptions() const;
  EvalSpec EvaluationSpec(const std::string& name) const;
  // Global step of the newest checkpoint; 0 without one.
  absl::StatusOr<int64_t> StepSoFar() const;
  // The newest checkpoint. NOT_FOUND without one.
  absl::StatusOr<std::string> CheckpointToEvaluate() const;
  // Writes to "eval_one_pass"; no result after a stop request.
  absl::StatusOr<ExperimentResult> EvaluateOnce(const std::string& checkpoint,
                                                std::optional<int64_t> steps,
                                                const TaskOptions& task);
  absl::StatusOr<ExperimentResult> EvaluateAll(
      const InputFn& input_fn, const std::string& name, bool exports,
      const TaskOptions& task,
      std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn);

  ExperimentOptions options_;
};

// Called once, with the config of this task.
using ExperimentFn = std::function<absl::StatusOr<Experiment>(
    const RunConfig& config, const HParams& hparams)>;

namespace learn_runner {

struct RunOptions {
  // TensorFlow's name of one of Experiment's schedules ("train_and_evaluate");
  // empty: the default of the task:
  //   alone, master     train_and_evaluate
  //   chief, worker     train
  //   ps                run_std_server
  //   evaluator         continuous_eval
  std::string schedule;
  TaskOptions task;
};
// Runs the experiment as the task of the config. INVALID_ARGUMENT for an
// unknown schedule, a config without model_dir, or an Estimator with another
// config.
absl::StatusOr<ExperimentResult> Run(const ExperimentFn& experiment_fn,
                                     const RunConfig& config,
                                     const HParams& hparams = {},
                                     const RunOptions& options = {});

}  // namespace learn_runner
}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPERIMENT_H_
