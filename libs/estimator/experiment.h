// Experiment: a model and the data to train and evaluate it with, run as a
// whole on every task of a cluster; TensorFlow's tf.contrib.learn.Experiment
// and learn_runner.
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
  // Until the global step is there; none: until the input ends.
  std::optional<int64_t> train_steps;
  std::optional<int64_t> eval_steps = 100;  // batches; none: all of the input
  train::HookList train_monitors;
  train::HookList eval_hooks;
  // Before an evaluation by Evaluate and ContinuousEval; TensorFlow's is 120.
  double eval_delay_secs = 0;
  double continuous_eval_throttle_secs = 60;
  // Of TrainAndEvaluate: steps between evaluations of new checkpoints, at
  // least; 0: it evaluates in the end only.
  int64_t min_eval_frequency = 1;
  // Worker i waits for global step int(8000 * ln(i + 1)), or for train_steps
  // where that is less.
  bool delay_workers_by_global_step = false;
  std::vector<std::shared_ptr<Exporter>> exporters;
  // Of ContinuousTrainAndEval; none: a tenth of train_steps, or 1000.
  std::optional<int64_t> train_steps_per_iteration;
  std::vector<std::shared_ptr<train::CheckpointSaverListener>> saving_listeners;
};

// What a schedule came to.
using ExperimentResult = TrainAndEvaluateResult;

class Experiment {
 public:
  // Runs nothing.
  explicit Experiment(ExperimentOptions options)
      : options_(std::move(options)) {}

  const Estimator& estimator() const { return options_.estimator; }

  // The schedules. `task` says how this program is a task.

  // As the task that the config says, beside a server.
  absl::StatusOr<ExperimentResult> Train(const TaskOptions& task = {});
  // The newest checkpoint, once; events go to "eval_one_pass".
  absl::StatusOr<ExperimentResult> Evaluate(const TaskOptions& task = {});
  // Each new checkpoint, until one has train_steps; events go to
  // "eval_continuous". `predicate_fn` as in ContinuousEvaluationOptions.
  absl::StatusOr<ExperimentResult> ContinuousEval(
      const TaskOptions& task = {},
      std::function<bool(const std::optional<EvalMetrics>&)> predicate_fn =
          nullptr);
  // The same on the data of the training; events go to
  // "eval_continuous_on_train_data". Nothing is exported.
  absl::StatusOr<ExperimentResult> ContinuousEvalOnTrainData(
      const TaskOptions& task = {});
  // Trains and evaluates by turns, and in the end; events go to "eval".
  absl::StatusOr<ExperimentResult> TrainAndEvaluate(
      const TaskOptions& task = {});
  // The same, each time after train_steps_per_iteration; events go to
  // "eval_one_pass". INVALID_ARGUMENT in a cluster.
  absl::StatusOr<ExperimentResult> ContinuousTrainAndEval(
      const TaskOptions& task = {});
  // A parameter server.
  absl::StatusOr<ExperimentResult> RunStdServer(const TaskOptions& task = {});
  // One step of training, one of evaluation, and all exports: whether all fits.
  absl::StatusOr<ExperimentResult> Test(const TaskOptions& task = {});

 private:
  TrainOptions TrainingOptions() const;
  EvalSpec EvaluationSpec(const std::string& name) const;
  // Of the newest checkpoint; 0 without one.
  absl::StatusOr<int64_t> StepSoFar() const;
  // Its newest. NOT_FOUND without one.
  absl::StatusOr<std::string> CheckpointToEvaluate() const;
  // Into "eval_one_pass"; nothing where it is asked to stop meanwhile.
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
  // The name of one of Experiment's schedules as TensorFlow has it
  // ("train_and_evaluate"); empty: that of the task:
  //   alone, master     train_and_evaluate
  //   chief, worker     train
  //   ps                run_std_server
  //   evaluator         continuous_eval
  std::string schedule;
  TaskOptions task;
};
// Runs the experiment as the task that the config says. INVALID_ARGUMENT for a
// schedule that there is not, a config without model_dir, and an Estimator that
// was given another config.
absl::StatusOr<ExperimentResult> Run(const ExperimentFn& experiment_fn,
                                     const RunConfig& config,
                                     const HParams& hparams = {},
                                     const RunOptions& options = {});

}  // namespace learn_runner
}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_EXPERIMENT_H_
