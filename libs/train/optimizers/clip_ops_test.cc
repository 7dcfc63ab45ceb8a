#include "libs/train/optimizers/clip_ops.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/math/math_ops.h"
#include "libs/train/testing/scalar_graph.h"

namespace weft::train {
namespace {

class ClipTest : public testing::Test {
 protected:
  Output Floats(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = shape});
  }
  Gradient Rows() {
    Gradient rows;
    rows.values = Floats({-1, 2});
    rows.indices = ops::Placeholder(root_, DT_INT32, {.shape = {-1}});
    rows.dense_shape = ops::Const(root_, Tensor::Vector<int32_t>({9, 2}));
    rows.is_distinct = true;
    return rows;
  }

  ScalarGraph graph_;
  const Scope root_ = graph_.root();
};

TEST_F(ClipTest, ValuesAreKeptWithinBounds) {
  const Output x = graph_.Fed(0);
  const Output clipped = ClipByValue(root_, x, -1.0f, 2.0f);
  ASSERT_OK(root_.status());
  EXPECT_EQ(clipped.name(), "clip_by_value:0");
  for (const auto& [given, wanted] :
       {std::pair(-3.0, -1.0), std::pair(0.5, 0.5), std::pair(3.0, 2.0)}) {
    graph_.Set(x, given);
    EXPECT_NEAR(graph_.ValueOf(clipped), wanted, kNear) << given;
  }
}

TEST_F(ClipTest, BoundsMayBeTensors) {
  const Output clipped =
      ClipByValue(root_, graph_.Fed(5), graph_.Fed(1), graph_.Fed(4));
  ASSERT_OK(root_.status());
  EXPECT_NEAR(graph_.ValueOf(clipped), 4, kNear);
}

TEST_F(ClipTest, BoundsMustNotEnlargeTheTensor) {
  EXPECT_FALSE(ClipByValue(root_, Floats({2}), -1.0f, Floats({3, 2})));
  EXPECT_THAT(root_.status(),
              StatusIs(kInvalid, "Shapes [3,2] and [2] are incompatible"));
}

TEST_F(ClipTest, LongVectorsAreShortened) {
  const Output x = graph_.Fed(-8);
  const Output clipped = ClipByNorm(root_, x, 2.0f);
  ASSERT_OK(root_.status());
  EXPECT_EQ(clipped.name(), "clip_by_norm:0");
  EXPECT_NEAR(graph_.ValueOf(clipped), -2, kNear);
  graph_.Set(x, 0.5);
  EXPECT_NEAR(graph_.ValueOf(clipped), 0.5, kNear);
  graph_.Set(x, 0);
  EXPECT_NEAR(graph_.ValueOf(clipped), 0, kNear);
}

TEST_F(ClipTest, NormMayBeComputedPerRow) {
  const Output clipped = ClipByNorm(root_, Floats({4, 3}), 2.0f, {1});
  ASSERT_OK(root_.status());
  EXPECT_EQ(clipped.shape(), PartialShape({4, 3}));
  int sums = 0;
  for (const Node* node : root_.graph().nodes()) {
    if (node->type() != "Sum") continue;
    ++sums;
    EXPECT_EQ(node->output_shape(0), PartialShape({4, 1}));
  }
  EXPECT_EQ(sums, 1);
}

// The average norm is the L2 norm divided by the number of elements, here 1.
TEST_F(ClipTest, AverageNormIsLimited) {
  const Output x = graph_.Fed(8);
  const Output clipped = ClipByAverageNorm(root_, x, 2.0f);
  ASSERT_OK(root_.status());
  EXPECT_EQ(clipped.name(), "clip_by_average_norm:0");
  EXPECT_NEAR(graph_.ValueOf(clipped), 2, kNear);
  graph_.Set(x, 0.5);
  EXPECT_NEAR(graph_.ValueOf(clipped), 0.5, kNear);
}

TEST_F(ClipTest, SparseGradientKeepsItsRows) {
  const Gradient rows = Rows();
  for (const Gradient& clipped :
       {ClipByValue(root_, rows, -1.0f, 1.0f), ClipByNorm(root_, rows, 1.0f),
        ClipByGlobalNorm(root_, {rows}, 1.0f).list[0]}) {
    EXPECT_TRUE(clipped.IsSparse());
    EXPECT_FALSE(clipped.values == rows.values);
    EXPECT_EQ(clipped.values.shape(), PartialShape({-1, 2}));
    EXPECT_EQ(clipped.indices, rows.indices);
    EXPECT_EQ(clipped.dense_shape, rows.dense_shape);
    EXPECT_TRUE(clipped.is_distinct);
  }
  EXPECT_OK(root_.status());
}

TEST_F(ClipTest, GlobalNormIsNamedAsInTensorFlow) {
  const Output x = graph_.Fed(-3);
  const Output norm = GlobalNorm(root_, {Gradient(x), Gradient()});
  ASSERT_OK(root_.status());
  EXPECT_EQ(norm.name(), "global_norm/global_norm:0");
  EXPECT_NEAR(graph_.ValueOf(norm), 3, kNear);
}

TEST_F(ClipTest, GlobalNormNeedsGradients) {
  EXPECT_FALSE(GlobalNorm(root_, {Gradient(), Gradient()}));
  EXPECT_THAT(root_.status(), StatusIs(kInvalid, "all gradients are None"));
}

TEST_F(ClipTest, AllGradientsAreScaledByOneFactor) {
  const Output norm = graph_.Fed(10);
  const auto clipped = ClipByGlobalNorm(
      root_, {Gradient(graph_.Fed(6)), Gradient(), Gradient(graph_.Fed(8))},
      5.0f, norm);
  ASSERT_OK(root_.status());
  ASSERT_EQ(clipped.list.size(), 3u);
  EXPECT_TRUE(clipped.list[1].IsNone());
  EXPECT_NEAR(graph_.ValueOf(clipped.list[0].dense), 3, kNear);
  EXPECT_NEAR(graph_.ValueOf(clipped.list[2].dense), 4, kNear);
  graph_.Set(norm, 2.5);
  EXPECT_NEAR(graph_.ValueOf(clipped.list[0].dense), 6, kNear);
  EXPECT_EQ(clipped.list[0].dense.name(),
            "clip_by_global_norm/clip_by_global_norm/_0:0");
}

TEST_F(ClipTest, InfiniteNormGivesNan) {
  const Output norm = graph_.Fed(std::numeric_limits<double>::infinity());
  const auto clipped =
      ClipByGlobalNorm(root_, {Gradient(graph_.Fed(6))}, 5.0f, norm);
  ASSERT_OK(root_.status());
  EXPECT_TRUE(std::isnan(graph_.ValueOf(clipped.list[0].dense)));
}

TEST_F(ClipTest, ErrorLeavesTheListNull) {
  root_.UpdateStatus(absl::UnknownError("first"));
  const auto clipped = ClipByGlobalNorm(root_, {Gradient(Output())}, 5.0f);
  ASSERT_EQ(clipped.list.size(), 1u);
  EXPECT_TRUE(clipped.list[0].IsNone());
  EXPECT_FALSE(clipped.global_norm);
}

}  // namespace
}  // namespace weft::train
