// Head: what a model ends with: it knows labels, loss, predictions and metrics
// of a kind of problem, and makes an EstimatorSpec of the model's logits.
// TensorFlow's heads, with its keys and numbers.
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
// Labels out of range are INVALID_ARGUMENT in the step, as are labels, logits
// and weights that have not the batch's shape. Loss and metrics are weighted by
// the weight column, if there is one: [batch, 1], of regression also [batch,
// d].
//
// What is wrong with its options a head says when it is made, or when it is
// used. Immutable. Threads: building as the scope's; its errors stick there.
#ifndef WEFT_LIBS_ESTIMATOR_HEAD_H_
#define WEFT_LIBS_ESTIMATOR_HEAD_H_

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
#include "libs/train/losses.h"

namespace weft::estimator {

// What each example weighs: a feature by its key, of one weight or of one for
// each loss, or a numeric column.
class WeightColumn {
 public:
  WeightColumn() = default;      // all count once
  WeightColumn(const char* key)  // NOLINT
      : WeightColumn(std::string(key)) {}
  WeightColumn(const std::string& key)  // NOLINT
      : key_(key), column_(feature_column::NumericColumn(key)) {}
  WeightColumn(feature_column::FeatureColumn column)  // NOLINT
      : column_(std::move(column)) {}

  bool is_none() const { return column_.column() == nullptr; }
  const feature_column::FeatureColumn& column() const { return column_; }
  // Empty where a column was given.
  const std::string& key() const { return key_; }

 private:
  std::string key_;
  feature_column::FeatureColumn column_;
};

// One loss for each example, [batch, 1], of regression [batch, d]; labels are
// numbers as the table above has them, ids of multi-class heads.
using LossFn = std::function<Output(const Scope& scope, const Output& labels,
                                    const Output& logits)>;
// What is predicted, of the logits; of their shape.
using InverseLinkFn =
    std::function<Output(const Scope& scope, const Output& logits)>;

struct HeadOptions {
  WeightColumn weight_column;
  // The strings that labels are, in the order of their ids; empty: they are
  // numbers. Dense labels of multi-label heads are numbers all the same. Not of
  // regression.
  std::vector<std::string> label_vocabulary;
  // Of the losses of a batch. kNone is INVALID_ARGUMENT.
  losses::Reduction loss_reduction = losses::Reduction::kSum;
  LossFn loss_fn;  // null: that of the kind of problem
  // Of binary and multi-label heads, each in (0, 1): accuracy, precision and
  // recall where a probability above it is positive ("recall/
  // positive_threshold_0.25"). As in TensorFlow, a binary head's accuracy takes
  // the threshold itself for positive, too, and its precision and recall divide
  // by 1e-7 more.
  std::vector<float> thresholds;
  // Of multi-label heads: classes, by id or by string of the vocabulary, whose
  // mean probability and areas under curves are told ("auc/class0",
  // "auc/NAME").
  std::vector<std::variant<int64_t, std::string>>
      classes_for_class_based_metrics;
  // Of regression; null: logits are predictions. For a Poisson regression it is
  // Exp, with a loss_fn to match.
  InverseLinkFn inverse_link_fn;
  // Of the nodes; also after the names of losses and metrics ("loss/NAME").
  std::string name;
};

class Head {
 public:
  virtual ~Head() = default;

  // Makes the operation that trains, of the loss.
  using TrainOpFn =
      std::function<absl::StatusOr<Operation>(const Scope& scope, Output loss)>;
  absl::StatusOr<EstimatorSpec> CreateEstimatorSpec(
      const Scope& scope, const ModelInput& input, const Output& logits,
      const TrainOpFn& train_op_fn) const;

  virtual int64_t logits_dimension() const = 0;

 protected:
  // What is wrong with the options, `status`, fails each use.
  explicit Head(HeadOptions options, absl::Status status = absl::OkStatus())
      : options_(std::move(options)), status_(std::move(status)) {}

  // ---- what a kind of problem says; all [batch, something] ----

  virtual std::map<std::string, Output> Predictions(
      const Scope& scope, const Output& logits) const = 0;
  // The signatures that these predictions make.
  virtual ExportOutputs Exports(
      const std::map<std::string, Output>& predictions) const = 0;
  // How many labels an example has, and how many losses.
  virtual int64_t label_dimension() const = 0;
  virtual int64_t loss_dimension() const { return 1; }
  // [batch, label_dimension] of sparse labels, which most heads refuse.
  virtual absl::StatusOr<Output> FromSparse(
      const Scope& scope, const ops::SparseOutputs& labels) const;
  // Labels as the loss takes them, checked. `labels` is [batch, dimension].
  virtual Output ProcessLabels(const Scope& scope,
                               const Output& labels) const = 0;
  virtual Output UnreducedLoss(const Scope& scope, const Output& labels,
                               const Output& logits) const = 0;
  struct EvalInput {
    Output labels;   // processed
    Output weights;  // [batch, 1 or loss_dimension]; null: all count once
    const std::map<std::string, Output>& predictions;
  };
  // All but average_loss.
  virtual std::map<std::string, metrics::Metric> Metrics(
      const Scope& scope, const EvalInput& input) const = 0;

  // The first is "serving_default", too; with all predictions as "predict".
  static ExportOutputs WithPredict(
      const std::string& name, const ExportOutput& first,
      const std::map<std::string, Output>& predictions);

  // "KEY", or "KEY/NAME" of a head with a name.
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
// n_classes: more than 2.
absl::StatusOr<std::shared_ptr<const Head>> MultiClassHead(
    int64_t n_classes, HeadOptions options = {});
absl::StatusOr<std::shared_ptr<const Head>> MultiLabelHead(
    int64_t n_classes, HeadOptions options = {});
absl::StatusOr<std::shared_ptr<const Head>> RegressionHead(
    int64_t label_dimension = 1, HeadOptions options = {});

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_HEAD_H_
