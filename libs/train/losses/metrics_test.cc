// Names, shapes, collections and errors of metrics. integration_tests tests
// the values.
#include "libs/train/losses/metrics.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/state/variable.h"

namespace weft::metrics {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class MetricTest : public testing::Test {
 protected:
  Output Floats(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = shape});
  }
  std::vector<std::string> LocalNames() {
    std::vector<std::string> names;
    for (const auto& variable : ops::LocalVariables(root_)) {
      names.push_back(variable.name());
    }
    return names;
  }
  // Returns the thresholds with which a metric compares predictions.
  std::vector<float> Thresholds() {
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() != "Greater") continue;
      const auto* const value = node->input(1).node->attr<Tensor>("value");
      if (value == nullptr || value->rank() != 2) continue;
      const auto flat = value->flat<float>();
      return {flat.begin(), flat.end()};
    }
    return {};
  }

  const Scope root_ = Scope::Root();
  const Output y_ = Floats({4});
  const Output p_ = Floats({4});
};

TEST_F(MetricTest, NamesMatchTensorFlow) {
  using Named = std::pair<Metric, std::string>;
  const std::vector<Named> all = {
      {Mean(root_, p_), "mean"},
      {Accuracy(root_, y_, p_), "accuracy"},
      {MeanAbsoluteError(root_, y_, p_), "mean_absolute_error"},
      {MeanSquaredError(root_, y_, p_), "mean_squared_error"},
      {Precision(root_, y_, p_), "precision"},
      {Recall(root_, y_, p_), "recall"},
      {SensitivityAtSpecificity(root_, y_, p_, 0.5f),
       "sensitivity_at_specificity"},
      {SpecificityAtSensitivity(root_, y_, p_, 0.5f),
       "specificity_at_sensitivity"},
      {Auc(root_, y_, p_), "auc"},
  };
  ASSERT_OK(root_.status());
  for (const auto& [metric, name] : all) {
    EXPECT_EQ(metric.value.name(), name + "/value:0");
    EXPECT_EQ(metric.update_op.name(), name + "/update_op:0");
  }
}

TEST_F(MetricTest, CountsAreNamedAsInTensorFlow) {
  Mean(root_, p_);
  Precision(root_, y_, p_);
  EXPECT_THAT(LocalNames(), ElementsAre("mean/total", "mean/count",
                                        "precision/true_positives/count",
                                        "precision/false_positives/count"));
  EXPECT_OK(root_.status());
}

TEST_F(MetricTest, SecondMetricHasItsOwnCounts) {
  Mean(root_, p_);
  Mean(root_, p_);
  Mean(root_.WithName("loss"), p_);
  EXPECT_THAT(LocalNames(),
              ElementsAre("mean/total", "mean/count", "mean_1/total",
                          "mean_1/count", "loss/total", "loss/count"));
}

TEST_F(MetricTest, AucKeepsFourCounts) {
  Auc(root_, y_, p_, {.num_thresholds = 5});
  ASSERT_OK(root_.status());
  EXPECT_THAT(LocalNames(),
              ElementsAre("auc/true_positives", "auc/false_negatives",
                          "auc/true_negatives", "auc/false_positives"));
  for (const auto& variable : ops::LocalVariables(root_)) {
    EXPECT_EQ(variable.shape(), PartialShape({5})) << variable.name();
  }
}

TEST_F(MetricTest, AucThresholdsCoverBothEnds) {
  Auc(root_, y_, p_, {.num_thresholds = 5});
  EXPECT_THAT(Thresholds(), ElementsAre(-1e-7f, 0.25f, 0.5f, 0.75f,
                                        static_cast<float>(1 + 1e-7)));
}

TEST_F(MetricTest, GivenThresholdsAreUsed) {
  const Metric metric =
      TruePositivesAtThresholds(root_, y_, p_, {0.25f, 0.75f});
  ASSERT_OK(root_.status());
  EXPECT_THAT(Thresholds(), ElementsAre(0.25f, 0.75f));
  EXPECT_EQ(metric.value.shape(), PartialShape({2}));
  EXPECT_EQ(metric.update_op.shape(), PartialShape({2}));
}

TEST_F(MetricTest, OnlyNeededCellsAreCounted) {
  FalseNegativesAtThresholds(root_, y_, p_, {0.5f});
  PrecisionAtThresholds(root_, y_, p_, {0.5f});
  RecallAtThresholds(root_, y_, p_, {0.5f});
  ASSERT_OK(root_.status());
  EXPECT_THAT(LocalNames(),
              ElementsAre("false_negatives/false_negatives",
                          "precision_at_thresholds/true_positives",
                          "precision_at_thresholds/false_positives",
                          "recall_at_thresholds/true_positives",
                          "recall_at_thresholds/false_negatives"));
}

TEST_F(MetricTest, CellsMayBeCountedAlone) {
  TruePositives(root_, y_, p_);
  FalsePositives(root_, y_, p_);
  TrueNegatives(root_, y_, p_);
  FalseNegatives(root_, y_, p_);
  ASSERT_OK(root_.status());
  EXPECT_THAT(LocalNames(),
              ElementsAre("true_positives/count", "false_positives/count",
                          "true_negatives/count", "false_negatives/count"));
}

