// Compares reductions over all sets of axes with a slow reference. Also tests
// scans and extreme values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/reduction_loops.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  const absl::Span<const T> values = tensor.flat<T>();
  return std::vector<T>(values.begin(), values.end());
}

class MathReductionTest : public testing::Test {
 protected:
  KernelTestHarness harness_{RegisterMathKernels};
};

Tensor Counting(const TensorShape& shape) {
  Tensor x(DT_DOUBLE, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_flat<double>()[i] = static_cast<double>((i * 7) % 11) - 4;
  }
  return x;
}

// Computes sums by visiting every element.
std::vector<double> ReferenceSum(const Tensor& x, int axes_mask) {
  std::vector<double> sums;
  TensorShape out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!(axes_mask >> i & 1)) out.AddDim(x.dim(i));
  }
  sums.resize(out.num_elements());
  for (int64_t index = 0; index < x.num_elements(); ++index) {
    int64_t rest = index, place = 0, stride = 1;
    for (int i = x.rank() - 1; i >= 0; --i) {
      const int64_t position = rest % x.dim(i);
      rest /= x.dim(i);
      if (axes_mask >> i & 1) continue;
      place += position * stride;
      stride *= x.dim(i);
    }
    sums[place] += x.flat<double>()[index];
  }
  return sums;
}

TEST_F(MathReductionTest, SumsAlongEverySetOfAxes) {
  const Tensor x = Counting(TensorShape({3, 1, 4, 2, 5}));
  for (int mask = 0; mask < 32; ++mask) {
    Tensor axes(DT_INT32, TensorShape({__builtin_popcount(mask)}));
    TensorShape kept = x.shape();
    for (int i = 0, next = 0; i < 5; ++i) {
      if (!(mask >> i & 1)) continue;
      kept.set_dim(i, 1);
      // Every other axis is counted from the end.
      axes.mutable_flat<int32_t>()[next++] = i % 2 == 0 ? i : i - 5;
    }
    ASSERT_OK_AND_ASSIGN(Tensor sum, harness_.RunOne("Sum", {x, axes}));
    EXPECT_EQ(ValuesOf<double>(sum), ReferenceSum(x, mask)) << mask;
    ASSERT_OK_AND_ASSIGN(
        Tensor same, harness_.RunOne("Sum", {x, axes}, {{"keep_dims", true}}));
    EXPECT_EQ(same.shape(), kept);
    EXPECT_EQ(ValuesOf<double>(same), ValuesOf<double>(sum));
  }
}

