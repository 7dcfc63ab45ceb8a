// Tests Concat and Split, also as inverses of each other along every axis.
#include "libs/kernels/array/array_kernels_test_base.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class ArrayConcatTest : public ArrayKernelsTest {};

TEST_F(ArrayConcatTest, SplitUndoesConcatAlongEveryAxis) {
  const Tensor x = Counting({2, 4, 6});
  for (int axis = -3; axis < 3; ++axis) {
    ASSERT_OK_AND_ASSIGN(
        std::vector<Tensor> parts,
        harness_.Run("Split", {Int(axis), x}, {{"num_split", 2}}));
    EXPECT_EQ(parts[0].num_elements(), 24);
    ASSERT_OK_AND_ASSIGN(
        Tensor joined,
        harness_.RunOne("ConcatV2", {parts[0], parts[1], Int(axis)}));
    EXPECT_TRUE(SameBits(joined, x)) << axis;
    ASSERT_OK_AND_ASSIGN(
        joined, harness_.RunOne("Concat", {Int(axis), parts[0], parts[1]}));
    EXPECT_TRUE(SameBits(joined, x)) << axis;
  }
}

// Large enough that several threads share the work.
TEST_F(ArrayConcatTest, LargeTensorsSurviveSplitAndConcat) {
  const Tensor x = Counting({3, 400, 500});
  for (int axis = 0; axis < 3; ++axis) {
    Tensor sizes = Tensor::Vector<int64_t>({1, 0, x.dim(axis) - 1});
    ASSERT_OK_AND_ASSIGN(
        std::vector<Tensor> parts,
        harness_.Run("SplitV", {x, sizes, Int(axis)}, {{"num_split", 3}}));
    ASSERT_OK_AND_ASSIGN(
        const Tensor joined,
        harness_.RunOne("ConcatV2", {parts[0], parts[1], parts[2], Int(axis)}));
    EXPECT_TRUE(SameBits(joined, x)) << axis;
  }
}

TEST_F(ArrayConcatTest, UnpackUndoesPackAlongEveryAxis) {
  const Tensor x = Counting({3, 3, 3});
  for (int axis = -3; axis < 3; ++axis) {
    ASSERT_OK_AND_ASSIGN(
        std::vector<Tensor> parts,
        harness_.Run("Unpack", {x}, {{"num", 3}, {"axis", axis}}));
    EXPECT_EQ(parts[2].shape(), TensorShape({3, 3}));
    ASSERT_OK_AND_ASSIGN(Tensor packed,
                         harness_.RunOne("Pack", {parts[0], parts[1], parts[2]},
                                         {{"axis", axis}}));
    EXPECT_TRUE(SameBits(packed, x)) << axis;
  }
}

TEST_F(ArrayConcatTest, JoinsStringsAndEmptyTensors) {
  EXPECT_EQ(Run("ConcatV2", {Strings({"a", "b"}), Strings({}), Int(0)}),
            "[2] a b");
  EXPECT_EQ(Run("ConcatV2", {Empty({0, 2}), Empty({0, 3}), Int(1)}), "[0,5]");
  EXPECT_EQ(Run("Pack", {Empty({0}), Empty({0})}), "[2,0]");
}

TEST_F(ArrayConcatTest, ConcatRejectsMismatchedShapes) {
  EXPECT_EQ(Run("ConcatV2", {Empty({2, 3}), Empty({1, 2}), Int(0)}),
            "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = "
            "[2,3] vs. shape[1] = [1,2]");
  EXPECT_EQ(Run("ConcatV2", {Empty({2, 3}), Empty({2, 3}), Int(2)}),
            "ConcatOp : Expected concatenating dimensions in the range [-2, "
            "2), but got 2");
  EXPECT_EQ(Run("ConcatV2", {Int(1), Int(2), Int(0)}),
            "ConcatOp : Can't concatenate scalars (use tf.stack, ops::Stack, "
            "instead)");
  EXPECT_THAT(Run("ConcatV2", {Empty({2}), Empty({2, 1}), Int(0)}),
              HasSubstr("Ranks of all input tensors should match"));
  EXPECT_EQ(Run("Pack", {Empty({1}), Empty({2})}),
            "Shapes of all inputs must match: values[0].shape = [1] != "
            "values[1].shape = [2]");
  EXPECT_EQ(Run("Pack", {Empty({1, 1})}, {{"axis", 3}}),
            "axis = 3 not in [-3, 3)");
}

TEST_F(ArrayConcatTest, ConcatOffsetsAddUp) {
  EXPECT_EQ(
      Run("ConcatOffset", {Int(-1), Ints({2, 3}), Ints({2, 4}), Ints({2, 5})}),
      "[2] 0 0 | [2] 0 3 | [2] 0 7");
  EXPECT_THAT(Run("ConcatOffset", {Int(1), Ints({2, 3}), Ints({3, 4})}),
              HasSubstr("All dimensions except 1 must match"));
}

TEST_F(ArrayConcatTest, SplitRejectsUnevenParts) {
  EXPECT_EQ(Run("Split", {Int(0), Empty({5})}, {{"num_split", 2}}),
            "Number of ways to split should evenly divide the split dimension, "
            "but got split_dim 0 (size = 5) and num_split 2");
  EXPECT_EQ(Run("Split", {Int(4), Empty({2, 2, 2})}, {{"num_split", 2}}),
            "-input rank(-3) <= split_dim < input rank (3), but got 4");
  EXPECT_EQ(Run("Unpack", {Empty({2, 3})}, {{"num", 3}}),
            "Input shape axis 0 must equal 3, got shape [2,3]");
}

TEST_F(ArrayConcatTest, SplitVInfersTheUnknownSize) {
  const Tensor x = Counting({1, 6});
  EXPECT_EQ(Run("SplitV", {x, Ints({1, -1, 2}), Int(1)}, {{"num_split", 3}}),
            "[1,1] 0 | [1,3] 1 2 3 | [1,2] 4 5");
  EXPECT_EQ(Run("SplitV", {x, Ints({1, 0, 5}), Int(-1)}, {{"num_split", 3}}),
            "[1,1] 0 | [1,0] | [1,5] 1 2 3 4 5");
  EXPECT_THAT(Run("SplitV", {x, Ints({3, 4}), Int(1)}, {{"num_split", 2}}),
              HasSubstr("if not fully specified.  Got: 7"));
  EXPECT_THAT(Run("SplitV", {x, Ints({-1, -1}), Int(1)}, {{"num_split", 2}}),
              HasSubstr("only be one -1"));
}

}  // namespace
}  // namespace weft
