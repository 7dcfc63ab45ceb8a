// Gradients of tensor arrays and lists: a read is written to the array of
// gradients, and a write is read from it. Values are tested with the kernels.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/tensor_array_ops.h"

namespace weft {
namespace {

class TensorArrayGradientsTest : public testing::Test {
 protected:
  Output Of(const Output& y, const Output& x) {
    EXPECT_THAT(root_.status(), IsOk());
    const auto gradients = AddGradients(root_, {y}, {x});
    EXPECT_THAT(gradients, IsOk());
    return gradients.ok() ? (*gradients)[0].dense : Output();
  }
  // The arrays of gradients in the graph.
  std::vector<const Node*> GradientArrays() {
    std::vector<const Node*> arrays;
    for (const Node* node : root_.graph().nodes()) {
      if (node->type() == "TensorArrayGradV3") arrays.push_back(node);
    }
    return arrays;
  }

  const Scope root_ = Scope::Root();
  const Output x_ = ops::Placeholder(root_, DT_FLOAT, {.shape = {3, 2}});
  const ops::TensorArrayOutputs array_ = ops::TensorArray(root_, 3, DT_FLOAT);
};

TEST_F(TensorArrayGradientsTest, WrittenElementIsReadFromTheGradients) {
  const Output flow =
      ops::TensorArrayWrite(root_, array_.handle, 1, x_, array_.flow);
  const Output y =
      ops::TensorArrayRead(root_, array_.handle, 1, flow, DT_FLOAT);
  const Output grad = Of(y, x_);
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "TensorArrayReadV3");
  EXPECT_EQ(grad.dtype(), DT_FLOAT);
  // The read of the gradient comes after its write.
  EXPECT_EQ(grad.node()->input(2).node->type(), "Identity");
}

TEST_F(TensorArrayGradientsTest, ScatteredRowsAreGathered) {
  const Output flow =
      ops::TensorArrayScatter(root_, array_.handle, {0, 1, 2}, x_, array_.flow);
  const Output y =
      ops::TensorArrayGather(root_, array_.handle, {2, 0}, flow, DT_FLOAT);
  const Output grad = Of(y, x_);
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "TensorArrayGatherV3");
  // The gradient gathers at the indices of the scatter.
  EXPECT_EQ(grad.node()->input(1).node, flow.node()->input(1).node);
}

TEST_F(TensorArrayGradientsTest, SplitRowsAreConcatenated) {
  const Output lengths = root_.ToOutput(Tensor::Vector<int64_t>({1, 2}));
  const Output flow =
      ops::TensorArraySplit(root_, array_.handle, x_, lengths, array_.flow);
  const Output y =
      ops::TensorArrayConcat(root_, array_.handle, flow, DT_FLOAT).value;
  const Output grad = Of(y, x_);
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "TensorArrayConcatV3");
}

// Two calls must not add to the same gradients.
TEST_F(TensorArrayGradientsTest, EachCallHasItsOwnArrays) {
  const Output flow =
      ops::TensorArrayWrite(root_, array_.handle, 0, x_, array_.flow);
  const Output y =
      ops::TensorArrayRead(root_, array_.handle, 0, flow, DT_FLOAT);
  Of(y, x_);
  const size_t first = GradientArrays().size();
  ASSERT_GT(first, 0u);
  Of(y, x_);
  const std::vector<const Node*> arrays = GradientArrays();
  ASSERT_EQ(arrays.size(), 2 * first);
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(*arrays[i]->attr<std::string>("source"),
              i < first ? "gradients" : "gradients_1");
  }
}

TEST_F(TensorArrayGradientsTest, SizeHasNoGradient) {
  const Output flow =
      ops::TensorArrayWrite(root_, array_.handle, 0, x_, array_.flow);
  const Output size = ops::TensorArraySize(root_, array_.handle, flow);
  EXPECT_FALSE(Of(ops::Cast(root_, size, DT_FLOAT), x_));
}

class ListGradientsTest : public TensorArrayGradientsTest {
 protected:
  const Output row_ = root_.ToOutput(Tensor::Vector<int32_t>({2}));
  const Output list_ = root_.AddOutput("TensorListFromTensor", {x_, row_});
  Output Stacked(const Output& list) {
    return root_.AddOutput("TensorListStack", {list, row_},
                           {{"element_dtype", DT_FLOAT}});
  }
};

TEST_F(ListGradientsTest, RowsOfAListAreStackedAgain) {
  const Output grad = Of(Stacked(list_), x_);
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "TensorListStack");
  EXPECT_EQ(*grad.node()->attr<int64_t>("num_elements"), 3);
  EXPECT_EQ(grad.node()->input(0).node->type(), "TensorListFromTensor");
}

// The replaced row gets zeros, and the new one the gradient of its place.
TEST_F(ListGradientsTest, SetItemReplacesTheGradientOfTheOldRow) {
  const Output item = ops::Placeholder(root_, DT_FLOAT, {.shape = {2}});
  const Output y =
      Stacked(root_.AddOutput("TensorListSetItem", {list_, 1, item}));
  EXPECT_THAT(root_.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto gradients,
                       AddGradients(root_, {y}, {x_, item}));
  const Node* of_list = gradients[0].dense.node()->input(0).node;
  EXPECT_EQ(of_list->type(), "TensorListSetItem");
  EXPECT_EQ(of_list->input(2).node->type(), "ZerosLike");
  EXPECT_EQ(gradients[1].dense.node()->type(), "TensorListGetItem");
}

TEST_F(ListGradientsTest, PushedItemIsPoppedFromTheGradients) {
  const Output item = ops::Placeholder(root_, DT_FLOAT, {.shape = {2}});
  const Output y =
      Stacked(root_.AddOutput("TensorListPushBack", {list_, item}));
  const Output grad = Of(y, item);
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "TensorListPopBack");
  EXPECT_EQ(grad.index(), 1);
}

TEST_F(ListGradientsTest, ReadItemIsSetInAListOfZeros) {
  const Output y = root_.AddOutput("TensorListGetItem", {list_, 1, row_},
                                   {{"element_dtype", DT_FLOAT}});
  const Output grad = Of(y, x_);
  ASSERT_TRUE(grad);
  const Node* list = grad.node()->input(0).node;
  EXPECT_EQ(list->type(), "TensorListSetItem");
  EXPECT_EQ(list->input(0).node->type(), "TensorListReserve");
}

}  // namespace
}  // namespace weft