TEST_F(MetricTest, MeanPerClassHasOneCountPerClass) {
  const Output ids = ops::Placeholder(root_, DT_INT64, {.shape = {4}});
  MeanPerClassAccuracy(root_, ids, ids, 3, {.weights = Floats({4})});
  ASSERT_OK(root_.status());
  EXPECT_THAT(LocalNames(),
              ElementsAre("mean_accuracy/total", "mean_accuracy/count"));
  for (const auto& variable : ops::LocalVariables(root_)) {
    EXPECT_EQ(variable.shape(), PartialShape({3})) << variable.name();
  }
}

TEST_F(MetricTest, RootMeanSquaredErrorTakesTheRoot) {
  const Metric metric = RootMeanSquaredError(root_, y_, p_);
  ASSERT_OK(root_.status());
  EXPECT_EQ(metric.value.node()->type(), "Sqrt");
  EXPECT_EQ(metric.update_op.node()->type(), "Sqrt");
  EXPECT_THAT(LocalNames(), ElementsAre("root_mean_squared_error/total",
                                        "root_mean_squared_error/count"));
}

TEST_F(MetricTest, MetricsJoinTheGivenCollections) {
  const MetricOptions options = {.metrics_collection = "values",
                                 .updates_collection = "updates"};
  const Metric mean = Mean(root_, p_, options);
  const Metric precision = Precision(root_, y_, p_, options);
  ASSERT_OK(root_.status());
  EXPECT_THAT(root_.GetCollection("values"),
              ElementsAre(mean.value, precision.value));
  EXPECT_THAT(root_.GetCollection("updates"),
              ElementsAre(mean.update_op, precision.update_op));
}

TEST_F(MetricTest, ColumnsAreSqueezed) {
  Accuracy(root_, Floats({4, 1}), Floats({4}));
  MeanSquaredError(root_, Floats({4}), Floats({4, 1}),
                   {.weights = Floats({4, 1})});
  EXPECT_OK(root_.status());
}

TEST_F(MetricTest, ShapesMustMatch) {
  const std::vector<std::function<Metric(const Scope&, Output, Output)>> all = {
      [](auto& s, auto y, auto p) { return Accuracy(s, y, p); },
      [](auto& s, auto y, auto p) { return MeanAbsoluteError(s, y, p); },
      [](auto& s, auto y, auto p) { return Precision(s, y, p); },
      [](auto& s, auto y, auto p) { return Auc(s, y, p); },
  };
  for (const auto& make : all) {
    const Scope root = Scope::Root();
    const Metric metric = make(root, ops::Const(root, Tensor(DT_FLOAT, {4})),
                               ops::Const(root, Tensor(DT_FLOAT, {3})));
    EXPECT_FALSE(metric.value);
    EXPECT_FALSE(metric.update_op);
    EXPECT_THAT(root.status(),
                StatusIs(kInvalid, "Shapes [3] and [4] are incompatible"));
    EXPECT_THAT(root.GetCollection(kMetricVariables), IsEmpty());
  }
}

TEST_F(MetricTest, WeightsMustFitTheValues) {
  EXPECT_FALSE(Mean(root_, p_, {.weights = Floats({3})}).value);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "Mismatch at dim 0."));
}

TEST_F(MetricTest, ThresholdsMustNotBeEmpty) {
  EXPECT_FALSE(PrecisionAtThresholds(root_, y_, p_, {}).value);
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid, "precision_at_thresholds: thresholds are empty"));
}

TEST_F(MetricTest, AtLeastTwoThresholdsAreRequired) {
  for (const int count : {1, 0, -3}) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(Auc(root, 1.0f, 1.0f, {.num_thresholds = count}).value);
    EXPECT_THAT(root.status(),
                StatusIs(kInvalid, "auc: num_thresholds must be at least 2"));
  }
}

TEST_F(MetricTest, RateMustBeBetweenZeroAndOne) {
  for (const float bad :
       {-0.1f, 1.5f, std::numeric_limits<float>::quiet_NaN()}) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(SensitivityAtSpecificity(root, 1.0f, 1.0f, bad).value);
    EXPECT_THAT(root.status(),
                StatusIs(kInvalid, "specificity must be in [0, 1]"));
  }
  EXPECT_FALSE(SpecificityAtSensitivity(root_, y_, p_, 2).value);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "sensitivity must be in [0, 1], not 2"));
}

TEST_F(MetricTest, EachCurveAndSummationIsBuilt) {
  for (const Curve curve : {Curve::kRoc, Curve::kPr}) {
    for (const SummationMethod method :
         {SummationMethod::kTrapezoidal, SummationMethod::kMinoring,
          SummationMethod::kMajoring, SummationMethod::kCarefulInterpolation}) {
      const Metric metric = Auc(
          root_, y_, p_,
          {.num_thresholds = 3, .curve = curve, .summation_method = method});
      ASSERT_OK(root_.status());
      EXPECT_EQ(metric.value.shape(), PartialShape::Scalar());
      EXPECT_EQ(metric.update_op.shape(), PartialShape::Scalar());
    }
  }
  EXPECT_THAT(LocalNames(), SizeIs(8 * 4));
}

}  // namespace
}  // namespace weft::metrics
