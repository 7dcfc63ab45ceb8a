// Tests kernels that forward values or change shapes: they reuse memory and
// report TensorFlow's errors.
#include "libs/kernels/array/array_kernels_test_base.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class ArrayShapeTest : public ArrayKernelsTest {};

TEST_F(ArrayShapeTest, ForwardsMemoryWithoutCopying) {
  for (const char* op :
       {"Identity", "StopGradient", "PreventGradient", "Snapshot"}) {
    const Tensor x = Counting({2, 3});
    ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne(op, {x}));
    EXPECT_TRUE(y.SharesBufferWith(x)) << op;
  }
  const Tensor x = Counting({2, 3});
  ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne("Reshape", {x, Ints({6})}));
  EXPECT_TRUE(y.SharesBufferWith(x));
  ASSERT_OK_AND_ASSIGN(y, harness_.RunOne("ExpandDims", {x, Int(0)}));
  EXPECT_TRUE(y.SharesBufferWith(x));
  ASSERT_OK_AND_ASSIGN(y, harness_.RunOne("Squeeze", {x}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST_F(ArrayShapeTest, MovedInputIsWritableAfterwards) {
  std::vector<KernelInput> inputs;
  inputs.emplace_back(Counting({4}));
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       harness_.RunOne("Identity", std::move(inputs)));
  EXPECT_TRUE(y.RefCountIsOne());
}

TEST_F(ArrayShapeTest, ReshapeInfersTheMissingSize) {
  const Tensor x = Counting({2, 3, 4});
  EXPECT_THAT(Run("Shape", {x}), HasSubstr("2 3 4"));
  for (auto [sizes, expected] :
       std::vector<std::pair<Tensor, std::string>>{{Ints({-1}), "[24]"},
                                                   {Ints({4, -1}), "[4,6]"},
                                                   {Ints({6, 4}), "[6,4]"}}) {
    ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne("Reshape", {x, sizes}));
    EXPECT_EQ(y.shape().ToString(), expected);
  }
  ASSERT_OK_AND_ASSIGN(
      Tensor y, harness_.RunOne("Reshape", {Empty({0, 3}), Ints({0, -1})}));
  EXPECT_EQ(y.shape().ToString(), "[0,3]");
  EXPECT_EQ(Run("Reshape", {Int(7), Tensor(DT_INT32, {0})}), "[] 7");
}

