// Tests tf.metrics on a stream of batches. The expected numbers and names are
// those of TensorFlow 2.21 (tf.compat.v1).
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "integration_tests/testing/graph_test.h"

namespace weft {
namespace {

using metrics::Metric;

class MetricsTest : public GraphTest {
 protected:
  Output Ints(int64_t size = 4) {
    return ops::Placeholder(root_, DT_INT64, {.shape = {size}});
  }
  Output Floats(int64_t size) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = {size}});
  }
  static Tensor I(std::initializer_list<int64_t> values) {
    return Tensor::Vector(values);
  }
  static Tensor F(std::initializer_list<float> values) {
    return Tensor::Vector(values);
  }
  // Updates the metric with one more batch. Expects `expected` from its
  // update_op and then from its value.
  void ExpectAfter(const Metric& metric, const FeedList& batch,
                   float expected) {
    EXPECT_THAT(Run(batch, metric.update_op), FloatsNear({expected}));
    EXPECT_THAT(Run(metric.value), FloatsNear({expected}));
  }
  void Begin() {
    ASSERT_OK(root_.status());
    RunOperation(ops::LocalVariablesInitializer(root_));
  }
};

TEST_F(MetricsTest, AccuracyMatchesTensorFlow) {
  const Output y = Ints(), p = Ints();
  const Metric accuracy = metrics::Accuracy(root_, y, p);
  Begin();
  EXPECT_EQ(accuracy.value.name(), "accuracy/value:0");
  EXPECT_EQ(accuracy.update_op.name(), "accuracy/update_op:0");
  EXPECT_THAT(Run(accuracy.value), FloatsNear({0}));
  ExpectAfter(accuracy, {{y, I({1, 2, 3, 4})}, {p, I({1, 2, 0, 4})}}, 0.75f);
  ExpectAfter(accuracy, {{y, I({0, 0, 1, 1})}, {p, I({1, 1, 1, 0})}}, 0.5f);
  Begin();
  EXPECT_THAT(Run(accuracy.value), FloatsNear({0}));
}

TEST_F(MetricsTest, CountsAreLocalVariables) {
  metrics::Accuracy(root_, Ints(), Ints());
  ASSERT_OK(root_.status());
  std::vector<std::string> names;
  for (const auto& variable : ops::LocalVariables(root_)) {
    EXPECT_FALSE(variable.trainable());
    names.push_back(variable.name());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"accuracy/total", "accuracy/count"}));
  EXPECT_EQ(root_.GetCollection("metric_variables"),
            root_.GetCollection("local_variables"));
  EXPECT_TRUE(ops::GlobalVariables(root_).empty());
  EXPECT_TRUE(ops::TrainableVariables(root_).empty());
}

TEST_F(MetricsTest, SecondMetricHasItsOwnVariables) {
  metrics::Accuracy(root_, Ints(), Ints());
  EXPECT_EQ(metrics::Accuracy(root_, Ints(), Ints()).value.name(),
            "accuracy_1/value:0");
  EXPECT_EQ(
      metrics::Accuracy(root_.WithName("my"), Ints(), Ints()).value.name(),
      "my/value:0");
  EXPECT_NE(Find("my/total"), nullptr);
}

TEST_F(MetricsTest, WeightedAccuracyMatchesTensorFlow) {
  const Output y = Ints(), p = Ints(), w = Floats(4);
  const Metric accuracy = metrics::Accuracy(root_, y, p, {.weights = w});
  Begin();
  ExpectAfter(
      accuracy,
      {{y, I({1, 2, 3, 4})}, {p, I({1, 2, 0, 4})}, {w, F({1, .5f, 2, 0})}},
      0.42857143f);
  ExpectAfter(
      accuracy,
      {{y, I({0, 0, 1, 1})}, {p, I({1, 1, 1, 0})}, {w, F({1, 1, 3, 1})}},
      0.47368422f);
}

// Labels and predictions are compared in the type of the labels. A cast to int
// truncates, so the result depends on which of them is cast.
TEST_F(MetricsTest, AccuracyComparesInTheTypeOfLabels) {
  const Output y = Ints(), p = Floats(4);
  const Metric of_ints = metrics::Accuracy(root_, y, p);
  const Metric of_floats = metrics::Accuracy(root_, p, y);
  Begin();
  ExpectAfter(of_ints, {{y, I({1, 0, 1, 2})}, {p, F({1.7f, .3f, 1, 2.5f})}}, 1);
  ExpectAfter(of_floats, {{p, F({1, 0, 1.2f, 2.5f})}, {y, I({1, 0, 1, 2})}},
              0.5f);
}

