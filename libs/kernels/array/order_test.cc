// Tests kernels that move elements: transpose, reverse, pad, diagonals.
#include "libs/kernels/array/array_kernels_test_base.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class ArrayOrderTest : public ArrayKernelsTest {};

TEST_F(ArrayOrderTest, TransposePermutes) {
  EXPECT_EQ(Run("Transpose", {Counting({2, 3}), Ints({1, 0})}),
            "[3,2] 0 3 1 4 2 5");
  const Tensor x = Counting({2, 3, 4});
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       harness_.RunOne("Transpose", {x, Ints({2, 0, 1})}));
  ASSERT_OK_AND_ASSIGN(Tensor inverse,
                       harness_.RunOne("InvertPermutation", {Ints({2, 0, 1})}));
  ASSERT_OK_AND_ASSIGN(Tensor z, harness_.RunOne("Transpose", {y, inverse}));
  EXPECT_EQ(y.shape().ToString(), "[4,2,3]");
  EXPECT_TRUE(SameBits(x, z));
  EXPECT_EQ(Run("Transpose", {Empty({0, 3}), Ints({1, 0})}), "[3,0]");
}

// Sizes below, equal to and above the block size of the copy loops.
TEST_F(ArrayOrderTest, TransposesMatricesOfAllSizes) {
  for (int64_t rows : {2, 15, 16, 17, 33}) {
    for (int64_t columns : {3, 16, 31, 64}) {
      const Tensor x = Counting({2, rows, columns});
      ASSERT_OK_AND_ASSIGN(Tensor y,
                           harness_.RunOne("Transpose", {x, Ints({0, 2, 1})}));
      EXPECT_EQ(y.shape(), TensorShape({2, columns, rows}));
      const auto from = x.flat<int32_t>(), to = y.flat<int32_t>();
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t matrix = i / (rows * columns) * (rows * columns);
        const int64_t row = i % (rows * columns) / columns;
        EXPECT_EQ(to[matrix + i % columns * rows + row], from[i]);
      }
    }
  }
}

TEST_F(ArrayOrderTest, TransposeOfUnitDimsSharesItsInput) {
  const Tensor x = Counting({3, 1, 4});
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       harness_.RunOne("Transpose", {x, Ints({1, 0, 2})}));
  EXPECT_TRUE(y.SharesBufferWith(x));
  EXPECT_EQ(y.shape().ToString(), "[1,3,4]");
}

TEST_F(ArrayOrderTest, TransposeRejectsInvalidPermutations) {
  const Tensor x = Counting({2, 2});
  EXPECT_EQ(Run("Transpose", {x, Ints({0, 0})}), "1 is missing from {0,0}.");
  EXPECT_EQ(Run("Transpose", {x, Ints({0})}),
            "transpose expects a vector of size 2. But input(1) is a vector of "
            "size 1");
  EXPECT_EQ(Run("Transpose", {x, Ints({0, 2})}), "2 is out of range [0 .. 2)");
  EXPECT_EQ(Run("InvertPermutation", {Ints({0, 0})}),
            "0 is duplicated in the input.");
  EXPECT_EQ(Run("InvertPermutation", {Ints({5})}), "5 is not between 0 and 1");
}

TEST_F(ArrayOrderTest, Reverses) {
  const Tensor x = Counting({2, 3});
  EXPECT_EQ(Run("ReverseV2", {x, Ints({-1})}), "[2,3] 2 1 0 5 4 3");
  EXPECT_EQ(Run("ReverseV2", {x, Ints({0, 1})}), "[2,3] 5 4 3 2 1 0");
  EXPECT_EQ(Run("Reverse", {x, Tensor::Vector<bool>({true, false})}),
            "[2,3] 3 4 5 0 1 2");
  EXPECT_EQ(Run("ReverseV2", {Empty({2, 0}), Ints({1})}), "[2,0]");
  EXPECT_EQ(Run("ReverseV2", {x, Ints({2})}),
            "'axis'[0] = 2 is out of valid range [0, 1");
  EXPECT_EQ(Run("ReverseV2", {x, Ints({0, -2})}),
            "axis 0 specified more than once.");
}

