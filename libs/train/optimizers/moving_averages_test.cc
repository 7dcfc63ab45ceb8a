#include "libs/train/optimizers/moving_averages.h"

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/ops/state/variable_scope.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Tests use reference variables for averages, because their assignments return
// the new value.
constexpr bool kByReference = false;

class MovingAverageTest : public testing::Test {
 protected:
  ops::Variable Scalar(const std::string& name) {
    return ops::Variable(root_.WithName(name), 1.0f,
                         {.use_resource = kByReference});
  }
  // Applies `ema` to v, and returns the new value of the average.
  double NewAverage(ExponentialMovingAverage& ema, const ops::Variable& v) {
    const Operation update = ema.Apply(root_, {v});
    EXPECT_OK(root_.status());
    for (const Node* before : update.node()->control_inputs()) {
      if (before->type() == "AssignSub") return graph_.ValueOf(Output(before));
    }
    ADD_FAILURE() << "no average is assigned";
    return 0;
  }

  ScalarGraph graph_;
  const Scope root_ = graph_.root();
};

TEST_F(MovingAverageTest, VariableMovesTowardsTheValue) {
  const ops::Variable v = Scalar("v");
  graph_.Set(v, 10);
  const Output moved =
      AssignMovingAverage(root_, v, graph_.Fed(20), 0.75, false);
  ASSERT_OK(root_.status());
  EXPECT_NEAR(graph_.ValueOf(moved), 12.5, kNear);
  EXPECT_EQ(moved.name(), "AssignMovingAvg:0");
}

TEST_F(MovingAverageTest, DecayMayBeTensor) {
  const ops::Variable v = Scalar("v");
  graph_.Set(v, 10);
  const Output moved =
      AssignMovingAverage(root_, v, graph_.Fed(20), graph_.Fed(0.75), false);
  ASSERT_OK(root_.status());
  EXPECT_NEAR(graph_.ValueOf(moved), 12.5, kNear);
}

TEST_F(MovingAverageTest, ZeroDebiasCountsItsUpdates) {
  const ops::Variable v = Scalar("v");
  AssignMovingAverage(root_, v, graph_.Fed(20), 0.75);
  ASSERT_OK(root_.status());
  for (const char* name : {"v/biased", "v/local_step"}) {
    const Node* node = root_.graph().FindNode(name);
    ASSERT_NE(node, nullptr) << name;
    const ops::Variable variable = ops::FindVariable(root_, Output(node));
    ASSERT_TRUE(variable) << name;
    EXPECT_EQ(graph_.ValueOf(variable.initial_value()), 0) << name;
    EXPECT_FALSE(variable.trainable()) << name;
  }
}

TEST_F(MovingAverageTest, DebiasedVariablesNameTheirScope) {
  const Scope scope = ops::VariableScope(root_, "layer");
  const ops::Variable v(scope.WithName("v"), 1.0f);
  ASSERT_EQ(v.name(), "layer/v");
  AssignMovingAverage(scope, v, graph_.Fed(20), 0.75);
  ASSERT_OK(root_.status());
  EXPECT_NE(root_.graph().FindNode("layer/layer/v/biased"), nullptr);
}

TEST_F(MovingAverageTest, ValueMustHaveShapeOfVariable) {
  const ops::Variable v(root_.WithName("v"), Tensor::Vector<float>({1, 2}));
  EXPECT_FALSE(AssignMovingAverage(
      root_, v, ops::Const(root_, Tensor::Vector<float>({1, 2, 3})), 0.9));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "Shapes [2] and [3] are incompatible"));
}

TEST_F(MovingAverageTest, DebiasedShapeMustBeKnown) {
  const ops::Variable v(root_.WithName("v"), Tensor::Vector<float>({1, 2}),
                        {.validate_shape = false});
  EXPECT_FALSE(AssignMovingAverage(
      root_, v, ops::Const(root_, Tensor::Vector<float>({1, 2})), 0.9));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "zero_debias: the shape of variable 'v'"));
}

TEST_F(MovingAverageTest, NullVariableIsRejected) {
  EXPECT_FALSE(AssignMovingAverage(root_, ops::Variable(), 1.0f, 0.9));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "variable is null"));
}

