// Tests errors and shape inference of matrix diagonals. The conformance tests
// compare their values with TensorFlow's.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "libs/kernels/array/array_kernels_test_base.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// Returns the error text without the name of the op.
std::string Said(const std::string& text) {
  return text.substr(0, text.find(" for 'test'"));
}

class ArrayDiagonalTest : public ArrayKernelsTest {
 protected:
  // Returns the shape of the only output, for example "[2,3]", or the error
  // message.
  std::string ShapeOf(absl::string_view op, std::vector<ShapeInput> inputs) {
    const auto shapes = harness_.InferShapes(op, std::move(inputs));
    if (shapes.ok()) return (*shapes)[0].ToString();
    EXPECT_EQ(shapes.status().code(), kInvalid) << shapes.status();
    return std::string(shapes.status().message());
  }
  static ShapeInput Of(std::initializer_list<int64_t> dims) {
    return {DT_FLOAT, PartialShape(dims)};
  }
  static ShapeInput Anything(DataType type = DT_FLOAT) {
    return {type, PartialShape()};
  }
  static Tensor Padding() { return Tensor::Scalar(0.0f); }
};

TEST_F(ArrayDiagonalTest, OldOpNamesGiveTheSameResult) {
  for (const std::string prefix : {"", "Batch"}) {
    EXPECT_EQ(Run(prefix + "MatrixDiag", {Counting({2, 2})}),
              "[2,2,2] 0 0 0 1 2 0 0 3");
    EXPECT_EQ(Run(prefix + "MatrixDiagPart", {Counting({2, 3})}), "[2] 0 4");
    EXPECT_EQ(Run(prefix + "MatrixSetDiag", {Counting({2, 3}), Ints({8, 9})}),
              "[2,3] 8 1 2 3 9 5");
    EXPECT_EQ(Run(prefix + "MatrixBandPart",
                  {Counting({2, 2}), Tensor::Scalar<int64_t>(0),
                   Tensor::Scalar<int64_t>(0)}),
              "[2,2] 0 0 0 3");
  }
}

// An input with other owners is not changed.
TEST_F(ArrayDiagonalTest, SetDiagCopiesASharedInput) {
  const Tensor matrix = Counting({2, 2});
  EXPECT_EQ(Run("MatrixSetDiag", {matrix, Ints({8, 9})}), "[2,2] 8 1 2 9");
  EXPECT_EQ(Show(matrix), "[2,2] 0 1 2 3");
}

TEST_F(ArrayDiagonalTest, DiagonalsOfTheWrongShapeAreRefused) {
  const auto set = [&](const Tensor& matrix, const Tensor& diagonal) {
    return Run("BatchMatrixSetDiag", {matrix, diagonal});
  };
  EXPECT_THAT(set(Counting({2, 3}), Ints({1, 2, 3})),
              HasSubstr("Expected diagonal shape: [2]"));
  EXPECT_THAT(set(Counting({2, 2, 3}), Counting({3, 2})),
              HasSubstr("Expected diagonal shape: [2,2]"));
  EXPECT_THAT(set(Counting({2}), Ints({1})), HasSubstr("at least 2-dim"));
  EXPECT_THAT(set(Counting({2, 2}), Int(1)), HasSubstr("at least 1-dim"));
  EXPECT_THAT(Run("BatchMatrixDiag", {Int(1)}), HasSubstr("at least 1-dim"));
  EXPECT_THAT(Run("BatchMatrixDiagPart", {Ints({1})}),
              HasSubstr("at least 2-dim"));
}

