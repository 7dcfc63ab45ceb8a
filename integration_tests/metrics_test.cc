// tf.metrics over a stream of batches. The numbers and names that are expected
// are TensorFlow 2.21's (tf.compat.v1).
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
  // Both after one more batch: update_op's value, and then the value itself.
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

TEST_F(MetricsTest, Accuracy) {
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

TEST_F(MetricsTest, ASecondOneHasVariablesOfItsOwn) {
  metrics::Accuracy(root_, Ints(), Ints());
  EXPECT_EQ(metrics::Accuracy(root_, Ints(), Ints()).value.name(),
            "accuracy_1/value:0");
  EXPECT_EQ(
      metrics::Accuracy(root_.WithName("my"), Ints(), Ints()).value.name(),
      "my/value:0");
  EXPECT_NE(Find("my/total"), nullptr);
}

TEST_F(MetricsTest, AccuracyWithWeights) {
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

// A cast drops what is behind the point, so that it matters which of the two
// is cast.
TEST_F(MetricsTest, AccuracyComparesInTheTypeOfLabels) {
  const Output y = Ints(), p = Floats(4);
  const Metric of_ints = metrics::Accuracy(root_, y, p);
  const Metric of_floats = metrics::Accuracy(root_, p, y);
  Begin();
  ExpectAfter(of_ints, {{y, I({1, 0, 1, 2})}, {p, F({1.7f, .3f, 1, 2.5f})}}, 1);
  ExpectAfter(of_floats, {{p, F({1, 0, 1.2f, 2.5f})}, {y, I({1, 0, 1, 2})}},
              0.5f);
}

TEST_F(MetricsTest, AColumnOfLabelsIsTaken) {
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

TEST_F(MetricsTest, Mean) {
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

TEST_F(MetricsTest, MeanOfUnknownShape) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Metric mean = metrics::Mean(root_, x);
  Begin();
  ExpectAfter(mean, {{x, F({1, 2, 6})}}, 3);
  ExpectAfter(mean, {{x, Tensor::Scalar(7.0f)}}, 4);
}

TEST_F(MetricsTest, Errors) {
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

TEST_F(MetricsTest, Precision) {
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

TEST_F(MetricsTest, Recall) {
  const Output y = Ints(), p = Ints();
  const Metric recall = metrics::Recall(root_, y, p);
  Begin();
  EXPECT_EQ(recall.value.name(), "recall/value:0");
  EXPECT_NE(Find("recall/false_negatives/count"), nullptr);
  ExpectAfter(recall, {{y, I({1, 0, 1, 0})}, {p, I({1, 1, 1, 0})}}, 1);
  ExpectAfter(recall, {{y, I({1, 1, 1, 0})}, {p, I({0, 0, 0, 1})}}, 0.4f);
}

TEST_F(MetricsTest, PrecisionAndRecallWithWeights) {
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

TEST_F(MetricsTest, EachCellOfTheConfusionMatrix) {
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

TEST_F(MetricsTest, Collections) {
  const Metric mean = metrics::Mean(
      root_, Floats(2),
      {.metrics_collection = "values", .updates_collection = "updates"});
  ASSERT_OK(root_.status());
  EXPECT_EQ(root_.GetCollection("values"), std::vector<Output>{mean.value});
  EXPECT_EQ(root_.GetCollection("updates"),
            std::vector<Output>{mean.update_op});
}

// ---- areas ----

class AucTest : public MetricsTest {
 protected:
  // The area after each of two batches.
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

TEST_F(AucTest, Roc) {
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

TEST_F(AucTest, Pr) {
  ExpectAreas({.curve = metrics::Curve::kPr}, 0.90277755f, 0.66133785f);
}

TEST_F(AucTest, PrWithCarefulInterpolation) {
  ExpectAreas(
      {.curve = metrics::Curve::kPr,
       .summation_method = metrics::SummationMethod::kCarefulInterpolation},
      0.90410602f, 0.67223024f);
  EXPECT_NE(Find("auc/interpolate_pr_auc"), nullptr);
}

TEST_F(AucTest, LowerAndUpperSums) {
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

TEST_F(AucTest, WithWeights) {
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

TEST_F(AucTest, OfMatrices) {
  const Output y = ops::Const(
      root_, Tensor::FromValues<bool>(TensorShape({3, 2}),
                                      {false, false, true, true, true, false}));
  const Output p = Matrix({{.1f, .4f}, {.35f, .8f}, {.65f, .2f}});
  const Metric auc =
      metrics::Auc(root_, y, p, {.weights = Matrix({{1}, {.5f}, {2}})});
  Begin();
  ExpectAfter(auc, {}, 0.95833313f);
}

TEST_F(AucTest, PredictionsBeyondOneFailTheStep) {
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

TEST_F(AucTest, TooFewThresholdsAreRefused) {
  metrics::Auc(root_, Ints(2), Floats(2), {.num_thresholds = 1});
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "num_thresholds"));
}

// ---- refusals ----

TEST_F(MetricsTest, OtherShapesAreRefused) {
  metrics::Accuracy(root_, Ints(2), Ints(3));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "are incompatible"));
  EXPECT_TRUE(ops::LocalVariables(root_).empty());
}

TEST_F(MetricsTest, WeightsThatDoNotFitAreRefused) {
  const Metric mean = metrics::Mean(root_, Floats(2), {.weights = Floats(3)});
  EXPECT_FALSE(mean.value);
  EXPECT_THAT(
      root_.status(),
      StatusIs(kInvalid,
               "weights can not be broadcast to values. Mismatch at dim "
               "0."));
}

TEST_F(MetricsTest, NullIsRefused) {
  metrics::Recall(root_, Ints(), Output());
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "predictions must not be null"));
}

TEST_F(MetricsTest, WeightsAreCheckedByTheStepWhereShapesAreUnknown) {
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