TEST_F(ArrayOrderTest, Rolls) {
  const Tensor x = Counting({2, 3});
  EXPECT_EQ(Run("Roll", {x, Ints({1}), Ints({1})}), "[2,3] 2 0 1 5 3 4");
  EXPECT_EQ(Run("Roll", {x, Ints({-5, 3}), Ints({-1, 0})}),
            "[2,3] 5 3 4 2 0 1");
  // Shifts along the same axis add up.
  EXPECT_EQ(Run("Roll", {x, Ints({2, 2}), Ints({1, 1})}), "[2,3] 2 0 1 5 3 4");
  EXPECT_EQ(Run("Roll", {x, Ints({-2147483647 - 1}), Ints({1})}),
            "[2,3] 2 0 1 5 3 4");
  EXPECT_EQ(Run("Roll", {Counting({2, 1, 2, 2}), Ints({1, 1}), Ints({0, 2})}),
            "[2,1,2,2] 6 7 4 5 2 3 0 1");
  EXPECT_EQ(Run("Roll", {Empty({0, 2}), Ints({1}), Ints({0})}), "[0,2]");
}

TEST_F(ArrayOrderTest, RollRejectsInvalidAxes) {
  const Tensor x = Counting({2, 3});
  EXPECT_EQ(Run("Roll", {x, Ints({1}), Ints({2})}), "axis 2 is out of range");
  EXPECT_EQ(Run("Roll", {x, Ints({1}), Ints({-3})}), "axis -3 is out of range");
  EXPECT_EQ(Run("Roll", {x, Ints({1, 2}), Ints({0})}),
            "shift and axis must have the same size");
  EXPECT_EQ(Run("Roll", {x, Counting({1, 1}), Ints({0})}),
            "shift must be a scalar or a 1-D vector. Found: [1,1]");
  EXPECT_EQ(Run("Roll", {Tensor::Scalar(1), Ints({1}), Ints({0})}),
            "input must be 1-D or higher");
}

TEST_F(ArrayOrderTest, ReversesSequences) {
  const Tensor x = Counting({2, 3});
  const AttrMap attrs = {{"seq_dim", 1}, {"batch_dim", 0}};
  EXPECT_EQ(Run("ReverseSequence", {x, Ints({2, 3})}, attrs),
            "[2,3] 1 0 2 5 4 3");
  EXPECT_EQ(Run("ReverseSequence", {x, Ints({4, 0})}, attrs),
            "seq_lens(0) > input.dims(1)");
}

TEST_F(ArrayOrderTest, Pads) {
  const Tensor x = Counting({1, 2});
  const Tensor paddings = Tensor::FromValues<int32_t>({2, 2}, {1, 0, 0, 2});
  EXPECT_EQ(Run("Pad", {x, paddings}), "[2,4] 0 0 0 0 0 1 0 0");
  EXPECT_EQ(Run("PadV2", {x, paddings, Int(7)}), "[2,4] 7 7 7 7 0 1 7 7");
  EXPECT_EQ(Run("Pad", {Int(3), Tensor(DT_INT32, {0, 2})}), "[] 3");
  EXPECT_EQ(Run("Pad", {x, Tensor::FromValues<int32_t>({1, 2}, {0, 0})}),
            "The first dimension of paddings must be the rank of inputs[1,2] "
            "[1,2]");
  EXPECT_EQ(
      Run("Pad", {Counting({2}), Tensor::FromValues<int32_t>({1, 2}, {-1, 0})}),
      "Paddings must be non-negative: -1 0");
}

