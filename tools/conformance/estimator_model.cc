// Implements MakeEstimator for the canned models. (estimator_model_fn.cc builds
// a case's own model function.)
#include "tools/conformance/estimator_model.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/math/math_ops.h"
#include "tools/conformance/estimator_fields.h"
#include "tools/conformance/estimator_model_fn.h"

namespace weft::conformance {
namespace {

using estimator::Estimator;
using estimator::RunConfig;
using feature_column::FeatureColumns;
using Json = nlohmann::json;

absl::StatusOr<losses::Reduction> ReductionOf(const std::string& name) {
  if (name == "weighted_sum") return losses::Reduction::kSum;
  if (name == "weighted_mean") return losses::Reduction::kMean;
  if (name == "weighted_sum_over_batch_size") {
    return losses::Reduction::kSumOverBatchSize;
  }
  if (name == "weighted_sum_by_nonzero_weights") {
    return losses::Reduction::kSumByNonzeroWeights;
  }
  return UnknownHere(absl::StrCat("reduction ", name));
}

template <typename Labels>
absl::Status TakeLabels(Fields& fields, Labels& labels) {
  std::string weights;
  RETURN_IF_ERROR(fields.Take("weight_column", weights));
  if (!weights.empty()) labels.weight_column = weights;
  std::string reduction = "weighted_sum";
  RETURN_IF_ERROR(fields.Take("loss_reduction", reduction));
  ASSIGN_OR_RETURN(labels.loss_reduction, ReductionOf(reduction));
  return absl::OkStatus();
}

absl::StatusOr<estimator::ClassifierOptions> TakeClasses(Fields& fields) {
  estimator::ClassifierOptions labels;
  RETURN_IF_ERROR(TakeLabels(fields, labels));
  RETURN_IF_ERROR(fields.Take("n_classes", labels.n_classes));
  RETURN_IF_ERROR(fields.Take("label_vocabulary", labels.label_vocabulary));
  return labels;
}

absl::StatusOr<estimator::RegressorOptions> TakeNumbers(Fields& fields) {
  estimator::RegressorOptions labels;
  RETURN_IF_ERROR(TakeLabels(fields, labels));
  RETURN_IF_ERROR(fields.Take("label_dimension", labels.label_dimension));
  return labels;
}

absl::Status TakePartitioner(Fields& fields, const char* name,
                             ops::Partitioner& partitioner) {
  const Json* spec = fields.Find(name);
  if (spec == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(partitioner, PartitionerOf(*spec));
  return absl::OkStatus();
}

absl::Status TakeColumns(Fields& fields, const char* name,
                         const NamedColumns& all, FeatureColumns& columns) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(fields.Take(name, names));
  ASSIGN_OR_RETURN(columns, ColumnsOf(names, all));
  return absl::OkStatus();
}

absl::Status TakeOptimizer(Fields& fields, const char* name,
                           estimator::OptimizerChoice& choice) {
  const Json* spec = fields.Find(name);
  if (spec == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(choice, OptimizerOf(*spec));
  return absl::OkStatus();
}

// Reads an activation function. null means no activation. If the field is
// absent, the default remains.
absl::Status TakeActivation(const Json& spec, Fields& fields, const char* name,
                            estimator::ActivationFn& activation) {
  if (!spec.contains(name)) return absl::OkStatus();
  std::string activation_name;
  RETURN_IF_ERROR(fields.Take(name, activation_name));
  ASSIGN_OR_RETURN(activation, ActivationOf(activation_name));
  return absl::OkStatus();
}

absl::StatusOr<estimator::DnnOptions> TakeDnn(const Json& spec, Fields& fields,
                                              const NamedColumns& columns) {
  estimator::DnnOptions dnn;
  RETURN_IF_ERROR(fields.Take("hidden_units", dnn.hidden_units));
  RETURN_IF_ERROR(
      TakeColumns(fields, "feature_columns", columns, dnn.feature_columns));
  RETURN_IF_ERROR(TakeOptimizer(fields, "optimizer", dnn.optimizer));
  RETURN_IF_ERROR(
      TakeActivation(spec, fields, "activation_fn", dnn.activation_fn));
  RETURN_IF_ERROR(fields.Take("dropout", dnn.dropout));
  RETURN_IF_ERROR(fields.Take("batch_norm", dnn.batch_norm));
  RETURN_IF_ERROR(TakePartitioner(fields, "input_layer_partitioner",
                                  dnn.input_layer_partitioner));
  return dnn;
}

absl::StatusOr<estimator::LinearOptions> TakeLinear(
    Fields& fields, const NamedColumns& columns) {
  estimator::LinearOptions linear;
  RETURN_IF_ERROR(
      TakeColumns(fields, "feature_columns", columns, linear.feature_columns));
  RETURN_IF_ERROR(TakeOptimizer(fields, "optimizer", linear.optimizer));
  RETURN_IF_ERROR(TakePartitioner(fields, "partitioner", linear.partitioner));
  RETURN_IF_ERROR(fields.Take("sparse_combiner", linear.sparse_combiner));
  return linear;
}

absl::StatusOr<estimator::DnnLinearCombinedOptions> TakeCombined(
    const Json& spec, Fields& fields, const NamedColumns& columns) {
  estimator::DnnLinearCombinedOptions both;
  RETURN_IF_ERROR(TakeColumns(fields, "linear_feature_columns", columns,
                              both.linear_feature_columns));
  RETURN_IF_ERROR(TakeColumns(fields, "dnn_feature_columns", columns,
                              both.dnn_feature_columns));
  RETURN_IF_ERROR(
      TakeOptimizer(fields, "linear_optimizer", both.linear_optimizer));
  RETURN_IF_ERROR(TakeOptimizer(fields, "dnn_optimizer", both.dnn_optimizer));
  RETURN_IF_ERROR(fields.Take("dnn_hidden_units", both.dnn_hidden_units));
  RETURN_IF_ERROR(TakeActivation(spec, fields, "dnn_activation_fn",
                                 both.dnn_activation_fn));
  RETURN_IF_ERROR(fields.Take("dnn_dropout", both.dnn_dropout));
  RETURN_IF_ERROR(fields.Take("batch_norm", both.batch_norm));
  RETURN_IF_ERROR(
      fields.Take("linear_sparse_combiner", both.linear_sparse_combiner));
  RETURN_IF_ERROR(TakePartitioner(fields, "input_layer_partitioner",
                                  both.input_layer_partitioner));
  return both;
}

template <typename Labels, typename MakeLinearFn, typename MakeDnnFn,
          typename MakeBothFn, typename MakeBaselineFn>
absl::StatusOr<Estimator> OfKind(const std::string& kind, const Json& spec,
                                 Fields& fields, const NamedColumns& columns,
                                 const RunConfig& config, const Labels& labels,
                                 MakeLinearFn linear, MakeDnnFn dnn,
                                 MakeBothFn both, MakeBaselineFn baseline) {
  if (kind == "Linear") {
    ASSIGN_OR_RETURN(const auto options, TakeLinear(fields, columns));
    return linear(options, config, labels);
  }
  if (kind == "DNN") {
    ASSIGN_OR_RETURN(const auto options, TakeDnn(spec, fields, columns));
    return dnn(options, config, labels);
  }
  if (kind == "DNNLinearCombined") {
    ASSIGN_OR_RETURN(const auto options, TakeCombined(spec, fields, columns));
    return both(options, config, labels);
  }
  if (kind != "Baseline") return UnknownHere(absl::StrCat("model ", kind));
  estimator::BaselineOptions options;
  RETURN_IF_ERROR(TakeOptimizer(fields, "optimizer", options.optimizer));
  return baseline(options, config, labels);
}

absl::StatusOr<Estimator> MakeCanned(const std::string& name, const Json& spec,
                                     Fields& fields,
                                     const NamedColumns& columns,
                                     const RunConfig& config) {
  const size_t end = name.size();
  if (absl::EndsWith(name, "Classifier")) {
    ASSIGN_OR_RETURN(const auto labels, TakeClasses(fields));
    return OfKind(name.substr(0, end - 10), spec, fields, columns, config,
                  labels, estimator::LinearClassifier, estimator::DnnClassifier,
                  estimator::DnnLinearCombinedClassifier,
                  estimator::BaselineClassifier);
  }
  if (absl::EndsWith(name, "Regressor")) {
    ASSIGN_OR_RETURN(const auto labels, TakeNumbers(fields));
    return OfKind(name.substr(0, end - 9), spec, fields, columns, config,
                  labels, estimator::LinearRegressor, estimator::DnnRegressor,
                  estimator::DnnLinearCombinedRegressor,
                  estimator::BaselineRegressor);
  }
  return UnknownHere(absl::StrCat("model ", name));
}

}  // namespace

absl::StatusOr<FeatureColumns> ColumnsOf(const std::vector<std::string>& names,
                                         const NamedColumns& all) {
  FeatureColumns columns;
  for (const std::string& name : names) {
    const auto found = all.find(name);
    if (found == all.end()) return UnknownHere(absl::StrCat("column ", name));
    columns.insert(columns.end(), found->second.begin(), found->second.end());
  }
  return columns;
}

absl::StatusOr<estimator::ActivationFn> ActivationOf(const std::string& name) {
  if (name.empty()) return estimator::ActivationFn();
  if (name == "relu") return estimator::ActivationFn(ops::Relu);
  if (name == "elu") return estimator::ActivationFn(ops::Elu);
  if (name == "tanh") return estimator::ActivationFn(ops::Tanh);
  if (name == "sigmoid") return estimator::ActivationFn(ops::Sigmoid);
  return UnknownHere(absl::StrCat("activation ", name));
}

absl::StatusOr<Estimator> MakeEstimator(const Json& spec,
                                        const NamedColumns& columns,
                                        const RunConfig& config) {
  Fields fields(spec, "the model");
  ASSIGN_OR_RETURN(const auto name, fields.Get<std::string>("class"));
  absl::StatusOr<Estimator> made =
      absl::UnknownError("the Estimator was not built");
  if (name == "Estimator") {
    ASSIGN_OR_RETURN(const Json* own, fields.GetObject("model_fn"));
    ASSIGN_OR_RETURN(auto model_fn, ModelFnOf(*own, columns));
    made = Estimator(std::move(model_fn), {}, config);
  } else {
    made = MakeCanned(name, spec, fields, columns, config);
  }
  RETURN_IF_ERROR(made.status());
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return made;
}

}  // namespace weft::conformance
