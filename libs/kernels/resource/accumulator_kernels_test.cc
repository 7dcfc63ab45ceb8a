#include <memory>
#include <optional>
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

TEST_F(AccumulatorKernelsTest, AveragesGradientsOfTheCurrentStep) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle, MakeDense());
  ASSERT_OK(Apply(handle, 0, {1, 2}));
  ASSERT_OK(Apply(handle, 0, {3, 6}));
  ASSERT_OK_AND_ASSIGN(Tensor average, Take(handle, 2));
  EXPECT_TRUE(SameBits(average, Tensor::Vector<float>({2, 4})));
  // A gradient of the previous step is dropped.
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

TEST_F(AccumulatorKernelsTest, CountWaitsForEnoughGradients) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle, MakeDense());
  const auto count = [&](int64_t at_least) {
    return harness_.RunOne("ResourceAccumulatorNumAccumulated", {handle},
                           {{"_at_least", at_least}});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor none, count(0));
  EXPECT_EQ(none.scalar<int32_t>(), 0);
  ASSERT_OK(Apply(handle, 0, {1, 2}));
  ASSERT_OK(Apply(handle, 0, {1, 2}));
  ASSERT_OK_AND_ASSIGN(const Tensor two, count(2));
  EXPECT_EQ(two.scalar<int32_t>(), 2);
}

// These ops form one step, which begins with the first use of the handle.
TEST_F(AccumulatorKernelsTest, RestartedChiefDropsGradients) {
  const AttrMap shared = {{"shared_name", "a"}};
  ASSERT_OK_AND_ASSIGN(const Tensor handle, MakeDense(shared));
  const auto begin = [&](int64_t step) {
    return harness_
        .Run("ResourceAccumulatorSetGlobalStep", {handle, Step(step)},
             {{"_begins_anew", true}})
        .status();
  };
  ASSERT_OK(begin(9));
  ASSERT_OK(Apply(handle, 9, {100, 100}));
  ASSERT_OK(begin(8));
  ASSERT_OK(Apply(handle, 8, {100, 100}));  // a step that began earlier
  ASSERT_OK(MakeDense(shared));
  ASSERT_OK(Apply(handle, 9, {100, 100}));
  ASSERT_OK(Apply(handle, 8, {3, 6}));
  ASSERT_OK_AND_ASSIGN(const Tensor average, Take(handle, 1));
  EXPECT_TRUE(SameBits(average, Tensor::Vector<float>({3, 6})));
}

// Gradients of numbered replicas are not added to a sum until they are taken.
TEST(GradientAccumulatorTest, RestartDropsGradientsOfEachKind) {
  const GradientAccumulatorOptions dense = {.dtype = DT_FLOAT, .shape = {1}};
  const GradientAccumulatorOptions sparse = {
      .dtype = DT_FLOAT, .shape = {4, 1}, .is_sparse = true};
  Cancellation step;
  for (const bool is_sparse : {false, true}) {
    for (const bool is_numbered : {false, true}) {
      auto accumulator = std::make_shared<GradientAccumulator>(
          "a", is_sparse ? sparse : dense,
          is_sparse ? NewSparseSum(sparse) : NewDenseSum(dense));
      const auto apply = [&](float value) {
        const auto replica =
            is_numbered ? std::optional<int64_t>(0) : std::nullopt;
        return is_sparse
                   ? accumulator->Apply(
                         step, 0,
                         {Ids({1}), Tensor::FromValues<float>({1, 1}, {value})},
                         replica)
                   : accumulator->Apply(
                         step, 0, {Tensor::Vector<float>({value})}, replica);
      };
      ASSERT_OK(accumulator->BeginAnew(step, 0));
      ASSERT_OK(apply(100));
      ASSERT_OK(accumulator->BeginAnew(step, 0));
      ASSERT_OK(accumulator->BeginAnew(step, 0));
      ASSERT_OK(apply(3));
      bool is_taken = false;
      accumulator->Take(step, 1, [&](auto taken) {
        is_taken = true;
        ASSERT_OK(taken);
        EXPECT_EQ((*taken)[is_sparse ? 1 : 0].template flat<float>()[0], 3);
      });
      EXPECT_TRUE(is_taken);
    }
  }
}

