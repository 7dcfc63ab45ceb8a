#include "libs/train/optimizers/update_order.h"

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/train/optimizers/optimizer.h"

namespace weft::train {
namespace {

// The graph has two layers. The gradient of the first layer's output reads the
// weights of the second layer.
class UpdateOrderTest : public testing::TestWithParam<bool> {
 protected:
  UpdateOrderTest() : root_(Scope::Root()) {
    const auto weights = [&](const char* name, const char* device) {
      return ops::Variable(root_.WithDevice(device).WithName(name),
                           Tensor(DT_FLOAT, TensorShape({2, 2})),
                           {.use_resource = GetParam()});
    };
    x_ = ops::Placeholder(root_.WithName("x"), DT_FLOAT, {.shape = {3, 2}});
    w1_ = weights("w1", "");
    w2_ = weights("w2", "");
    far_ = weights("far", "/job:ps");
  }

  // Returns the gradients of the sum of the network's output.
  std::vector<GradientAndVariable> Gradients(
      std::vector<ops::Variable> layers) {
    Output y = x_;
    for (const ops::Variable& w : layers) y = ops::MatMul(root_, y, w);
    return GradientDescent(0.1f).ComputeGradients(
        root_, ops::Sum(root_, y, {0, 1}), {.var_list = layers});
  }

  std::vector<Operation> ReadersBefore(
      const std::vector<GradientAndVariable>& items, int i) {
    std::vector<Gradient> gradients;
    for (const auto& item : items) gradients.push_back(item.gradient);
    return UpdateOrder(root_.graph(), gradients)
        .ReadersBefore(items[i].variable, items[i].gradient);
  }

  Scope root_;
  Output x_;
  ops::Variable w1_, w2_, far_;
};

TEST_P(UpdateOrderTest, UpdateWaitsForGradientOfLowerLayer) {
  const auto items = Gradients({w1_, w2_});
  ASSERT_OK(root_.status());
  // The sum is linear: what w1 makes is only read by the gradient of w2.
  const auto first = ReadersBefore(items, 0);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].node()->input(0).node, x_.node());
  const auto before = ReadersBefore(items, 1);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].node()->type(), "MatMul");
  EXPECT_NE(before[0].node(), items[1].gradient.dense.node());
}

TEST_P(UpdateOrderTest, UpdateIgnoresReadersOnOtherDevices) {
  const auto items = Gradients({w1_, far_});
  ASSERT_OK(root_.status());
  EXPECT_TRUE(ReadersBefore(items, 1).empty());
}

TEST_P(UpdateOrderTest, UpdateIgnoresReadersOutsideGradients) {
  const auto items = Gradients({w2_});
  ops::MatMul(root_.WithName("evaluation"), x_, w2_);
  ASSERT_OK(root_.status());
  EXPECT_TRUE(ReadersBefore(items, 0).empty());
}

TEST_P(UpdateOrderTest, OptimizersKeepTheOrder) {
  const auto items = Gradients({w1_, w2_});
  const auto before = ReadersBefore(items, 1);
  GradientDescent(0.1f).ApplyGradients(root_, items);
  ASSERT_OK(root_.status());
  const std::string op =
      GetParam() ? "ResourceApplyGradientDescent" : "ApplyGradientDescent";
  const Node* update =
      root_.graph().FindNode("GradientDescent/update_w2/" + op);
  ASSERT_NE(update, nullptr);
  ASSERT_EQ(update->control_inputs().size(), 1u);
  EXPECT_EQ(update->control_inputs()[0], before[0].node());
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, UpdateOrderTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& family) {
                           return family.param ? "Resource" : "Reference";
                         });

}  // namespace
}  // namespace weft::train
