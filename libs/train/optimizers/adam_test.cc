#include "libs/train/optimizers/adam.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

class AdamTest : public testing::TestWithParam<bool> {
 protected:
  std::string Family(const std::string& op) const {
    return GetParam() ? "Resource" + op : op;
  }
  ops::Variable Scalar(const std::string& name) {
    return ops::Variable(root_.WithName(name), 1.0f,
                         {.use_resource = GetParam()});
  }
  // Trains w with one dense gradient; returns the op that updates it.
  const Node* TrainDense(Optimizer& optimizer) {
    optimizer.ApplyGradients(root_, {{Gradient(graph_.Fed(1)), w_}});
    const std::string& name = optimizer.name();
    return root_.graph().FindNode(
        absl::StrCat(name, "/update_w/", Family("Apply" + name)));
  }
  ops::Variable Power(const std::string& name) {
    const Node* node = root_.graph().FindNode(name);
    return node == nullptr ? ops::Variable()
                           : ops::FindVariable(root_, Output(node));
  }
  double Argument(const Node& update, const std::string& name) {
    for (int i = 0; i < update.num_inputs(); ++i) {
      if (update.op().inputs[i].name == name) {
        return graph_.ValueOf(update.input(i));
      }
    }
    return -1;
  }
  // Returns the nodes of type `type` whose names begin with `prefix`.
  std::vector<const Node*> Below(const std::string& prefix,
                                 const std::string& type) {
    std::vector<const Node*> found;
    for (const Node* node : root_.graph().nodes()) {
      if (absl::StartsWith(node->name(), prefix) && node->type() == type) {
        found.push_back(node);
      }
    }
    return found;
  }

  ScalarGraph graph_;
  const Scope root_ = graph_.root();
  const ops::Variable w_ = Scalar("w");
};

TEST_P(AdamTest, DefaultsMatchTensorFlow) {
  Adam adam;
  const Node* update = TrainDense(adam);
  ASSERT_OK(root_.status());
  ASSERT_NE(update, nullptr);
  EXPECT_NEAR(Argument(*update, "lr"), 0.001, 1e-9);
  EXPECT_NEAR(Argument(*update, "beta1"), 0.9, kNear);
  EXPECT_NEAR(Argument(*update, "beta2"), 0.999, kNear);
  EXPECT_NEAR(Argument(*update, "epsilon"), 1e-8, 1e-14);
}

TEST_P(AdamTest, OpTakesTheGivenNumbers) {
  Adam adam(0.5, {.beta1 = 0.8f, .beta2 = 0.7f, .epsilon = 0.25f});
  const Node* update = TrainDense(adam);
  ASSERT_OK(root_.status());
  ASSERT_NE(update, nullptr);
  graph_.Set(Power("beta1_power"), 0.64);
  graph_.Set(Power("beta2_power"), 0.49);
  EXPECT_NEAR(Argument(*update, "beta1_power"), 0.64, kNear);
  EXPECT_NEAR(Argument(*update, "beta2_power"), 0.49, kNear);
  EXPECT_NEAR(Argument(*update, "lr"), 0.5, kNear);
  EXPECT_NEAR(Argument(*update, "beta1"), 0.8, kNear);
  EXPECT_NEAR(Argument(*update, "beta2"), 0.7, kNear);
  EXPECT_NEAR(Argument(*update, "epsilon"), 0.25, kNear);
  EXPECT_NEAR(Argument(*update, "grad"), 1, kNear);
}

TEST_P(AdamTest, AdaMaxOpTakesTheGivenNumbers) {
  AdaMax adamax(0.5, {.beta1 = 0.8f, .beta2 = 0.7f, .epsilon = 0.25f});
  const Node* update = TrainDense(adamax);
  ASSERT_OK(root_.status());
  ASSERT_NE(update, nullptr);
  graph_.Set(Power("beta1_power"), 0.64);
  EXPECT_NEAR(Argument(*update, "beta1_power"), 0.64, kNear);
  EXPECT_NEAR(Argument(*update, "lr"), 0.5, kNear);
  EXPECT_NEAR(Argument(*update, "beta1"), 0.8, kNear);
  EXPECT_NEAR(Argument(*update, "beta2"), 0.7, kNear);
  EXPECT_NEAR(Argument(*update, "epsilon"), 0.25, kNear);
  EXPECT_FALSE(Power("beta2_power")) << "v is a maximum, without bias";
}

TEST_P(AdamTest, SlotsStartAtZeroAndPowersAtTheirBeta) {
  Adam adam(0.5, {.beta1 = 0.8f, .beta2 = 0.7f});
  TrainDense(adam);
  ASSERT_OK(root_.status());
  for (const char* slot : {"m", "v"}) {
    const ops::Variable variable = adam.GetSlot(w_, slot);
    ASSERT_TRUE(variable) << slot;
    EXPECT_EQ(graph_.ValueOf(variable.initial_value()), 0) << slot;
  }
  ASSERT_TRUE(Power("beta1_power") && Power("beta2_power"));
  EXPECT_NEAR(graph_.ValueOf(Power("beta1_power").initial_value()), 0.8, kNear);
  EXPECT_NEAR(graph_.ValueOf(Power("beta2_power").initial_value()), 0.7, kNear);
}

