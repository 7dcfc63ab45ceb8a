// Canned models: linear, deep, combined, and a baseline. Names, defaults,
// variables and files are those of TensorFlow's canned estimators.
//
//   Estimator model = DnnClassifier(
//       {.hidden_units = {10, 20}, .feature_columns = columns}, config);
//
// A classifier of two classes has one logit and a binary head; with more
// classes it has one logit per class. Errors in a model's options are kept in
// the status() of its Estimator.
//
// Optimizers given by name use the learning rate of the model: 0.2 for Linear,
// 0.05 for Dnn, 0.3 for Baseline. DnnLinearCombined uses 0.001 for its deep
// part, and min(0.005, 1 / sqrt(number of columns)) for its linear part. A
// linear model without an optimizer ({}) uses Ftrl with the learning rate
// min(0.2, 1 / sqrt(number of columns)).
#ifndef WEFT_LIBS_ESTIMATOR_CANNED_CANNED_H_
#define WEFT_LIBS_ESTIMATOR_CANNED_CANNED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/estimator/canned/head.h"
#include "libs/estimator/canned/optimizers.h"
#include "libs/estimator/estimator.h"
#include "libs/feature_column/feature_column.h"
#include "libs/ops/nn/nn_ops.h"
#include "libs/ops/state/partitioners.h"

namespace weft::estimator {

using feature_column::FeatureColumns;
// Activation function of a hidden layer.
using ActivationFn =
    std::function<Output(const Scope& scope, const Input& features)>;

// ClassifierOptions are common to all classifiers. RegressorOptions are common
// to all regressors.
struct ClassifierOptions {
  int64_t n_classes = 2;
  WeightColumn weight_column;
  std::vector<std::string> label_vocabulary;
  losses::Reduction loss_reduction = losses::Reduction::kSum;
};
struct RegressorOptions {
  int64_t label_dimension = 1;
  WeightColumn weight_column;
  losses::Reduction loss_reduction = losses::Reduction::kSum;
};

struct LinearOptions {
  FeatureColumns feature_columns;
  OptimizerChoice optimizer = "Ftrl";
  // Partitioner of the weights. Null: partitions of at least 64 MiB, at most
  // one per parameter server.
  ops::Partitioner partitioner;
  std::string sparse_combiner = "sum";
  EstimatorOptions estimator;
};
Estimator LinearClassifier(const LinearOptions& options,
                           const RunConfig& config = {},
                           const ClassifierOptions& labels = {});
Estimator LinearRegressor(const LinearOptions& options,
                          const RunConfig& config = {},
                          const RegressorOptions& labels = {});

struct DnnOptions {
  std::vector<int64_t> hidden_units;
  FeatureColumns feature_columns;
  OptimizerChoice optimizer = "Adagrad";
  ActivationFn activation_fn = ops::Relu;  // null: linear
  // Fraction of a hidden layer's units to drop.
  std::optional<float> dropout;
  // Partitioner of embeddings. Null: partitions of at least 64 MiB, at most one
  // per parameter server.
  ops::Partitioner input_layer_partitioner;
  bool batch_norm = false;
  EstimatorOptions estimator;
};
Estimator DnnClassifier(const DnnOptions& options, const RunConfig& config = {},
                        const ClassifierOptions& labels = {});
Estimator DnnRegressor(const DnnOptions& options, const RunConfig& config = {},
                       const RegressorOptions& labels = {});

// Options of wide and deep models.
struct DnnLinearCombinedOptions {
  FeatureColumns linear_feature_columns;
  OptimizerChoice linear_optimizer = "Ftrl";
  FeatureColumns dnn_feature_columns;
  OptimizerChoice dnn_optimizer = "Adagrad";
  std::vector<int64_t> dnn_hidden_units;
  ActivationFn dnn_activation_fn = ops::Relu;
  std::optional<float> dnn_dropout;
  ops::Partitioner input_layer_partitioner;  // also partitions linear weights
  bool batch_norm = false;
  std::string linear_sparse_combiner = "sum";
  EstimatorOptions estimator;
};
Estimator DnnLinearCombinedClassifier(const DnnLinearCombinedOptions& options,
                                      const RunConfig& config = {},
                                      const ClassifierOptions& labels = {});
Estimator DnnLinearCombinedRegressor(const DnnLinearCombinedOptions& options,
                                     const RunConfig& config = {},
                                     const RegressorOptions& labels = {});

// Options of models that predict the most frequent class, or the mean,
// regardless of the features.
struct BaselineOptions {
  OptimizerChoice optimizer = "Ftrl";
  EstimatorOptions estimator;
};
Estimator BaselineClassifier(const BaselineOptions& options,
                             const RunConfig& config = {},
                             const ClassifierOptions& labels = {});
Estimator BaselineRegressor(const BaselineOptions& options,
                            const RunConfig& config = {},
                            const RegressorOptions& labels = {});

// ---- the same models with a custom head ----
//
//   Estimator model = DnnEstimator(
//       MultiLabelHead(3, {.thresholds = {0.5f}}),
//       {.hidden_units = {10}, .feature_columns = columns}, config);

Estimator LinearEstimator(absl::StatusOr<std::shared_ptr<const Head>> head,
                          const LinearOptions& options,
                          const RunConfig& config = {});
Estimator DnnEstimator(absl::StatusOr<std::shared_ptr<const Head>> head,
                       const DnnOptions& options, const RunConfig& config = {});
Estimator DnnLinearCombinedEstimator(
    absl::StatusOr<std::shared_ptr<const Head>> head,
    const DnnLinearCombinedOptions& options, const RunConfig& config = {});
Estimator BaselineEstimator(absl::StatusOr<std::shared_ptr<const Head>> head,
                            const BaselineOptions& options,
                            const RunConfig& config = {});

// ---- parts of the models, for custom models ----
// Returns logits of a deep model, [batch, units], in the variable scope of
// `scope`; `input_layer_partitioner` may be null.

// Returns logits of a deep model, [batch, units], in the variable scope of
// `scope`; `input_layer_partitioner` may be null.
Output DnnLogits(const Scope& scope, const Features& features, bool is_training,
                 const DnnOptions& options, int64_t units,
                 const ops::Partitioner& input_layer_partitioner);
// Returns logits of a linear model, [batch, units].
Output LinearLogits(const Scope& scope, const Features& features,
                    bool is_training, const LinearOptions& options,
                    int64_t units);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CANNED_CANNED_H_