TEST_F(MovingAverageTest, AverageFollowsItsVariable) {
  const ops::Variable v = Scalar("v");
  ExponentialMovingAverage ema(0.75);
  EXPECT_EQ(ema.AverageName(v), "v/ExponentialMovingAverage");
  ema.Apply(root_, {v});
  graph_.Set(v, 20);
  graph_.Set(ema.Average(v), 10);
  EXPECT_NEAR(NewAverage(ema, v), 12.5, kNear);
  EXPECT_EQ(ema.Average(v).name(), "v/ExponentialMovingAverage");
}

// The decay is at most (1 + updates) / (10 + updates).
TEST_F(MovingAverageTest, EarlyUpdatesCountMore) {
  const ops::Variable v = Scalar("v");
  const Output updates = graph_.Fed(2, DT_INT64);
  ExponentialMovingAverage ema(0.75, {.num_updates = updates});
  ema.Apply(root_, {v});
  graph_.Set(v, 20);
  graph_.Set(ema.Average(v), 10);
  EXPECT_NEAR(NewAverage(ema, v), 17.5, kNear) << "decay 3 / 12";
  graph_.Set(updates, 90);
  EXPECT_NEAR(NewAverage(ema, v), 12.5, kNear) << "91 / 100 is more than 0.75";
}

TEST_F(MovingAverageTest, ApplyDefaultsToAllTrainableVariables) {
  const ops::Variable v = Scalar("v");
  const ops::Variable fixed(root_.WithName("fixed"), 1.0f,
                            {.trainable = false});
  ExponentialMovingAverage ema(0.75);
  EXPECT_EQ(ema.Apply(root_).name(), "ExponentialMovingAverage");
  ASSERT_OK(root_.status());
  EXPECT_TRUE(ema.Average(v));
  EXPECT_FALSE(ema.Average(fixed));
}

TEST_F(MovingAverageTest, AveragesAreNotTrained) {
  const ops::Variable v = Scalar("v");
  ExponentialMovingAverage ema(0.75);
  ema.Apply(root_, {v});
  ASSERT_OK(root_.status());
  EXPECT_THAT(ops::TrainableVariables(root_), ElementsAre(v));
  EXPECT_THAT(ops::GlobalVariables(root_), SizeIs(2));
  EXPECT_THAT(root_.GetCollection(kMovingAverageVariables),
              ElementsAre(v.handle()));
}

TEST_F(MovingAverageTest, AverageOfTensorStartsAtZero) {
  const Output loss = graph_.Fed(20);
  ExponentialMovingAverage ema(0.75);
  EXPECT_EQ(ema.AverageName(loss), "Placeholder/ExponentialMovingAverage");
  EXPECT_FALSE(ema.Average(loss));
  ema.ApplyToTensors(root_, {loss});
  ASSERT_OK(root_.status());
  ASSERT_TRUE(ema.Average(loss));
  EXPECT_EQ(graph_.ValueOf(ema.Average(loss).initial_value()), 0);
  EXPECT_THAT(root_.GetCollection(kMovingAverageVariables), IsEmpty());
}

TEST_F(MovingAverageTest, OnlyNewAveragesOfTensorsAreDebiased) {
  const Output loss = graph_.Fed(20);
  ExponentialMovingAverage ema(0.75, {.zero_debias = true});
  ema.ApplyToTensors(root_, {loss});
  ema.ApplyToTensors(root_, {loss});
  ASSERT_OK(root_.status());
  const std::string average = "Placeholder/ExponentialMovingAverage";
  EXPECT_NE(root_.graph().FindNode(average + "/biased"), nullptr);
  EXPECT_EQ(root_.graph().FindNode(average + "/biased_1"), nullptr);
}

TEST_F(MovingAverageTest, IntegersAreRejected) {
  const ops::Variable count(root_.WithName("count"), 1);
  ExponentialMovingAverage ema(0.75);
  EXPECT_FALSE(ema.Apply(root_, {count}));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "must be half, float, or double: count"));
}

}  // namespace
}  // namespace weft::train
