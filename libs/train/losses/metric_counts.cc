#include "libs/train/losses/metric_counts.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/math/typed_inputs.h"
#include "libs/train/losses/label_shapes.h"
#include "libs/train/losses/metric_variables.h"

namespace weft::metrics {
namespace {

// Fails the step if a prediction is not a probability.
Scope WithPredictionsChecked(const Scope& scope, const Output& predictions) {
  const Output low = ops::GreaterEqual(scope.SubScope("assert_greater_equal"),
                                       predictions, 0.0f);
  const Output high =
      ops::LessEqual(scope.SubScope("assert_less_equal"), predictions, 1.0f);
  const Output both = ops::LogicalAnd(scope, low, high);
  const Output all = ops::All(scope, both, ops::AllAxes(scope, both));
  const Operation check =
      ops::Assert(scope, all, {"predictions must be in [0, 1]", predictions});
  return check ? scope.WithControlDependencies({check}) : scope;
}

// Table holds boolean matrices with one row per threshold and one column per
// prediction.
struct Table {
  Output label;
  Output no_label;
  Output positive;
  Output negative;
  Output weights;  // null: every prediction has weight 1
};

Table MakeTable(const Scope& scope, const Batch& batch,
                absl::Span<const float> thresholds) {
  const Tensor row = Tensor::Vector<int32_t>({1, -1});
  const auto count = static_cast<int64_t>(thresholds.size());
  const Output column = ops::Const(
      scope, Tensor::FromValues(TensorShape({count, 1}), thresholds));
  Table table;
  const Output p = ops::Reshape(scope, batch.predictions, row);
  table.positive = ops::Greater(scope, p, column);
  table.label = ops::Reshape(scope, batch.labels, row);
  table.negative = ops::LogicalNot(scope, table.positive);
  table.no_label = ops::LogicalNot(scope, table.label);
  if (batch.weights) {
    const Output w = ops::CastTo(scope, batch.weights, DT_FLOAT, "weights");
    table.weights = ops::Reshape(
        scope, train::BroadcastWeights(scope, w, batch.predictions), row);
  }
  return table;
}

// CellRows names the two rows of Table that define a cell of the confusion
// matrix. The cell counts the columns in which both rows are true.
struct CellRows {
  CountedCell cell;
  const char* name;
  Output Table::*label;
  Output Table::*prediction;
};
// The cells are in the order in which their variables are created.
constexpr CellRows kRows[] = {
    {&Counts::true_positives, "true_positives", &Table::label,
     &Table::positive},
    {&Counts::false_negatives, "false_negatives", &Table::label,
     &Table::negative},
    {&Counts::true_negatives, "true_negatives", &Table::no_label,
     &Table::negative},
    {&Counts::false_positives, "false_positives", &Table::no_label,
     &Table::positive},
};

void CountCellAtThresholds(const Scope& scope, const Table& table,
                           const CellRows& rows, int64_t num_thresholds,
                           CountedBatch& batch) {
  const ops::Variable variable =
      MetricVariable(scope, rows.name, TensorShape({num_thresholds}));
  Output counted = ops::Cast(
      scope, ops::LogicalAnd(scope, table.*rows.label, table.*rows.prediction),
      DT_FLOAT);
  if (table.weights) {
    counted = ops::Mul(scope.WithName("mul"), counted, table.weights);
  }
  const Output sum = ops::Sum(scope, counted, 1);
  if (!scope.ok()) return;
  batch.value.*rows.cell = variable.value();
  batch.updated.*rows.cell = ops::AssignAdd(scope, variable, sum);
}

}  // namespace

std::vector<float> SpreadThresholds(int count, double last) {
  std::vector<float> result = {static_cast<float>(0.0 - kBeyond)};
  for (int i = 1; i < count - 1; ++i) {
    result.push_back(static_cast<float>(i * 1.0 / (count - 1)));
  }
  result.push_back(static_cast<float>(last));
  return result;
}

bool CheckNumThresholds(const Scope& scope, const char* metric, int count) {
  if (count >= 2) return true;
  scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
      metric, ": num_thresholds must be at least 2, not ", count)));
  return false;
}

CountedBatch CountAtThresholds(const Scope& scope, const Input& labels,
                               const Input& predictions, const Input& weights,
                               absl::Span<const float> thresholds,
                               absl::Span<const CountedCell> cells) {
  const Output p = ops::AsTensor(scope, predictions, DT_FLOAT, "predictions");
  if (!p) return {};
  const Scope checked = WithPredictionsChecked(scope, p);
  const Batch batch =
      MatchShapes(checked, ops::CastTo(checked, labels, DT_BOOL, "labels"),
                  ops::CastTo(checked, p, DT_FLOAT, "predictions"), weights);
  if (!batch) return {};
  const Table table = MakeTable(checked, batch, thresholds);
  CountedBatch result;
  for (const CellRows& rows : kRows) {
    if (!absl::c_linear_search(cells, rows.cell)) continue;
    CountCellAtThresholds(checked, table, rows,
                          static_cast<int64_t>(thresholds.size()), result);
  }
  return result;
}

}  // namespace weft::metrics
