#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {
namespace {

class TensorArrayKernelsTest : public testing::Test {
 protected:
  TensorArrayKernelsTest()
      : harness_([](KernelRegistry& registry) {
          RegisterTensorArrayKernels(registry);
          RegisterStackKernels(registry);
        }) {}

  absl::StatusOr<Tensor> MakeArray(int size, AttrMap attrs = {}) {
    attrs.emplace("dtype", DT_FLOAT);
    auto outputs = harness_.Run("TensorArrayV3", {Tensor::Scalar(size)}, attrs);
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0];
  }
  // Creates arrays of the first version, whose handle is a reference. The attrs
  // of the first call apply.
  std::shared_ptr<Variable> MakeOldArray(int count, AttrMap attrs = {}) {
    attrs.emplace("dtype", DT_FLOAT);
    if (old_arrays_ == nullptr) {
      auto kernel = harness_.Make("TensorArray", {DT_INT32}, attrs);
      EXPECT_OK(kernel);
      if (!kernel.ok()) return nullptr;
      old_arrays_ = *std::move(kernel);
    }
    Slot size, handle;
    size.tensor = Tensor::Scalar(count);
    EXPECT_OK(old_arrays_->RunSlots(absl::MakeSpan(&size, 1),
                                    absl::MakeSpan(&handle, 1)));
    return handle.variable;
  }
  absl::Status Unpack(const std::shared_ptr<Variable>& array,
                      const Tensor& value) {
    return harness_.Run("TensorArrayUnpack", {array, value, flow_}).status();
  }
  absl::StatusOr<Tensor> Pack(const std::shared_ptr<Variable>& array) {
    return harness_.RunOne("TensorArrayPack", {array, flow_},
                           {{"dtype", DT_FLOAT}});
  }
  absl::Status Write(const Tensor& array, int index, float value) {
    return harness_
        .Run("TensorArrayWriteV3", {array, Tensor::Scalar(index),
                                    Tensor::Vector<float>({value}), flow_})
        .status();
  }
  absl::StatusOr<Tensor> Read(const Tensor& array, int index) {
    return harness_.RunOne("TensorArrayReadV3",
                           {array, Tensor::Scalar(index), flow_},
                           {{"dtype", DT_FLOAT}});
  }

  const Tensor flow_ = Tensor::Scalar(0.0f);
  KernelTestHarness harness_;
  std::unique_ptr<KernelTestHarness::Kernel> old_arrays_;
};

TEST_F(TensorArrayKernelsTest, RowsThatOverflowAreRefused) {
  ASSERT_OK_AND_ASSIGN(const Tensor array,
                       MakeArray(3, {{"clear_after_read", false}}));
  const Tensor many(DT_FLOAT, {int64_t{1} << 62, 0});
  for (const int index : {0, 1, 2}) {
    ASSERT_OK(harness_.Run("TensorArrayWriteV3",
                           {array, Tensor::Scalar(index), many, flow_}));
  }
  EXPECT_THAT(harness_.Run("TensorArrayConcatV3", {array, flow_},
                           {{"dtype", DT_FLOAT}}),
              StatusIs(kInvalid, "overflow"));
}

