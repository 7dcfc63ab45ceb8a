// What an Estimator and a model say to each other: the input function gives
// features and labels, the model function makes a graph of them and tells what
// of it is loss, predictions, metrics: an EstimatorSpec. TensorFlow's
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
#include "libs/train/metrics.h"
#include "libs/train/scaffold.h"
#include "libs/train/session_run_hook.h"

namespace weft::estimator {

enum class Mode { kTrain, kEval, kPredict };

// A batch, as each step gets it anew. The end of the input is OUT_OF_RANGE in
// the step. What runs in the background (queue runners) is found in the
// graph's collections.
struct InputTensors {
  Features features;
  Output labels;  // null where there are none; of predictions not looked at
  // In their place, of a multi-label head: the classes that an example has.
  ops::SparseOutputs sparse_labels;
  // Run in each new session, after variables have values: of iterators.
  std::vector<Operation> initializers;
};
// Adds the input to the graph. Called once for each training, evaluation or
// prediction; each worker calls its own.
using InputFn = std::function<absl::StatusOr<InputTensors>(const Scope& scope)>;

struct ModelInput {
  const Features& features;
  Output labels;  // null of predictions
  Mode mode = Mode::kTrain;
  const RunConfig& config;
  ops::SparseOutputs sparse_labels = {};  // in place of `labels`; or null
};

struct EstimatorSpec {
  // Needed of kPredict: by name, each with the batch as first dimension.
  std::map<std::string, Output> predictions;
  Output loss;         // a scalar; needed of kTrain and kEval
  Operation train_op;  // counts the global step; needed of kTrain
  // By name; "loss" and "global_step" are the Estimator's.
  std::map<std::string, metrics::Metric> eval_metric_ops;
  // What is served, of kPredict: by signature, one of them "serving_default".
  // Empty: the predictions.
  ExportOutputs export_outputs;
  train::HookList training_hooks;
  train::HookList training_chief_hooks;
  train::HookList evaluation_hooks;
  train::HookList prediction_hooks;
  // Null: one of its own. Of one that says nothing of a saver, the config says
  // how checkpoints of a training are kept.
  std::shared_ptr<train::Scaffold> scaffold;
};
// Adds the model. Its error, or the scope's, is that of the call.
using ModelFn = std::function<absl::StatusOr<EstimatorSpec>(
    const Scope& scope, const ModelInput& input)>;

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_ESTIMATOR_SPEC_H_
