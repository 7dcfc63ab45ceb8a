// Tests shape inference for joins, cuts, paddings, diagonals, segments and
// blocks while the graph is built, and the errors of shapes that do not fit.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

Output In(const Scope& scope, const PartialShape& shape,
          DataType dtype = DT_FLOAT) {
  return ops::Placeholder(scope, dtype, {.shape = shape});
}

class ShapeRulesTest : public testing::Test {
 protected:
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output ? output.shape().ToString() : "no output";
  }
  Output Float(const PartialShape& shape) { return In(root_, shape); }
  Output Int(const PartialShape& shape) { return In(root_, shape, DT_INT32); }

  const Scope root_ = Scope::Root();
};

// Builds a node that cannot be.
struct Refused {
  std::function<void(const Scope&)> build;
  const char* says;
};

void ExpectRefused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    const Scope root = Scope::Root();
    c.build(root);
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(ShapeRulesTest, ConcatAddsTheSizesOfItsAxis) {
  EXPECT_EQ(ShapeOf(ops::Concat(root_, {Float({2, -1}), Float({3, 4})}, 0)),
            "[5,4]");
  EXPECT_EQ(ShapeOf(ops::Concat(root_, {Float({-1, 4}), Float({3, 4})}, 0)),
            "[?,4]");
  EXPECT_EQ(ShapeOf(ops::Concat(root_, {Float({2, 3}), Float({2, 3})},
                                Int(TensorShape()))),
            "[?,?]");
  EXPECT_EQ(
      ShapeOf(ops::Concat(root_, {Float(PartialShape()), Float({2, 3})}, 1)),
      "[2,?]");
}

TEST_F(ShapeRulesTest, ConcatOfUnequalTensorsIsRefused) {
  ExpectRefused({
      {[](const Scope& s) {
         ops::Concat(s, {In(s, {2, 3}), In(s, {2})}, 0);
       },
       "Shapes must be equal rank, but are 2 and 1"},
      {[](const Scope& s) {
         ops::Concat(s, {In(s, {2, 3}), In(s, {2, 4})}, 0);
       },
       "Dimensions must be equal, but are 3 and 4"},
      {[](const Scope& s) {
         ops::Concat(s, {In(s, TensorShape()), In(s, TensorShape())}, 0);
       },
       "Can't concatenate scalars (use tf.stack, ops::Stack, instead)"},
  });
}

TEST_F(ShapeRulesTest, StackCombinesKnownShapes) {
  EXPECT_EQ(ShapeOf(ops::Stack(root_, {Float({2, -1}), Float({-1, 3})})),
            "[2,2,3]");
  EXPECT_EQ(ShapeOf(ops::Stack(root_, {Float({2}), Float({2})}, {.axis = -1})),
            "[2,2]");
  ExpectRefused({{[](const Scope& s) {
                    ops::Stack(s, {In(s, {2}), In(s, {3})});
                  },
                  "Shapes of all inputs must match"}});
}

TEST_F(ShapeRulesTest, SplitsAreEqual) {
  EXPECT_EQ(ShapeOf(ops::Split(root_, 1, Float({2, 6}), 3)[2]), "[2,2]");
  EXPECT_EQ(ShapeOf(ops::Split(root_, 1, Float({2, -1}), 3)[0]), "[2,?]");
  EXPECT_EQ(ShapeOf(ops::Split(root_, Int(TensorShape()), Float({2, 6}), 3)[0]),
            "[?,?]");
  ExpectRefused({{[](const Scope& s) {
                    ops::Split(s, 1, In(s, {2, 5}), 3);
                  },
                  "evenly divide the split dimension, but got split_dim 1 "
                  "(size = 5) and num_split 3"}});
}

