// The gradients of convolutions, pools, normalization and image sizes are the
// ops that compute them, with the attrs of the forward op. Their values are
// tested with the kernels.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/gradients/gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

class WindowGradientsTest : public testing::Test {
 protected:
  Output In(const PartialShape& shape) {
    return ops::Placeholder(root_, DT_FLOAT, {.shape = shape});
  }
  // The outputs that are the gradients, each with the shape of its x.
  std::vector<Output> Of(const Output& y, const std::vector<Output>& xs) {
    const auto gradients = AddGradients(root_, {y}, xs);
    EXPECT_THAT(gradients, IsOk());
    std::vector<Output> dense(xs.size());
    for (size_t i = 0; gradients.ok() && i < xs.size(); ++i) {
      dense[i] = (*gradients)[i].dense;
      EXPECT_EQ(dense[i].shape(), xs[i].shape());
    }
    return dense;
  }

  const Scope root_ = Scope::Root();
  const std::vector<int64_t> strides_ = {1, 2, 2, 1};
  const std::vector<int64_t> window_ = {1, 2, 2, 1};
};

TEST_F(WindowGradientsTest, ConvolutionsKeepStridesAndPadding) {
  const AttrMap attrs = {{"strides", strides_}, {"padding", "SAME"}};
  const Output x = In({2, 8, 8, 3}), filter = In({3, 3, 3, 5});
  for (const std::string op : {"Conv2D", "DepthwiseConv2dNative"}) {
    const Output y = root_.AddOutput(op, {x, filter}, attrs);
    const std::vector<Output> dense = Of(y, {x, filter});
    ASSERT_TRUE(dense[0] && dense[1]);
    EXPECT_EQ(dense[0].node()->type(), op + "BackpropInput");
    EXPECT_EQ(dense[1].node()->type(), op + "BackpropFilter");
    for (const Output& one : dense) {
      EXPECT_EQ(*one.node()->attr<std::vector<int64_t>>("strides"), strides_);
      EXPECT_EQ(*one.node()->attr<std::string>("padding"), "SAME");
    }
  }
}

// The gradient penalty of a convolution needs them.
TEST_F(WindowGradientsTest, ConvolutionsHaveSecondDerivatives) {
  const Output x = In({2, 8, 8, 3}), filter = In({3, 3, 3, 5});
  const Output y = root_.AddOutput(
      "Conv2D", {x, filter}, {{"strides", strides_}, {"padding", "VALID"}});
  const Output dx = Of(y, {x})[0], dfilter = Of(y, {filter})[0];
  EXPECT_EQ(Of(dx, {filter})[0].node()->type(), "Conv2DBackpropFilter");
  EXPECT_EQ(Of(dfilter, {x})[0].node()->type(), "Conv2DBackpropInput");
}

TEST_F(WindowGradientsTest, PoolsKeepTheirWindow) {
  const Output x = In({2, 8, 8, 3});
  const AttrMap attrs = {
      {"ksize", window_}, {"strides", strides_}, {"padding", "VALID"}};
  for (const std::string op : {"MaxPool", "AvgPool"}) {
    const Output grad = Of(root_.AddOutput(op, {x}, attrs), {x})[0];
    ASSERT_TRUE(grad);
    EXPECT_EQ(grad.node()->type(), op + "Grad");
    EXPECT_EQ(*grad.node()->attr<std::vector<int64_t>>("ksize"), window_);
    EXPECT_EQ(*grad.node()->attr<std::vector<int64_t>>("strides"), strides_);
    EXPECT_EQ(*grad.node()->attr<std::string>("padding"), "VALID");
  }
}

TEST_F(WindowGradientsTest, AvgPoolNeedsOnlyTheShapeOfItsInput) {
  const Output x = In({2, 8, 8, 3});
  const Output y = root_.AddOutput(
      "AvgPool", {x},
      {{"ksize", window_}, {"strides", strides_}, {"padding", "VALID"}});
  const Output grad = Of(y, {x})[0];
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->input(0).node->type(), "Const");
}

class BatchNormGradientsTest : public WindowGradientsTest {
 protected:
  const Node* Norm(const std::string& op, bool is_training) {
    return root_.AddNode(op, {x_, scale_, offset_, mean_, variance_},
                         {{"is_training", is_training}, {"epsilon", 0.25f}});
  }

  const Output x_ = In({4, 2, 2, 3});
  const Output scale_ = In({3}), offset_ = In({3});
  const Output mean_ = In({3}), variance_ = In({3});
};

