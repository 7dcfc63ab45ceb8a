// Experiment combines a model with its training and evaluation data, and runs
// on every task of a cluster. It corresponds to TensorFlow's
// tf.contrib.learn.Experiment and learn_runner.
//
//   auto experiment_fn = [](const RunConfig& config, const HParams& params)
//       -> absl::StatusOr<Experiment> {
//     return Experiment({.estimator = DnnClassifier(options, config),
//                        .train_input_fn = train, .eval_input_fn = eval,
//                        .train_steps = 1000});
//   };
//   return learn_runner::Run(experiment_fn, config);
//
// Threads: only one call at a time is allowed. All calls block.
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
  // Global step at which training ends; null: when the input ends.
  std::optional<int64_t> train_steps;
  // In batches; null: all of the input.
  std::optional<int64_t> eval_steps = 100;
  train::HookList train_monitors;
  train::HookList eval_hooks;
  // Delay before an evaluation by Evaluate and ContinuousEval. TensorFlow's
  // default is 120.
  double eval_delay_secs = 0;
  double continuous_eval_throttle_secs = 60;
  // For TrainAndEvaluate: minimum number of steps between evaluations of new
  // checkpoints. With 0, only the end is evaluated.
  int64_t min_eval_frequency = 1;
  // If true, worker i starts at global step int(8000 * ln(i + 1)), or at
  // train_steps if that is less.
  bool delay_workers_by_global_step = false;
  std::vector<std::shared_ptr<Exporter>> exporters;
  // For ContinuousTrainAndEval. Null: a tenth of train_steps, or 1000 if
  // train_steps is null.
  std::optional<int64_t> train_steps_per_iteration;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
};

// The result of every schedule.
using ExperimentResult = TrainAndEvaluateResult;

class Experiment {
 public:
  // The constructor runs nothing.
  explicit Experiment(ExperimentOptions options)
      : options_(std::move(options)) {}

  const Estimator& estimator() const { return options_.estimator; }

  // ---- schedules ----
  // Each runs one task; `task` describes how this program runs it.
  // Trains as the task of the config, and runs a server for the task.

  // Trains as the task of the config, beside a server.
  absl::StatusOr<ExperimentResult> Train(const TaskOptions& task = {});
  // Evaluates the newest checkpoint once. Events go to "eval_one_pass".
  absl::StatusOr<ExperimentResult> Evaluate(const TaskOptions& task = {});
  // Evaluates each new checkpoint until a checkpoint has train_steps. Events go
  // to "eval_continuous". `predicate_fn` is described in
  // ContinuousEvaluationOptions.
  absl::StatusOr<ExperimentResult> ContinuousEval(
      const TaskOptions& task = {},
      std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn =
          nullptr);
  // Evaluates like ContinuousEval, but on the training data, and exports
  // nothing. Events go to "eval_continuous_on_train_data".
  absl::StatusOr<ExperimentResult> ContinuousEvalOnTrainData(
      const TaskOptions& task = {});
  // Alternates training and evaluation, and evaluates at the end. Events go to
  // "eval".
  absl::StatusOr<ExperimentResult> TrainAndEvaluate(
      const TaskOptions& task = {});
  // Trains train_steps_per_iteration steps, evaluates, and repeats. Events go
  // to "eval_one_pass". INVALID_ARGUMENT in a cluster.
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
  // Returns the global step of the newest checkpoint; 0 if there is no
  // checkpoint.
  absl::StatusOr<int64_t> StepSoFar() const;
  // Returns the newest checkpoint; NOT_FOUND if there is no checkpoint.
  absl::StatusOr<std::string> CheckpointToEvaluate() const;
  // Evaluates `checkpoint` and writes events to "eval_one_pass". The result is
  // empty after a stop request.
  absl::StatusOr<ExperimentResult> EvaluateOnce(const std::string& checkpoint,
                                                std::optional<int64_t> steps,
                                                const TaskOptions& task);
  absl::StatusOr<ExperimentResult> EvaluateAll(
      const InputFn& input_fn, const std::string& name, bool exports,
      const TaskOptions& task,
      std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn);

  ExperimentOptions options_;
};

// ExperimentFn creates the Experiment. It is called once, with the config of
// this task.
using ExperimentFn = std::function<absl::StatusOr<Experiment>(
    const RunConfig& config, const HParams& hparams)>;

namespace learn_runner {

struct RunOptions {
  // Schedule to run, under TensorFlow's name ("train_and_evaluate"). Empty: the
  // default schedule of the task:
  //   alone, master     train_and_evaluate
  //   chief, worker     train
  //   ps                run_std_server
  //   evaluator         continuous_eval
  std::string schedule;
  TaskOptions task;
};
// Runs the experiment as the task that the config describes. INVALID_ARGUMENT
// for an unknown schedule, a config without model_dir, or an Estimator with
// another config.
absl::StatusOr<ExperimentResult> Run(const ExperimentFn& experiment_fn,
                                     const RunConfig& config,
                                     const HParams& hparams = {},
                                     const RunOptions& options = {});

}  // namespace learn_runner
}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPERIMENT_H_