TEST_F(ArrayShapeTest, ReshapeRejectsIncompatibleShapes) {
  const Tensor x = Counting({2, 3, 4});
  EXPECT_EQ(Run("Reshape", {x, Ints({5, 5})}),
            "Input to reshape is a tensor with 24 values, but the requested "
            "shape has 25");
  EXPECT_EQ(Run("Reshape", {x, Ints({-1, -1})}),
            "Only one input size may be -1, not both 0 and 1");
  EXPECT_EQ(Run("Reshape", {x, Ints({-1, 7})}),
            "Input to reshape is a tensor with 24 values, but the requested "
            "shape requires a multiple of 7");
  EXPECT_THAT(Run("Reshape", {x, Ints({-2, 12})}),
              HasSubstr("must be non-negative"));
  const Tensor huge =
      Tensor::Vector<int64_t>({int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THAT(Run("Reshape", {x, huge}), HasSubstr("too many elements"));
}

TEST_F(ArrayShapeTest, ExpandDimsAndSqueezeAreInverse) {
  const Tensor x = Counting({2, 3});
  for (int axis = -3; axis <= 2; ++axis) {
    ASSERT_OK_AND_ASSIGN(Tensor y,
                         harness_.RunOne("ExpandDims", {x, Int(axis)}));
    EXPECT_EQ(y.dim(axis < 0 ? axis + 3 : axis), 1);
    ASSERT_OK_AND_ASSIGN(
        Tensor z,
        harness_.RunOne("Squeeze", {y},
                        {{"squeeze_dims", std::vector<int64_t>{axis}}}));
    EXPECT_TRUE(SameBits(x, z));
  }
  EXPECT_EQ(Run("ExpandDims", {x, Int(3)}),
            "Tried to expand dim index 3 for tensor with 2 dimensions.");
  EXPECT_EQ(Run("Squeeze", {x}, {{"squeeze_dims", std::vector<int64_t>{1}}}),
            "Can not squeeze dim[1], expected a dimension of 1, got 3");
  EXPECT_EQ(Run("Squeeze", {x}, {{"squeeze_dims", std::vector<int64_t>{2}}}),
            "Tried to squeeze dim index 2 for tensor with 2 dimensions.");
}

TEST_F(ArrayShapeTest, ShapeSizeAndRankAreReturned) {
  const Tensor x = Empty({3, 0, 2});
  EXPECT_EQ(Run("Shape", {x}), "[3] 3 0 2");
  EXPECT_EQ(Run("Shape", {x}, {{"out_type", DT_INT64}}), "[3] 3 0 2");
  EXPECT_EQ(Run("ShapeN", {x, Empty({1})}), "[3] 3 0 2 | [1] 1");
  EXPECT_EQ(Run("Size", {x}), "[] 0");
  EXPECT_EQ(Run("Rank", {x}), "[] 3");
  EXPECT_EQ(Run("Shape", {Strings({"a", "b"})}), "[1] 2");
}

TEST_F(ArrayShapeTest, FailedChecksReturnTheirMessage) {
  EXPECT_THAT(
      Run("EnsureShape", {Empty({2, 3})}, {{"shape", PartialShape({3, -1})}}),
      HasSubstr("[2,3] is not compatible with expected shape [3,?]."));
  const float nan = std::nanf(""), inf = 1.0f / 0.0f;
  const AttrMap attrs = {{"message", "bad value"}};
  EXPECT_EQ(Run("CheckNumerics", {Floats({2}, {1, 2})}, attrs), "[2] 1 2");
  EXPECT_EQ(Run("CheckNumerics", {Floats({2}, {1, nan})}, attrs),
            "bad value : Tensor had NaN values");
  EXPECT_EQ(Run("CheckNumerics", {Floats({2}, {inf, 1})}, attrs),
            "bad value : Tensor had Inf values");
}

TEST_F(ArrayShapeTest, PlaceholderMustBeFed) {
  EXPECT_THAT(Run("Placeholder", {},
                  {{"dtype", DT_FLOAT}, {"shape", PartialShape({2})}}),
              HasSubstr("with dtype float and shape [2]"));
  EXPECT_THAT(Run("Placeholder", {}, {{"dtype", DT_STRING}}),
              HasSubstr("You must feed a value for placeholder tensor '"));
}

TEST_F(ArrayShapeTest, ConstantsAreNeverWritable) {
  ASSERT_OK_AND_ASSIGN(
      auto kernel,
      harness_.Make("Const", {}, {{"dtype", DT_INT32}, {"value", Int(3)}}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> outputs, kernel->Run({}));
  EXPECT_EQ(Show(outputs[0]), "[] 3");
  EXPECT_FALSE(outputs[0].RefCountIsOne());
}

TEST_F(ArrayShapeTest, FillsShapes) {
  EXPECT_EQ(Run("Fill", {Ints({2, 2}), Tensor::Scalar("x")}), "[2,2] x x x x");
  EXPECT_EQ(Run("Fill", {Tensor(DT_INT32, {0}), Int(5)}), "[] 5");
  EXPECT_EQ(Run("Fill", {Ints({0, 3}), Int(5)}), "[0,3]");
  EXPECT_EQ(Run("Fill", {Ints({-1}), Int(5)}), "Dimension -1 must be >= 0");
  EXPECT_EQ(Run("Fill", {Ints({2}), Ints({1, 2})}),
            "value must represent a scalar, got shape [2]");
  EXPECT_EQ(Run("ZerosLike", {Strings({"a"})}), "[1] ");
  EXPECT_EQ(Run("OnesLike", {Floats({2}, {4, 5})}), "[2] 1 1");
  EXPECT_EQ(Run("OnesLike", {Tensor::Vector<bool>({false})}), "[1] true");
}

TEST_F(ArrayShapeTest, RepeatsElements) {
  EXPECT_EQ(Run("Tile", {Counting({2, 2}), Ints({1, 2})}),
            "[2,4] 0 1 0 1 2 3 2 3");
  EXPECT_EQ(Run("Tile", {Counting({2, 2}), Ints({2, 1})}),
            "[4,2] 0 1 2 3 0 1 2 3");
  EXPECT_EQ(Run("Tile", {Strings({"a", "b"}), Ints({0})}), "[0]");
  EXPECT_EQ(Run("Tile", {Counting({2, 2}), Ints({2})}),
            "Expected multiples argument to be a vector of length 2 but got "
            "length 1");
  EXPECT_EQ(Run("Tile", {Counting({2}), Ints({-1})}),
            "Expected multiples[0] >= 0, but got -1");
  EXPECT_EQ(Run("BroadcastTo", {Counting({2, 1}), Ints({2, 2, 3})}),
            "[2,2,3] 0 0 0 1 1 1 0 0 0 1 1 1");
  EXPECT_EQ(Run("BroadcastTo", {Int(3), Ints({2})}), "[2] 3 3");
  EXPECT_EQ(Run("BroadcastTo", {Counting({2}), Ints({3})}),
            "Incompatible shapes: [2] vs. [3]");
}

TEST_F(ArrayShapeTest, BitcastReinterpretsBits) {
  EXPECT_EQ(Run("Bitcast", {Floats({2}, {1, -2})}, {{"type", DT_INT32}}),
            "[2] 1065353216 -1073741824");
  EXPECT_EQ(Run("Bitcast", {Ints({1, 2})}, {{"type", DT_INT64}}),
            "[] 8589934593");
  EXPECT_EQ(Run("Bitcast", {Tensor::Scalar<int64_t>(8589934593)},
                {{"type", DT_INT32}}),
            "[2] 1 2");
  EXPECT_EQ(Run("Bitcast", {Counting({0, 2})}, {{"type", DT_DOUBLE}}), "[0]");
  EXPECT_EQ(Run("Bitcast", {Counting({0})}, {{"type", DT_UINT8}}), "[0,4]");
}

TEST_F(ArrayShapeTest, BitcastOfUnevenSizesIsRejected) {
  const auto as_double = [&](const Tensor& input) {
    return Run("Bitcast", {input}, {{"type", DT_DOUBLE}});
  };
  EXPECT_THAT(as_double(Counting({3})),
              HasSubstr("Cannot bitcast from 3 to 2: double needs a last "
                        "dimension of 2, but the shape is [3]"));
  EXPECT_THAT(as_double(Counting({2, 4})), HasSubstr("Cannot bitcast"));
  EXPECT_THAT(as_double(Counting({2, 0})), HasSubstr("Cannot bitcast"));
  EXPECT_THAT(as_double(Int(1)), HasSubstr("Cannot bitcast"));
  const auto shape = [&](const PartialShape& input, DataType type) {
    const auto shapes =
        harness_.InferShapes("Bitcast", {{DT_FLOAT, input}}, {{"type", type}});
    return shapes.ok() ? (*shapes)[0].ToString()
                       : std::string(shapes.status().message());
  };
  EXPECT_EQ(shape(PartialShape({2, 3}), DT_UINT8), "[2,3,4]");
  EXPECT_EQ(shape(PartialShape({3, 2}), DT_DOUBLE), "[3]");
  EXPECT_EQ(shape(PartialShape({3, -1}), DT_DOUBLE), "[3]");
  EXPECT_EQ(shape(PartialShape(), DT_DOUBLE), "<unknown>");
  EXPECT_THAT(shape(PartialShape({3}), DT_DOUBLE),
              HasSubstr("Cannot bitcast from 1 to 2 due to shape. 3 does not "
                        "match 2"));
  EXPECT_THAT(shape(PartialShape({}), DT_DOUBLE),
              HasSubstr("must be at least rank 1"));
}

// A slice of a tensor may begin at an address that is unaligned for 16-bit
// numbers.
TEST_F(ArrayShapeTest, UnalignedBitcastIsCopied) {
  const auto bytes =
      Tensor::FromValues<uint8_t>({5, 2}, {0, 1, 0, 2, 0, 3, 0, 4, 0, 0});
  const Tensor odd = Tensor::FromBuffer(DT_UINT8, {4, 2}, bytes.buffer(), 1);
  ASSERT_OK_AND_ASSIGN(
      const Tensor numbers,
      harness_.RunOne("Bitcast", {odd}, {{"type", DT_UINT16}}));
  EXPECT_TRUE(SameBits(numbers, Tensor::Vector<uint16_t>({1, 2, 3, 4})));
  EXPECT_FALSE(numbers.SharesBufferWith(odd));
}

}  // namespace
}  // namespace weft
