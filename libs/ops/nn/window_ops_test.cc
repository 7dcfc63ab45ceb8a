// Tests shape inference for convolutions and pools while the graph is built,
// and the errors of windows that do not fit.
#include "libs/ops/nn/window_ops.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

class WindowOpsTest : public testing::Test {
 protected:
  static Output In(const Scope& scope, const PartialShape& shape) {
    return ops::Placeholder(scope, DT_FLOAT, {.shape = shape});
  }
  Output In(const PartialShape& shape) { return In(root_, shape); }
  std::string ShapeOf(const Output& output) {
    EXPECT_OK(root_.status());
    return output ? output.shape().ToString() : "no output";
  }

  const Scope root_ = Scope::Root();
};

TEST_F(WindowOpsTest, PaddingDecidesTheSizeOfAConvolution) {
  const Output image = In({2, 9, 8, 3}), filter = In({3, 2, 3, 5});
  const auto conv = [&](const std::string& padding, int64_t stride) {
    return ShapeOf(
        ops::Conv2D(root_, image, filter, {1, stride, stride, 1}, padding));
  };
  EXPECT_EQ(conv("SAME", 1), "[2,9,8,5]");
  EXPECT_EQ(conv("SAME", 2), "[2,5,4,5]");
  EXPECT_EQ(conv("VALID", 1), "[2,7,7,5]");
  EXPECT_EQ(conv("VALID", 2), "[2,4,4,5]");
}

TEST_F(WindowOpsTest, DilationWidensTheWindow) {
  EXPECT_EQ(
      ShapeOf(ops::Conv2D(root_, In({2, 9, 9, 3}), In({3, 3, 3, 5}),
                          {1, 1, 1, 1}, "VALID", {.dilations = {1, 2, 2, 1}})),
      "[2,5,5,5]");
}

TEST_F(WindowOpsTest, ChannelsMayComeFirst) {
  EXPECT_EQ(ShapeOf(ops::Conv2D(root_, In({2, 3, 9, 8}), In({3, 3, 3, 5}),
                                {1, 1, 2, 2}, "SAME", {.data_format = "NCHW"})),
            "[2,5,5,4]");
}

TEST_F(WindowOpsTest, UnknownSizesStayUnknown) {
  EXPECT_EQ(ShapeOf(ops::Conv2D(root_, In({-1, -1, 8, 3}), In({3, 3, 3, 5}),
                                {1, 1, 1, 1}, "VALID")),
            "[?,?,6,5]");
  EXPECT_EQ(ShapeOf(ops::Conv2D(root_, In(PartialShape()), In({3, 3, 3, 5}),
                                {1, 1, 1, 1}, "SAME")),
            "[?,?,?,5]");
}

TEST_F(WindowOpsTest, DepthwiseConvolutionMultipliesChannels) {
  EXPECT_EQ(
      ShapeOf(ops::DepthwiseConv2dNative(
          root_, In({2, 9, 9, 3}), In({3, 3, 3, 4}), {1, 1, 1, 1}, "SAME")),
      "[2,9,9,12]");
}

TEST_F(WindowOpsTest, GradientsHaveTheirGivenSizes) {
  const Output grad = In({2, 9, 9, 5});
  EXPECT_EQ(
      ShapeOf(ops::Conv2DBackpropInput(root_, {2, 9, 9, 3}, In({3, 3, 3, 5}),
                                       grad, {1, 1, 1, 1}, "SAME")),
      "[2,9,9,3]");
  EXPECT_EQ(
      ShapeOf(ops::Conv2DBackpropFilter(root_, In({2, 9, 9, 3}), {3, 3, 3, 5},
                                        grad, {1, 1, 1, 1}, "SAME")),
      "[3,3,3,5]");
}

TEST_F(WindowOpsTest, PoolsKeepTheChannels) {
  const Output image = In({2, 9, 8, 3});
  EXPECT_EQ(
      ShapeOf(ops::MaxPool(root_, image, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID")),
      "[2,4,4,3]");
  EXPECT_EQ(
      ShapeOf(ops::AvgPool(root_, image, {1, 3, 3, 1}, {1, 2, 2, 1}, "SAME")),
      "[2,5,4,3]");
  EXPECT_EQ(ShapeOf(ops::MaxPool(root_, In({2, 3, 9, 8}), {1, 1, 2, 2},
                                 {1, 1, 2, 2}, "VALID", "NCHW")),
            "[2,3,4,4]");
}

TEST_F(WindowOpsTest, NormalizationKeepsTheImage) {
  const Output image = In({2, 9, 8, 3}), vector = In({3});
  EXPECT_EQ(ShapeOf(ops::LRN(root_, image)), "[2,9,8,3]");
  const auto norm =
      ops::FusedBatchNormV3(root_, image, vector, vector, vector, vector);
  EXPECT_EQ(ShapeOf(norm.y), "[2,9,8,3]");
  EXPECT_EQ(ShapeOf(norm.batch_mean), "[3]");
  EXPECT_EQ(ShapeOf(norm.batch_variance), "[3]");
}

TEST_F(WindowOpsTest, ImpossibleConvolutionsAreRejected) {
  const struct {
    PartialShape image, filter;
    ops::FourInts strides;
    const char* says;
  } cases[] = {
      {{2, 9, 9}, {3, 3, 3, 5}, {1, 1, 1, 1}, "rank 4"},
      {{2, 9, 9, 4},
       {3, 3, 3, 5},
       {1, 1, 1, 1},
       "Depth of input (4) is not a multiple of input depth of filter (3)"},
      {{2, 2, 9, 3},
       {4, 3, 3, 5},
       {1, 1, 1, 1},
       "Computed output size would be negative: input 2, window 4, stride 1"},
      {{2, 9, 9, 3},
       {3, 3, 3, 5},
       {1, 0, 1, 1},
       "strides, dilations and windows must be positive"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    EXPECT_FALSE(ops::Conv2D(root, In(root, c.image), In(root, c.filter),
                             c.strides, "VALID"));
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(WindowOpsTest, ExplicitPaddingsAreChecked) {
  const struct {
    const char* padding;
    std::vector<int64_t> paddings;
    const char* says;
  } cases[] = {
      {"EXPLICIT", {0, 0, 1, 1}, "explicit_paddings must be 8 numbers"},
      {"EXPLICIT",
       {1, 0, 1, 1, 1, 1, 0, 0},
       "Nonzero explicit padding in the batch or depth dimensions is not "
       "supported"},
      {"EXPLICIT", {0, 0, -1, 1, 1, 1, 0, 0}, "that are not negative"},
      {"SAME",
       {0, 0, 1, 1, 1, 1, 0, 0},
       "explicit_paddings attribute must be empty if the padding attribute is "
       "not EXPLICIT"},
  };
  for (const auto& c : cases) {
    const Scope root = Scope::Root();
    root.AddOutput("Conv2D", {In(root, {2, 9, 9, 3}), In(root, {3, 3, 3, 5})},
                   {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                    {"padding", c.padding},
                    {"explicit_paddings", c.paddings}});
    EXPECT_THAT(root.status(), StatusIs(kInvalid, c.says));
  }
}

TEST_F(WindowOpsTest, ExplicitPaddingsAddToTheImage) {
  const Output y = root_.AddOutput(
      "Conv2D", {In({2, 9, 9, 3}), In({3, 3, 3, 5})},
      {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
       {"padding", "EXPLICIT"},
       {"explicit_paddings", std::vector<int64_t>{0, 0, 1, 2, 0, 4, 0, 0}}});
  EXPECT_EQ(ShapeOf(y), "[2,10,11,5]");
}

}  // namespace
}  // namespace weft
