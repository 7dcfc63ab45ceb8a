// EstimatorSpec is the interface between an Estimator and a model: the input
// function returns features and labels, and the model function builds a graph
// from them and returns its loss, predictions and metrics. It corresponds to
// TensorFlow's tf.estimator.EstimatorSpec and ModeKeys.
//
// Specs are values that refer to a graph, and are as thread-safe as the scope.
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

// InputTensors is a batch, which each step computes anew. At the end of the
// input the step fails with OUT_OF_RANGE. Queue runners need no field here,
// because they are found in the graph's collections.
struct InputTensors {
  Features features;
  Output labels;  // null: no labels; ignored by predictions
  // Labels of a multi-label head, in place of `labels`: the classes of each
  // example.
  ops::SparseOutputs sparse_labels;
  // Operations to run in each new session after variables have values, for
  // example to initialize iterators.
  std::vector<Operation> initializers;
};
// InputFn adds the input to the graph. It is called once per training,
// evaluation or prediction, on each worker.
using InputFn = std::function<absl::StatusOr<InputTensors>(const Scope& scope)>;

struct ModelInput {
  const Features& features;
  Output labels;  // null for predictions
  Mode mode = Mode::kTrain;
  const RunConfig& config;
  // Null unless used instead of `labels`.
  ops::SparseOutputs sparse_labels = {};
};

struct EstimatorSpec {
  // Predictions by name, required for kPredict. The first dimension of each is
  // the batch.
  std::map<std::string, Output> predictions;
  Output loss;         // a scalar; required for kTrain and kEval
  Operation train_op;  // increments the global step; required for kTrain
  // Metrics by name. "loss" and "global_step" are reserved for the Estimator.
  std::map<std::string, metrics::Metric> eval_metric_ops;
  // Served outputs for kPredict, by signature; one signature must be
  // "serving_default". If empty, the predictions are served.
  ExportOutputs export_outputs;
  train::HookList training_hooks;
  train::HookList training_chief_hooks;
  train::HookList evaluation_hooks;
  train::HookList prediction_hooks;
  // Null: a default scaffold. If the scaffold has no saver options, the config
  // defines which checkpoints are kept.
  std::shared_ptr<train::Scaffold> scaffold;
};
// ModelFn adds the model to the graph. The Estimator call that uses it returns
// its error, or the error of the scope.
using ModelFn = std::function<absl::StatusOr<EstimatorSpec>(
    const Scope& scope, const ModelInput& input)>;

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_ESTIMATOR_SPEC_H_
