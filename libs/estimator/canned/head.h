// Head is the last part of a model: it defines labels, loss, predictions and
// metrics for a kind of problem, and builds an EstimatorSpec from the model's
// logits. Keys and numbers are those of TensorFlow's heads.
//
//   head             logits        labels
//   binary           [batch, 1]    0 to 1, [batch] or [batch, 1]; or strings of
//                                  a vocabulary
//   multi-class      [batch, n]    integers from 0 to n - 1, or strings
//   regression       [batch, d]    numbers, [batch, d]; [batch] where d is 1
//   multi-label      [batch, n]    0 or 1 for each class, [batch, n]; or sets
//                                  of ids, or of strings of a vocabulary,
//                                  sparse [batch, any]
//                                  (ModelInput::sparse_labels)
//
// Labels out of range fail the step with INVALID_ARGUMENT, as do labels, logits
// and weights of a wrong shape. Loss and metrics are weighted by the weight
// column, if there is one: [batch, 1], for regression also [batch, d].
//
// Errors in a head's options are returned when the head is created or used. A
// head is immutable. Functions that build a graph are as thread-safe as their
// scope, and their errors stick to it.
#ifndef WEFT_LIBS_ESTIMATOR_CANNED_HEAD_H_
#define WEFT_LIBS_ESTIMATOR_CANNED_HEAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/estimator/estimator_spec.h"
#include "libs/feature_column/feature_column.h"
#include "libs/train/losses/losses.h"

namespace weft::estimator {

// WeightColumn gives the weights of examples: a feature key, with one weight
// per example or per loss, or a numeric column.
class WeightColumn {
 public:
  WeightColumn() = default;      // all weights are 1
  WeightColumn(const char* key)  // NOLINT
      : WeightColumn(std::string(key)) {}
  WeightColumn(const std::string& key)  // NOLINT
      : key_(key), column_(feature_column::NumericColumn(key)) {}
  WeightColumn(feature_column::FeatureColumn column)  // NOLINT
      : column_(std::move(column)) {}

  bool is_none() const { return column_.column() == nullptr; }
  const feature_column::FeatureColumn& column() const { return column_; }
  // Key of the weight feature; empty if a column was given.
  const std::string& key() const { return key_; }

 private:
  std::string key_;
  feature_column::FeatureColumn column_;
};

// Returns one loss per example: [batch, 1], or [batch, d] for regression. The
// labels are numbers as in the table above; for multi-class heads they are ids.
using LossFn = std::function<Output(const Scope& scope, const Output& labels,
                                    const Output& logits)>;
// Returns predictions from logits, of the same shape.
using InverseLinkFn =
    std::function<Output(const Scope& scope, const Output& logits)>;

struct HeadOptions {
  WeightColumn weight_column;
  // Strings of the labels, in the order of their ids; empty: labels are
  // numbers. Dense labels of multi-label heads are always numbers. Not for
  // regression.
  std::vector<std::string> label_vocabulary;
  // Reduction over the losses of a batch. kNone is INVALID_ARGUMENT.
  losses::Reduction loss_reduction = losses::Reduction::kSum;
  LossFn loss_fn;  // null: the default of this kind of head
  // Thresholds in (0, 1), for binary and multi-label heads. For each of them,
  // accuracy, precision and recall are reported, where a probability above the
  // threshold counts as positive ("recall/positive_threshold_0.25"). As in
  // TensorFlow, a binary head's accuracy also counts a probability equal to the
  // threshold as positive, and its precision and recall add 1e-7 to the
  // divisor.
  std::vector<float> thresholds;
  // For multi-label heads: classes, given by id or by vocabulary string. The
  // mean probability and the areas under curves of each class are reported
  // ("auc/class0", "auc/NAME").
  std::vector<std::variant<int64_t, std::string>>
      classes_for_class_based_metrics;
  // For regression: maps logits to predictions; null: the logits are the
  // predictions. For a Poisson regression set Exp, and a matching loss_fn.
  InverseLinkFn inverse_link_fn;
  // Name of the nodes, and suffix of losses and metrics ("loss/NAME").
  std::string name;
};

class Head {
 public:
  virtual ~Head() = default;