TEST_F(ShapeRulesTest, PiecesFillTheAxis) {
  const std::vector<Output> pieces =
      ops::SplitV(root_, Float({7, 2}), {1, -1, 4}, 0, 3);
  EXPECT_EQ(ShapeOf(pieces[0]), "[1,2]");
  EXPECT_EQ(ShapeOf(pieces[1]), "[2,2]");
  EXPECT_EQ(ShapeOf(pieces[2]), "[4,2]");
  ExpectRefused({
      {[](const Scope& s) {
         ops::SplitV(s, In(s, {7}), {1, 2}, 0, 2);
       },
       "if it contains a -1: 3 vs. 7"},
      {[](const Scope& s) {
         ops::SplitV(s, In(s, {7}), {8, -1}, 0, 2);
       },
       "if it contains a -1: 8 vs. 7"},
      {[](const Scope& s) {
         ops::SplitV(s, In(s, {7}), {3, 4}, 0, 3);
       },
       "Length of size_splits should be equal to num_outputs"},
  });
}

TEST_F(ShapeRulesTest, UnstackNeedsItsNumberOfRows) {
  EXPECT_EQ(ShapeOf(ops::Unstack(root_, Float({-1, 3}), 4)[3]), "[3]");
  ExpectRefused({{[](const Scope& s) {
                    ops::Unstack(s, In(s, {2, 3}), 4);
                  },
                  "Dimensions must be equal, but are 2 and 4"}});
}

TEST_F(ShapeRulesTest, TilesMultiplyTheSizes) {
  EXPECT_EQ(ShapeOf(ops::Tile(root_, Float({2, -1}), {3, 2})), "[6,?]");
  EXPECT_EQ(ShapeOf(ops::Tile(root_, Float({2, 3}), Int({2}))), "[?,?]");
  EXPECT_EQ(ShapeOf(ops::Tile(root_, Float(PartialShape()), {3, 2})), "[?,?]");
  ExpectRefused({{[](const Scope& s) {
                    ops::Tile(s, In(s, {2}), {3, 2});
                  },
                  "Shape must be rank 2 but is rank 1 for input 0"}});
}

TEST_F(ShapeRulesTest, PaddingsAddToTheSizes) {
  const Output paddings = ops::Const(root_, {1, 2, 0, 3}, {2, 2});
  EXPECT_EQ(ShapeOf(ops::Pad(root_, Float({4, -1}), paddings)), "[7,?]");
  EXPECT_EQ(ShapeOf(ops::Pad(root_, Float({4, 5}), Int({2, 2}))), "[?,?]");
  EXPECT_EQ(ShapeOf(ops::Pad(root_, Float(PartialShape()), Int({3, 2}))),
            "[?,?,?]");
  EXPECT_EQ(
      ShapeOf(ops::MirrorPadGrad(root_, Float({7, 5}), paddings, "REFLECT")),
      "[4,2]");
}

TEST_F(ShapeRulesTest, ImpossiblePaddingsAreRefused) {
  ExpectRefused({
      {[](const Scope& s) {
         ops::Pad(s, In(s, {4}), ops::Const(s, {-1, 0}, {1, 2}));
       },
       "paddings must be non-negative"},
      {[](const Scope& s) {
         ops::MirrorPadGrad(s, In(s, {4}), ops::Const(s, {3, 2}, {1, 2}),
                            "REFLECT");
       },
       "paddings exceed the padded size"},
      {[](const Scope& s) {
         ops::Pad(s, In(s, {4}), ops::Const(s, {1, 0, 0, 1}, {2, 2}));
       },
       "Dimensions must be equal, but are 2 and 1"},
  });
}

TEST_F(ShapeRulesTest, DiagonalsHaveTheSmallerSize) {
  EXPECT_EQ(ShapeOf(ops::MatrixDiag(root_, Float({2, 3}))), "[2,3,3]");
  EXPECT_EQ(ShapeOf(ops::MatrixDiagPart(root_, Float({2, 3, 5}))), "[2,3]");
  EXPECT_EQ(ShapeOf(ops::MatrixDiagPart(root_, Float({2, -1, 5}))), "[2,?]");
  EXPECT_EQ(ShapeOf(ops::DiagPart(root_, Float({2, -1, -1, 3}))), "[2,3]");
  EXPECT_EQ(
      ShapeOf(ops::MatrixSetDiag(root_, Float({-1, 3, 4}), Float({2, 3}))),
      "[2,3,4]");
}

