// The graphs of Case, MapFn, Foldl, Foldr and Scan, and their errors while
// building. Values are tested with the kernels.
#include "libs/ops/control/map_fn.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/graph/frame_analysis.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Values = std::vector<Output>;

class MapFnTest : public testing::Test {
 protected:
  Output In(DataType dtype, const PartialShape& shape) {
    return ops::Placeholder(root_, dtype, {.shape = shape});
  }
  void ExpectFramesFit() {
    ASSERT_OK(root_.status());
    std::vector<bool> everywhere;
    for (const Node* node : root_.graph().nodes()) {
      everywhere.push_back(IsFreeConstant(*node));
    }
    EXPECT_OK(AnalyzeFrames(root_.graph(), everywhere));
  }
  int Count(const std::string& type) {
    int count = 0;
    for (const Node* node : root_.graph().nodes()) {
      count += node->type() == type;
    }
    return count;
  }
  void ExpectInvalid(const std::string& text) {
    EXPECT_THAT(root_.status(), StatusIs(kInvalid, text));
  }

  const Scope root_ = Scope::Root();
};

Values Sum(const Scope& s, const Values& so_far, const Values& rows) {
  return {ops::Add(s, so_far[0], rows[0])};
}

TEST_F(MapFnTest, RowsHaveOneRankLess) {
  PartialShape row;
  const Values y = ops::MapFn(root_,
                              [&](const Scope& s, const Values& rows) {
                                row = rows[0].shape();
                                return Values{ops::Square(s, rows[0])};
                              },
                              {In(DT_FLOAT, {5, 3})});
  ExpectFramesFit();
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(row, (PartialShape{3}));
  EXPECT_EQ(y[0].dtype(), DT_FLOAT);
  EXPECT_NE(root_.graph().FindNode("map/TensorArray"), nullptr);
}

TEST_F(MapFnTest, ResultsMayHaveOtherTypes) {
  const Values y = ops::MapFn(
      root_,
      [](const Scope& s, const Values& rows) {
        return Values{ops::Cast(s, rows[0], DT_INT64), ops::Neg(s, rows[1])};
      },
      {In(DT_FLOAT, {5}), In(DT_DOUBLE, {5, 2})},
      {.dtypes = {DT_INT64, DT_DOUBLE}});
  ExpectFramesFit();
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(y[0].dtype(), DT_INT64);
  EXPECT_EQ(y[1].dtype(), DT_DOUBLE);
}

TEST_F(MapFnTest, EmptyListOfInputsIsRejected) {
  EXPECT_TRUE(ops::MapFn(root_.WithName("rows"),
                         [](const Scope&, const Values& v) { return v; }, {})
                  .empty());
  ExpectInvalid("rows/: elems must not be empty");
}

TEST_F(MapFnTest, NullElementIsRejected) {
  EXPECT_TRUE(ops::Foldl(root_, Sum, {Output()}).empty());
  ExpectInvalid("foldl/: elems contains a null output");
}

TEST_F(MapFnTest, FoldReturnsOneValue) {
  const Values left = ops::Foldl(root_, Sum, {In(DT_FLOAT, {5, 3})});
  const Values right = ops::Foldr(root_, Sum, {In(DT_FLOAT, {5, 3})});
  ExpectFramesFit();
  ASSERT_EQ(left.size(), 1u);
  ASSERT_EQ(right.size(), 1u);
  EXPECT_EQ(left[0].node()->type(), "Exit");
  // No array of results.
  EXPECT_EQ(Count("TensorArrayWriteV3"), 0);
}

TEST_F(MapFnTest, FoldStartsWithItsInitializer) {
  const Values y =
      ops::Foldl(root_, Sum, {In(DT_FLOAT, {5})}, {.initializer = {0.0f}});
  ExpectFramesFit();
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].shape(), PartialShape::Scalar());
  EXPECT_NE(root_.graph().FindNode("foldl/initializer"), nullptr);
}

TEST_F(MapFnTest, ScanKeepsAllValues) {
  const Values y = ops::Scan(root_, Sum, {In(DT_FLOAT, {5, 3})});
  ExpectFramesFit();
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].node()->type(), "TensorArrayGatherV3");
  // The first row, before the loop, and the others in it.
  EXPECT_EQ(Count("TensorArrayWriteV3"), 2);
}

class CaseTest : public MapFnTest {
 protected:
  ops::BranchFunction Returns(float value) {
    return [value](const Scope& s) {
      return Values{s.ToOutput(Tensor::Scalar(value))};
    };
  }
  Output Pred() { return In(DT_BOOL, TensorShape()); }
};

TEST_F(CaseTest, DefaultIsTheLastBranch) {
  const Values y = ops::Case(
      root_, {{Pred(), Returns(1)}, {Pred(), Returns(2)}}, Returns(3));
  ExpectFramesFit();
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].node()->type(), "Merge");
  EXPECT_EQ(Count("Merge"), 2);
  EXPECT_EQ(Count("Assert"), 0);
}

TEST_F(CaseTest, OnePredMustHoldWithoutADefault) {
  const Values y =
      ops::Case(root_, {{Pred(), Returns(1)}, {Pred(), Returns(2)}});
  ExpectFramesFit();
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(Count("Assert"), 1);
  EXPECT_EQ(Count("Merge"), 1);
}

TEST_F(CaseTest, ExclusivePredsAreChecked) {
  ops::Case(root_, {{Pred(), Returns(1)}, {Pred(), Returns(2)}}, Returns(3),
            {.exclusive = true});
  ExpectFramesFit();
  EXPECT_EQ(Count("Assert"), 1);
}

TEST_F(CaseTest, NoPredsAreRejected) {
  EXPECT_TRUE(ops::Case(root_.WithName("choice"), {}, Returns(1)).empty());
  ExpectInvalid("Case 'choice': preds must not be empty");
}

TEST_F(CaseTest, PredMustBeABoolScalar) {
  ops::Cond(root_.WithName("c"), In(DT_FLOAT, {2}), Returns(1), Returns(2));
  ExpectInvalid("Cond 'c': pred must be a bool scalar");
}

}  // namespace
}  // namespace weft
