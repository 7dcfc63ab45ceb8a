#include <memory>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/resource/accumulator_sums.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/resource/gradient_accumulator.h"

namespace weft {
namespace {

Tensor Step(int64_t step) { return Tensor::Scalar(step); }
Tensor Ids(std::initializer_list<int64_t> ids) { return Tensor::Vector(ids); }

class AccumulatorKernelsTest : public testing::Test {
 protected:
  AccumulatorKernelsTest() : harness_(RegisterAccumulatorKernels) {}

  absl::StatusOr<Tensor> MakeDense(AttrMap attrs = {}) {
    attrs["dtype"] = DT_FLOAT;
    attrs["shape"] = PartialShape{2};
    auto kernel = harness_.Make("ResourceConditionalAccumulator", {}, attrs);
    if (!kernel.ok()) return kernel.status();
    kernels_.push_back(*std::move(kernel));
    auto outputs = kernels_.back()->Run({});
    if (!outputs.ok()) return outputs.status();
    return (*outputs)[0];
  }
  absl::Status Apply(const Tensor& handle, int64_t step,
                     std::initializer_list<float> gradient) {
    return harness_
        .Run("ResourceAccumulatorApplyGradient",
             {handle, Step(step), Tensor::Vector<float>(gradient)})
        .status();
  }
  absl::StatusOr<Tensor> Take(const Tensor& handle, int num_required) {
    return harness_.RunOne("ResourceAccumulatorTakeGradient",
                           {handle, Tensor::Scalar(num_required)},
                           {{"dtype", DT_FLOAT}});
  }

  KernelTestHarness harness_;
  std::vector<std::unique_ptr<KernelTestHarness::Kernel>> kernels_;
};

TEST_F(AccumulatorKernelsTest, AveragesWhatIsOfThisStep) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle, MakeDense());
  ASSERT_OK(Apply(handle, 0, {1, 2}));
  ASSERT_OK(Apply(handle, 0, {3, 6}));
  ASSERT_OK_AND_ASSIGN(Tensor average, Take(handle, 2));
  EXPECT_TRUE(SameBits(average, Tensor::Vector<float>({2, 4})));
  // Of the step before.
  ASSERT_OK(Apply(handle, 0, {100, 100}));
  ASSERT_OK_AND_ASSIGN(
      Tensor count,
      harness_.RunOne("ResourceAccumulatorNumAccumulated", {handle}));
  EXPECT_EQ(count.scalar<int32_t>(), 0);
  ASSERT_OK(
      harness_.Run("ResourceAccumulatorSetGlobalStep", {handle, Step(10)}));
  ASSERT_OK(Apply(handle, 9, {100, 100}));
  ASSERT_OK(Apply(handle, 10, {5, 6}));
  ASSERT_OK_AND_ASSIGN(average, Take(handle, 1));
  EXPECT_TRUE(SameBits(average, Tensor::Vector<float>({5, 6})));
}

TEST_F(AccumulatorKernelsTest, DoesNotChangeTheGradientsItIsGiven) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle,
                       MakeDense({{"reduction_type", "SUM"}}));
  const Tensor gradient = Tensor::Vector<float>({1, 2});
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(harness_.Run("ResourceAccumulatorApplyGradient",
                           {handle, Step(0), gradient}));
  }
  ASSERT_OK_AND_ASSIGN(Tensor sum, Take(handle, 1));
  EXPECT_TRUE(SameBits(sum, Tensor::Vector<float>({2, 4})));
  EXPECT_TRUE(SameBits(gradient, Tensor::Vector<float>({1, 2})));
}

TEST_F(AccumulatorKernelsTest, RefusesWhatDoesNotFit) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle, MakeDense());
  EXPECT_THAT(Apply(handle, 0, {1, 2, 3}),
              StatusIs(kInvalid, "Shape mismatch: expected [2], got [3]"));
  EXPECT_THAT(
      Take(handle, 0),
      StatusIs(kInvalid, "Argument num_required must be positive, but was 0"));
  EXPECT_THAT(harness_.Run("ResourceAccumulatorApplyGradient",
                           {handle, Step(0), Tensor::Vector<double>({1, 2})}),
              StatusIs(kInvalid, "holds dense float, not dense double"));
}