TEST_F(MetricsTest, LabelColumnIsSqueezed) {
  const Output y = ops::Placeholder(root_, DT_INT64, {.shape = {4, 1}});
  const Output p = Ints();
  const Metric accuracy = metrics::Accuracy(root_, y, p);
  Begin();
  ExpectAfter(
      accuracy,
      {{y, Tensor::FromValues<int64_t>(TensorShape({4, 1}), {1, 2, 3, 4})},
       {p, I({1, 2, 0, 4})}},
      0.75f);
}

TEST_F(MetricsTest, MeanMatchesTensorFlow) {
  const Output x = Floats(3), w = Floats(3);
  const Metric mean = metrics::Mean(root_, x);
  const Metric weighted = metrics::Mean(root_, x, {.weights = w});
  const Metric doubled = metrics::Mean(root_, x, {.weights = 2.0f});
  Begin();
  EXPECT_EQ(mean.value.name(), "mean/value:0");
  const FeedList first = {{x, F({1, 2, 6})}, {w, F({1, 0, .5f})}};
  const FeedList second = {{x, F({4, 4, 5})}, {w, F({2, 1, 1})}};
  ExpectAfter(mean, {first[0]}, 3);
  ExpectAfter(mean, {second[0]}, 3.66666675f);
  ExpectAfter(weighted, first, 2.66666675f);
  ExpectAfter(weighted, second, 3.81818175f);
  ExpectAfter(doubled, {first[0]}, 3);
}

TEST_F(MetricsTest, MeanMayHaveUnknownShape) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Metric mean = metrics::Mean(root_, x);
  Begin();
  ExpectAfter(mean, {{x, F({1, 2, 6})}}, 3);
  ExpectAfter(mean, {{x, Tensor::Scalar(7.0f)}}, 4);
}

TEST_F(MetricsTest, ErrorMetricsMatchTensorFlow) {
  const Output y = Floats(3), p = Floats(3);
  const Metric squares = metrics::MeanSquaredError(root_, y, p);
  const Metric roots = metrics::RootMeanSquaredError(root_, y, p);
  const Metric absolute = metrics::MeanAbsoluteError(root_, y, p);
  Begin();
  EXPECT_EQ(squares.value.name(), "mean_squared_error/value:0");
  EXPECT_EQ(absolute.update_op.name(), "mean_absolute_error/update_op:0");
  EXPECT_EQ(roots.value.name(), "Sqrt:0");
  EXPECT_NE(Find("root_mean_squared_error/total"), nullptr);
  const FeedList first = {{y, F({1, 2, 6})}, {p, F({2, 2, 4})}};
  const FeedList second = {{y, F({0, 0, 1})}, {p, F({3, 1, 1})}};
  ExpectAfter(squares, first, 1.66666663f);
  ExpectAfter(squares, second, 2.5f);
  ExpectAfter(roots, first, 1.29099441f);
  ExpectAfter(roots, second, 1.58113885f);
  ExpectAfter(absolute, first, 1);
  ExpectAfter(absolute, second, 1.16666663f);
}

TEST_F(MetricsTest, PrecisionMatchesTensorFlow) {
  const Output y = Ints(), p = Ints();
  const Metric precision = metrics::Precision(root_, y, p);
  Begin();
  EXPECT_EQ(precision.value.name(), "precision/value:0");
  EXPECT_EQ(precision.update_op.name(), "precision/update_op:0");
  EXPECT_NE(Find("precision/true_positives/count"), nullptr);
  EXPECT_NE(Find("precision/false_positives/count"), nullptr);
  EXPECT_THAT(Run(precision.value), FloatsNear({0}));
  ExpectAfter(precision, {{y, I({1, 0, 1, 0})}, {p, I({1, 1, 1, 0})}},
              0.66666669f);
  ExpectAfter(precision, {{y, I({1, 1, 1, 0})}, {p, I({0, 0, 0, 1})}}, 0.5f);
}

