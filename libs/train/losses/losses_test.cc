// Formulas, reductions, collections and errors of losses, on scalars.
// integration_tests compares batches with TensorFlow.
#include "libs/train/losses/losses.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/state/get_variable.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::losses {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using train::kNear;
using train::ScalarGraph;

class LossTest : public testing::Test {
 protected:
  using Loss = std::function<Output(const Scope& scope, const Output& labels,
                                    const Output& predictions)>;
  // Returns the loss of one label and one prediction.
  static double LossOf(double label, double prediction, const Loss& loss) {
    ScalarGraph graph;
    const Output value =
        loss(graph.root(), graph.Fed(label), graph.Fed(prediction));
    EXPECT_OK(graph.root().status());
    return value ? graph.ValueOf(value) : -1;
  }
  // Returns the reduced loss of one element with loss 6 and the given weight.
  static double Reduced(Reduction reduction, double weight) {
    ScalarGraph graph;
    const Output loss = ComputeWeightedLoss(
        graph.root(), graph.Fed(6),
        {.weights = graph.Fed(weight), .reduction = reduction});
    EXPECT_OK(graph.root().status());
    return loss ? graph.ValueOf(loss) : -1;
  }
  Output Floats(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = shape});
  }

  const Scope root_ = Scope::Root();
};

using S = const Scope&;
using O = const Output&;

TEST_F(LossTest, AbsoluteDifferenceIgnoresTheSign) {
  const Loss loss = [](S s, O y, O p) { return AbsoluteDifference(s, y, p); };
  EXPECT_NEAR(LossOf(1, 3, loss), 2, kNear);
  EXPECT_NEAR(LossOf(3, 1, loss), 2, kNear);
}

TEST_F(LossTest, MeanSquaredErrorSquares) {
  const Loss loss = [](S s, O y, O p) { return MeanSquaredError(s, y, p); };
  EXPECT_NEAR(LossOf(1, 4, loss), 9, kNear);
}

TEST_F(LossTest, LogLossUsesProbabilityOfTheLabel) {
  const Loss loss = [](S s, O y, O p) { return LogLoss(s, y, p); };
  EXPECT_NEAR(LossOf(1, 0.25, loss), 1.3862944, 1e-5);
  EXPECT_NEAR(LossOf(0, 0.25, loss), 0.2876821, 1e-5);
  const Loss wide = [](S s, O y, O p) { return LogLoss(s, y, p, {}, 0.25); };
  EXPECT_NEAR(LossOf(1, 0.25, wide), 0.6931472, 1e-5);
}

TEST_F(LossTest, HingeLossVanishesBeyondTheMargin) {
  const Loss loss = [](S s, O y, O x) { return HingeLoss(s, y, x); };
  EXPECT_NEAR(LossOf(1, 0.25, loss), 0.75, kNear);
  EXPECT_NEAR(LossOf(0, 0.25, loss), 1.25, kNear);
  EXPECT_NEAR(LossOf(1, 2, loss), 0, kNear);
}

TEST_F(LossTest, HuberLossIsLinearBeyondDelta) {
  const Loss loss = [](S s, O y, O p) { return HuberLoss(s, y, p, {}, 2); };
  EXPECT_NEAR(LossOf(0, 1, loss), 0.5, kNear);
  EXPECT_NEAR(LossOf(0, 2, loss), 2, kNear);
  EXPECT_NEAR(LossOf(0, -5, loss), 8, kNear);
}

TEST_F(LossTest, SigmoidCrossEntropyTakesLogits) {
  const Loss loss = [](S s, O y, O x) { return SigmoidCrossEntropy(s, y, x); };
  EXPECT_NEAR(LossOf(1, 2, loss), 0.1269280, kNear);
  EXPECT_NEAR(LossOf(0, 2, loss), 2.1269280, kNear);
  EXPECT_NEAR(LossOf(1, -2, loss), 2.1269280, kNear);
}

