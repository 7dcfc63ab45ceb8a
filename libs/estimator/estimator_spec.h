// EstimatorSpec is the interface between an Estimator and a model: the input
// function returns features and labels, and the model function builds a graph
// from them and returns its loss, predictions and metrics. TensorFlow's
// tf.estimator.EstimatorSpec and ModeKeys.
//
// Values that refer to a graph. Threads: as the scope's.
#ifndef WEFT_LIBS_ESTIMATOR_ESTIMATOR_SPEC_H_
#define WEFT_LIBS_ESTIMATOR_ESTIMATOR_SPEC_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/estimator/export_output.h"
#include "libs/estimator/run_config.h"
#include "libs/feature_column/features.h"
#include "libs/ops/scope.h"
#include "libs/train/losses/metrics.h"
#include "libs/train/sessions/scaffold.h"
#include "libs/train/sessions/session_run_hook.h"

namespace weft::estimator {

enum class Mode { kTrain, kEval, kPredict };

// A batch, which each step computes anew. The end of the input is OUT_OF_RANGE
// in the step. Queue runners are found in the graph's collections.
struct InputTensors {
  Features features;
  Output labels;  // null if there are none; ignored by predictions
  // Replaces `labels` for a multi-label head: the classes of each example.
  ops::SparseOutputs sparse_labels;
  // Run in each new session after variables have values, for iterators.
  std::vector<Operation> initializers;
};
// Adds the input to the graph. Called once per training, evaluation or
// prediction, on each worker.
using InputFn = std::function<absl::StatusOr<InputTensors>(const Scope& scope)>;

struct ModelInput {
  const Features& features;
  Output labels;  // null for predictions
  Mode mode = Mode::kTrain;
  const RunConfig& config;
  ops::SparseOutputs sparse_labels = {};  // in place of `labels`; or null
};

struct EstimatorSpec {
  // Required for kPredict: by name, each with the batch as first dimension.
  std::map<std::string, Output> predictions;
  Output loss;         // a scalar; required for kTrain and kEval
  Operation train_op;  // increments the global step; required for kTrain
  // By name; "loss" and "global_step" are reserved for the Estimator.
  std::map<std::string, metrics::Metric> eval_metric_ops;
  // Served outputs for kPredict, by signature; one must be "serving_default".
  // Empty: the predictions.
  ExportOutputs export_outputs;
  train::HookList training_hooks;
  train::HookList training_chief_hooks;
  train::HookList evaluation_hooks;
  train::HookList prediction_hooks;
  // Null: a default scaffold. If it has no saver options, the config defines
  // how checkpoints are kept.
  std::shared_ptr<train::Scaffold> scaffold;
};
// Adds the model to the graph. Its error, or the scope's, is returned by the
// call.
using ModelFn = std::function<absl::StatusOr<EstimatorSpec>(
    const Scope& scope, const ModelInput& input)>;

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_ESTIMATOR_SPEC_H_