TEST_F(MetricsTest, RecallMatchesTensorFlow) {
  const Output y = Ints(), p = Ints();
  const Metric recall = metrics::Recall(root_, y, p);
  Begin();
  EXPECT_EQ(recall.value.name(), "recall/value:0");
  EXPECT_NE(Find("recall/false_negatives/count"), nullptr);
  ExpectAfter(recall, {{y, I({1, 0, 1, 0})}, {p, I({1, 1, 1, 0})}}, 1);
  ExpectAfter(recall, {{y, I({1, 1, 1, 0})}, {p, I({0, 0, 0, 1})}}, 0.4f);
}

TEST_F(MetricsTest, WeightedPrecisionAndRecallMatchTensorFlow) {
  const Output y = Ints(), p = Ints(), w = Floats(4);
  const Metric precision = metrics::Precision(root_, y, p, {.weights = w});
  const Metric recall = metrics::Recall(root_, y, p, {.weights = w});
  Begin();
  const Tensor weights = F({.5f, 2, 1, 1});
  ExpectAfter(precision,
              {{y, I({1, 0, 1, 0})}, {p, I({1, 1, 1, 0})}, {w, weights}},
              0.42857143f);
  ExpectAfter(recall,
              {{y, I({1, 0, 1, 0})}, {p, I({1, 1, 0, 0})}, {w, weights}},
              0.33333334f);
}

TEST_F(MetricsTest, CellsOfTheConfusionMatrixAreCounted) {
  const Output y = Ints(), p = Ints();
  const std::vector<Metric> cells = {metrics::TruePositives(root_, y, p),
                                     metrics::FalsePositives(root_, y, p),
                                     metrics::TrueNegatives(root_, y, p),
                                     metrics::FalseNegatives(root_, y, p)};
  Begin();
  EXPECT_EQ(cells[0].value.name(), "true_positives/Identity:0");
  const FeedList batch = {{y, I({1, 0, 1, 1})}, {p, I({1, 1, 0, 0})}};
  const std::vector<float> counts = {1, 1, 0, 2};
  for (size_t i = 0; i < cells.size(); ++i) {
    ExpectAfter(cells[i], batch, counts[i]);
  }
}

TEST_F(MetricsTest, MetricsAreAddedToCollections) {
  const Metric mean = metrics::Mean(
      root_, Floats(2),
      {.metrics_collection = "values", .updates_collection = "updates"});
  ASSERT_OK(root_.status());
  EXPECT_EQ(root_.GetCollection("values"), std::vector<Output>{mean.value});
  EXPECT_EQ(root_.GetCollection("updates"),
            std::vector<Output>{mean.update_op});
}

// ---- metrics at thresholds ----

class ThresholdMetricsTest : public MetricsTest {
 protected:
  // Expects the results for the four batches of TensorFlow's
  // distribute/metrics_v1_test.py.
  void ExpectOfFourBatches(const std::vector<float>& expected,
                           const std::function<Metric(Output, Output)>& make) {
    const Output y = Ints(3), p = Floats(3);
    const Metric metric = make(y, p);
    Begin();
    const std::vector<Tensor> labels = {I({1, 0, 1}), I({0, 1, 0}),
                                        I({1, 0, 1}), I({0, 1, 0})};
    const std::vector<Tensor> predictions = {F({1, .75f, .25f}),
                                             F({0, 1, .75f}), F({.25f, 0, 1}),
                                             F({.75f, .25f, 0})};
    for (size_t i = 0; i < expected.size(); ++i) {
      ExpectAfter(metric, {{y, labels[i]}, {p, predictions[i]}}, expected[i]);
    }
  }
  // Expects the result for ten predictions from TensorFlow's
  // kernel_tests/metrics_test.py.
  void ExpectOfTen(const Metric& metric, const Output& y, const Output& p,
                   const Tensor& predictions, float expected) {
    Begin();
    ExpectAfter(metric,
                {{y, I({0, 0, 0, 0, 0, 1, 1, 1, 1, 1})}, {p, predictions}},
                expected);
  }
  std::vector<std::string> LocalNames() {
    std::vector<std::string> names;
    for (const auto& variable : ops::LocalVariables(root_)) {
      names.push_back(variable.name());
    }
    return names;
  }
};

