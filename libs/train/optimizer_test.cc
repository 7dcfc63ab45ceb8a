#include "libs/train/optimizer.h"

#include <memory>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/state_ops.h"
#include "libs/train/adam.h"
#include "libs/train/slot_optimizers.h"

namespace weft::train {
namespace {

using testing::Contains;
using testing::Not;

std::vector<std::string> NodeNames(const Scope& scope) {
  std::vector<std::string> names;
  for (const Node* node : scope.graph().nodes()) names.push_back(node->name());
  return names;
}

std::string TypeOf(const Scope& scope, const std::string& name) {
  const Node* node = scope.graph().FindNode(name);
  return node == nullptr ? "" : node->type();
}

Tensor Ones(const TensorShape& shape) {
  Tensor ones(DT_FLOAT, shape);
  for (float& value : ones.mutable_flat<float>()) value = 1;
  return ones;
}

// sum(w * w), with w of the family.
struct Model {
  explicit Model(const Scope& scope, bool use_resource)
      : w(scope.WithName("w"), Ones(TensorShape({2, 3})),
          {.use_resource = use_resource}),
        loss(ops::Sum(scope.WithName("loss"), ops::Mul(scope, w, w), {0, 1})) {}
  ops::Variable w;
  Output loss;
};

class OptimizerTest : public testing::TestWithParam<bool> {
 protected:
  OptimizerTest() : root_(Scope::Root()), model_(root_, GetParam()) {}
  std::string Apply(const std::string& rule) const {
    return (GetParam() ? "ResourceApply" : "Apply") + rule;
  }

  Scope root_;
  Model model_;
};

TEST_P(OptimizerTest, GradientDescentHasTensorFlowsNames) {
  const Operation train = GradientDescent(0.5f).Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
  EXPECT_EQ(train.node()->type(), "NoOp");
  const std::string op = Apply("GradientDescent");
  EXPECT_EQ(TypeOf(root_, "GradientDescent/update_w/" + op), op);
  const Node* rate = root_.graph().FindNode("GradientDescent/learning_rate");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->output_type(0), DT_FLOAT);
}

TEST_P(OptimizerTest, TheGlobalStepIsCountedLast) {
  const ops::Variable step = GetOrCreateGlobalStep(root_);
  const Operation train =
      GradientDescent(0.5f).Minimize(root_, model_.loss, {.global_step = step});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
  EXPECT_EQ(train.node()->type(), "AssignAddVariableOp");
  const auto before = train.node()->control_inputs();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0]->name(), "GradientDescent/update");
}

TEST_P(OptimizerTest, TheOperationCanBeNamed) {
  const Operation train =
      GradientDescent(0.5f).Minimize(root_, model_.loss, {.name = "train"});
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "train");
  EXPECT_THAT(NodeNames(root_),
              Contains("train/update_w/" + Apply("GradientDescent")));
}

TEST_P(OptimizerTest, SlotsAreBesideTheirVariable) {
  Momentum momentum(0.1f, 0.9f, {.use_nesterov = true});
  momentum.Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  const ops::Variable slot = momentum.GetSlot(model_.w, "momentum");
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot.name(), "w/Momentum");
  EXPECT_EQ(slot.shape(), model_.w.shape());
  EXPECT_EQ(slot.is_resource(), GetParam());
  EXPECT_FALSE(slot.trainable());
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 2u);
  const auto* groups =
      slot.handle().node()->attr<std::vector<std::string>>("_class");
  ASSERT_NE(groups, nullptr);
  EXPECT_THAT(*groups, Contains("loc:@w"));
  const Node* apply =
      root_.graph().FindNode("Momentum/update_w/" + Apply("Momentum"));
  ASSERT_NE(apply, nullptr);
  EXPECT_TRUE(*apply->attr<bool>("use_nesterov"));
  EXPECT_EQ(apply->input(1).node, slot.handle().node());
}

TEST_P(OptimizerTest, ASecondLossUsesTheSlotsOfTheFirst) {
  Adagrad adagrad(0.1f);
  adagrad.Minimize(root_, model_.loss);
  adagrad.Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 2u);
  EXPECT_EQ(TypeOf(root_, "Adagrad_1"), "NoOp");
}

TEST_P(OptimizerTest, AdamHasSlotsAndPowers) {
  Adam adam(0.01f);
  const Operation train = adam.Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "Adam");
  EXPECT_EQ(adam.GetSlot(model_.w, "m").name(), "w/Adam");
  EXPECT_EQ(adam.GetSlot(model_.w, "v").name(), "w/Adam_1");
  for (const char* name : {"beta1_power", "beta2_power", "Adam/learning_rate",
                           "Adam/beta1", "Adam/beta2", "Adam/epsilon"}) {
    EXPECT_THAT(NodeNames(root_), Contains(name));
  }
  EXPECT_EQ(ops::GlobalVariables(root_).size(), 5u);
}