TEST_F(ArrayOrderTest, MirrorsAndItsGradientCountsReflections) {
  const Tensor x = Counting({3});
  const Tensor paddings = Tensor::FromValues<int32_t>({1, 2}, {2, 1});
  EXPECT_EQ(Run("MirrorPad", {x, paddings}, {{"mode", "REFLECT"}}),
            "[6] 2 1 0 1 2 1");
  EXPECT_EQ(Run("MirrorPad", {x, paddings}, {{"mode", "SYMMETRIC"}}),
            "[6] 1 0 0 1 2 2");
  const Tensor ones = Floats({6}, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(Run("MirrorPadGrad", {ones, paddings}, {{"mode", "REFLECT"}}),
            "[3] 1 3 2");
  EXPECT_EQ(Run("MirrorPad",
                {Counting({2}), Tensor::FromValues<int32_t>({1, 2}, {2, 0})},
                {{"mode", "REFLECT"}}),
            "paddings must be less than the dimension size: 2, 0 not less than "
            "2");
}

// A table of all positions would not fit into memory.
TEST_F(ArrayOrderTest, MirrorPadOfEmptyRowsTakesNoMemory) {
  const Tensor x = Empty({0, int64_t{1} << 40});
  const Tensor paddings = Tensor::FromValues<int32_t>({2, 2}, {0, 0, 1, 0});
  EXPECT_EQ(Run("MirrorPad", {x, paddings}, {{"mode", "SYMMETRIC"}}),
            "[0,1099511627777]");
  EXPECT_EQ(Run("MirrorPadGrad", {x, paddings}, {{"mode", "SYMMETRIC"}}),
            "[0,1099511627775]");
}

TEST_F(ArrayOrderTest, Diagonals) {
  EXPECT_EQ(Run("Diag", {Floats({2}, {1, 2})}), "[2,2] 1 0 0 2");
  EXPECT_EQ(Run("DiagPart", {Floats({2, 2}, {1, 2, 3, 4})}), "[2] 1 4");
  EXPECT_EQ(Run("MatrixDiag", {Counting({2, 2})}), "[2,2,2] 0 0 0 1 2 0 0 3");
  EXPECT_EQ(Run("MatrixDiagPart", {Counting({2, 2, 3})}), "[2,2] 0 4 6 10");
  EXPECT_THAT(Run("DiagPart", {Empty({2, 3})}), HasSubstr("do not match"));
  const auto band = [&](int64_t lower, int64_t upper) {
    return Run("MatrixBandPart",
               {Counting({3, 3}), Tensor::Scalar<int64_t>(lower),
                Tensor::Scalar<int64_t>(upper)});
  };
  EXPECT_EQ(band(0, 0), "[3,3] 0 0 0 0 4 0 0 0 8");
  EXPECT_EQ(band(-1, 0), "[3,3] 0 0 0 3 4 0 6 7 8");
  EXPECT_EQ(band(1, -1), "[3,3] 0 1 2 3 4 5 0 7 8");
  EXPECT_THAT(band(4, 0), HasSubstr("less or equal to number of rows (3)"));
}

// The bands are cut from 0 to 11 in three rows. Diagonals above the main one
// are padded on the right, those below it on the left.
TEST_F(ArrayOrderTest, DiagonalBands) {
  const Tensor matrix = Counting({3, 4});
  const Tensor padding = Tensor::Scalar(matrix.flat<int32_t>()[1] * -1);
  const auto part = [&](const Tensor& k, const char* align) {
    return Run("MatrixDiagPartV3", {matrix, k, padding}, {{"align", align}});
  };
  EXPECT_EQ(part(Tensor::Scalar(1), "RIGHT_LEFT"), "[3] 1 6 11");
  EXPECT_EQ(part(Tensor::Vector({-1, 2}), "RIGHT_LEFT"),
            "[4,3] -1 2 7 1 6 11 0 5 10 4 9 -1");
  EXPECT_EQ(part(Tensor::Vector({-1, 2}), "LEFT_RIGHT"),
            "[4,3] 2 7 -1 1 6 11 0 5 10 -1 4 9");
  EXPECT_THAT(part(Tensor::Scalar(4), "RIGHT_LEFT"),
              HasSubstr("must be between"));
  EXPECT_THAT(part(Tensor::Vector({1, 0}), "RIGHT_LEFT"),
              HasSubstr("must not be larger"));
  const auto whole = [&](const Tensor& diagonal, const Tensor& k, int rows,
                         int columns) {
    return Run("MatrixDiagV3", {diagonal, k, Tensor::Scalar(rows),
                                Tensor::Scalar(columns), padding});
  };
  EXPECT_EQ(whole(Counting({2}), Tensor::Scalar(0), -1, -1), "[2,2] 0 -1 -1 1");
  EXPECT_EQ(whole(Counting({2}), Tensor::Scalar(1), -1, -1),
            "[3,3] -1 0 -1 -1 -1 1 -1 -1 -1");
  EXPECT_EQ(whole(Counting({2, 2}), Tensor::Vector({-1, 0}), 3, 2),
            "[3,2] 0 -1 2 1 -1 3");
  EXPECT_THAT(whole(Counting({2}), Tensor::Scalar(0), 1, -1),
              HasSubstr("too small"));
}

}  // namespace
}  // namespace weft