TEST_F(ThresholdMetricsTest, PrecisionAtThresholds) {
  ExpectOfFourBatches({.5f, .5f, .6f, .5f}, [&](Output y, Output p) {
    return metrics::PrecisionAtThresholds(root_, y, p, {.5f});
  });
  EXPECT_NE(Find("precision_at_thresholds/precision_value"), nullptr);
  EXPECT_NE(Find("precision_at_thresholds/precision_update_op"), nullptr);
  EXPECT_EQ(LocalNames(), (std::vector<std::string>{
                              "precision_at_thresholds/true_positives",
                              "precision_at_thresholds/false_positives"}));
}

TEST_F(ThresholdMetricsTest, RecallAtThresholds) {
  ExpectOfFourBatches({.5f, 2.0f / 3, .6f, .5f}, [&](Output y, Output p) {
    return metrics::RecallAtThresholds(root_, y, p, {.5f});
  });
  EXPECT_NE(Find("recall_at_thresholds/recall_value"), nullptr);
  EXPECT_EQ(LocalNames(),
            (std::vector<std::string>{"recall_at_thresholds/true_positives",
                                      "recall_at_thresholds/false_negatives"}));
}

TEST_F(ThresholdMetricsTest, TruePositivesAtThresholds) {
  ExpectOfFourBatches({1, 2, 3, 3}, [&](Output y, Output p) {
    return metrics::TruePositivesAtThresholds(root_, y, p, {.5f});
  });
  EXPECT_NE(Find("true_positives/true_positives"), nullptr);
}

TEST_F(ThresholdMetricsTest, FalsePositivesAtThresholds) {
  ExpectOfFourBatches({1, 2, 2, 3}, [&](Output y, Output p) {
    return metrics::FalsePositivesAtThresholds(root_, y, p, {.5f});
  });
}

TEST_F(ThresholdMetricsTest, TrueNegativesAtThresholds) {
  ExpectOfFourBatches({0, 1, 2, 3}, [&](Output y, Output p) {
    return metrics::TrueNegativesAtThresholds(root_, y, p, {.5f});
  });
}

TEST_F(ThresholdMetricsTest, FalseNegativesAtThresholds) {
  ExpectOfFourBatches({1, 1, 2, 3}, [&](Output y, Output p) {
    return metrics::FalseNegativesAtThresholds(root_, y, p, {.5f});
  });
}

// No prediction exceeds 1, and all exceed -1.
TEST_F(ThresholdMetricsTest, ThresholdsMayBeBeyondAllPredictions) {
  const Output y = Ints(), p = Floats(4);
  const Metric precision = metrics::PrecisionAtThresholds(root_, y, p, {-1, 2});
  const Metric recall = metrics::RecallAtThresholds(root_, y, p, {-1, 2});
  Begin();
  const FeedList batch = {{y, I({0, 1, 1, 1})}, {p, F({1, 0, 1, 0})}};
  EXPECT_THAT(Run(batch, precision.update_op), FloatsNear({.75f, 0}));
  EXPECT_THAT(Run(batch, recall.update_op), FloatsNear({1, 0}));
}

// The first row has weight 0, so only the second row counts.
TEST_F(ThresholdMetricsTest, WeightsAreBroadcast) {
  const Output y = ops::Placeholder(root_, DT_INT64, {.shape = {2, 2}});
  const Output p = ops::Placeholder(root_, DT_FLOAT, {.shape = {2, 2}});
  const Output w = ops::Placeholder(root_, DT_FLOAT, {.shape = {2, 1}});
  const Metric precision =
      metrics::PrecisionAtThresholds(root_, y, p, {.5f, 1.1f}, {.weights = w});
  const Metric recall =
      metrics::RecallAtThresholds(root_, y, p, {.5f, 1.1f}, {.weights = w});
  Begin();
  const TensorShape square({2, 2});
  const FeedList batch = {
      {y, Tensor::FromValues<int64_t>(square, {0, 1, 1, 0})},
      {p, Tensor::FromValues<float>(square, {1, 0, 1, 0})},
      {w, Tensor::FromValues<float>(TensorShape({2, 1}), {0, 1})}};
  EXPECT_THAT(Run(batch, precision.update_op), FloatsNear({1, 0}));
  EXPECT_THAT(Run(batch, recall.update_op), FloatsNear({1, 0}));
}