TEST_F(TensorArrayKernelsTest, EachElementIsWrittenAndReadOnce) {
  ASSERT_OK_AND_ASSIGN(const Tensor array, MakeArray(2));
  ASSERT_OK(Write(array, 0, 7));
  EXPECT_THAT(Write(array, 0, 8),
              StatusIs(kInvalid,
                       "Could not write to TensorArray index 0 because it has "
                       "already been written to."));
  EXPECT_THAT(Write(array, 3, 1),
              StatusIs(kInvalid,
                       "Tried to write to index 3 but array is not resizeable "
                       "and size is: 2"));
  EXPECT_THAT(Write(array, -1, 1), StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(Tensor value, Read(array, 0));
  EXPECT_EQ(value.flat<float>()[0], 7);
  EXPECT_THAT(Read(array, 0), StatusIs(kInvalid, "cleared after a previous"));
  EXPECT_THAT(Read(array, 1), StatusIs(kInvalid, "not fully defined"));
  EXPECT_THAT(
      Read(array, 2),
      StatusIs(kInvalid, "Tried to read from index 2 but array size is: 2"));
  EXPECT_THAT(harness_.Run("TensorArrayWriteV3", {array, Tensor::Scalar(1),
                                                  Tensor::Scalar(1), flow_}),
              StatusIs(kInvalid, "value dtype is int32"));
}

TEST_F(TensorArrayKernelsTest, GrowsAndHasZerosWhereTheShapeIsKnown) {
  ASSERT_OK_AND_ASSIGN(const Tensor array,
                       MakeArray(0, {{"dynamic_size", true},
                                     {"element_shape", PartialShape{1}}}));
  ASSERT_OK(Write(array, 1000000, 5));
  ASSERT_OK_AND_ASSIGN(Tensor size,
                       harness_.RunOne("TensorArraySizeV3", {array, flow_}));
  EXPECT_EQ(size.scalar<int32_t>(), 1000001);
  ASSERT_OK_AND_ASSIGN(Tensor value, Read(array, 3));
  EXPECT_TRUE(SameBits(value, Tensor::Vector<float>({0})));
}

TEST_F(TensorArrayKernelsTest, ScatteredRowsAreGatheredAgain) {
  ASSERT_OK_AND_ASSIGN(const Tensor array,
                       MakeArray(3, {{"clear_after_read", false}}));
  const auto rows = Tensor::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(harness_.Run("TensorArrayScatterV3",
                         {array, Tensor::Vector({2, 0, 1}), rows, flow_}));
  ASSERT_OK_AND_ASSIGN(Tensor gathered,
                       harness_.RunOne("TensorArrayGatherV3",
                                       {array, Tensor::Vector({0, 2}), flow_},
                                       {{"dtype", DT_FLOAT}}));
  EXPECT_TRUE(
      SameBits(gathered, Tensor::FromValues<float>({2, 2}, {3, 4, 1, 2})));
  EXPECT_THAT(harness_.Run("TensorArrayGatherV3",
                           {array, Tensor::Vector<int>({}), flow_},
                           {{"dtype", DT_FLOAT}}),
              StatusIs(absl::StatusCode::kUnimplemented, "size zero"));
}

// As in TensorFlow 2.21.
TEST_F(TensorArrayKernelsTest, NoElementsAreJoinedWhereTheirShapeIsKnown) {
  ASSERT_OK_AND_ASSIGN(const Tensor array, MakeArray(0));
  const auto join = [&](const PartialShape& row) {
    return harness_.Run("TensorArrayConcatV3", {array, flow_},
                        {{"dtype", DT_FLOAT}, {"element_shape_except0", row}});
  };
  ASSERT_OK_AND_ASSIGN(const auto joined, join({3}));
  EXPECT_EQ(joined[0].shape(), TensorShape({0, 3}));
  EXPECT_EQ(joined[1].shape(), TensorShape({0}));
  EXPECT_THAT(join({-1}), StatusIs(absl::StatusCode::kUnimplemented,
                                   "TensorArray has size zero"));
}

TEST_F(TensorArrayKernelsTest, SplitPartsAreJoinedAgain) {
  ASSERT_OK_AND_ASSIGN(const Tensor array, MakeArray(2));
  const Tensor value = Tensor::Vector<float>({1, 2, 3});
  const auto lengths = Tensor::Vector<int64_t>({1, 2});
  ASSERT_OK(harness_.Run("TensorArraySplitV3", {array, value, lengths, flow_}));
  ASSERT_OK_AND_ASSIGN(auto joined,
                       harness_.Run("TensorArrayConcatV3", {array, flow_},
                                    {{"dtype", DT_FLOAT}}));
  EXPECT_TRUE(SameBits(joined[0], value));
  EXPECT_TRUE(SameBits(joined[1], lengths));
  for (const auto& wrong :
       {Tensor::Vector<int64_t>({1, 3}), Tensor::Vector<int64_t>({-1, 4}),
        Tensor::Vector<int64_t>({1, 1})}) {
    EXPECT_THAT(
        harness_.Run("TensorArraySplitV3", {array, value, wrong, flow_}),
        StatusIs(kInvalid, "sum of lengths"));
  }
}

// The lengths must cover all elements; a dynamic array extends to their number.
// Error texts are those of TensorFlow 2.21.
TEST_F(TensorArrayKernelsTest, SplitFillsTheWholeArray) {
  const auto split = [&](int size, bool grows, const Tensor& value,
                         const Tensor& lengths) {
    KernelTestHarness step(RegisterTensorArrayKernels);
    auto array = step.Run("TensorArrayV3", {Tensor::Scalar(size)},
                          {{"dtype", DT_FLOAT}, {"dynamic_size", grows}});
    if (!array.ok()) return array.status();
    return step.Run("TensorArraySplitV3", {(*array)[0], value, lengths, flow_})
        .status();
  };
  const Tensor value = Tensor::Vector<float>({1, 2, 3});
  const auto lengths = Tensor::Vector<int64_t>({1, 2});
  EXPECT_OK(split(2, false, value, lengths));
  EXPECT_OK(split(1, true, value, lengths));
  EXPECT_THAT(split(3, false, value, lengths),
              StatusIs(kInvalid,
                       "TensorArray's size is not equal to the size of lengths "
                       "(3 vs. 2), and the TensorArray is not marked as "
                       "dynamically resizeable"));
  EXPECT_THAT(split(1, false, value, lengths),
              StatusIs(kInvalid, "the size of lengths (1 vs. 2)"));
  EXPECT_THAT(split(3, true, value, lengths),
              StatusIs(kInvalid, "the size of lengths (3 vs. 2)"));
  EXPECT_THAT(
      split(3, false, value, Tensor::Vector<int64_t>({1, 3})),
      StatusIs(kInvalid, "sum of lengths is 4 and value's shape is: [3]"));
  EXPECT_THAT(split(1, false, Tensor::Scalar(3.0f), lengths),
              StatusIs(kInvalid,
                       "Expected value to be at least a vector, but received "
                       "shape: []"));
}

TEST_F(TensorArrayKernelsTest, GradientsStartAtZeroAndAccumulate) {
  ASSERT_OK_AND_ASSIGN(const Tensor array, MakeArray(2));
  ASSERT_OK(Write(array, 0, 1));
  ASSERT_OK(Write(array, 1, 1));
  const auto gradients = [&] {
    auto outputs = harness_.Run("TensorArrayGradV3", {array, flow_},
                                {{"source", "gradients"}});
    return outputs.ok() ? (*outputs)[0] : Tensor();
  };
  ASSERT_OK(Write(gradients(), 0, 2));
  ASSERT_OK(Write(gradients(), 0, 3));
  ASSERT_OK_AND_ASSIGN(Tensor sum, Read(gradients(), 0));
  EXPECT_EQ(sum.flat<float>()[0], 5);
  ASSERT_OK_AND_ASSIGN(Tensor zeros, Read(gradients(), 1));
  EXPECT_TRUE(SameBits(zeros, Tensor::Vector<float>({0})));
}

TEST_F(TensorArrayKernelsTest, ClosedArrayRejectsWrites) {
  ASSERT_OK_AND_ASSIGN(const Tensor array, MakeArray(2));
  ASSERT_OK(harness_.Run("TensorArrayCloseV3", {array}));
  EXPECT_THAT(Write(array, 0, 1), StatusIs(kInvalid, "already been closed"));
}

TEST_F(TensorArrayKernelsTest, StacksPopInReverseOrder) {
  ASSERT_OK_AND_ASSIGN(const Tensor stack,
                       harness_.RunOne("StackV2", {Tensor::Scalar(2)},
                                       {{"elem_type", DT_INT32}}));
  const auto push = [&](const Tensor& value) {
    return harness_.Run("StackPushV2", {stack, value}).status();
  };
  const auto pop = [&] {
    return harness_.RunOne("StackPopV2", {stack}, {{"elem_type", DT_INT32}});
  };
  ASSERT_OK(push(Tensor::Scalar(1)));
  ASSERT_OK(push(Tensor::Scalar(2)));
  EXPECT_THAT(push(Tensor::Scalar(3)),
              StatusIs(kInvalid, "overflowed its max_size (2)"));
  EXPECT_THAT(push(Tensor::Scalar(1.0f)), StatusIs(kInvalid));
  for (int expected : {2, 1}) {
    ASSERT_OK_AND_ASSIGN(Tensor value, pop());
    EXPECT_EQ(value.scalar<int32_t>(), expected);
  }
  EXPECT_THAT(pop(), StatusIs(kInvalid, "is empty when calling Pop()"));
  ASSERT_OK(harness_.Run("StackCloseV2", {stack}));
  EXPECT_THAT(pop(), StatusIs(kInvalid, "already been closed"));
}

// Stacks of old graphs have handles by reference, and no size limit.
TEST_F(TensorArrayKernelsTest, OldStacksAreReferences) {
  ASSERT_OK_AND_ASSIGN(auto kernel,
                       harness_.Make("Stack", {}, {{"elem_type", DT_INT32}}));
  Slot handle;
  ASSERT_OK(kernel->RunSlots({}, absl::MakeSpan(&handle, 1)));
  const auto push = [&](const Tensor& value) {
    return harness_.Run("StackPush", {handle.variable, value}).status();
  };
  const auto pop = [&] {
    return harness_.RunOne("StackPop", {handle.variable},
                           {{"elem_type", DT_INT32}});
  };
  for (int value : {1, 2, 3}) ASSERT_OK(push(Tensor::Scalar(value)));
  EXPECT_THAT(push(Tensor::Scalar(1.0f)), StatusIs(kInvalid, "Must have type"));
  for (int expected : {3, 2, 1}) {
    ASSERT_OK_AND_ASSIGN(Tensor value, pop());
    EXPECT_EQ(value.scalar<int32_t>(), expected);
  }
  EXPECT_THAT(pop(), StatusIs(kInvalid, "is empty when calling Pop()."));
  ASSERT_OK(harness_.Run("StackClose", {handle.variable}));
  EXPECT_THAT(push(Tensor::Scalar(1)),
              StatusIs(kInvalid, "has already been closed."));
  // Each run creates a new stack.
  Slot other;
  ASSERT_OK(kernel->RunSlots({}, absl::MakeSpan(&other, 1)));
  EXPECT_OK(
      harness_.Run("StackPush", {other.variable, Tensor::Scalar(1)}).status());
}

// Handles of the second version are two strings.
TEST_F(TensorArrayKernelsTest, SecondVersionsHandlesAreStrings) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle,
                       harness_.RunOne("TensorArrayV2", {Tensor::Scalar(2)},
                                       {{"dtype", DT_FLOAT}}));
  EXPECT_EQ(handle.dtype(), DT_STRING);
  EXPECT_EQ(handle.shape(), TensorShape({2}));
  const Tensor value = Tensor::Vector<float>({7});
  ASSERT_OK(harness_.Run("TensorArrayWriteV2",
                         {handle, Tensor::Scalar(1), value, flow_}));
  const auto read = [&](const Tensor& from) {
    return harness_.RunOne("TensorArrayReadV2",
                           {from, Tensor::Scalar(1), flow_},
                           {{"dtype", DT_FLOAT}});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor got, read(handle));
  EXPECT_TRUE(SameBits(got, value));
  EXPECT_THAT(read(Tensor::Vector<std::string>({"step", "no such array"})),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(read(Tensor::Scalar("one")),
              StatusIs(kInvalid, "must have two elements"));
}

