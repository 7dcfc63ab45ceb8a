// MakeEstimator: the canned models. (A case's own model function is in
// estimator_model_fn.cc.)
#include "tools/conformance/estimator_model.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/math/math_ops.h"
#include "libs/train/adam.h"
#include "libs/train/slot_optimizers.h"
#include "tools/conformance/estimator_model_fn.h"

namespace weft::conformance {
namespace {

using estimator::Estimator;
using estimator::RunConfig;
using feature_column::FeatureColumns;
using Json = nlohmann::json;

// Fields are taken out as they are used; what is left is unknown.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  template <typename T>
  T Take(const char* name, T otherwise) {
    taken_.insert(name);
    return json_.contains(name) ? json_[name].get<T>() : otherwise;
  }
  const Json* Find(const char* name) {
    taken_.insert(name);
    return json_.contains(name) ? &json_[name] : nullptr;
  }
  absl::Status CheckAllTaken() const {
    for (const auto& [field, value] : json_.items()) {
      if (taken_.count(field) == 0) {
        return UnknownHere(absl::StrCat("the model has the field ", field));
      }
    }
    return absl::OkStatus();
  }

 private:
  const Json& json_;
  std::set<std::string> taken_;
};

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
  const auto weights = fields.Take<std::string>("weight_column", "");
  if (!weights.empty()) labels.weight_column = weights;
  ASSIGN_OR_RETURN(
      labels.loss_reduction,
      ReductionOf(fields.Take<std::string>("loss_reduction", "weighted_sum")));
  return absl::OkStatus();
}

absl::StatusOr<estimator::ClassifierOptions> TakeClasses(Fields& fields) {
  estimator::ClassifierOptions labels;
  RETURN_IF_ERROR(TakeLabels(fields, labels));
  labels.n_classes = fields.Take<int64_t>("n_classes", 2);
  labels.label_vocabulary =
      fields.Take<std::vector<std::string>>("label_vocabulary", {});
  return labels;
}

absl::StatusOr<estimator::RegressorOptions> TakeNumbers(Fields& fields) {
  estimator::RegressorOptions labels;
  RETURN_IF_ERROR(TakeLabels(fields, labels));
  labels.label_dimension = fields.Take<int64_t>("label_dimension", 1);
  return labels;
}

absl::Status TakePartitioner(Fields& fields, const char* name,
                             ops::Partitioner& partitioner) {
  const Json* spec = fields.Find(name);
  if (spec == nullptr) return absl::OkStatus();
  if (!spec->contains("min_max_variable")) {
    return UnknownHere(absl::StrCat("partitioner ", spec->dump()));
  }
  const Json& numbers = (*spec)["min_max_variable"];
  partitioner = ops::MinMaxVariablePartitioner(
      {.max_partitions = numbers.at("max_partitions").get<int>(),
       .min_slice_size = numbers.value("min_slice_size", int64_t{256 << 10})});
  return absl::OkStatus();
}

absl::Status TakeColumns(Fields& fields, const char* name,
                         const NamedColumns& all, FeatureColumns& columns) {
  ASSIGN_OR_RETURN(
      columns, ColumnsOf(fields.Take<std::vector<std::string>>(name, {}), all));
  return absl::OkStatus();
}