// TensorFlow's types: a count of gradients need not fit into an integer.
TEST_F(AccumulatorKernelsTest, SumsFloatsOnly) {
  EXPECT_EQ(AccumulatedTypes(),
            (std::vector<DataType>{DT_FLOAT, DT_DOUBLE, DT_HALF}));
  for (const char* op :
       {"ConditionalAccumulator", "ResourceConditionalAccumulator",
        "SparseConditionalAccumulator"}) {
    for (DataType type : {DT_INT8, DT_INT32, DT_INT64, DT_COMPLEX64}) {
      EXPECT_EQ(
          harness_.Make(op, {}, {{"dtype", type}, {"shape", PartialShape{2}}})
              .status()
              .code(),
          absl::StatusCode::kNotFound)
          << op << " of " << DataTypeName(type);
    }
  }
}

std::shared_ptr<GradientAccumulator> Sparse() {
  const GradientAccumulatorOptions options = {
      .dtype = DT_FLOAT, .shape = {4, 1}, .is_sparse = true};
  return std::make_shared<GradientAccumulator>("a", options,
                                               NewSparseSum(options));
}

TEST(SparseSumTest, AveragesEachRowOverThoseThatHaveIt) {
  auto accumulator = Sparse();
  Cancellation step;
  const auto rows = [](std::initializer_list<float> values) {
    return Tensor::FromValues<float>({static_cast<int64_t>(values.size()), 1},
                                     values);
  };
  ASSERT_OK(accumulator->Apply(step, 0, {Ids({1, 3}), rows({1, 2})}));
  ASSERT_OK(accumulator->Apply(step, 0, {Ids({3, 0}), rows({4, 6})}));
  accumulator->Take(step, 2, [&](absl::StatusOr<std::vector<Tensor>> taken) {
    ASSERT_OK(taken);
    EXPECT_TRUE(SameBits((*taken)[0], Ids({1, 3, 0})));
    EXPECT_TRUE(SameBits((*taken)[1], rows({1, 3, 6})));
    EXPECT_TRUE(SameBits((*taken)[2], Ids({4, 1})));
  });
  EXPECT_EQ(accumulator->num_accumulated(), 0);
  EXPECT_THAT(accumulator->Apply(step, 1, {Ids({4}), rows({1})}),
              StatusIs(kInvalid, "index is 4"));
  EXPECT_THAT(accumulator->Apply(step, 1, {Ids({-1}), rows({1})}),
              StatusIs(kInvalid));
  EXPECT_THAT(accumulator->Apply(step, 1, {Ids({1, 2}), rows({1})}),
              StatusIs(kInvalid));
  EXPECT_THAT(accumulator->Apply(step, 1, {Ids({1}), rows({1}), Ids({5, 1})}),
              StatusIs(kInvalid, "expected dim 0 to be 4, got 5"));
}

TEST(GradientAccumulatorTest, WaitsAndACancelledTakeTakesNothing) {
  const GradientAccumulatorOptions options = {.dtype = DT_FLOAT, .shape = {2}};
  auto accumulator =
      std::make_shared<GradientAccumulator>("a", options, NewDenseSum(options));
  Cancellation step, other;
  std::vector<absl::Status> ends;
  const auto record = [&](const absl::StatusOr<std::vector<Tensor>>& taken) {
    ends.push_back(taken.status());
  };
  accumulator->Take(other, 1, record);
  accumulator->Take(step, 2, record);
  EXPECT_TRUE(ends.empty());
  other.Cancel(absl::DeadlineExceededError("late"));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_THAT(ends[0], StatusIs(absl::StatusCode::kDeadlineExceeded));
  const Tensor gradient = Tensor::Vector<float>({1, 2});
  ASSERT_OK(accumulator->Apply(step, 0, {gradient}));
  EXPECT_EQ(ends.size(), 1u);
  EXPECT_THAT(accumulator->Apply(other, 0, {gradient}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_OK(accumulator->Apply(step, 0, {gradient}));
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_OK(ends[1]);
}

}  // namespace
}  // namespace weft