TEST_F(ArrayDiagonalTest, BandsOutOfRangeAreRefused) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  for (const std::string version : {"V2", "V3"}) {
    const auto set = [&](const Tensor& k) {
      return Run("MatrixSetDiag" + version,
                 {Counting({2, 3}), Counting({2}), k});
    };
    EXPECT_THAT(set(Int(3)), HasSubstr("lower_diag_index is out of bound: 3"));
    EXPECT_THAT(set(Int(-2)), HasSubstr("lower_diag_index is out of bound"));
    EXPECT_THAT(set(Int(kLeast)), HasSubstr("is out of bound"));
    EXPECT_THAT(set(Ints({0, kMost})),
                HasSubstr("upper_diag_index is out of bound: 2147483647"));
    EXPECT_THAT(set(Ints({1, 0})), HasSubstr("must not be larger"));
    EXPECT_THAT(set(Ints({})), HasSubstr("at least one element"));
    EXPECT_THAT(set(Ints({0, 0, 0})), HasSubstr("only one or two elements"));
    EXPECT_THAT(set(Counting({1, 1})), HasSubstr("a scalar or vector"));
    EXPECT_THAT(set(Ints({0, 1})), HasSubstr("Expected diagonal shape: [2,2]"));

    const auto make = [&](const Tensor& diagonal, const Tensor& k, int rows) {
      return Run("MatrixDiag" + version,
                 {diagonal, k, Int(rows), Int(-1), Int(0)});
    };
    EXPECT_THAT(make(Int(1), Int(0), -1), HasSubstr("at least 1-dim"));
    EXPECT_THAT(make(Ints({1}), Ints({0, 1}), -1),
                HasSubstr("The number of diagonals"));
    EXPECT_THAT(make(Ints({1, 2}), Int(0), 1),
                HasSubstr("number of rows is too small"));
    EXPECT_THAT(make(Ints({1, 2}), Int(0), -2), HasSubstr("too small"));
  }
}

// No matrix can hold a diagonal that far out, even without elements.
TEST_F(ArrayDiagonalTest, SizesThatOverflowAreRefused) {
  const Tensor nothing = Empty({0, std::numeric_limits<int64_t>::max()});
  for (const int k : {std::numeric_limits<int32_t>::min() + 1,
                      std::numeric_limits<int32_t>::max()}) {
    EXPECT_THAT(
        Run("MatrixDiagV3", {nothing, Int(k), Int(-1), Int(-1), Padding()}),
        HasSubstr("too large"));
    EXPECT_THAT(
        ShapeOf("MatrixDiagV3", {Of({0, std::numeric_limits<int64_t>::max()}),
                                 Int(k), Int(-1), Int(-1), Padding()}),
        HasSubstr("overflow"));
  }
}

// A loop over all diagonals would practically never end.
TEST_F(ArrayDiagonalTest, EmptyDiagonalsTakeNoTime) {
  constexpr int32_t kMany = std::numeric_limits<int32_t>::max();
  for (const char* op : {"MatrixDiagV2", "MatrixDiagV3"}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor matrices,
        harness_.RunOne(op, {Empty({1000, kMany, 0}), Ints({1, kMany}), Int(1),
                             Int(-1), Padding()}));
    EXPECT_EQ(matrices.shape(), TensorShape({1000, 1, 1}));
  }
}

TEST_F(ArrayDiagonalTest, ShapesOfMatricesWithABand) {
  const auto shape = [&](ShapeInput diagonal, ShapeInput k,
                         ShapeInput rows = Int(-1),
                         ShapeInput columns = Int(-1)) {
    const auto with = [&](const char* op) {
      return ShapeOf(op, {diagonal, k, rows, columns, Padding()});
    };
    EXPECT_EQ(Said(with("MatrixDiagV2")), Said(with("MatrixDiagV3")));
    return with("MatrixDiagV3");
  };
  EXPECT_EQ(shape(Of({2, 3}), Int(0)), "[2,3,3]");
  EXPECT_EQ(shape(Of({2, 3}), Ints({1})), "[2,4,4]");
  EXPECT_EQ(shape(Of({5, 3, 4}), Ints({-1, 1})), "[5,4,4]");
  EXPECT_EQ(shape(Of({3, 4}), Int(0), Int(6)), "[3,6,4]");
  EXPECT_EQ(shape(Of({3, -1}), Int(0)), "[3,?,?]");
  EXPECT_EQ(shape(Of({3, -1}), Int(0), Int(5)), "[3,5,?]");
  EXPECT_EQ(shape(Of({2, -1}), Ints({0, 1})), "[?,?]");
  EXPECT_EQ(shape(Of({3, 4}), Int(0), Anything(DT_INT32)), "[3,?,?]");
  EXPECT_EQ(shape(Anything(), Int(0)), "<unknown>");
  EXPECT_EQ(shape(Of({3, 4}), Anything(DT_INT32)), "<unknown>");
  EXPECT_THAT(shape(Of({4}), Ints({-1, 1})), HasSubstr("doesn't match"));
  EXPECT_THAT(shape(Of({2, 4}), Ints({-1, 1})), HasSubstr("doesn't match"));
  EXPECT_THAT(shape(Of({3, 4}), Ints({1, -1})), HasSubstr("is greater than"));
  EXPECT_THAT(shape(Of({3, 4}), Ints({})), HasSubstr("It has 0 elements"));
  EXPECT_THAT(shape(Of({3, 4}), Counting({1, 1})), HasSubstr("at most rank 1"));
  EXPECT_THAT(shape(Of({3, 4}), Int(0), Int(3)), HasSubstr("too small"));
  EXPECT_THAT(shape(Of({3, 4}), Int(0), Int(-1), Int(3)),
              HasSubstr("num_cols is too small."));
  EXPECT_THAT(shape(Of({3, 4}), Int(0), Int(5), Int(6)),
              HasSubstr("num_rows = 5 != min_num_rows = 4"));
  EXPECT_THAT(shape(Of({3, 4}), Int(0), Ints({5})), HasSubstr("rank 0"));
}

