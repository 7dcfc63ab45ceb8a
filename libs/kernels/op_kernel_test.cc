#include "libs/kernels/op_kernel.h"

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

class OpKernelContextTest : public ::testing::Test {
 protected:
  OpKernelContextTest() { step_.allocator = &HeapAllocator(); }

  OpKernelContext Context(const OpKernelContext::NodeView& node) {
    return OpKernelContext(step_, node, absl::MakeSpan(inputs_),
                           absl::MakeSpan(outputs_));
  }

  StepContext step_;
  Slot inputs_[2];
  Slot outputs_[1];
  const DataType float_[1] = {DT_FLOAT};
  const DataType int_[1] = {DT_INT32};
  const DataType string_[1] = {DT_STRING};
};

TEST_F(OpKernelContextTest, ForwardsAnUnsharedInput) {
  inputs_[0].tensor = Tensor::Vector<float>({1, 2});
  const void* memory = inputs_[0].tensor.data();
  OpKernelContext::NodeView node{"n", "Op", float_};
  OpKernelContext context = Context(node);
  ASSERT_OK_AND_ASSIGN(Tensor * output,
                       context.ForwardOrAllocate({0, 1}, 0, {2}));
  EXPECT_EQ(output->data(), memory);
  EXPECT_EQ(context.input(0).flat<float>()[1], 2);
}

TEST_F(OpKernelContextTest, ForwardsTheFirstSuitableInput) {
  inputs_[0].tensor = Tensor::Vector<float>({1, 2});
  inputs_[1].tensor = Tensor::Vector<float>({3, 4});
  const Tensor held = inputs_[0].tensor;
  OpKernelContext::NodeView node{"n", "Op", float_};
  OpKernelContext context = Context(node);
  ASSERT_OK_AND_ASSIGN(Tensor * output,
                       context.ForwardOrAllocate({0, 1}, 0, {2}));
  EXPECT_TRUE(output->SharesBufferWith(inputs_[1].tensor));
}

TEST_F(OpKernelContextTest, AllocatesWhenNoneFits) {
  inputs_[0].tensor = Tensor::Vector<float>({1, 2, 3});
  inputs_[1].tensor = Tensor::Vector<double>({3, 4});
  OpKernelContext::NodeView node{"n", "Op", float_};
  OpKernelContext context = Context(node);
  ASSERT_OK_AND_ASSIGN(Tensor * output,
                       context.ForwardOrAllocate({0, 1}, 0, {2}));
  EXPECT_FALSE(output->SharesBufferWith(inputs_[0].tensor));
  EXPECT_FALSE(output->SharesBufferWith(inputs_[1].tensor));
  EXPECT_EQ(output->shape(), TensorShape({2}));
}

TEST_F(OpKernelContextTest, ForwardsToAnotherTypeOfTheSameSize) {
  inputs_[0].tensor = Tensor::Vector<float>({1, 2});
  OpKernelContext::NodeView node{"n", "Op", int_};
  OpKernelContext context = Context(node);
  ASSERT_OK_AND_ASSIGN(Tensor * output, context.ForwardOrAllocate({0}, 0, {2}));
  EXPECT_EQ(output->dtype(), DT_INT32);
  EXPECT_EQ(output->data(), inputs_[0].tensor.data());
}

// A reshape or a reader can leave such an empty tensor, whose memory has no
// room for the result.
TEST_F(OpKernelContextTest, ForwardsNoElementsToAnotherType) {
  Tensor whole = Tensor::Vector<float>({1, 2});
  inputs_[0].tensor = Tensor::FromBuffer(DT_FLOAT, {0}, whole.buffer(), 0);
  whole = Tensor();
  ASSERT_TRUE(inputs_[0].tensor.RefCountIsOne());
  OpKernelContext::NodeView node{"n", "Op", int_};
  OpKernelContext context = Context(node);
  ASSERT_OK_AND_ASSIGN(Tensor * output, context.ForwardOrAllocate({0}, 0, {0}));
  EXPECT_EQ(output->dtype(), DT_INT32);
  EXPECT_EQ(output->num_elements(), 0);
}

TEST_F(OpKernelContextTest, StringsForwardOnlyToStrings) {
  inputs_[0].tensor = Tensor::Vector<std::string>({"a", "b"});
  inputs_[1].tensor = Tensor(DT_RESOURCE, {2});
  OpKernelContext::NodeView node{"n", "Op", string_};
  OpKernelContext context = Context(node);
  ASSERT_OK_AND_ASSIGN(Tensor * first, context.ForwardOrAllocate({1}, 0, {2}));
  EXPECT_FALSE(first->SharesBufferWith(inputs_[1].tensor));
  ASSERT_OK_AND_ASSIGN(Tensor * second, context.ForwardOrAllocate({0}, 0, {2}));
  EXPECT_TRUE(second->SharesBufferWith(inputs_[0].tensor));
}

}  // namespace
}  // namespace weft