TEST_F(AccumulatorKernelsTest, LeavesAppliedGradientsUnchanged) {
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

TEST_F(AccumulatorKernelsTest, RejectsMismatchedArguments) {
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

// TensorFlow's types; a count of gradients may overflow an integer.
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

TEST(SparseSumTest, AveragesRowsOverTheirContributors) {
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

// The accumulators are declared without a shape, as in SyncReplicasOptimizer.
// The gradient's own shape contains the number of rows.
TEST(SparseSumTest, RefusesRowsBeyondTheGradientsOwnShape) {
  const GradientAccumulatorOptions options = {
      .dtype = DT_FLOAT, .shape = PartialShape::Scalar(), .is_sparse = true};
  auto accumulator = std::make_shared<GradientAccumulator>(
      "a", options, NewSparseSum(options));
  Cancellation step;
  const Tensor row = Tensor::FromValues<float>({1, 1}, {1});
  EXPECT_THAT(accumulator->Apply(step, 0, {Ids({5}), row, Ids({5, 1})}),
              StatusIs(kInvalid, "index is 5 exceeded 5"));
  ASSERT_OK(accumulator->Apply(step, 0, {Ids({4}), row, Ids({5, 1})}));
  ASSERT_OK(accumulator->Apply(step, 0, {Ids({7}), row}));
  ASSERT_OK(accumulator->Apply(step, 0, {Ids({7}), row, Ids({-1, 1})}));
  EXPECT_EQ(accumulator->num_accumulated(), 3);
}

TEST(SparseSumTest, SumsRepeatedRowsAndPutsThemInOrder) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> sums,
      SumRepeatedRows(
          {Ids({3, 1, 3, 0}),
           Tensor::FromValues<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}));
  EXPECT_TRUE(SameBits(sums[0], Ids({0, 1, 3})));
  EXPECT_TRUE(
      SameBits(sums[1], Tensor::FromValues<float>({3, 2}, {7, 8, 3, 4, 6, 8})));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> none,
                       SumRepeatedRows({Ids({}), Tensor(DT_FLOAT, {0, 2})}));
  EXPECT_EQ(none[1].dim(0), 0);
  EXPECT_THAT(SumRepeatedRows({Ids({1, 1}), Tensor(DT_FLOAT, {1, 2})}),
              StatusIs(kInvalid, "as many values as indices"));
}

// Returns the sum of three gradients that arrive in this order of replica
// numbers.
Tensor SumOf(const std::vector<int64_t>& order, bool is_numbered) {
  const std::vector<float> gradients = {1e8f, 1, -1e8f};
  const GradientAccumulatorOptions options = {.dtype = DT_FLOAT, .shape = {1}};
  auto accumulator =
      std::make_shared<GradientAccumulator>("a", options, NewDenseSum(options));
  Cancellation step;
  for (const int64_t replica : order) {
    EXPECT_OK(accumulator->Apply(
        step, 0, {Tensor::Vector<float>({gradients[replica]})},
        is_numbered ? std::optional<int64_t>(replica) : std::nullopt));
  }
  Tensor sum;
  accumulator->Take(step, 3, [&](absl::StatusOr<std::vector<Tensor>> taken) {
    ASSERT_OK(taken);
    sum = (*taken)[0];
  });
  return sum;
}

TEST(GradientAccumulatorTest, NumberedReplicasAreAddedInOrder) {
  EXPECT_TRUE(SameBits(SumOf({0, 1, 2}, true), SumOf({2, 0, 1}, true)));
  EXPECT_TRUE(SameBits(SumOf({0, 1, 2}, true), SumOf({1, 2, 0}, true)));
  EXPECT_TRUE(SameBits(SumOf({0, 1, 2}, true), SumOf({0, 1, 2}, false)));
  EXPECT_FALSE(SameBits(SumOf({0, 1, 2}, false), SumOf({2, 0, 1}, false)));
}

TEST(GradientAccumulatorTest, FirstGradientOfANumberedReplicaCounts) {
  const GradientAccumulatorOptions options = {.dtype = DT_FLOAT, .shape = {-1}};
  auto accumulator =
      std::make_shared<GradientAccumulator>("a", options, NewDenseSum(options));
  Cancellation step, over;
  over.Cancel(absl::AbortedError("the step is over"));
  const auto apply = [&](const Cancellation& of, std::optional<int64_t> replica,
                         std::initializer_list<float> gradient) {
    return accumulator->Apply(of, 0, {Tensor::Vector<float>(gradient)},
                              replica);
  };
  EXPECT_EQ(apply(over, 0, {100}), absl::AbortedError("the step is over"));
  ASSERT_OK(apply(step, 0, {2}));
  ASSERT_OK(apply(step, 0, {100}));
  EXPECT_EQ(accumulator->num_accumulated(), 1);
  EXPECT_THAT(apply(step, 1, {1, 2}), StatusIs(kInvalid, "Shape mismatch"));
  EXPECT_THAT(apply(step, std::nullopt, {1}),
              StatusIs(kInvalid, "all replicas must be numbered or none"));
  ASSERT_OK(apply(step, 1, {4}));
  bool is_taken = false;
  accumulator->Take(step, 2, [&](absl::StatusOr<std::vector<Tensor>> taken) {
    is_taken = true;
    ASSERT_OK(taken);
    EXPECT_TRUE(SameBits((*taken)[0], Tensor::Vector<float>({3})));
  });
  EXPECT_TRUE(is_taken);
  // An empty accumulator may switch to unnumbered replicas.
  ASSERT_OK(accumulator->Apply(step, 1, {Tensor::Vector<float>({1})}));
  EXPECT_THAT(accumulator->Apply(step, 1, {Tensor::Vector<float>({1})}, 0),
              StatusIs(kInvalid, "all replicas must be numbered or none"));
}

TEST(GradientAccumulatorTest, WaitingTakeSurvivesACancelledOne) {
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