TEST_F(ArrayDiagonalTest, ShapesOfABandOfMatrices) {
  const auto shape = [&](ShapeInput input, ShapeInput k) {
    const auto of = [&](const char* op) {
      return ShapeOf(op, {input, k, Padding()});
    };
    EXPECT_EQ(Said(of("MatrixDiagPartV2")), Said(of("MatrixDiagPartV3")));
    return of("MatrixDiagPartV3");
  };
  EXPECT_EQ(shape(Of({5, 2, 3}), Int(0)), "[5,2]");
  EXPECT_EQ(shape(Of({5, 2, 3}), Ints({-1, 1})), "[5,3,2]");
  EXPECT_EQ(shape(Of({2, -1}), Ints({0, 1})), "[2,?]");
  EXPECT_EQ(shape(Of({0, 4}), Int(0)), "[0]");
  EXPECT_EQ(shape(Anything(), Int(0)), "<unknown>");
  EXPECT_EQ(shape(Of({2, 3}), Anything(DT_INT32)), "<unknown>");
  EXPECT_THAT(shape(Of({2, 3}), Int(3)),
              HasSubstr("lower_diag_index is out of bound."));
  EXPECT_THAT(shape(Of({2, 3}), Ints({0, 3})),
              HasSubstr("upper_diag_index is out of bound."));
  EXPECT_THAT(shape(Of({4}), Int(0)), HasSubstr("at least rank 2"));
}

TEST_F(ArrayDiagonalTest, ShapesOfMatricesWithOtherDiagonals) {
  for (const char* op : {"MatrixSetDiag", "BatchMatrixSetDiag"}) {
    EXPECT_EQ(ShapeOf(op, {Of({-1, 2, 3}), Of({5, 2})}), "[5,2,3]");
    EXPECT_EQ(ShapeOf(op, {Anything(), Of({5, 2})}), "[5,?,?]");
    EXPECT_EQ(ShapeOf(op, {Of({-1, -1, -1}), Anything()}), "[?,?,?]");
    EXPECT_THAT(ShapeOf(op, {Of({5, 2, 3}), Of({5, 3})}),
                HasSubstr("Dimensions must be equal, but are 2 and 3"));
    EXPECT_THAT(ShapeOf(op, {Of({5, 2, 3}), Of({5, 2, 3})}),
                HasSubstr("must be rank 2 but is rank 3"));
  }
  for (const char* op : {"MatrixSetDiagV2", "MatrixSetDiagV3"}) {
    EXPECT_EQ(ShapeOf(op, {Of({5, 2, 3}), Of({5, 2, 2}), Ints({0, 1})}),
              "[5,2,3]");
    EXPECT_EQ(ShapeOf(op, {Of({-1, 2, 3}), Of({5, 2}), Int(0)}), "[5,2,3]");
    EXPECT_EQ(ShapeOf(op, {Of({-1, 2, 3}), Of({5, 2}), Anything(DT_INT32)}),
              "[?,2,3]");
    EXPECT_THAT(ShapeOf(op, {Of({5, 2, 3}), Of({5, 2}), Ints({0, 1})}),
                HasSubstr("must be rank 3 but is rank 2"));
    EXPECT_THAT(ShapeOf(op, {Of({2, 3}), Of({2}), Int(3)}),
                HasSubstr("is out of bound."));
  }
}

}  // namespace
}  // namespace weft
