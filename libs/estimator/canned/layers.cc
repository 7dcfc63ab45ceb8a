// Implements DnnLogits and LinearLogits, the networks of the canned models.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/estimator/canned/canned.h"
#include "libs/estimator/canned/canned_parts.h"
#include "libs/feature_column/input_layer.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/nn.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/partitioned_variable.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/ops/summary/summary_ops.h"
#include "libs/train/optimizers/moving_averages.h"

namespace weft::estimator {
namespace {

constexpr double kBatchNormMomentum = 0.999;
constexpr double kBatchNormEpsilon = 0.001;

ops::PartitionedVariable Weights(const Scope& scope, absl::string_view name,
                                 const TensorShape& shape,
                                 const ops::Initializer& initializer) {
  return ops::GetPartitionedVariable(
      scope, name, shape, {.dtype = DT_FLOAT, .initializer = initializer});
}

// Creates a dense layer, with "kernel" and "bias" in the variable scope of
// `scope`.
Output Dense(const Scope& scope, const Output& input, int64_t units) {
  const auto kernel =
      Weights(scope, "kernel", TensorShape({input.shape().dim(1), units}),
              ops::initializers::GlorotUniform());
  const auto bias =
      Weights(scope, "bias", TensorShape({units}), ops::initializers::Zeros());
  if (!scope.ok()) return Output();
  return ops::BiasAdd(scope, ops::MatMul(scope, input, kernel.AsTensor(scope)),
                      bias.AsTensor(scope));
}

// Returns `scope` without its partitioner, because moving averages are never
// partitioned.
Scope WithoutPartitioner(const Scope& scope) {
  auto state = std::make_shared<Scope::VariableScopeState>(
      Scope::VariableScopeState::Of(scope));
  state->partitioner = nullptr;
  return scope.WithVariableScope(std::move(state));
}

ops::Variable MovingValue(const Scope& scope, absl::string_view name,
                          int64_t size, const ops::Initializer& initializer) {
  return ops::GetVariable(
      WithoutPartitioner(scope), name, PartialShape::Vector(size),
      {.dtype = DT_FLOAT, .initializer = initializer, .trainable = false});
}

void AddUpdate(const Scope& scope, const ops::Variable& moving,
               const Output& batch) {
  scope.AddToCollection(collection::kUpdateOps,
                        Operation(train::AssignMovingAverage(
                            scope, moving, batch, kBatchNormMomentum,
                            /*zero_debias=*/false)));
}

Output BatchNorm(const Scope& scope, const Output& input, bool is_training) {
  const int64_t size = input.shape().dim(1);
  const auto gamma =
      Weights(scope, "gamma", TensorShape({size}), ops::initializers::Ones());
  const auto beta =
      Weights(scope, "beta", TensorShape({size}), ops::initializers::Zeros());
  const auto mean =
      MovingValue(scope, "moving_mean", size, ops::initializers::Zeros());
  const auto variance =
      MovingValue(scope, "moving_variance", size, ops::initializers::Ones());
  if (!scope.ok()) return Output();
  nn::MeanAndVariance used{mean.value(), variance.value()};
  if (is_training) {
    used = nn::Moments(scope, input, {0});
    AddUpdate(scope, mean, used.mean);
    AddUpdate(scope, variance, used.variance);
  }
  return nn::BatchNormalization(scope, input, used.mean, used.variance,
                                beta.AsTensor(scope), gamma.AsTensor(scope),
                                kBatchNormEpsilon);
}

Output ShareOfZeros(const Scope& scope, const Output& values) {
  const Output is_zero =
      ops::Cast(scope, ops::Equal(scope, values, 0), DT_FLOAT);
  return ops::Mean(
      scope, ops::Reshape(scope, is_zero, Tensor::Vector<int32_t>({-1})), 0);
}

// Adds summaries of a layer. As in TensorFlow, tags contain the scope twice:
// "dnn/dnn/logits/activation".
void AddLayerSummary(const Scope& scope, const Output& values,
                     const std::string& layer) {
  if (!values) return;
  const std::string tag =
      absl::StrCat(scope.prefix(), ops::VariableScopeName(scope),
                   layer.empty() ? "" : "/", layer);
  const Scope root = scope.ReenterScope("");
  const std::string zeros = absl::StrCat(tag, "/fraction_of_zero_values");
  ops::ScalarSummary(root.WithName(zeros), zeros, ShareOfZeros(scope, values));
  const std::string activation = absl::StrCat(tag, "/activation");
  ops::HistogramSummary(root.WithName(activation), activation, values);
}

Output HiddenLayer(const Scope& scope, Output net, int64_t index,
                   bool is_training, const DnnOptions& options) {
  const Scope layer =
      ops::VariableScope(scope, absl::StrCat("hiddenlayer_", index));
  net = Dense(layer, net, options.hidden_units[index]);
  if (net && options.activation_fn) net = options.activation_fn(layer, net);
  if (net && is_training && options.dropout.value_or(0) > 0) {
    net = nn::Dropout(layer, net, 1.0f - *options.dropout);
  }
  if (!net || !options.batch_norm) return net;
  return BatchNorm(ops::VariableScope(layer, absl::StrCat("batchnorm_", index)),
                   net, is_training);
}

// Returns the number of zeros in a partition of the weights, counted on the
// device of that partition.
Output ZerosIn(const Scope& scope, const ops::Variable& part) {
  const Scope beside = scope.ColocateWith(part.handle());
  const Output is_zero =
      ops::Cast(beside, ops::Equal(beside, part.value(), 0), DT_FLOAT);
  return ops::Sum(beside, is_zero, Tensor::Vector<int32_t>({0, 1}));
}

void AddLinearSummaries(const Scope& scope,
                        const feature_column::LinearModelOutputs& model,
                        int64_t units) {
  if (!scope.ok()) return;
  const Scope root = scope.ReenterScope("");
  const std::string bias = absl::StrCat(scope.prefix(), "bias");
  const Output values = model.bias.AsTensor(scope);
  if (units == 1) {
    ops::ScalarSummary(
        root.WithName(bias), bias,
        ops::Reshape(scope, values, Tensor(DT_INT32, TensorShape({0}))));
  } else {
    ops::HistogramSummary(root.WithName(bias), bias, values);
  }
  InputList zeros;
  int64_t elements = 0;
  for (const auto& [column, parts] : model.weights) {
    for (const ops::Variable& part : parts) {
      zeros.emplace_back(ZerosIn(scope, part));
      elements += part.shape().num_elements();
    }
  }
  if (!scope.ok() || zeros.empty()) return;
  const std::string share =
      absl::StrCat(scope.prefix(), "fraction_of_zero_weights");
  ops::ScalarSummary(
      root.WithName(share), share,
      ops::Div(scope, ops::AddN(scope, zeros), static_cast<float>(elements)));
}

}  // namespace

Output DnnLogits(const Scope& scope, const Features& features, bool is_training,
                 const DnnOptions& options, int64_t units,
                 const ops::Partitioner& input_layer_partitioner) {
  const Scope input =
      ops::VariableScope(scope, "input_from_feature_columns",
                         {.partitioner = input_layer_partitioner});
  Output net =
      feature_column::InputLayer(input, features, options.feature_columns);
  for (size_t i = 0; i < options.hidden_units.size() && net; ++i) {
    const auto index = static_cast<int64_t>(i);
    net = HiddenLayer(scope, net, index, is_training, options);
    if (is_training) {
      AddLayerSummary(scope, net, absl::StrCat("hiddenlayer_", index));
    }
  }
  if (!net) return net;
  const Output logits = Dense(ops::VariableScope(scope, "logits"), net, units);
  if (is_training) AddLayerSummary(scope, logits, "logits");
  return logits;
}

Output LinearLogits(const Scope& scope, const Features& features,
                    bool is_training, const LinearOptions& options,
                    int64_t units) {
  const auto model = feature_column::LinearModel(
      scope, features, options.feature_columns,
      {.units = units, .sparse_combiner = options.sparse_combiner});
  if (is_training) AddLinearSummaries(scope, model, units);
  return model.logits;
}

void AddLinearActivationSummary(const Scope& scope, const Output& logits) {
  AddLayerSummary(scope, logits, "");
}

}  // namespace weft::estimator
