#include "libs/estimator/canned/canned.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/estimator/canned/canned_parts.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/train/optimizers/global_step.h"

namespace weft::estimator {
namespace {

constexpr float kLinearRate = 0.2f;
constexpr float kDnnRate = 0.05f;
constexpr float kBaselineRate = 0.3f;
constexpr float kCombinedDnnRate = 0.001f;
constexpr float kCombinedLinearRate = 0.005f;

using HeadOrError = absl::StatusOr<std::shared_ptr<const Head>>;

HeadOrError HeadFor(const ClassifierOptions& labels) {
  HeadOptions options;
  options.weight_column = labels.weight_column;
  options.label_vocabulary = labels.label_vocabulary;
  options.loss_reduction = labels.loss_reduction;
  if (labels.n_classes == 2) return BinaryClassHead(std::move(options));
  return MultiClassHead(labels.n_classes, std::move(options));
}

HeadOrError HeadFor(const RegressorOptions& labels) {
  HeadOptions options;
  options.weight_column = labels.weight_column;
  options.loss_reduction = labels.loss_reduction;
  return RegressionHead(labels.label_dimension, std::move(options));
}

HeadOrError HeadFor(const HeadOrError& head) {
  if (!head.ok() || *head != nullptr) return head;
  return absl::InvalidArgumentError(
      "head must be given: one of BinaryClassHead and its like.");
}

// Returns an Estimator of `model` with `head`. If `head` is an error, each call
// of the Estimator fails with it.
template <typename Model>
Estimator MakeEstimator(HeadOrError head, const EstimatorOptions& options,
                        const RunConfig& config, Model model) {
  return Estimator(
      [head = std::move(head), model = std::move(model)](
          const Scope& scope,
          const ModelInput& input) -> absl::StatusOr<EstimatorSpec> {
        RETURN_IF_ERROR(head.status());
        return model(scope, input, **head);
      },
      options, config);
}

// Returns `given`, or by default a partitioner that makes at most one partition
// per parameter server.
ops::Partitioner PartitionerOr(const ops::Partitioner& given,
                               const RunConfig& config,
                               int64_t min_slice_size) {
  if (given) return given;
  return ops::MinMaxVariablePartitioner(
      {.max_partitions = std::max(1, config.num_ps_replicas),
       .min_slice_size = min_slice_size});
}

constexpr int64_t kInputSlice = 64 << 20;
constexpr int64_t kDnnSlice = 256 << 10;

// Returns a function that trains with one optimizer, which increments the
// global step.
Head::TrainOpFn TrainBy(const OptimizerChoice& optimizer, float learning_rate) {
  return
      [&optimizer, learning_rate](
          const Scope& scope, const Output& loss) -> absl::StatusOr<Operation> {
        ASSIGN_OR_RETURN(const auto made, optimizer.Make(scope, learning_rate));
        return made->Minimize(scope, loss,
                              {.global_step = train::GetGlobalStep(scope)});
      };
}

float RootRate(float most, const FeatureColumns& columns) {
  return std::min(most, 1.0f / std::sqrt(static_cast<float>(
                                   std::max<size_t>(1, columns.size()))));
}

// ---- Linear ----

absl::StatusOr<EstimatorSpec> LinearModelFn(const Scope& scope,
                                            const ModelInput& input,
                                            const Head& head,
                                            const LinearOptions& options) {
  const Scope linear =
      ops::VariableScope(scope, "linear",
                         {.partitioner = PartitionerOr(
                              options.partitioner, input.config, kInputSlice)});
  const Output logits =
      LinearLogits(linear, input.features, input.mode == Mode::kTrain, options,
                   head.logits_dimension());
  const bool is_none = options.optimizer.is_none();
  const OptimizerChoice optimizer =
      is_none ? OptimizerChoice("Ftrl") : options.optimizer;
  return head.CreateEstimatorSpec(
      linear, input, logits,
      TrainBy(optimizer, is_none
                             ? RootRate(kLinearRate, options.feature_columns)
                             : kLinearRate));
}

template <typename Labels>
Estimator Linear(const LinearOptions& options, const RunConfig& config,
                 const Labels& labels) {
  return MakeEstimator(
      HeadFor(labels), options.estimator, config,
      [options](const Scope& scope, const ModelInput& input, const Head& head) {
        return LinearModelFn(scope, input, head, options);
      });
}

// ---- Dnn ----

absl::Status CheckDnn(const DnnOptions& options) {
  for (int64_t units : options.hidden_units) {
    if (units >= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "hidden_units must be at least 1 each, but one is ", units, "."));
  }
  const float dropout = options.dropout.value_or(0);
  if (dropout >= 0 && dropout < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("dropout must be in [0, 1), but is ", dropout, "."));
}

// Part is the deep part of a model: the scope `dnn`, and the logits created in
// it.
struct Part {
  Scope scope;
  Output logits;
};
Part MakeDnn(const Scope& scope, const ModelInput& input,
             const DnnOptions& options, int64_t units) {
  const Scope dnn = ops::VariableScope(
      scope, "dnn",
      {.partitioner = PartitionerOr(nullptr, input.config, kDnnSlice)});
  dnn.UpdateStatus(CheckDnn(options));
  if (!dnn.ok()) return {dnn, Output()};
  return {dnn, DnnLogits(dnn, input.features, input.mode == Mode::kTrain,
                         options, units,
                         PartitionerOr(options.input_layer_partitioner,
                                       input.config, kInputSlice))};
}

template <typename Labels>
Estimator Dnn(const DnnOptions& options, const RunConfig& config,
              const Labels& labels) {
  return MakeEstimator(
      HeadFor(labels), options.estimator, config,
      [options](const Scope& scope, const ModelInput& input, const Head& head) {
        const Part dnn =
            MakeDnn(scope, input, options, head.logits_dimension());
        return head.CreateEstimatorSpec(dnn.scope, input, dnn.logits,
                                        TrainBy(options.optimizer, kDnnRate));
      });
}

// ---- DnnLinearCombined ----

DnnOptions DnnOf(const DnnLinearCombinedOptions& options) {
  DnnOptions dnn;
  dnn.hidden_units = options.dnn_hidden_units;
  dnn.feature_columns = options.dnn_feature_columns;
  dnn.optimizer = options.dnn_optimizer;
  dnn.activation_fn = options.dnn_activation_fn;
  dnn.dropout = options.dnn_dropout;
  dnn.input_layer_partitioner = options.input_layer_partitioner;
  dnn.batch_norm = options.batch_norm;
  return dnn;
}

LinearOptions LinearOf(const DnnLinearCombinedOptions& options) {
  LinearOptions linear;
  linear.feature_columns = options.linear_feature_columns;
  linear.sparse_combiner = options.linear_sparse_combiner;
  return linear;
}

Output MakeLinear(const Scope& scope, const ModelInput& input,
                  const DnnLinearCombinedOptions& options, int64_t units) {
  const Scope linear = ops::VariableScope(
      scope, "linear",
      {.partitioner = PartitionerOr(options.input_layer_partitioner,
                                    input.config, kInputSlice)});
  const bool is_training = input.mode == Mode::kTrain;
  const Output logits = LinearLogits(linear, input.features, is_training,
                                     LinearOf(options), units);
  if (is_training) AddLinearActivationSummary(linear, logits);
  return logits;
}

// Returns the trainable variables below a scope.
std::vector<ops::Variable> VariablesBelow(const Scope& scope,
                                          absl::string_view prefix) {
  std::vector<ops::Variable> below;
  for (const ops::Variable& variable : ops::TrainableVariables(scope)) {
    if (absl::StartsWith(variable.name(), prefix)) below.push_back(variable);
  }
  return below;
}

absl::StatusOr<Operation> CountStep(const Scope& scope,
                                    const std::vector<Operation>& updates) {
  const ops::Variable step = train::GetGlobalStep(scope);
  ASSIGN_OR_RETURN(const Tensor one,
                   AdaptValue(Tensor::Scalar(1), step.dtype()));
  const Operation all = ops::Group(scope, updates);
  RETURN_IF_ERROR(scope.status());
  return Operation(scope.WithControlDependencies({all})
                       .ColocateWith(step.handle())
                       .AddNode("AssignAddVariableOp", {step.handle(), one}));
}

absl::StatusOr<Operation> TrainBoth(const Scope& scope, const Output& loss,
                                    const DnnLinearCombinedOptions& options) {
  std::vector<Operation> updates;
  const auto add = [&](const OptimizerChoice& choice, float rate,
                       const char* prefix) -> absl::Status {
    ASSIGN_OR_RETURN(const auto optimizer, choice.Make(scope, rate));
    updates.push_back(optimizer->Minimize(
        scope, loss, {.var_list = VariablesBelow(scope, prefix)}));
    return scope.status();
  };
  if (!options.dnn_feature_columns.empty()) {
    RETURN_IF_ERROR(add(options.dnn_optimizer, kCombinedDnnRate, "dnn/"));
  }
  if (!options.linear_feature_columns.empty()) {
    RETURN_IF_ERROR(
        add(options.linear_optimizer,
            RootRate(kCombinedLinearRate, options.linear_feature_columns),
            "linear/"));
  }
  return CountStep(scope, updates);
}

absl::Status CheckCombined(const DnnLinearCombinedOptions& options) {
  if (options.dnn_feature_columns.empty() &&
      options.linear_feature_columns.empty()) {
    return absl::InvalidArgumentError(
        "Either linear_feature_columns or dnn_feature_columns must be "
        "defined.");
  }
  if (!options.dnn_feature_columns.empty() &&
      options.dnn_hidden_units.empty()) {
    return absl::InvalidArgumentError(
        "dnn_hidden_units must be defined when dnn_feature_columns is "
        "specified.");
  }
  return absl::OkStatus();
}

absl::StatusOr<EstimatorSpec> CombinedModelFn(
    const Scope& scope, const ModelInput& input, const Head& head,
    const DnnLinearCombinedOptions& options) {
  RETURN_IF_ERROR(CheckCombined(options));
  const int64_t units = head.logits_dimension();
  Output logits;
  if (!options.dnn_feature_columns.empty()) {
    logits = MakeDnn(scope, input, DnnOf(options), units).logits;
  }
  if (!options.linear_feature_columns.empty()) {
    const Output linear = MakeLinear(scope, input, options, units);
    RETURN_IF_ERROR(scope.status());
    logits = logits ? ops::Add(scope, logits, linear) : linear;
  }
  return head.CreateEstimatorSpec(
      scope, input, logits, [&](const Scope& head_scope, const Output& loss) {
        return TrainBoth(head_scope, loss, options);
      });
}

template <typename Labels>
Estimator Combined(const DnnLinearCombinedOptions& options,
                   const RunConfig& config, const Labels& labels) {
  return MakeEstimator(
      HeadFor(labels), options.estimator, config,
      [options](const Scope& scope, const ModelInput& input, const Head& head) {
        return CombinedModelFn(scope, input, head, options);
      });
}

// ---- Baseline ----

// Returns the number of examples in a feature, as a vector of one element.
Output ExamplesOf(const Scope& scope, const Feature& feature) {
  const Output shape = feature.is_sparse() ? feature.sparse().shape
                                           : ops::Shape(scope, feature.dense(),
                                                        {.out_type = DT_INT64});
  return ops::Slice(scope, shape, Tensor::Vector<int32_t>({0}),
                    Tensor::Vector<int32_t>({1}));
}

// Returns the batch size, which must be the same for all features at run time.
absl::StatusOr<Output> BatchSize(const Scope& scope, const Features& features) {
  if (features.empty()) {
    return absl::InvalidArgumentError(
        "features are empty, but the batch size is taken from a feature; "
        "return at least one from the input function.");
  }
  const std::string& first = features.begin()->first;
  const Output batch = ExamplesOf(scope, features.begin()->second);
  std::vector<Operation> equal;
  for (const auto& [key, feature] : features) {
    if (key == first) continue;
    const Output other = ExamplesOf(scope, feature);
    equal.push_back(ops::Assert(
        scope.WithName("assert_equal"), ops::Equal(scope, batch, other),
        {absl::StrCat(
             "Features ", first, " and ", key,
             " have different numbers of examples; the first dimension of each "
             "is the batch. Examples:"),
         batch, other}));
  }
  RETURN_IF_ERROR(scope.status());
  if (equal.empty()) return batch;
  return ops::Identity(scope.WithControlDependencies(equal), batch);
}

absl::StatusOr<EstimatorSpec> BaselineModelFn(const Scope& scope,
                                              const ModelInput& input,
                                              const Head& head,
                                              const BaselineOptions& options) {
  const int64_t units = head.logits_dimension();
  const Scope baseline = ops::VariableScope(scope, "baseline");
  const ops::Variable bias = ops::GetVariable(
      baseline, "bias", PartialShape::Vector(units),
      {.dtype = DT_FLOAT, .initializer = ops::initializers::Zeros()});
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const Output batch, BatchSize(baseline, input.features));
  const Output shape =
      ops::Concat(baseline, {batch, Tensor::Vector<int64_t>({units})}, 0);
  const Output logits =
      ops::Mul(baseline, ops::Fill(baseline, shape, 1.0f), bias);
  RETURN_IF_ERROR(scope.status());
  return head.CreateEstimatorSpec(scope, input, logits,
                                  TrainBy(options.optimizer, kBaselineRate));
}