TEST_F(LossTest, SmoothedLabelsMoveTowardsOneHalf) {
  const Loss loss = [](S s, O y, O x) {
    return SigmoidCrossEntropy(s, y, x, {}, 0.5);
  };
  // The smoothed labels are 0.75 and 0.25.
  EXPECT_NEAR(LossOf(1, 2, loss), 0.6269280, kNear);
  EXPECT_NEAR(LossOf(0, 2, loss), 1.6269280, kNear);
}

TEST_F(LossTest, ReductionDefinesTheDivisor) {
  EXPECT_NEAR(Reduced(Reduction::kNone, 0.5), 3, kNear);
  EXPECT_NEAR(Reduced(Reduction::kSum, 0.5), 3, kNear);
  EXPECT_NEAR(Reduced(Reduction::kMean, 0.5), 6, kNear);
  EXPECT_NEAR(Reduced(Reduction::kSumOverBatchSize, 0.5), 3, kNear);
  EXPECT_NEAR(Reduced(Reduction::kSumByNonzeroWeights, 0.5), 3, kNear);
}

TEST_F(LossTest, WeightZeroGivesLossZero) {
  for (const Reduction reduction :
       {Reduction::kNone, Reduction::kSum, Reduction::kMean,
        Reduction::kSumOverBatchSize, Reduction::kSumByNonzeroWeights}) {
    EXPECT_EQ(Reduced(reduction, 0), 0) << static_cast<int>(reduction);
  }
}

TEST_F(LossTest, ReducedLossKeepsTheTypeOfTheLosses) {
  const Output wide = ops::Placeholder(root_, DT_DOUBLE, {.shape = {2}});
  EXPECT_EQ(ComputeWeightedLoss(root_, wide).dtype(), DT_DOUBLE);
  EXPECT_OK(root_.status());
}

TEST_F(LossTest, ShapesMustMatch) {
  AbsoluteDifference(root_, Floats({2}), Floats({2, 1}));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "Shapes [2,1] and [2] are incompatible"));
  EXPECT_THAT(GetLosses(root_), IsEmpty());
}

TEST_F(LossTest, WeightsOfOtherRankAreRejected) {
  MeanSquaredError(root_, Floats({2, 3}), Floats({2, 3}),
                   {.weights = Floats({2})});
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "values.rank=2. weights.rank=1."));
}

TEST_F(LossTest, CosineDistanceReducesTheAxis) {
  const Output loss = CosineDistance(root_, Floats({4, 3}), Floats({4, 3}), 1,
                                     {.reduction = Reduction::kNone});
  ASSERT_OK(root_.status());
  EXPECT_EQ(loss.shape(), PartialShape({4, 1}));
}

TEST_F(LossTest, SparseLabelsMayBeAColumn) {
  const Output classes = ops::Placeholder(root_, DT_INT64, {.shape = {4, 1}});
  const Output loss = SparseSoftmaxCrossEntropy(
      root_, classes, Floats({4, 3}),
      {.weights = Floats({4, 1}), .reduction = Reduction::kNone});
  ASSERT_OK(root_.status());
  EXPECT_EQ(loss.shape(), PartialShape({4}));
}

TEST_F(LossTest, SoftmaxGivesOneLossPerRow) {
  const Output loss = SoftmaxCrossEntropy(
      root_, Floats({4, 3}), Floats({4, 3}),
      {.weights = Floats({4}), .reduction = Reduction::kNone}, 0.1);
  ASSERT_OK(root_.status());
  EXPECT_EQ(loss.shape(), PartialShape({4}));
}