TEST_P(AdamTest, PowersAreNotTrained) {
  Adam adam;
  TrainDense(adam);
  ASSERT_OK(root_.status());
  EXPECT_THAT(ops::TrainableVariables(root_), SizeIs(1));
  EXPECT_THAT(ops::GlobalVariables(root_), SizeIs(5));
  EXPECT_EQ(Power("beta1_power").is_resource(), GetParam());
}

TEST_P(AdamTest, StepMultipliesPowersByBeta) {
  Adam adam(0.5, {.beta1 = 0.8f, .beta2 = 0.7f});
  TrainDense(adam);
  ASSERT_OK(root_.status());
  graph_.Set(Power("beta1_power"), 0.64);
  graph_.Set(Power("beta2_power"), 0.49);
  const auto assigned =
      Below("Adam/", GetParam() ? "AssignVariableOp" : "Assign");
  ASSERT_THAT(assigned, SizeIs(2));
  EXPECT_EQ(assigned[0]->input(0).node, Power("beta1_power").handle().node());
  EXPECT_NEAR(graph_.ValueOf(assigned[0]->input(1)), 0.512, kNear);
  EXPECT_EQ(assigned[1]->input(0).node, Power("beta2_power").handle().node());
  EXPECT_NEAR(graph_.ValueOf(assigned[1]->input(1)), 0.343, kNear);
}

TEST_P(AdamTest, TwoLossesShareThePowers) {
  Adam adam;
  const ops::Variable other = Scalar("other");
  TrainDense(adam);
  adam.ApplyGradients(root_, {{Gradient(graph_.Fed(1)), other}});
  ASSERT_OK(root_.status());
  EXPECT_TRUE(adam.GetSlot(other, "m"));
  EXPECT_EQ(root_.graph().FindNode("beta1_power_1"), nullptr);
}

TEST_P(AdamTest, TwoOptimizersHaveTheirOwnPowers) {
  Adam first, second;
  TrainDense(first);
  TrainDense(second);
  ASSERT_OK(root_.status());
  EXPECT_NE(root_.graph().FindNode("beta1_power_1"), nullptr);
  EXPECT_FALSE(first.GetSlot(w_, "m") == second.GetSlot(w_, "m"));
}

class AdamRowsTest : public AdamTest {
 protected:
  // A table whose rows are trained by sparse gradients.
  const ops::Variable table_{root_.WithName("table"),
                             Tensor(DT_FLOAT, TensorShape({4, 2})),
                             {.use_resource = GetParam()}};
  Gradient Rows() {
    Gradient rows;
    rows.values = ops::Placeholder(root_, DT_FLOAT, {.shape = {-1, 2}});
    rows.indices = ops::Placeholder(root_, DT_INT32, {.shape = {-1}});
    return rows;
  }
  std::string ScatterAdd() const {
    return GetParam() ? "ResourceScatterAdd" : "ScatterAdd";
  }
};

TEST_P(AdamRowsTest, AdamChangesTheWholeTable) {
  Adam adam;
  adam.ApplyGradients(root_, {{Rows(), table_}});
  ASSERT_OK(root_.status());
  const auto changed = Below("Adam/update_table/",
                             GetParam() ? "AssignSubVariableOp" : "AssignSub");
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0]->input(0).node, table_.handle().node());
  // Both slots decay as a whole before the rows are added.
  EXPECT_THAT(
      Below("Adam/update_table/", GetParam() ? "AssignVariableOp" : "Assign"),
      SizeIs(2));
  EXPECT_THAT(Below("Adam/update_table/", ScatterAdd()), SizeIs(2));
}

TEST_P(AdamRowsTest, RowsAreAddedAfterTheDecay) {
  Adam adam;
  adam.ApplyGradients(root_, {{Rows(), table_}});
  ASSERT_OK(root_.status());
  const auto added = Below("Adam/update_table/", ScatterAdd());
  ASSERT_THAT(added, SizeIs(2));
  for (const Node* scatter : added) {
    std::vector<std::string> before;
    for (const Node* node : scatter->control_inputs()) {
      before.push_back(node->type());
    }
    // The additions depend on the node that returns the decayed value of the
    // slot.
    EXPECT_THAT(before, Contains(GetParam() ? "ReadVariableOp" : "Assign"));
  }
}

TEST_P(AdamRowsTest, AdaMaxChangesOnlyTheNamedRows) {
  AdaMax adamax;
  adamax.ApplyGradients(root_, {{Rows(), table_}});
  ASSERT_OK(root_.status());
  const std::string below = "AdaMax/update_table/";
  EXPECT_THAT(Below(below, ScatterAdd()), SizeIs(1));
  EXPECT_THAT(
      Below(below, GetParam() ? "ResourceScatterUpdate" : "ScatterUpdate"),
      SizeIs(2));
  for (const char* whole :
       {"Assign", "AssignSub", "AssignVariableOp", "AssignSubVariableOp"}) {
    EXPECT_THAT(Below(below, whole), IsEmpty()) << whole;
  }
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, AdamTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });
INSTANTIATE_TEST_SUITE_P(BothFamilies, AdamRowsTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

}  // namespace
}  // namespace weft::train
