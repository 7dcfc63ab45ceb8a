// Tests unusual inputs of kernels that search, count, write slices by index and
// sum segments.
#include <cmath>
#include <limits>

#include "libs/kernels/array/array_kernels_test_base.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// In a shape with a dimension of size 0, the other sizes are unlimited.
constexpr int64_t kMany = int64_t{1} << 61;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class ArraySearchTest : public ArrayKernelsTest {
 protected:
  static Tensor Longs(std::initializer_list<int64_t> values) {
    return Tensor::Vector<int64_t>(values);
  }
};

TEST_F(ArraySearchTest, BoundsOfManyEmptyRows) {
  EXPECT_EQ(Run("LowerBound", {Empty({kMany, 0}), Empty({kMany, 0})}),
            "[2305843009213693952,0]");
  EXPECT_EQ(Run("UpperBound",
                {Floats({1, 3}, {1, 2, 2}), Floats({1, 3}, {kNan, 2, 0})}),
            "[1,3] 3 3 0");
}

TEST_F(ArraySearchTest, NthElementOrdersNaNLast) {
  EXPECT_EQ(Run("NthElement", {Empty({0, kMany}), Int(1)}), "[0]");
  // NaN sorts last, wherever it is.
  std::vector<float> values(100, kNan);
  for (int i = 0; i < 50; ++i) values[2 * i] = static_cast<float>(50 - i);
  const Tensor row = Tensor::FromValues<float>({100}, values);
  EXPECT_EQ(Run("NthElement", {row, Int(0)}), "[] 1");
  EXPECT_EQ(Run("NthElement", {row, Int(49)}), "[] 50");
  EXPECT_EQ(Run("NthElement", {row, Int(50)}), "[] nan");
  EXPECT_EQ(Run("NthElement", {row, Int(99)}, {{"reverse", true}}), "[] 1");
}

TEST_F(ArraySearchTest, HistogramRejectsInvalidRanges) {
  const auto run = [&](Tensor values, float low, float high) {
    return Run("HistogramFixedWidth",
               {std::move(values), Floats({2}, {low, high}), Int(4)});
  };
  EXPECT_EQ(run(Floats({3}, {-kInfinity, 1, kInfinity}), 0, 4), "[4] 1 1 0 1");
  EXPECT_THAT(run(Floats({1}, {kNan}), 0, 4), HasSubstr("NaN"));
  // TensorFlow writes out of bounds here.
  EXPECT_THAT(run(Floats({1}, {1}), 0, kInfinity), HasSubstr("finite"));
  EXPECT_THAT(run(Floats({1}, {1}), -kInfinity, 0), HasSubstr("finite"));
  EXPECT_THAT(run(Floats({1}, {1}), kNan, 0), HasSubstr("value_range"));
  EXPECT_EQ(run(Floats({2}, {-3e38f, 3e38f}), -3e38f, 3e38f), "[4] 1 0 0 1");
}

TEST_F(ArraySearchTest, UnravelIndexChecksItsRange) {
  EXPECT_EQ(Run("UnravelIndex", {Ints({-1, 5}), Ints({3, 4})}),
            "[2,2] 0 1 -1 1");
  EXPECT_EQ(Run("UnravelIndex", {Int(0), Ints({})}), "[0]");
  EXPECT_THAT(Run("UnravelIndex", {Ints({12}), Ints({3, 4})}),
              HasSubstr("out of bound"));
  EXPECT_THAT(Run("UnravelIndex", {Ints({0}), Ints({65536, 65536})}),
              HasSubstr("overflow"));
  EXPECT_THAT(Run("UnravelIndex", {Longs({0}), Longs({kMany, kMany})}),
              HasSubstr("overflow"));
  EXPECT_THAT(Run("UnravelIndex", {Ints({0}), Ints({-3, -4})}),
              HasSubstr("negative"));
}

TEST_F(ArraySearchTest, ScatteredIndicesAreAMatrixOfTuples) {
  const Tensor x = Floats({3}, {1, 2, 3});
  const auto run = [&](const char* op, Tensor indices, Tensor updates,
                       AttrMap attrs = {}) {
    return Run(op, {x, std::move(indices), std::move(updates)},
               std::move(attrs));
  };
  const Tensor two = Tensor::FromValues<int32_t>({2, 1}, {0, 0});
  EXPECT_EQ(run("TensorScatterAdd", two, Floats({2}, {1, 10})), "[3] 12 2 3");
  EXPECT_THAT(run("TensorScatterMax", Ints({0}), Floats({}, {1})),
              HasSubstr("matrix of tuples"));
  EXPECT_THAT(run("TensorScatterSub", Tensor(DT_INT32, {1, 0}),
                  Floats({1, 3}, {1, 1, 1})),
              HasSubstr("[-1] values of at least 1"));
  EXPECT_EQ(run("ScatterNdNonAliasingAdd", Ints({1}), Floats({1}, {5})),
            "[3] 1 7 3");
  EXPECT_THAT(run("ScatterNdNonAliasingAdd", Ints({0, 1}), Floats({2}, {5, 6})),
              HasSubstr("matrix of tuples"));
  EXPECT_THAT(run("TensorScatterMin", two, Floats({2}, {1, 1}),
                  {{"bad_indices_policy", "x"}}),
              HasSubstr("Unknown bad indices handling attribute: x"));
}

TEST_F(ArraySearchTest, SegmentsWithoutRows) {
  for (const char* op : {"SparseSegmentSumWithNumSegments",
                         "SparseSegmentMeanWithNumSegments"}) {
    EXPECT_EQ(Run(op, {Empty({0, 2}), Ints({}), Ints({}), Int(2)}),
              "[2,2] 0 0 0 0");
    EXPECT_THAT(Run(op, {Floats({1, 1}, {1}), Ints({0}), Ints({0}), Ints({1})}),
                HasSubstr("num_segments should be a scalar"));
  }
  EXPECT_THAT(Run("SparseSegmentSumGradV2",
                  {Floats({1, 1}, {1}), Ints({}), Ints({}), Int(-1)}),
              HasSubstr("non-negative"));
}

// From 256 on, adjacent bfloat16 numbers differ by 2.
TEST_F(ArraySearchTest, LongBfloat16SumsDoNotSaturate) {
  constexpr int kRows = 300;
  Tensor ones(DT_BFLOAT16, {kRows, 1});
  Tensor zeros(DT_INT32, {kRows}), numbers = Counting({kRows});
  for (int i = 0; i < kRows; ++i) {
    ones.mutable_flat<bfloat16>()[i] = bfloat16(1.0f);
    zeros.mutable_flat<int32_t>()[i] = 0;
  }
  ASSERT_OK_AND_ASSIGN(
      const Tensor mean,
      harness_.RunOne("SparseSegmentMean", {ones, numbers, zeros}));
  EXPECT_EQ(static_cast<float>(mean.flat<bfloat16>()[0]), 1);
  ASSERT_OK_AND_ASSIGN(
      const Tensor grad,
      harness_.RunOne("SparseSegmentSumGrad", {ones, zeros, numbers, Int(1)}));
  EXPECT_EQ(static_cast<float>(grad.flat<bfloat16>()[0]), 300);
}

}  // namespace
}  // namespace weft