TEST_F(LossTest, ScopeIsNamedAsInTensorFlow) {
  const Output y = Floats({2, 3}), p = Floats({2, 3});
  const Output classes = ops::Placeholder(root_, DT_INT32, {.shape = {2}});
  const std::vector<std::pair<Output, std::string>> losses = {
      {AbsoluteDifference(root_, y, p), "absolute_difference/value:0"},
      {MeanSquaredError(root_, y, p), "mean_squared_error/value:0"},
      {LogLoss(root_, y, p), "log_loss/value:0"},
      {HingeLoss(root_, y, p), "hinge_loss/value:0"},
      {HuberLoss(root_, y, p), "huber_loss/value:0"},
      {CosineDistance(root_, y, p, 1), "cosine_distance_loss/value:0"},
      {SigmoidCrossEntropy(root_, y, p), "sigmoid_cross_entropy_loss/value:0"},
      {SoftmaxCrossEntropy(root_, y, p), "softmax_cross_entropy_loss/value:0"},
      {SparseSoftmaxCrossEntropy(root_, classes, p),
       "sparse_softmax_cross_entropy_loss/value:0"},
  };
  ASSERT_OK(root_.status());
  for (const auto& [loss, name] : losses) EXPECT_EQ(loss.name(), name);
  EXPECT_THAT(GetLosses(root_), SizeIs(losses.size()));
}

TEST_F(LossTest, CollectionMayBeChosen) {
  const Output y = Floats({2}), p = Floats({2});
  MeanSquaredError(root_, y, p, {.loss_collection = ""});
  const Output own = MeanSquaredError(root_, y, p, {.loss_collection = "own"});
  ASSERT_OK(root_.status());
  EXPECT_THAT(GetLosses(root_), IsEmpty());
  EXPECT_THAT(GetLosses(root_, "own"), ElementsAre(own));
}

TEST_F(LossTest, TotalLossAddsRegularization) {
  ScalarGraph graph;
  const Scope& root = graph.root();
  root.AddToCollection(collection::kLosses, graph.Fed(1));
  root.AddToCollection(collection::kRegularizationLosses, graph.Fed(10));
  root.AddToCollection(collection::kRegularizationLosses, graph.Fed(20));
  const Output alone = GetTotalLoss(root, false);
  EXPECT_NEAR(graph.ValueOf(alone), 1, kNear);
  EXPECT_EQ(alone.name(), "total_loss:0");
  const Output total = GetTotalLoss(root);
  ASSERT_OK(root.status());
  EXPECT_EQ(total.node()->type(), "AddN");
  EXPECT_EQ(total.node()->num_inputs(), 3);
  const Output regularization = GetRegularizationLoss(root);
  EXPECT_EQ(regularization.name(), "total_regularization_loss:0");
  EXPECT_EQ(regularization.node()->num_inputs(), 2);
}

TEST_F(LossTest, TotalLossNeedsLosses) {
  EXPECT_FALSE(GetTotalLoss(root_));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "'losses' is empty"));
}

TEST_F(LossTest, NoRegularizationIsZero) {
  ScalarGraph graph;
  EXPECT_EQ(graph.ValueOf(GetRegularizationLoss(graph.root())), 0);
}

TEST_F(LossTest, RegularizersScaleTheNorm) {
  ScalarGraph graph;
  const Output w = graph.Fed(-4);
  const Output l1 = L1Regularizer(0.5)(graph.root(), w);
  const Output l2 = L2Regularizer(0.5)(graph.root(), w);
  ASSERT_OK(graph.root().status());
  EXPECT_NEAR(graph.ValueOf(l1), 2, kNear);
  EXPECT_NEAR(graph.ValueOf(l2), 4, kNear);
}

TEST_F(LossTest, ScaleZeroAddsNoLoss) {
  const Output w = Floats({2});
  EXPECT_FALSE(L1Regularizer(0)(root_, w));
  EXPECT_FALSE(L2Regularizer(0)(root_, w));
  EXPECT_OK(root_.status());
}

TEST_F(LossTest, InvalidScaleIsRejected) {
  for (const double bad : {-1.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    const Scope root = Scope::Root();
    L2Regularizer(bad)(root, ops::Const(root, 1.0f));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, "a scale less than 0"));
  }
}

TEST_F(LossTest, RegularizedVariableAddsItsLoss) {
  ops::GetVariable(root_, "w", PartialShape::Vector(3),
                   {.dtype = DT_FLOAT, .regularizer = L2Regularizer(0.1)});
  ASSERT_OK(root_.status());
  EXPECT_THAT(GetRegularizationLosses(root_), SizeIs(1));
}

}  // namespace
}  // namespace weft::losses