TEST_F(ThresholdMetricsTest, EmptyThresholdsAreRejected) {
  metrics::PrecisionAtThresholds(root_, Ints(), Floats(4), {});
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid, "precision_at_thresholds: thresholds are empty"));
}

TEST_F(ThresholdMetricsTest, PredictionsAbove1AreRejected) {
  const Output y = Ints(), p = Floats(4);
  const Metric recall = metrics::RecallAtThresholds(root_, y, p, {.5f});
  Begin();
  EXPECT_THAT(session().Run({{y, I({1, 0, 1, 0})}, {p, F({1, 0, 1.5f, 0})}},
                            recall.update_op),
              StatusIs(kInvalid, "predictions must be in [0, 1]"));
}

TEST_F(ThresholdMetricsTest, SensitivityAtSpecificity) {
  ExpectOfFourBatches({.5f, 2.0f / 3, .6f, .5f}, [&](Output y, Output p) {
    return metrics::SensitivityAtSpecificity(root_, y, p, .8f);
  });
  EXPECT_NE(Find("sensitivity_at_specificity/value"), nullptr);
  EXPECT_NE(Find("sensitivity_at_specificity/update_op"), nullptr);
}

TEST_F(ThresholdMetricsTest, SpecificityAtSensitivity) {
  ExpectOfFourBatches({0, 1.0f / 3, .5f, .5f}, [&](Output y, Output p) {
    return metrics::SpecificityAtSensitivity(root_, y, p, .95f);
  });
  EXPECT_NE(Find("specificity_at_sensitivity/value"), nullptr);
}

TEST_F(ThresholdMetricsTest, RatesOfWeightedPredictions) {
  const Output y = Ints(10), p = Floats(10);
  const Tensor w = F({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ExpectOfTen(
      metrics::SensitivityAtSpecificity(root_, y, p, .4f, {.weights = w}), y, p,
      F({0, .1f, .2f, .3f, .4f, .01f, .02f, .25f, .26f, .26f}), .675f);
  ExpectOfTen(
      metrics::SpecificityAtSensitivity(root_, y, p, .4f, {.weights = w}), y, p,
      F({.1f, .2f, .4f, .3f, 0, .1f, .2f, .2f, .26f, .26f}), 8.0f / 15);
}

TEST_F(ThresholdMetricsTest, RatesOutside0And1AreRejected) {
  metrics::SensitivityAtSpecificity(root_, Ints(), Floats(4), 1.5f);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "specificity must be in [0, 1]"));
}

TEST_F(ThresholdMetricsTest, NanRateIsRejected) {
  metrics::SpecificityAtSensitivity(root_, Ints(), Floats(4), NAN);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "sensitivity must be in [0, 1]"));
}

// ---- areas under curves ----

class AucTest : public MetricsTest {
 protected:
  // Expects the area `first` after one batch and `second` after two batches.
  void ExpectAreas(const metrics::AucOptions& options, float first,
                   float second) {
    const Output y = Ints(6), p = Floats(6);
    const Metric auc = metrics::Auc(root_, y, p, options);
    Begin();
    EXPECT_THAT(Run(auc.value), FloatsNear({0}));
    ExpectAfter(
        auc,
        {{y, I({0, 0, 1, 1, 1, 0})}, {p, F({.1f, .4f, .35f, .8f, .65f, .2f})}},
        first);
    ExpectAfter(
        auc,
        {{y, I({0, 1, 1, 0, 1, 1})}, {p, F({.9f, .3f, .55f, .05f, .5f, .7f})}},
        second);
  }
};

TEST_F(AucTest, RocAreaMatchesTensorFlow) {
  ExpectAreas({}, 0.88888866f, 0.74285704f);
  EXPECT_NE(Find("auc/value"), nullptr);
  EXPECT_NE(Find("auc/update_op"), nullptr);
  std::vector<std::string> names;
  for (const auto& variable : ops::LocalVariables(root_)) {
    names.push_back(variable.name());
    EXPECT_EQ(variable.shape(), PartialShape({200}));
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "auc/true_positives", "auc/false_negatives",
                       "auc/true_negatives", "auc/false_positives"}));
}

TEST_F(AucTest, PrAreaMatchesTensorFlow) {
  ExpectAreas({.curve = metrics::Curve::kPr}, 0.90277755f, 0.66133785f);
}