TEST_P(OptimizerTest, HyperparametersTakeTheVariablesType) {
  const ops::Variable w(root_.WithName("wide"),
                        Tensor(DT_DOUBLE, TensorShape({2})),
                        {.use_resource = GetParam()});
  const Output loss = ops::Sum(root_, ops::Mul(root_, w, w), {0});
  for (const bool adam : {false, true}) {
    std::unique_ptr<Optimizer> optimizer;
    if (adam) {
      optimizer = std::make_unique<Adam>(0.1f);
    } else {
      optimizer = std::make_unique<Momentum>(0.1, 1);
    }
    optimizer->Minimize(root_, loss, {.var_list = {w}});
    EXPECT_OK(root_.status());
  }
}

TEST_P(OptimizerTest, TheLearningRateMayBeComputed) {
  const Output rate =
      ops::Placeholder(root_.WithName("rate"), DT_FLOAT, {.shape = {}});
  GradientDescent(rate).Minimize(root_, model_.loss);
  ASSERT_OK(root_.status());
  const Node* apply = root_.graph().FindNode("GradientDescent/update_w/" +
                                             Apply("GradientDescent"));
  ASSERT_NE(apply, nullptr);
  EXPECT_EQ(apply->input(1).node, rate.node());
}

TEST_P(OptimizerTest, OnlyListedVariablesAreTrained) {
  const ops::Variable other(root_.WithName("other"), 1.0f,
                            {.use_resource = GetParam()});
  const Output loss = ops::Mul(root_, model_.loss, other);
  GradientDescent(0.1f).Minimize(root_, loss, {.var_list = {other}});
  ASSERT_OK(root_.status());
  const std::string op = Apply("GradientDescent");
  EXPECT_THAT(NodeNames(root_), Contains("GradientDescent/update_other/" + op));
  EXPECT_THAT(NodeNames(root_),
              Not(Contains("GradientDescent/update_w/" + op)));
}

TEST_P(OptimizerTest, GradientsCanBeChangedInBetween) {
  GradientDescent optimizer(0.1f);
  auto gradients = optimizer.ComputeGradients(root_, model_.loss);
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].variable, model_.w);
  gradients[0].gradient =
      ops::ClipByValue(root_, gradients[0].gradient.dense, -1.0f, 1.0f);
  const Operation train = optimizer.ApplyGradients(root_, gradients);
  ASSERT_OK(root_.status());
  EXPECT_EQ(train.name(), "GradientDescent");
}

TEST_P(OptimizerTest, SparseGradientsBecomeSparseUpdates) {
  const Output rows =
      ops::Placeholder(root_.WithName("rows"), DT_INT32, {.shape = {-1}});
  const Output some =
      GetParam() ? ops::ResourceGather(root_, model_.w.handle(), rows, DT_FLOAT)
                 : ops::Gather(root_, model_.w, rows);
  const Output loss = ops::Sum(root_, some, {0, 1});
  GradientDescent(0.1f).Minimize(root_, loss);
  Momentum(0.1f, 0.9f).Minimize(root_, loss);
  Adagrad(0.1f).Minimize(root_, loss);
  Adam(0.1f).Minimize(root_, loss);
  ASSERT_OK(root_.status());
  const std::string prefix = GetParam() ? "Resource" : "";
  const std::string scatter = GetParam() ? "ResourceScatterAdd" : "ScatterSub";
  for (const std::string& node :
       {"GradientDescent/update_w/" + scatter,
        "Momentum/update_w/" + prefix + "SparseApplyMomentum",
        "Adagrad/update_w/" + prefix + "SparseApplyAdagrad"}) {
    EXPECT_THAT(NodeNames(root_), Contains(node));
  }
}

TEST_P(OptimizerTest, ALossWithoutVariablesIsRefused) {
  const Output loss = ops::Const(root_.WithName("constant"), 3.0f);
  const Operation train = GradientDescent(0.1f).Minimize(root_, loss);
  EXPECT_FALSE(train);
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "No gradients provided for any variable"));
}

TEST_P(OptimizerTest, AVariableWithTwoGradientsIsRefused) {
  GradientDescent optimizer(0.1f);
  auto gradients = optimizer.ComputeGradients(root_, model_.loss);
  gradients.push_back(gradients[0]);
  EXPECT_FALSE(optimizer.ApplyGradients(root_, gradients));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "has two gradients"));
}

TEST_P(OptimizerTest, BadHyperparametersAreRefused) {
  Adagrad(0.1f, {.initial_accumulator_value = 0}).Minimize(root_, model_.loss);
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "must be positive"));
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, OptimizerTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

TEST(OptimizerErrorsTest, NothingToTrain) {
  const Scope root = Scope::Root();
  GradientDescent(0.1f).Minimize(root, ops::Const(root, 1.0f));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "No variables to optimize"));
}

TEST(OptimizerErrorsTest, AnEarlierErrorStays) {
  const Scope root = Scope::Root();
  root.UpdateStatus(absl::UnknownError("first"));
  EXPECT_FALSE(Adam(0.1f).Minimize(root, Output()));
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kUnknown, "first"));
}

}  // namespace
}  // namespace weft::train
