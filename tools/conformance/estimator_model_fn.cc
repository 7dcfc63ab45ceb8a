#include "tools/conformance/estimator_model_fn.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/feature_column/input_layer.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/clip_ops.h"
#include "libs/train/global_step.h"
#include "libs/train/losses.h"
#include "libs/train/metrics.h"

namespace weft::conformance {
namespace {

using estimator::EstimatorSpec;
using estimator::Mode;
using estimator::ModelInput;
using Json = nlohmann::json;

// As tf.layers.dense; an L2 penalty is scale * sum(w ^ 2).
Output Dense(const Scope& scope, const Json& spec, const Output& net) {
  const Scope layer =
      ops::VariableScope(scope, spec.at("name").get<std::string>());
  const auto units = spec.at("units").get<int64_t>();
  ops::GetVariableOptions options;
  if (spec.contains("l2")) {
    options.regularizer = losses::L2Regularizer(2 * spec["l2"].get<double>());
  }
  const auto kernel = ops::GetVariable(
      layer, "kernel", PartialShape({net.shape().dim(1), units}), options);
  const auto bias =
      ops::GetVariable(layer, "bias", PartialShape({units}),
                       {.initializer = ops::initializers::Zeros()});
  const auto activation = ActivationOf(spec.value("activation", ""));
  scope.UpdateStatus(activation.status());
  if (!scope.ok()) return Output();
  const Output sum = ops::BiasAdd(
      layer, ops::MatMul(layer, net, kernel.value()), bias.value());
  return *activation ? (*activation)(layer, sum) : sum;
}

absl::StatusOr<Output> Chain(const Scope& scope, const Json& layers,
                             const NamedColumns& columns,
                             const Features& features) {
  Output net;
  for (const Json& layer : layers) {
    const std::string kind = layer.begin().key();
    const Json& spec = layer.begin().value();
    if (kind == "input_layer") {
      ASSIGN_OR_RETURN(
          const auto taken,
          ColumnsOf(spec.get<std::vector<std::string>>(), columns));
      net = feature_column::InputLayer(scope, features, taken);
    } else if (kind == "dense") {
      net = Dense(scope, spec, net);
    } else {
      return UnknownHere(absl::StrCat("layer ", kind));
    }
    RETURN_IF_ERROR(scope.status());
  }
  return net;
}

absl::StatusOr<metrics::Metric> MetricOf(const Scope& scope,
                                         const std::string& name,
                                         const ModelInput& input,
                                         const EstimatorSpec& spec,
                                         int64_t classes) {
  if (name == "accuracy") {
    return metrics::Accuracy(scope, input.labels,
                             spec.predictions.at("labels"));
  }
  if (name == "mean_per_class_accuracy") {
    return metrics::MeanPerClassAccuracy(
        scope, input.labels, spec.predictions.at("labels"), classes);
  }
  if (name == "mean_top_probability") {
    return metrics::Mean(
        scope, ops::Max(scope, spec.predictions.at("probabilities"), 1));
  }
  return UnknownHere(absl::StrCat("metric ", name));
}

absl::StatusOr<Operation> Train(const Scope& scope, const Json& spec,
                                const Output& loss) {
  ASSIGN_OR_RETURN(const auto choice, OptimizerOf(spec.at("optimizer")));
  ASSIGN_OR_RETURN(const auto optimizer, choice.Make(scope, 0));
  auto pairs = optimizer->ComputeGradients(scope, loss);
  if (spec.contains("clip_global_norm")) {
    std::vector<Gradient> gradients;
    for (const auto& pair : pairs) gradients.push_back(pair.gradient);
    const auto clipped = train::ClipByGlobalNorm(
        scope, gradients, spec["clip_global_norm"].get<float>());
    RETURN_IF_ERROR(scope.status());
    ops::ScalarSummary(scope.WithName("gradient_norm"), "gradient_norm",
                       clipped.global_norm);
    for (size_t i = 0; i < pairs.size(); ++i) {
      pairs[i].gradient = clipped.list[i];
    }
  }
  const Operation train = optimizer->ApplyGradients(
      scope, pairs, {.global_step = train::GetGlobalStep(scope)});
  RETURN_IF_ERROR(scope.status());
  return train;
}

absl::StatusOr<EstimatorSpec> Build(const Scope& scope, const Json& spec,
                                    const NamedColumns& columns,
                                    const ModelInput& input) {
  ASSIGN_OR_RETURN(const Output net,
                   Chain(scope, spec.at("net"), columns, input.features));
  EstimatorSpec result;
  result.predictions = {{"scores", net},
                        {"probabilities", ops::Softmax(scope, net)},
                        {"labels", ops::ArgMax(scope, net, 1)}};
  if (input.mode == Mode::kPredict) return result;
  result.loss = losses::SparseSoftmaxCrossEntropy(scope, input.labels, net);
  RETURN_IF_ERROR(scope.status());
  if (!losses::GetRegularizationLosses(scope).empty()) {
    result.loss =
        ops::Add(scope, result.loss, losses::GetRegularizationLoss(scope));
  }
  if (input.mode == Mode::kEval) {
    for (const Json& name : spec.at("metrics")) {
      ASSIGN_OR_RETURN(result.eval_metric_ops[name.get<std::string>()],
                       MetricOf(scope, name.get<std::string>(), input, result,
                                net.shape().dim(1)));
    }
    return result;
  }
  ASSIGN_OR_RETURN(result.train_op, Train(scope, spec, result.loss));
  return result;
}

}  // namespace

absl::StatusOr<estimator::ModelFn> ModelFnOf(const Json& spec,
                                             const NamedColumns& columns) {
  if (spec.at("loss") != "softmax_mean") {
    return UnknownHere(absl::StrCat("loss ", spec["loss"].dump()));
  }
  return estimator::ModelFn(
      [spec, columns](const Scope& scope, const ModelInput& input) {
        return Build(scope, spec, columns, input);
      });
}

}  // namespace weft::conformance