  // Returns the training operation for a loss.
  using TrainOpFn =
      std::function<absl::StatusOr<Operation>(const Scope& scope, Output loss)>;
  absl::StatusOr<EstimatorSpec> CreateEstimatorSpec(
      const Scope& scope, const ModelInput& input, const Output& logits,
      const TrainOpFn& train_op_fn) const;

  virtual int64_t logits_dimension() const = 0;

 protected:
  // `status` is the error of invalid options. If it is not OK, each use of the
  // head fails with it.
  explicit Head(HeadOptions options, absl::Status status = absl::OkStatus())
      : options_(std::move(options)), status_(std::move(status)) {}

  // ---- functions that each kind of head overrides; all tensors are [batch,
  // ...] ----

  virtual std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const = 0;
  // Returns the signatures for these predictions.
  virtual ExportOutputs Exports(
      const std::map<std::string, Output>& predictions) const = 0;
  // Number of labels, and of losses, per example.
  virtual int64_t label_dimension() const = 0;
  virtual int64_t loss_dimension() const { return 1; }
  // Converts sparse labels to [batch, label_dimension]; most heads reject them.
  virtual absl::StatusOr<Output> FromSparse(
      const Scope& scope, const ops::SparseOutputs& labels) const;
  // Checks `labels`, [batch, dimension], and returns them in the form that the
  // loss needs.
  virtual Output ProcessLabels(const Scope& scope,
                               const Output& labels) const = 0;
  virtual Output UnreducedLoss(const Scope& scope, const Output& labels,
                               const Output& logits) const = 0;
  struct EvalInput {
    Output labels;   // processed by ProcessLabels
    Output weights;  // [batch, 1 or loss_dimension]; null: all 1
    const std::map<std::string, Output>& predictions;
  };
  // Returns all metrics except average_loss.
  virtual std::map<std::string, metrics::Metric> Metrics(
      const Scope& scope, const EvalInput& input) const = 0;

  // Returns `first` as signature "serving_default" and as `name`, and all
  // predictions as signature "predict".
  static ExportOutputs WithPredict(
      const std::string& name, const ExportOutput& first,
      const std::map<std::string, Output>& predictions);

  // Returns "KEY", or "KEY/NAME" if the head has a name.
  std::string Key(absl::string_view key) const;

  const HeadOptions options_;

 private:
  struct Loss {
    Output labels, weights, unreduced, training, regularization, total;
  };
  absl::StatusOr<Output> MakeLabels(const Scope& scope, const ModelInput& input,
                                    const Output& logits) const;
  absl::StatusOr<Output> MakeUnreduced(const Scope& scope, const Output& labels,
                                       const Output& logits) const;
  absl::StatusOr<Output> MakeWeights(const Scope& scope,
                                     const ModelInput& input,
                                     const Output& logits) const;
  absl::StatusOr<Loss> MakeLoss(const Scope& scope, const ModelInput& input,
                                const Output& logits) const;
  void AddSummaries(const Scope& scope, const Loss& loss) const;
  absl::Status AddMetrics(const Scope& scope, const Loss& loss,
                          EstimatorSpec& spec) const;

  const absl::Status status_;
};

std::shared_ptr<const Head> BinaryClassHead(HeadOptions options = {});
// REQUIRES: n_classes > 2.
absl::StatusOr<std::shared_ptr<const Head>> MultiClassHead(
    int64_t n_classes, HeadOptions options = {});
absl::StatusOr<std::shared_ptr<const Head>> MultiLabelHead(
    int64_t n_classes, HeadOptions options = {});
absl::StatusOr<std::shared_ptr<const Head>> RegressionHead(
    int64_t label_dimension = 1, HeadOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CANNED_HEAD_H_