TEST_F(AucTest, CarefulInterpolationMatchesTensorFlow) {
  ExpectAreas(
      {.curve = metrics::Curve::kPr,
       .summation_method = metrics::SummationMethod::kCarefulInterpolation},
      0.90410602f, 0.67223024f);
  EXPECT_NE(Find("auc/interpolate_pr_auc"), nullptr);
}

TEST_F(AucTest, LowerAndUpperSumsMatchTensorFlow) {
  using metrics::Curve;
  using metrics::SummationMethod;
  ExpectAreas({.num_thresholds = 7,
               .curve = Curve::kPr,
               .summation_method = SummationMethod::kMinoring},
              0.91666639f, 0.50476217f);
  ExpectAreas(
      {.num_thresholds = 7, .summation_method = SummationMethod::kMinoring},
      0.88888872f, 0.68571419f);
  ExpectAreas({.num_thresholds = 7,
               .curve = Curve::kPr,
               .summation_method = SummationMethod::kMajoring},
              0.99999964f, 0.75476182f);
  ExpectAreas(
      {.num_thresholds = 7, .summation_method = SummationMethod::kMajoring},
      0.99999976f, 0.77142847f);
}

TEST_F(AucTest, WeightedAreaMatchesTensorFlow) {
  const Output y = Ints(6), p = Floats(6), w = Floats(6);
  const Metric auc =
      metrics::Auc(root_, y, p, {.weights = w, .num_thresholds = 5});
  Begin();
  ExpectAfter(auc,
              {{y, I({0, 0, 1, 1, 1, 0})},
               {p, F({.1f, .4f, .35f, .8f, .65f, .2f})},
               {w, F({1, 0, 2, .5f, 1, 1})}},
              0.99999952f);
}

TEST_F(AucTest, MatricesOfPredictionsAreAccepted) {
  const Output y = ops::Const(
      root_, Tensor::FromValues<bool>(TensorShape({3, 2}),
                                      {false, false, true, true, true, false}));
  const Output p = Matrix({{.1f, .4f}, {.35f, .8f}, {.65f, .2f}});
  const Metric auc =
      metrics::Auc(root_, y, p, {.weights = Matrix({{1}, {.5f}, {2}})});
  Begin();
  ExpectAfter(auc, {}, 0.95833313f);
}

TEST_F(AucTest, PredictionsAboveOneFailTheStep) {
  const Output y = Ints(2), p = Floats(2);
  const Metric auc = metrics::Auc(root_, y, p);
  Begin();
  for (const float bad : {-0.1f, 1.1f}) {
    EXPECT_THAT(
        session().Run({{y, I({0, 1})}, {p, F({.5f, bad})}}, auc.update_op),
        StatusIs(kInvalid, "predictions must be in [0, 1]"));
  }
  EXPECT_THAT(Run(auc.value), FloatsNear({0}));
}

TEST_F(AucTest, TooFewThresholdsAreRejected) {
  metrics::Auc(root_, Ints(2), Floats(2), {.num_thresholds = 1});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "num_thresholds"));
}

// ---- errors ----

TEST_F(MetricsTest, MismatchedShapesAreRejected) {
  metrics::Accuracy(root_, Ints(2), Ints(3));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "are incompatible"));
  EXPECT_TRUE(ops::LocalVariables(root_).empty());
}

TEST_F(MetricsTest, MismatchedWeightsAreRejected) {
  const Metric mean = metrics::Mean(root_, Floats(2), {.weights = Floats(3)});
  EXPECT_FALSE(mean.value);
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid,
               "weights can not be broadcast to values. Mismatch at dim "
               "0."));
}

TEST_F(MetricsTest, NullArgumentsAreRejected) {
  metrics::Recall(root_, Ints(), Output());
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "predictions must not be null"));
}

TEST_F(MetricsTest, UnknownWeightShapesAreCheckedAtRunTime) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output w = ops::Placeholder(root_, DT_FLOAT);
  const Metric mean = metrics::Mean(root_, x, {.weights = w});
  Begin();
  EXPECT_THAT(
      session().Run({{x, F({1, 2, 3})}, {w, F({1, 2})}}, mean.update_op),
      StatusIs(kInvalid, "weights can not be broadcast to values."));
  ExpectAfter(mean, {{x, F({1, 2, 3})}, {w, F({0, 0, 1})}}, 3);
}

}  // namespace
}  // namespace weft
