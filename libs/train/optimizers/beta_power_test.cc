#include "libs/train/optimizers/beta_power.h"

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

using testing::Contains;

class BetaPowerTest : public testing::TestWithParam<bool> {
 protected:
  ops::Variable Scalar(const std::string& name, const Tensor& value) {
    return ops::Variable(root_.WithName(name), value,
                         {.use_resource = GetParam()});
  }
  ops::Variable PowerVariable() {
    return ops::FindVariable(root_, power_.handle());
  }

  ScalarGraph graph_;
  const Scope root_ = graph_.root();
  BetaPower power_;
};

TEST_P(BetaPowerTest, StartsAtBeta) {
  power_.Create(root_, "beta1_power", 0.8f,
                {Scalar("w", Tensor::Scalar(1.0f))});
  ASSERT_OK(root_.status());
  ASSERT_TRUE(PowerVariable());
  EXPECT_EQ(PowerVariable().name(), "beta1_power");
  EXPECT_FALSE(PowerVariable().trainable());
  EXPECT_NEAR(graph_.ValueOf(PowerVariable().initial_value()), 0.8, kNear);
}

TEST_P(BetaPowerTest, SecondCreateKeepsTheVariable) {
  const ops::Variable w = Scalar("w", Tensor::Scalar(1.0f));
  power_.Create(root_, "beta1_power", 0.8f, {w});
  const Output handle = power_.handle();
  power_.Create(root_, "beta1_power", 0.5f, {w});
  ASSERT_OK(root_.status());
  EXPECT_EQ(power_.handle(), handle);
}

TEST_P(BetaPowerTest, IsColocatedWithFirstVariableByName) {
  const ops::Variable b = Scalar("b", Tensor::Scalar(1.0f));
  const ops::Variable a = Scalar("a", Tensor::Scalar(1.0f));
  power_.Create(root_, "beta1_power", 0.8f, {b, a});
  ASSERT_OK(root_.status());
  const auto* const groups =
      power_.handle().node()->attr<std::vector<std::string>>("_class");
  ASSERT_NE(groups, nullptr);
  EXPECT_THAT(*groups, Contains("loc:@a"));
}

TEST_P(BetaPowerTest, ValueHasTypeOfTheTrainedVariable) {
  const ops::Variable w = Scalar("w", Tensor::Scalar(1.0f));
  const ops::Variable wide = Scalar("wide", Tensor::Scalar(1.0));
  power_.Create(root_, "beta1_power", 0.8f, {w, wide});
  EXPECT_EQ(RemoveRefType(power_.For(root_, w).dtype()), DT_FLOAT);
  EXPECT_EQ(power_.For(root_, wide).dtype(), DT_DOUBLE);
  graph_.Set(PowerVariable(), 0.64);
  EXPECT_NEAR(graph_.ValueOf(power_.For(root_, wide)), 0.64, kNear);
  EXPECT_OK(root_.status());
}

TEST_P(BetaPowerTest, AdvanceMultipliesByBeta) {
  power_.Create(root_, "beta1_power", 0.8f,
                {Scalar("w", Tensor::Scalar(1.0f))});
  const Operation advance = power_.Advance(root_, ops::Const(root_, 0.8f));
  ASSERT_OK(root_.status());
  EXPECT_EQ(advance.node()->type(), GetParam() ? "AssignVariableOp" : "Assign");
  EXPECT_EQ(advance.node()->input(0).node, power_.handle().node());
  graph_.Set(PowerVariable(), 0.64);
  EXPECT_NEAR(graph_.ValueOf(advance.node()->input(1)), 0.512, kNear);
}

TEST_P(BetaPowerTest, NoPowerWithoutVariables) {
  power_.Create(root_, "beta1_power", 0.8f, {});
  EXPECT_FALSE(power_.handle());
  EXPECT_OK(root_.status());
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, BetaPowerTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

}  // namespace
}  // namespace weft::train