TEST_F(ShapeRulesTest, ImpossibleDiagonalsAreRefused) {
  ExpectRefused({
      {[](const Scope& s) {
         ops::DiagPart(s, In(s, {2, 3, 4}));
       },
       "Input must have even and non-zero rank, input rank is 3"},
      {[](const Scope& s) {
         ops::MatrixSetDiag(s, In(s, {3, 4}), In(s, {4}));
       },
       "Dimensions must be equal, but are 3 and 4"},
  });
}

TEST_F(ShapeRulesTest, SegmentsKeepTheRows) {
  const Output data = Float({6, 3});
  EXPECT_EQ(ShapeOf(ops::SegmentSum(root_, data, Int({6}))), "[?,3]");
  EXPECT_EQ(ShapeOf(ops::SparseSegmentMean(root_, data, Int({4}), Int({4}))),
            "[?,3]");
  EXPECT_EQ(ShapeOf(ops::SparseSegmentSumGrad(root_, Float({-1, 3}), Int({4}),
                                              Int({4}), 9)),
            "[9,3]");
  EXPECT_EQ(
      ShapeOf(ops::UnsortedSegmentSum(root_, Float({2, 3, 4}), Int({2, 3}), 5)),
      "[5,4]");
}

TEST_F(ShapeRulesTest, SegmentsNeedAnIdForEachRow) {
  ExpectRefused({
      {[](const Scope& s) {
         ops::SegmentSum(s, In(s, {6, 3}), In(s, {5}, DT_INT32));
       },
       "Dimensions must be equal, but are 6 and 5"},
      {[](const Scope& s) {
         ops::SparseSegmentSumGrad(s, In(s, {6, 3}), In(s, {4}, DT_INT32),
                                   In(s, {4}, DT_INT32), -1);
       },
       "Cannot specify a negative value for dim0"},
  });
}

TEST_F(ShapeRulesTest, BlocksMoveBetweenDimensions) {
  const auto moved = [&](const char* op, const PartialShape& shape,
                         const char* format) {
    return ShapeOf(root_.AddOutput(
        op, {Float(shape)}, {{"block_size", 2}, {"data_format", format}}));
  };
  EXPECT_EQ(moved("SpaceToDepth", {1, 4, 6, 3}, "NHWC"), "[1,2,3,12]");
  EXPECT_EQ(moved("DepthToSpace", {1, 2, 3, 12}, "NHWC"), "[1,4,6,3]");
  EXPECT_EQ(moved("SpaceToDepth", {1, 3, 4, 6}, "NCHW"), "[1,12,2,3]");
  const Output block = ops::Const(root_, {2, 3}, {2});
  const Output paddings = ops::Const(root_, {0, 0, 1, 1}, {2, 2});
  EXPECT_EQ(ShapeOf(root_.AddOutput("SpaceToBatchND",
                                    {Float({5, 4, 7, 3}), block, paddings})),
            "[30,2,3,3]");
  EXPECT_EQ(ShapeOf(root_.AddOutput("BatchToSpaceND",
                                    {Float({30, 2, 3, 3}), block, paddings})),
            "[5,4,7,3]");
}

TEST_F(ShapeRulesTest, TuplesIndexLeadingDimensions) {
  EXPECT_EQ(ShapeOf(ops::GatherNd(root_, Float({4, 5, 6}), Int({7, 2}))),
            "[7,6]");
  EXPECT_EQ(ShapeOf(ops::GatherNd(root_, Float({4, 5}), Int({7, 2}))), "[7]");
  EXPECT_EQ(ShapeOf(ops::ScatterNd(root_, Int({7, 1}), Float({7, 5}), {9, 5})),
            "[9,5]");
  ExpectRefused({{[](const Scope& s) {
                    ops::GatherNd(s, In(s, {4, 5}), In(s, {7, 3}, DT_INT32));
                  },
                  "indices.shape[-1] must be <= params.rank, but saw indices "
                  "shape: [7,3] and params shape: [4,5]"}});
}

}  // namespace
}  // namespace weft