absl::Status TakeOptimizer(Fields& fields, const char* name,
                           estimator::OptimizerChoice& choice) {
  const Json* spec = fields.Find(name);
  if (spec == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(choice, OptimizerOf(*spec));
  return absl::OkStatus();
}

absl::StatusOr<estimator::DnnOptions> TakeDnn(Fields& fields,
                                              const NamedColumns& columns) {
  estimator::DnnOptions dnn;
  dnn.hidden_units = fields.Take<std::vector<int64_t>>("hidden_units", {});
  RETURN_IF_ERROR(
      TakeColumns(fields, "feature_columns", columns, dnn.feature_columns));
  RETURN_IF_ERROR(TakeOptimizer(fields, "optimizer", dnn.optimizer));
  ASSIGN_OR_RETURN(dnn.activation_fn, ActivationOf(fields.Take<std::string>(
                                          "activation_fn", "relu")));
  dnn.dropout = fields.Take<float>("dropout", 0);
  dnn.batch_norm = fields.Take<bool>("batch_norm", false);
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
  linear.sparse_combiner = fields.Take<std::string>("sparse_combiner", "sum");
  return linear;
}

absl::StatusOr<estimator::DnnLinearCombinedOptions> TakeCombined(
    Fields& fields, const NamedColumns& columns) {
  estimator::DnnLinearCombinedOptions both;
  RETURN_IF_ERROR(TakeColumns(fields, "linear_feature_columns", columns,
                              both.linear_feature_columns));
  RETURN_IF_ERROR(TakeColumns(fields, "dnn_feature_columns", columns,
                              both.dnn_feature_columns));
  RETURN_IF_ERROR(
      TakeOptimizer(fields, "linear_optimizer", both.linear_optimizer));
  RETURN_IF_ERROR(TakeOptimizer(fields, "dnn_optimizer", both.dnn_optimizer));
  both.dnn_hidden_units =
      fields.Take<std::vector<int64_t>>("dnn_hidden_units", {});
  ASSIGN_OR_RETURN(
      both.dnn_activation_fn,
      ActivationOf(fields.Take<std::string>("dnn_activation_fn", "relu")));
  both.dnn_dropout = fields.Take<float>("dnn_dropout", 0);
  both.batch_norm = fields.Take<bool>("batch_norm", false);
  both.linear_sparse_combiner =
      fields.Take<std::string>("linear_sparse_combiner", "sum");
  RETURN_IF_ERROR(TakePartitioner(fields, "input_layer_partitioner",
                                  both.input_layer_partitioner));
  return both;
}

template <typename Labels, typename MakeLinearFn, typename MakeDnnFn,
          typename MakeBothFn, typename MakeBaselineFn>
absl::StatusOr<Estimator> OfKind(const std::string& kind, Fields& fields,
                                 const NamedColumns& columns,
                                 const RunConfig& config, const Labels& labels,
                                 MakeLinearFn linear, MakeDnnFn dnn,
                                 MakeBothFn both, MakeBaselineFn baseline) {
  if (kind == "Linear") {
    ASSIGN_OR_RETURN(const auto options, TakeLinear(fields, columns));
    return linear(options, config, labels);
  }
  if (kind == "DNN") {
    ASSIGN_OR_RETURN(const auto options, TakeDnn(fields, columns));
    return dnn(options, config, labels);
  }
  if (kind == "DNNLinearCombined") {
    ASSIGN_OR_RETURN(const auto options, TakeCombined(fields, columns));
    return both(options, config, labels);
  }
  if (kind != "Baseline") return UnknownHere(absl::StrCat("model ", kind));
  estimator::BaselineOptions options;
  RETURN_IF_ERROR(TakeOptimizer(fields, "optimizer", options.optimizer));
  return baseline(options, config, labels);
}

absl::StatusOr<Estimator> MakeCanned(const std::string& name, Fields& fields,
                                     const NamedColumns& columns,
                                     const RunConfig& config) {
  const size_t end = name.size();
  if (name.rfind("Classifier") + 10 == end) {
    ASSIGN_OR_RETURN(const auto labels, TakeClasses(fields));
    return OfKind(name.substr(0, end - 10), fields, columns, config, labels,
                  estimator::LinearClassifier, estimator::DnnClassifier,
                  estimator::DnnLinearCombinedClassifier,
                  estimator::BaselineClassifier);
  }
  if (name.rfind("Regressor") + 9 == end) {
    ASSIGN_OR_RETURN(const auto labels, TakeNumbers(fields));
    return OfKind(name.substr(0, end - 9), fields, columns, config, labels,
                  estimator::LinearRegressor, estimator::DnnRegressor,
                  estimator::DnnLinearCombinedRegressor,
                  estimator::BaselineRegressor);
  }
  return UnknownHere(absl::StrCat("model ", name));
}

}  // namespace

absl::Status UnknownHere(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, ", unknown here"));
}

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

absl::StatusOr<estimator::OptimizerChoice> OptimizerOf(const Json& spec) {
  if (spec.is_string()) {
    return estimator::OptimizerChoice(spec.get<std::string>());
  }
  const auto type = spec.at("type").get<std::string>();
  const auto rate = spec.at("learning_rate").get<float>();
  const auto momentum = spec.value("momentum", 0.0f);
  for (const auto& [field, value] : spec.items()) {
    if (field != "type" && field != "learning_rate" && field != "momentum") {
      return UnknownHere(absl::StrCat("optimizer's field ", field));
    }
  }
  if (type == "Momentum") {
    return estimator::OptimizerChoice([rate, momentum](const Scope&) {
      return std::unique_ptr<train::Optimizer>(
          new train::Momentum(rate, momentum));
    });
  }
  // The others by their names, at this rate.
  return estimator::OptimizerChoice(
      [type, rate](const Scope& scope) -> std::unique_ptr<train::Optimizer> {
        auto made = estimator::OptimizerChoice(type).Make(scope, rate);
        scope.UpdateStatus(made.status());
        return made.ok() ? *std::move(made) : nullptr;
      });
}

absl::StatusOr<Estimator> MakeEstimator(const Json& spec,
                                        const NamedColumns& columns,
                                        const RunConfig& config) {
  Fields fields(spec);
  const auto name = fields.Take<std::string>("class", "");
  if (name == "Estimator") {
    ASSIGN_OR_RETURN(auto model_fn, ModelFnOf(spec.at("model_fn"), columns));
    return Estimator(std::move(model_fn), {}, config);
  }
  auto made = MakeCanned(name, fields, columns, config);
  RETURN_IF_ERROR(made.status());
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return made;
}

}  // namespace weft::conformance
