#include "tools/conformance/estimator_model_fn.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/feature_column/input_layer.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/ops/nn/nn_losses.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/losses/losses.h"
#include "libs/train/losses/metrics.h"
#include "libs/train/optimizers/clip_ops.h"
#include "libs/train/optimizers/global_step.h"
#include "tools/conformance/estimator_fields.h"

namespace weft::conformance {
namespace {

using estimator::EstimatorSpec;
using estimator::Mode;
using estimator::ModelInput;
using Json = nlohmann::json;

// A layer of the chain that leads from the features to the scores.
struct Layer {
  enum class Kind { kInputLayer, kDense, kLayerScale };
  Kind kind = Kind::kInputLayer;
  feature_column::FeatureColumns columns;  // kInputLayer only
  std::string name;                        // other kinds only
  int64_t units = 0;  // this field and those below are for kDense only
  estimator::ActivationFn activation;  // may be null
  std::optional<double> l2;            // scale of the L2 penalty
};

absl::Status ReadDense(Fields& fields, Layer& layer) {
  layer.kind = Layer::Kind::kDense;
  ASSIGN_OR_RETURN(layer.units, fields.Get<int64_t>("units"));
  std::string activation;
  RETURN_IF_ERROR(fields.Take("activation", activation));
  ASSIGN_OR_RETURN(layer.activation, ActivationOf(activation));
  return fields.Take("l2", layer.l2);
}

absl::StatusOr<Layer> ReadLayer(const Json& json, const NamedColumns& columns) {
  ASSIGN_OR_RETURN(const OnlyField spec, OnlyFieldOf(json, "a layer"));
  Layer layer;
  if (spec.name == "input_layer") {
    std::vector<std::string> names;
    if (!Convert(spec.value, names)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input_layer is not a list of columns: ", spec.value.dump()));
    }
    ASSIGN_OR_RETURN(layer.columns, ColumnsOf(names, columns));
    return layer;
  }
  Fields fields(spec.value, absl::StrCat("the layer ", spec.name));
  ASSIGN_OR_RETURN(layer.name, fields.Get<std::string>("name"));
  if (spec.name == "dense") {
    RETURN_IF_ERROR(ReadDense(fields, layer));
  } else if (spec.name == "layer_scale") {
    layer.kind = Layer::Kind::kLayerScale;
  } else {
    return UnknownHere(absl::StrCat("layer ", spec.name));
  }
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return layer;
}

enum class Loss { kSoftmaxMean, kSigmoidMean };

// The field "model_fn" of a case.
struct Model {
  std::vector<Layer> net;
  Loss loss = Loss::kSoftmaxMean;
  estimator::OptimizerChoice optimizer;
  std::optional<float> clip_global_norm;
  std::vector<std::string> metrics;
};

constexpr absl::string_view kMetrics[] = {
    "accuracy", "auc", "mean_per_class_accuracy", "mean_top_probability",
    "precision_at_0.25"};

absl::Status ReadMetrics(Fields& fields, Model& model) {
  RETURN_IF_ERROR(fields.Take("metrics", model.metrics));
  for (const std::string& name : model.metrics) {
    if (!absl::c_linear_search(kMetrics, name)) {
      return UnknownHere(absl::StrCat("metric ", name));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadLoss(Fields& fields, Model& model) {
  ASSIGN_OR_RETURN(const auto name, fields.Get<std::string>("loss"));
  if (name == "sigmoid_mean") {
    model.loss = Loss::kSigmoidMean;
  } else if (name != "softmax_mean") {
    return UnknownHere(absl::StrCat("loss ", name));
  }
  return absl::OkStatus();
}

absl::StatusOr<Model> ReadModel(const Json& spec, const NamedColumns& columns) {
  Fields fields(spec, "model_fn");
  Model model;
  ASSIGN_OR_RETURN(const Json* net, fields.GetObject("net"));
  for (const Json& layer : *net) {
    ASSIGN_OR_RETURN(model.net.emplace_back(), ReadLayer(layer, columns));
  }
  RETURN_IF_ERROR(ReadLoss(fields, model));
  ASSIGN_OR_RETURN(const Json* optimizer, fields.GetObject("optimizer"));
  ASSIGN_OR_RETURN(model.optimizer, OptimizerOf(*optimizer));
  RETURN_IF_ERROR(fields.Take("clip_global_norm", model.clip_global_norm));
  RETURN_IF_ERROR(ReadMetrics(fields, model));
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return model;
}

// Builds a layer like tf.layers.dense. An L2 penalty is scale * sum(w ^ 2).
Output Dense(const Scope& scope, const Layer& spec, const Output& net) {
  const Scope layer = ops::VariableScope(scope, spec.name);
  ops::GetVariableOptions options;
  if (spec.l2) options.regularizer = losses::L2Regularizer(2 * *spec.l2);
  const auto kernel = ops::GetVariable(
      layer, "kernel", PartialShape({net.shape().dim(1), spec.units}), options);
  const auto bias =
      ops::GetVariable(layer, "bias", PartialShape({spec.units}),
                       {.initializer = ops::initializers::Zeros()});
  if (!scope.ok()) return Output();
  const Output sum = ops::BiasAdd(
      layer, ops::MatMul(layer, net, kernel.value()), bias.value());
  return spec.activation ? spec.activation(layer, sum) : sum;
}

// Builds a layer that multiplies each column by a learned factor.
Output LayerScale(const Scope& scope, const Layer& spec, const Output& net) {
  const auto factors =
      ops::GetVariable(scope, spec.name, PartialShape({net.shape().dim(1)}),
                       {.initializer = ops::initializers::Ones()});
  if (!scope.ok()) return Output();
  return ops::Mul(scope, net, factors.value());
}

Output Chain(const Scope& scope, const std::vector<Layer>& layers,
             const Features& features) {
  Output net;
  for (const Layer& layer : layers) {
    switch (layer.kind) {
      case Layer::Kind::kInputLayer:
        net = feature_column::InputLayer(scope, features, layer.columns);
        break;
      case Layer::Kind::kDense:
        net = Dense(scope, layer, net);
        break;
      case Layer::Kind::kLayerScale:
        net = LayerScale(scope, layer, net);
        break;
    }
    if (!scope.ok()) return Output();
  }
  return net;
}

// Builds a metric. `name` must be one of kMetrics.
metrics::Metric MetricOf(const Scope& scope, const std::string& name,
                         const ModelInput& input, const EstimatorSpec& spec) {
  const Output& labels = spec.predictions.at("labels");
  const Output& probabilities = spec.predictions.at("probabilities");
  if (name == "accuracy") {
    return metrics::Accuracy(scope, input.labels, labels);
  }
  if (name == "mean_per_class_accuracy") {
    return metrics::MeanPerClassAccuracy(scope, input.labels, labels,
                                         probabilities.shape().dim(1));
  }
  if (name == "auc") {
    return metrics::Auc(scope, input.labels, probabilities);
  }
  if (name == "precision_at_0.25") {
    return metrics::PrecisionAtThresholds(scope, input.labels, probabilities,
                                          {0.25f});
  }
  return metrics::Mean(scope, ops::Max(scope, probabilities, 1));
}

absl::StatusOr<Operation> Train(const Scope& scope, const Model& model,
                                const Output& loss) {
  ASSIGN_OR_RETURN(const auto optimizer, model.optimizer.Make(scope, 0));
  auto pairs = optimizer->ComputeGradients(scope, loss);
  if (model.clip_global_norm) {
    std::vector<Gradient> gradients;
    for (const auto& pair : pairs) gradients.push_back(pair.gradient);
    const auto clipped =
        train::ClipByGlobalNorm(scope, gradients, *model.clip_global_norm);
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

std::map<std::string, Output> PredictionsOf(const Scope& scope, Loss loss,
                                            const Output& net) {
  if (loss == Loss::kSoftmaxMean) {
    return {{"scores", net},
            {"probabilities", ops::Softmax(scope, net)},
            {"labels", ops::ArgMax(scope, net, 1)}};
  }
  const Output probabilities = ops::Sigmoid(scope, net);
  return {{"scores", net},
          {"probabilities", probabilities},
          {"labels", ops::Cast(scope, ops::Greater(scope, probabilities, 0.5f),
                               DT_INT64)}};
}

Output LossOf(const Scope& scope, Loss loss, const Output& labels,
              const Output& net) {
  if (loss == Loss::kSoftmaxMean) {
    return losses::SparseSoftmaxCrossEntropy(scope, labels, net);
  }
  const Output each = nn::SigmoidCrossEntropyWithLogits(
      scope, ops::Cast(scope, labels, DT_FLOAT), net);
  return ops::Mean(scope, each, ops::AllAxes(scope, each));
}

absl::StatusOr<EstimatorSpec> Build(const Scope& scope, const Model& model,
                                    const ModelInput& input) {
  const Output net = Chain(scope, model.net, input.features);
  RETURN_IF_ERROR(scope.status());
  EstimatorSpec result;
  result.predictions = PredictionsOf(scope, model.loss, net);
  if (input.mode == Mode::kPredict) return result;
  result.loss = LossOf(scope, model.loss, input.labels, net);
  RETURN_IF_ERROR(scope.status());
  if (!losses::GetRegularizationLosses(scope).empty()) {
    result.loss =
        ops::Add(scope, result.loss, losses::GetRegularizationLoss(scope));
  }
  if (input.mode == Mode::kEval) {
    for (const std::string& name : model.metrics) {
      result.eval_metric_ops[name] = MetricOf(scope, name, input, result);
    }
    RETURN_IF_ERROR(scope.status());
    return result;
  }
  ASSIGN_OR_RETURN(result.train_op, Train(scope, model, result.loss));
  return result;
}

}  // namespace

absl::StatusOr<estimator::ModelFn> ModelFnOf(const Json& spec,
                                             const NamedColumns& columns) {
  ASSIGN_OR_RETURN(Model model, ReadModel(spec, columns));
  return estimator::ModelFn(
      [model = std::move(model)](const Scope& scope, const ModelInput& input) {
        return Build(scope, model, input);
      });
}

}  // namespace weft::conformance