// Empty rows cost a program nothing, so it can request any number of them.
TEST_F(TensorArrayKernelsTest, RowsWithoutValuesAreBounded) {
  const auto array = MakeOldArray(0, {{"dynamic_size", true}});
  EXPECT_THAT(Unpack(array, Tensor(DT_FLOAT, {int64_t{1} << 40, 0})),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the value has shape [1099511627776,0]"));
  EXPECT_OK(Unpack(array, Tensor(DT_FLOAT, {1000, 0})));
}

TEST_F(TensorArrayKernelsTest, UnwrittenElementsAreBounded) {
  const auto array = MakeOldArray(std::numeric_limits<int32_t>::max(),
                                  {{"element_shape", PartialShape{0}}});
  SmallAllocator allocator(/*block=*/1 << 20, /*total=*/1 << 20);
  harness_.set_allocator(allocator);
  EXPECT_THAT(Pack(array),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "for 2147483647 elements of a TensorArray"));
  harness_.set_allocator(HeapAllocator());
}

TEST_F(TensorArrayKernelsTest, CancelledStepsEndLoopsOverElements) {
  const auto array = MakeOldArray(5, {{"element_shape", PartialShape{0}}});
  harness_.cancellation().Cancel(absl::CancelledError("by the test"));
  EXPECT_THAT(Unpack(array, Tensor(DT_FLOAT, {5, 0})),
              StatusIs(absl::StatusCode::kCancelled, "by the test"));
  EXPECT_THAT(Pack(array),
              StatusIs(absl::StatusCode::kCancelled, "by the test"));
}

TEST_F(TensorArrayKernelsTest, FirstVersionsArraysArePackedAsAWhole) {
  const auto rows = Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4});
  const auto array = MakeOldArray(2);
  ASSERT_OK(Unpack(array, rows));
  ASSERT_OK_AND_ASSIGN(const Tensor got, Pack(array));
  EXPECT_TRUE(SameBits(got, rows));
  EXPECT_THAT(Pack(MakeOldArray(2)), StatusIs(kInvalid, "Could not read"));
  EXPECT_THAT(
      Unpack(MakeOldArray(2), Tensor::Vector<float>({1})),
      StatusIs(kInvalid,
               "must have first dimension equal to the array size (1 vs. 2)"));
  EXPECT_THAT(Unpack(MakeOldArray(2), Tensor::Vector<float>({1, 2, 3})),
              StatusIs(kInvalid, "equal to the array size (3 vs. 2)"));
  EXPECT_THAT(Unpack(MakeOldArray(2), Tensor::Scalar(1.0f)),
              StatusIs(kInvalid, "must be at least a vector"));
}

}  // namespace
}  // namespace weft