template <typename Labels>
Estimator Baseline(const BaselineOptions& options, const RunConfig& config,
                   const Labels& labels) {
  return MakeEstimator(
      HeadFor(labels), options.estimator, config,
      [options](const Scope& scope, const ModelInput& input, const Head& head) {
        return BaselineModelFn(scope, input, head, options);
      });
}

}  // namespace

Estimator LinearClassifier(const LinearOptions& options,
                           const RunConfig& config,
                           const ClassifierOptions& labels) {
  return Linear(options, config, labels);
}
Estimator LinearRegressor(const LinearOptions& options, const RunConfig& config,
                          const RegressorOptions& labels) {
  return Linear(options, config, labels);
}
Estimator DnnClassifier(const DnnOptions& options, const RunConfig& config,
                        const ClassifierOptions& labels) {
  return Dnn(options, config, labels);
}
Estimator DnnRegressor(const DnnOptions& options, const RunConfig& config,
                       const RegressorOptions& labels) {
  return Dnn(options, config, labels);
}
Estimator DnnLinearCombinedClassifier(const DnnLinearCombinedOptions& options,
                                      const RunConfig& config,
                                      const ClassifierOptions& labels) {
  return Combined(options, config, labels);
}
Estimator DnnLinearCombinedRegressor(const DnnLinearCombinedOptions& options,
                                     const RunConfig& config,
                                     const RegressorOptions& labels) {
  return Combined(options, config, labels);
}
Estimator BaselineClassifier(const BaselineOptions& options,
                             const RunConfig& config,
                             const ClassifierOptions& labels) {
  return Baseline(options, config, labels);
}
Estimator BaselineRegressor(const BaselineOptions& options,
                            const RunConfig& config,
                            const RegressorOptions& labels) {
  return Baseline(options, config, labels);
}

Estimator LinearEstimator(absl::StatusOr<std::shared_ptr<const Head>> head,
                          const LinearOptions& options,
                          const RunConfig& config) {
  return Linear(options, config, head);
}
Estimator DnnEstimator(absl::StatusOr<std::shared_ptr<const Head>> head,
                       const DnnOptions& options, const RunConfig& config) {
  return Dnn(options, config, head);
}
Estimator DnnLinearCombinedEstimator(
    absl::StatusOr<std::shared_ptr<const Head>> head,
    const DnnLinearCombinedOptions& options, const RunConfig& config) {
  return Combined(options, config, head);
}
Estimator BaselineEstimator(absl::StatusOr<std::shared_ptr<const Head>> head,
                            const BaselineOptions& options,
                            const RunConfig& config) {
  return Baseline(options, config, head);
}

}  // namespace weft::estimator