TEST_F(MathReductionTest, LargeSumsAreExactEnough) {
  const int64_t n = 1'000'000;
  Tensor x(DT_FLOAT, TensorShape({n}));
  for (float& value : x.mutable_flat<float>()) value = 0.1f;
  ASSERT_OK_AND_ASSIGN(Tensor sum,
                       harness_.RunOne("Sum", {x, Tensor::Scalar(0)}));
  EXPECT_NEAR(sum.scalar<float>(), 100'000, 1);
  ASSERT_OK_AND_ASSIGN(Tensor mean,
                       harness_.RunOne("Mean", {x, Tensor::Scalar(0)}));
  EXPECT_NEAR(mean.scalar<float>(), 0.1, 1e-6);
}

TEST_F(MathReductionTest, LargeColumnsAndRowsAreSplit) {
  Tensor x(DT_INT32, TensorShape({600, 700}));
  for (int32_t& value : x.mutable_flat<int32_t>()) value = 1;
  ASSERT_OK_AND_ASSIGN(Tensor columns,
                       harness_.RunOne("Sum", {x, Tensor::Scalar(0)}));
  EXPECT_EQ(ValuesOf<int32_t>(columns), std::vector<int32_t>(700, 600));
  ASSERT_OK_AND_ASSIGN(Tensor rows,
                       harness_.RunOne("Sum", {x, Tensor::Scalar(1)}));
  EXPECT_EQ(ValuesOf<int32_t>(rows), std::vector<int32_t>(600, 700));
}

TEST_F(MathReductionTest, RowsOfFloats) {
  for (int64_t columns : {2, 3, 7, 8, 16, 33, 2050}) {
    Tensor x(DT_FLOAT, TensorShape({5, columns}));
    std::vector<float> sum(5, 0), most(5, -100), least(5, 100);
    for (int64_t i = 0; i < 5 * columns; ++i) {
      const float value = static_cast<float>((i * 7) % 31) - 15;
      x.mutable_flat<float>()[i] = value;
      sum[i / columns] += value;
      most[i / columns] = std::max(most[i / columns], value);
      least[i / columns] = std::min(least[i / columns], value);
    }
    ASSERT_OK_AND_ASSIGN(Tensor y,
                         harness_.RunOne("Sum", {x, Tensor::Scalar(1)}));
    EXPECT_EQ(ValuesOf<float>(y), sum) << columns;
    ASSERT_OK_AND_ASSIGN(y, harness_.RunOne("Max", {x, Tensor::Scalar(1)}));
    EXPECT_EQ(ValuesOf<float>(y), most) << columns;
    ASSERT_OK_AND_ASSIGN(y, harness_.RunOne("Min", {x, Tensor::Scalar(1)}));
    EXPECT_EQ(ValuesOf<float>(y), least) << columns;
  }
}

// Sizes around the vector size and around groups of rows.
TEST_F(MathReductionTest, ColumnsOfFloats) {
  for (int64_t rows : {1, 2, 3, 4, 5, 9, 130}) {
    for (int64_t columns : {2, 3, 7, 8, 16, 33, 2050}) {
      Tensor x(DT_FLOAT, TensorShape({rows, columns}));
      std::vector<float> sum(columns, 0), most(columns, -100);
      for (int64_t i = 0; i < rows * columns; ++i) {
        const float value = static_cast<float>((i * 7) % 31) - 15;
        x.mutable_flat<float>()[i] = value;
        sum[i % columns] += value;
        most[i % columns] = std::max(most[i % columns], value);
      }
      ASSERT_OK_AND_ASSIGN(Tensor y,
                           harness_.RunOne("Sum", {x, Tensor::Scalar(0)}));
      EXPECT_EQ(ValuesOf<float>(y), sum) << rows << " " << columns;
      ASSERT_OK_AND_ASSIGN(y, harness_.RunOne("Max", {x, Tensor::Scalar(0)}));
      EXPECT_EQ(ValuesOf<float>(y), most) << rows << " " << columns;
    }
  }
}

TEST_F(MathReductionTest, LongColumnsAreExactEnough) {
  const int64_t rows = 500'000;
  Tensor x(DT_FLOAT, TensorShape({rows, 2}));
  for (float& value : x.mutable_flat<float>()) value = 0.1f;
  ASSERT_OK_AND_ASSIGN(Tensor sum,
                       harness_.RunOne("Sum", {x, Tensor::Scalar(0)}));
  EXPECT_NEAR(sum.flat<float>()[0], 50'000, 1);
  EXPECT_NEAR(sum.flat<float>()[1], 50'000, 1);
}

TEST_F(MathReductionTest, NanStaysInItsColumn) {
  for (int row = 0; row < 9; ++row) {
    for (int column : {0, 8, 16}) {
      Tensor x(DT_FLOAT, TensorShape({9, 17}));
      for (float& value : x.mutable_flat<float>()) value = 1;
      x.mutable_flat<float>()[row * 17 + column] =
          std::numeric_limits<float>::quiet_NaN();
      for (const char* op : {"Max", "Min", "Sum", "Prod"}) {
        ASSERT_OK_AND_ASSIGN(Tensor y,
                             harness_.RunOne(op, {x, Tensor::Scalar(0)}));
        for (int j = 0; j < 17; ++j) {
          EXPECT_EQ(std::isnan(y.flat<float>()[j]), j == column)
              << op << " " << row << " " << j;
        }
      }
    }
  }
}

template <typename T>
void ExpectSameWithEachInstructionSet() {
  std::vector<T> x;
  for (int i = 0; i < 9000; ++i) x.push_back(static_cast<T>(i * 7 % 31 - 15));
  for (InstructionSet set : SupportedInstructionSets()) {
    for (ReductionOp op :
         {ReductionOp::kSum, ReductionOp::kMax, ReductionOp::kMin}) {
      const auto loops = ReductionLoopsFor<T>(set, op);
      const auto first = ReductionLoopsFor<T>(InstructionSet::kV1, op);
      for (int n : {1, 2, 15, 16, 64, 129, 4096, 9000}) {
        EXPECT_EQ(loops.run(x.data(), n), first.run(x.data(), n)) << n;
      }
      std::vector<T> rows(33, 0), expected(33, 0);
      loops.rows(x.data(), 11, 40, 33, rows.data());
      first.rows(x.data(), 11, 40, 33, expected.data());
      EXPECT_EQ(rows, expected);
    }
  }
}

TEST(ReductionLoopsTest, InstructionSetsAgree) {
  ExpectSameWithEachInstructionSet<float>();
  ExpectSameWithEachInstructionSet<double>();
}

// Long enough for all parallel accumulators of a loop, and a remainder.
template <typename T>
void ExpectNanWinsWithEachInstructionSet() {
  const int n = 160;
  for (InstructionSet set : SupportedInstructionSets()) {
    for (ReductionOp op : {ReductionOp::kSum, ReductionOp::kProd,
                           ReductionOp::kMax, ReductionOp::kMin}) {
      const auto loops = ReductionLoopsFor<T>(set, op);
      for (int place = 0; place < n; ++place) {
        std::vector<T> x;
        for (int i = 0; i < n; ++i) x.push_back(static_cast<T>(i % 31 - 15));
        x[place] = std::numeric_limits<T>::quiet_NaN();
        EXPECT_TRUE(std::isnan(loops.run(x.data(), n))) << place;
      }
    }
  }
}

TEST(ReductionLoopsTest, NanWinsWithEachInstructionSet) {
  ExpectNanWinsWithEachInstructionSet<float>();
  ExpectNanWinsWithEachInstructionSet<double>();
}

TEST_F(MathReductionTest, SumsOfHalfAreRoundedAtEachAddition) {
  Tensor x(DT_HALF, TensorShape({3, 1}));
  x.mutable_flat<half>()[0] = half(2048);
  x.mutable_flat<half>()[1] = x.mutable_flat<half>()[2] = half(1);
  for (const char* op : {"Sum", "Cumsum"}) {
    ASSERT_OK_AND_ASSIGN(Tensor sum,
                         harness_.RunOne(op, {x, Tensor::Scalar(0)}));
    EXPECT_EQ(static_cast<float>(sum.flat<half>().back()), 2048) << op;
  }
}

TEST_F(MathReductionTest, HalfSumsUseEightLanes) {
  Tensor x(DT_HALF, TensorShape({4096}));
  for (half& value : x.mutable_flat<half>()) value = half(0.25f);
  ASSERT_OK_AND_ASSIGN(Tensor sum,
                       harness_.RunOne("Sum", {x, Tensor::Scalar(0)}));
  EXPECT_EQ(static_cast<float>(sum.flat<half>()[0]), 1024);
}

half Rounded(half a, half b) {
  return half(static_cast<float>(a) + static_cast<float>(b));
}

// Sums in the order of TensorFlow's Eigen: vectors of eight lanes, four vectors
// at a time. Longer sums are split into two halves at a vector boundary of the
// whole tensor.
half HalfSumOf(const half* x, int64_t n, int64_t first) {
  if (n > 1600) {
    const int64_t middle = (first + (n + 1) / 2 + 7) / 8 * 8;
    const int64_t left = std::min(middle - first, n);
    const half sum = Rounded(half(0.0f), HalfSumOf(x, left, first));
    if (left == n) return sum;
    return Rounded(sum, HalfSumOf(x + left, n - left, middle));
  }
  half lanes[4][8] = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    for (int64_t k = 0; k < 32; ++k) {
      lanes[k / 8][k % 8] = Rounded(lanes[k / 8][k % 8], x[i + k]);
    }
  }
  for (int64_t k = 8; k < 32; ++k) {
    lanes[0][k % 8] = Rounded(lanes[0][k % 8], lanes[k / 8][k % 8]);
  }
  for (; i + 8 <= n; i += 8) {
    for (int64_t k = 0; k < 8; ++k)
      lanes[0][k] = Rounded(lanes[0][k], x[i + k]);
  }
  half rest(0.0f);
  for (; i < n; ++i) rest = Rounded(rest, x[i]);
  const auto lane = [&](int64_t k) { return static_cast<float>(lanes[0][k]); };
  const float sum = ((lane(0) + lane(4)) + (lane(2) + lane(6))) +
                    ((lane(1) + lane(5)) + (lane(3) + lane(7)));
  return Rounded(half(sum), rest);
}

// Sums `n` numbers at distance `stride` in one lane of the vectors.
half HalfLaneOf(const half* x, int64_t n, int64_t stride) {
  const int64_t fourth = n < 16 ? 0 : n / 4;
  half sums[4];
  for (int64_t i = 0; i < 4 * fourth; ++i) {
    sums[i % 4] = Rounded(sums[i % 4], x[i * stride]);
  }
  for (int64_t k = 1; k < 4; ++k) sums[0] = Rounded(sums[0], sums[k]);
  for (int64_t i = 4 * fourth; i < n; ++i) {
    sums[0] = Rounded(sums[0], x[i * stride]);
  }
  return sums[0];
}

Tensor HalfNumbers(const TensorShape& shape) {
  Tensor x(DT_HALF, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_flat<half>()[i] =
        half(static_cast<float>((i * 7919) % 1013) / 64 - 7.3f);
  }
  return x;
}

TEST_F(MathReductionTest, HalfSumsMatchTensorFlowExactly) {
  for (const int64_t n :
       {1, 7, 8, 31, 32, 33, 100, 128, 255, 1599, 1600, 1601, 3210, 20'001}) {
    const Tensor x = HalfNumbers({3, n});
    ASSERT_OK_AND_ASSIGN(const Tensor sums,
                         harness_.RunOne("Sum", {x, Tensor::Scalar(1)}));
    for (int64_t row = 0; row < 3; ++row) {
      ASSERT_EQ(sums.flat<half>()[row].bits,
                HalfSumOf(x.flat<half>().data() + row * n, n, row * n).bits)
          << n << " " << row;
    }
  }
}

TEST_F(MathReductionTest, HalfColumnSumsMatchTensorFlowExactly) {
  for (const int64_t columns : {2, 7, 8, 13, 32, 64, 100, 127, 128, 1000}) {
    for (const int64_t rows : {1, 3, 15, 16, 17, 66, 300}) {
      const Tensor x = HalfNumbers({2, rows, columns});
      ASSERT_OK_AND_ASSIGN(const Tensor sums,
                           harness_.RunOne("Sum", {x, Tensor::Scalar(1)}));
      for (int64_t i = 0; i < 2 * columns; ++i) {
        const int64_t first = i / 8 * 8, last = first + 7;
        const bool in_vector =
            last < 2 * columns && first / columns == last / columns;
        const half* const column =
            x.flat<half>().data() + i / columns * rows * columns + i % columns;
        half want(0.0f);
        if (in_vector) {
          want = HalfLaneOf(column, rows, columns);
        } else {
          for (int64_t row = 0; row < rows; ++row) {
            want = Rounded(want, column[row * columns]);
          }
        }
        ASSERT_EQ(sums.flat<half>()[i].bits, want.bits)
            << columns << " " << rows << " " << i;
      }
    }
  }
}

// Threads process ranges of columns. A sum must not depend on their boundaries.
TEST_F(MathReductionTest, NarrowColumnSumsDoNotDependOnParts) {
  for (const DataType type : {DT_HALF, DT_BFLOAT16, DT_UINT8, DT_INT16}) {
    for (const char* op : {"Mean", "Prod", "Max"}) {
      for (const auto& [rows, columns] :
           std::vector<std::pair<int64_t, int64_t>>{
               {3001, 100}, {1030, 1}, {100, 1500}, {7, 3000}, {2049, 33}}) {
        Tensor x(DT_FLOAT, TensorShape({rows, columns}));
        for (int64_t i = 0; i < rows * columns; ++i) {
          x.mutable_flat<float>()[i] =
              1 + static_cast<float>((i * 7919) % 1009 - 504) / 70'000;
        }
        const Tensor narrow = *harness_.RunOne("Cast", {x}, {{"DstT", type}});
        ASSERT_OK_AND_ASSIGN(const Tensor whole,
                             harness_.RunOne(op, {narrow, Tensor::Scalar(0)}));
        const size_t size = DataTypeSize(type);
        for (const int64_t begin : {int64_t{0}, columns / 3, columns - 1}) {
          const int64_t n = std::min<int64_t>(columns - begin, 67);
          Tensor part(type, TensorShape({rows, n}));
          for (int64_t row = 0; row < rows; ++row) {
            std::memcpy(
                static_cast<char*>(part.mutable_data()) + row * n * size,
                static_cast<const char*>(narrow.data()) +
                    (row * columns + begin) * size,
                n * size);
          }
          ASSERT_OK_AND_ASSIGN(const Tensor sums,
                               harness_.RunOne(op, {part, Tensor::Scalar(0)}));
          ASSERT_EQ(
              std::memcmp(sums.data(),
                          static_cast<const char*>(whole.data()) + begin * size,
                          n * size),
              0)
              << op << " of " << DataTypeName(type) << " " << rows << " "
              << columns << " from " << begin;
        }
      }
    }
  }
}

// Sums, means and products of half and bfloat16 are computed as floats and
// rounded once.
TEST_F(MathReductionTest, NarrowReductionsAreRoundedOnce) {
  for (const DataType type : {DT_HALF, DT_BFLOAT16}) {
    const auto cast = [&](Tensor x, DataType to) {
      return *harness_.RunOne("Cast", {x}, {{"DstT", to}});
    };
    for (const char* op : {"Mean", "Max", "Min", "Prod", "Sum"}) {
      if (type == DT_HALF && op == std::string("Sum")) continue;
      for (const int64_t n : {1, 127, 256, 2047, 2048, 2049, 5000}) {
        Tensor x(DT_FLOAT, TensorShape({3, n}));
        for (int64_t i = 0; i < 3 * n; ++i) {
          // The factors keep products from vanishing or overflowing.
          x.mutable_flat<float>()[i] = i % 3 == 0 ? 2 : i % 3 == 1 ? 0.5f : 1;
        }
        for (const int axis : {0, 1}) {
          ASSERT_OK_AND_ASSIGN(const Tensor want,
                               harness_.RunOne(op, {x, Tensor::Scalar(axis)}));
          ASSERT_OK_AND_ASSIGN(
              const Tensor got,
              harness_.RunOne(op, {cast(x, type), Tensor::Scalar(axis)}));
          EXPECT_TRUE(SameBits(got, cast(want, type)))
              << op << " of " << n << " along " << axis;
        }
      }
    }
  }
}

TEST_F(MathReductionTest, EmptyInputReducesToTheIdentity) {
  const Tensor empty(DT_FLOAT, TensorShape({2, 0}));
  const float infinity = std::numeric_limits<float>::infinity();
  const std::pair<const char*, float> expected[] = {
      {"Sum", 0}, {"Prod", 1}, {"Max", -infinity}, {"Min", infinity}};
  for (const auto& [op, value] : expected) {
    ASSERT_OK_AND_ASSIGN(Tensor y,
                         harness_.RunOne(op, {empty, Tensor::Scalar(1)}));
    EXPECT_THAT(ValuesOf<float>(y), ElementsAre(value, value)) << op;
  }
  ASSERT_OK_AND_ASSIGN(Tensor mean,
                       harness_.RunOne("Mean", {empty, Tensor::Scalar(1)}));
  EXPECT_TRUE(std::isnan(mean.flat<float>()[0]));
  const Tensor no_ints(DT_INT32, TensorShape({0}));
  ASSERT_OK_AND_ASSIGN(mean,
                       harness_.RunOne("Mean", {no_ints, Tensor::Scalar(0)}));
  EXPECT_EQ(mean.scalar<int32_t>(), 0);
}

TEST_F(MathReductionTest, NaNWinsAtAnyPosition) {
  for (int place : {0, 7, 18}) {
    Tensor x(DT_FLOAT, TensorShape({19}));
    x.mutable_flat<float>()[3] = 5;
    x.mutable_flat<float>()[place] = std::numeric_limits<float>::quiet_NaN();
    for (const char* op : {"Max", "Min", "Sum", "Mean", "Prod"}) {
      ASSERT_OK_AND_ASSIGN(Tensor y,
                           harness_.RunOne(op, {x, Tensor::Scalar(0)}));
      EXPECT_TRUE(std::isnan(y.scalar<float>())) << op << " " << place;
    }
  }
}

TEST_F(MathReductionTest, RefusesAxesThatAreNotThere) {
  const Tensor x = Counting(TensorShape({2, 3}));
  for (int axis : {2, -3}) {
    EXPECT_THAT(harness_.Run("Sum", {x, Tensor::Scalar(axis)}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "Invalid reduction dimension"));
  }
  EXPECT_THAT(harness_.Run("Sum", {x, Tensor::Vector<int32_t>({1, -1})}),
              StatusIs(absl::StatusCode::kInvalidArgument, "duplicate"));
}

TEST_F(MathReductionTest, AllAndAny) {
  const Tensor x =
      Tensor::FromValues<bool>(TensorShape({2, 2}), {true, false, true, true});
  ASSERT_OK_AND_ASSIGN(Tensor all,
                       harness_.RunOne("All", {x, Tensor::Scalar(0)}));
  EXPECT_THAT(ValuesOf<bool>(all), ElementsAre(true, false));
  ASSERT_OK_AND_ASSIGN(Tensor any,
                       harness_.RunOne("Any", {x, Tensor::Scalar(0)}));
  EXPECT_THAT(ValuesOf<bool>(any), ElementsAre(true, true));
}

TEST_F(MathReductionTest, ArgMaxTakesTheFirst) {
  const Tensor x =
      Tensor::FromValues<float>(TensorShape({2, 3}), {1, 5, 5, 7, 2, 0});
  ASSERT_OK_AND_ASSIGN(Tensor most,
                       harness_.RunOne("ArgMax", {x, Tensor::Scalar(1)}));
  EXPECT_THAT(ValuesOf<int64_t>(most), ElementsAre(1, 0));
  ASSERT_OK_AND_ASSIGN(Tensor least,
                       harness_.RunOne("ArgMin", {x, Tensor::Scalar(-2)},
                                       {{"output_type", DT_INT32}}));
  EXPECT_THAT(ValuesOf<int32_t>(least), ElementsAre(0, 1, 1));
  EXPECT_THAT(harness_.Run("ArgMax", {x, Tensor::Scalar(2)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "[-2, 2)"));
  EXPECT_THAT(harness_.Run("ArgMax", {Tensor(DT_FLOAT, TensorShape({2, 0})),
                                      Tensor::Scalar(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "is empty"));
}

// A loop over all rows would practically never end.
TEST_F(MathReductionTest, ManyEmptyRowsTakeNoTime) {
  const Tensor many(DT_FLOAT, {int64_t{1} << 40, 1, 0});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor places,
                         harness_.RunOne(op, {many, Tensor::Scalar(1)}));
    EXPECT_EQ(places.shape(), TensorShape({int64_t{1} << 40, 0}));
  }
  const Tensor no_weights(DT_FLOAT, {0});
  const auto count = [&](const Tensor& values) {
    return harness_.RunOne("DenseBincount",
                           {values, Tensor::Scalar(0), no_weights});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor bins,
                       count(Tensor(DT_INT32, {int64_t{1} << 62, 0})));
  EXPECT_EQ(bins.shape(), TensorShape({int64_t{1} << 62, 0}));
  EXPECT_THAT(count(Tensor::FromValues<int32_t>({1, 2}, {3, -1})),
              StatusIs(kInvalid, "must be non-negative"));
}

TEST_F(MathReductionTest, ScansRunBothWays) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2, 3});
  const Tensor axis = Tensor::Scalar(0);
  const auto scan = [&](bool exclusive, bool reverse) {
    absl::StatusOr<Tensor> y = harness_.RunOne(
        "Cumsum", {x, axis}, {{"exclusive", exclusive}, {"reverse", reverse}});
    EXPECT_OK(y);
    return ValuesOf<int32_t>(*y);
  };
  EXPECT_THAT(scan(false, false), ElementsAre(1, 3, 6));
  EXPECT_THAT(scan(true, false), ElementsAre(0, 1, 3));
  EXPECT_THAT(scan(false, true), ElementsAre(6, 5, 3));
  EXPECT_THAT(scan(true, true), ElementsAre(5, 3, 0));
}

TEST_F(MathReductionTest, RangeAndLinSpace) {
  ASSERT_OK_AND_ASSIGN(
      Tensor down,
      harness_.RunOne("Range", {Tensor::Scalar(1.0f), Tensor::Scalar(0.0f),
                                Tensor::Scalar(-0.25f)}));
  EXPECT_THAT(ValuesOf<float>(down), ElementsAre(1, 0.75, 0.5, 0.25));
  EXPECT_THAT(harness_.Run("Range", {Tensor::Scalar(0), Tensor::Scalar(5),
                                     Tensor::Scalar(0)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "delta != 0"));
  // The distance overflows an int32.
  const int32_t low = std::numeric_limits<int32_t>::min();
  const int32_t high = std::numeric_limits<int32_t>::max();
  ASSERT_OK_AND_ASSIGN(
      Tensor far,
      harness_.RunOne("Range", {Tensor::Scalar(low), Tensor::Scalar(high),
                                Tensor::Scalar(high)}));
  EXPECT_THAT(ValuesOf<int32_t>(far), ElementsAre(low, -1, high - 1));
  ASSERT_OK_AND_ASSIGN(
      Tensor line,
      harness_.RunOne("LinSpace", {Tensor::Scalar(0.0f), Tensor::Scalar(1.0f),
                                   Tensor::Scalar(5)}));
  EXPECT_THAT(ValuesOf<float>(line), ElementsAre(0, 0.25, 0.5, 0.75, 1));
}

// A cheap kernel may run on a thread that reads messages, and would block all
// peers of that thread.
TEST_F(MathReductionTest, ValueSizedOpsAreNotCheap) {
  const std::set<std::string> ops = {"Range", "LinSpace", "Bincount",
                                     "DenseBincount"};
  std::set<std::string> found;
  for (const KernelDef* def : harness_.kernels().List()) {
    if (!ops.contains(def->op)) continue;
    EXPECT_FALSE(def->is_cheap) << def->op;
    found.insert(def->op);
  }
  EXPECT_EQ(found, ops);
}

TEST_F(MathReductionTest, BroadcastGradientArgsNameRepeatedDimensions) {
  const auto args = [&](Tensor a, Tensor b) {
    absl::StatusOr<std::vector<Tensor>> r =
        harness_.Run("BroadcastGradientArgs", {a, b});
    EXPECT_OK(r);
    return std::pair(ValuesOf<int32_t>((*r)[0]), ValuesOf<int32_t>((*r)[1]));
  };
  const auto [a, b] =
      args(Tensor::Vector<int32_t>({2, 1, 4}), Tensor::Vector<int32_t>({5, 1}));
  EXPECT_THAT(a, ElementsAre(1));
  EXPECT_THAT(b, ElementsAre(0, 2));
  EXPECT_THAT(
      harness_.Run("BroadcastGradientArgs", {Tensor::Vector<int32_t>({2}),
                                             Tensor::Vector<int32_t>({3})}),
      StatusIs(absl::StatusCode::kInvalidArgument, "[2] vs. [3]"));
}

TEST_F(MathReductionTest, AddNSumsAndRefuses) {
  const Tensor x = Tensor::Vector<float>({1, 2});
  ASSERT_OK_AND_ASSIGN(Tensor sum, harness_.RunOne("AddN", {x, x, x}));
  EXPECT_THAT(ValuesOf<float>(sum), ElementsAre(3, 6));
  EXPECT_THAT(harness_.Run("AddN", {x, Tensor::Vector<float>({1, 2, 3})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Input 0: [2] != input 1: [3]"));
}

}  // namespace
}  // namespace weft