TEST_F(BatchNormGradientsTest, TrainingUsesTheSavedStatistics) {
  for (const std::string version : {"", "V2", "V3"}) {
    const Node* norm = Norm("FusedBatchNorm" + version, true);
    ASSERT_NE(norm, nullptr);
    const auto dense = Of(Output(norm, 0), {x_, scale_, offset_});
    ASSERT_TRUE(dense[0]);
    const Node* grad = dense[0].node();
    EXPECT_EQ(grad->type(), "FusedBatchNormGrad" + version);
    EXPECT_EQ(grad->input(3), (OutputTensor{norm, 3}));
    EXPECT_EQ(grad->input(4), (OutputTensor{norm, 4}));
    EXPECT_EQ(*grad->attr<float>("epsilon"), 0.25f);
    EXPECT_EQ(dense[1], Output(grad, 1));
    EXPECT_EQ(dense[2], Output(grad, 2));
  }
}

TEST_F(BatchNormGradientsTest, InferenceUsesTheGivenStatistics) {
  const Node* norm = Norm("FusedBatchNormV3", false);
  ASSERT_NE(norm, nullptr);
  const Output grad = Of(Output(norm, 0), {x_})[0];
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->input(3).node, mean_.node());
  EXPECT_EQ(grad.node()->input(4).node, variance_.node());
}

TEST_F(BatchNormGradientsTest, StatisticsHaveNoGradient) {
  const Node* norm = Norm("FusedBatchNormV3", true);
  ASSERT_NE(norm, nullptr);
  ASSERT_OK_AND_ASSIGN(
      const auto of_given,
      AddGradients(root_, {Output(norm, 0)}, {mean_, variance_}));
  EXPECT_TRUE(of_given[0].IsNone());
  EXPECT_TRUE(of_given[1].IsNone());
  // The batch's mean is an output without a gradient.
  ASSERT_OK_AND_ASSIGN(const auto of_mean,
                       AddGradients(root_, {Output(norm, 1)}, {x_}));
  EXPECT_TRUE(of_mean[0].IsNone());
}

TEST_F(BatchNormGradientsTest, SecondDerivativesAreAnError) {
  const Node* norm = Norm("FusedBatchNormV3", true);
  ASSERT_NE(norm, nullptr);
  const Output grad = Of(Output(norm, 0), {x_})[0];
  EXPECT_THAT(AddGradients(root_, {grad}, {x_}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "FusedBatchNormGradV3 (gradients/FusedBatchNormV3_grad/"
                       "FusedBatchNormGradV3) is not supported yet"));
}

TEST_F(WindowGradientsTest, ResizedImagesKeepTheirAlignment) {
  const Output images = In({1, 4, 4, 3});
  const Output size = root_.ToOutput(Tensor::Vector<int32_t>({8, 8}));
  for (const std::string op :
       {"ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"}) {
    const Output y =
        root_.AddOutput(op, {images, size}, {{"half_pixel_centers", true}});
    const Output grad = Of(y, {images})[0];
    ASSERT_TRUE(grad);
    EXPECT_EQ(grad.node()->type(), op + "Grad");
    EXPECT_TRUE(*grad.node()->attr<bool>("half_pixel_centers"));
    EXPECT_FALSE(*grad.node()->attr<bool>("align_corners"));
  }
}

TEST_F(WindowGradientsTest, ResizeAreaNamesTheOpToUse) {
  const Output images = In({1, 4, 4, 3});
  const Output y = root_.WithName("small").AddOutput(
      "ResizeArea", {images, Tensor::Vector<int32_t>({2, 2})});
  EXPECT_THAT(AddGradients(root_, {y}, {images}),
              StatusIs(absl::StatusCode::kNotFound,
                       "No gradient defined for operation 'small' (op type: "
                       "ResizeArea); ResizeBilinear has one"));
}

TEST_F(WindowGradientsTest, MovedBlocksAreMovedBack) {
  const Output x = In({1, 4, 4, 8});
  const std::pair<std::string, std::string> inverses[] = {
      {"SpaceToDepth", "DepthToSpace"}, {"DepthToSpace", "SpaceToDepth"}};
  for (const auto& [op, inverse] : inverses) {
    const Output y = root_.AddOutput(op, {x}, {{"block_size", 2}});
    const Output grad = Of(y, {x})[0];
    ASSERT_TRUE(grad);
    EXPECT_EQ(grad.node()->type(), inverse);
    EXPECT_EQ(*grad.node()->attr<int64_t>("block_size"), 2);
  }
}

TEST_F(WindowGradientsTest, BatchesOfBlocksUseTheSameCrops) {
  const Output x = In({1, 4, 4, 8});
  const Output block = root_.ToOutput(Tensor::Vector<int32_t>({2, 2}));
  const Output paddings =
      root_.ToOutput(Tensor::FromValues<int32_t>({2, 2}, {0, 0, 0, 0}));
  const Output y = root_.AddOutput("SpaceToBatchND", {x, block, paddings});
  const Output grad = Of(y, {x})[0];
  ASSERT_TRUE(grad);
  EXPECT_EQ(grad.node()->type(), "BatchToSpaceND");
  EXPECT_EQ(grad.node()->input(1).node, block.node());
  EXPECT_EQ(grad.node()->input(2).node, paddings.node());
}

}  // namespace
}  // namespace weft
