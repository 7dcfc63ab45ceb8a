// Tests the GPU's layout of windows for matrix products, and the choice of that
// layout.
#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "libs/kernels/cuda/convolution_plan.h"
#include "libs/kernels/cuda/window_places.h"

namespace weft::cuda {
namespace {

// Returns windows with groups, and with strides, dilation and padding that
// differ between rows and columns.
WindowArgs OddWindows() {
  WindowArgs args;
  args.type = ElementType::kFloat;
  args.batch = 2;
  args.channels = 6;
  args.depth = 3;
  args.filters = 4;
  args.filters_of_group = 2;
  args.rows = {
      .in = 5, .size = 3, .stride = 2, .dilation = 1, .pad = 1, .out = 3};
  args.columns = {
      .in = 7, .size = 2, .stride = 1, .dilation = 3, .pad = 2, .out = 8};
  return args;
}

// Returns the places of all columns, in order.
std::vector<int64_t> PlacesOf(const WindowArgs& args) {
  std::vector<int64_t> places;
  for (int64_t n = 0; n < args.batch; ++n) {
    for (int64_t p = 0; p < args.rows.out; ++p) {
      for (int64_t q = 0; q < args.columns.out; ++q) {
        for (int64_t g = 0; g < args.channels / args.depth; ++g) {
          for (int64_t r = 0; r < args.rows.size; ++r) {
            for (int64_t s = 0; s < args.columns.size; ++s) {
              for (int64_t d = 0; d < args.depth; ++d) {
                const int64_t y = p * args.rows.stride - args.rows.pad +
                                  r * args.rows.dilation;
                const int64_t x = q * args.columns.stride - args.columns.pad +
                                  s * args.columns.dilation;
                const bool is_inside =
                    y >= 0 && y < args.rows.in && x >= 0 && x < args.columns.in;
                places.push_back(
                    is_inside ? ((n * args.rows.in + y) * args.columns.in + x) *
                                        args.channels +
                                    g * args.depth + d
                              : -1);
              }
            }
          }
        }
      }
    }
  }
  return places;
}

TEST(WindowPlacesTest, ColumnsMapToWindowPositions) {
  const WindowArgs args = OddWindows();
  const std::vector<int64_t> places = PlacesOf(args);
  EXPECT_GT(std::count(places.begin(), places.end(), -1), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(PlaceOfColumn(args, static_cast<uint32_t>(i)), places[i]) << i;
    ASSERT_EQ(PlaceOfColumn(args, static_cast<uint64_t>(i)), places[i]) << i;
  }
}

TEST(WindowPlacesTest, ImagesReceiveTheSumOfTheirColumns) {
  const WindowArgs args = OddWindows();
  const std::vector<int64_t> places = PlacesOf(args);
  std::vector<double> columns(places.size());
  std::vector<double> sums(args.batch * 5 * 7 * args.channels);
  for (size_t i = 0; i < places.size(); ++i) {
    columns[i] = static_cast<double>(i * 7 % 101);
    if (places[i] >= 0) sums[places[i]] += columns[i];
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(SumOfColumns(args, columns.data(), static_cast<int64_t>(i)),
              sums[i])
        << i;
  }
}

// Returns windows of size x size in images of 56 x 56.
WindowArgs Layer(int64_t batch, int64_t size, int64_t channels,
                 int64_t filters) {
  WindowArgs args;
  args.batch = batch;
  args.channels = args.depth = channels;
  args.filters = args.filters_of_group = filters;
  args.rows = args.columns = {.in = 56,
                              .size = size,
                              .stride = 1,
                              .dilation = 1,
                              .pad = size / 2,
                              .out = 56};
  return args;
}

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward,
                                       ConvolutionPass::kInput,
                                       ConvolutionPass::kFilter};

TEST(ConvolutionPlanTest, LargeLayersAreLaidOutInBoundedChunks) {
  for (const ConvolutionPass pass : kPasses) {
    const ConvolutionPlan plan =
        PlanConvolution(pass, Layer(64, 3, 64, 64), sizeof(float));
    EXPECT_EQ(plan.way, ConvolutionWay::kColumns);
    const int64_t bytes = plan.images_at_a_time * 56 * 56 * 9 * 64 * 4;
    EXPECT_LE(bytes, 1 << 27);
    EXPECT_GT(bytes, 1 << 26);
  }
}

TEST(ConvolutionPlanTest, PointwiseConvolutionIsAMatrixProduct) {
  for (const ConvolutionPass pass : kPasses) {
    WindowArgs args = Layer(64, 1, 256, 64);
    ConvolutionPlan plan = PlanConvolution(pass, args, sizeof(float));
    EXPECT_EQ(plan.way, ConvolutionWay::kProduct);
    EXPECT_EQ(plan.images_at_a_time, 64);
    args.rows.stride = 2;
    args.rows.out = 28;
    plan = PlanConvolution(pass, args, sizeof(float));
    EXPECT_EQ(plan.way, ConvolutionWay::kColumns);
  }
}

TEST(ConvolutionPlanTest, EmptyAndSmallLayersRunDirectly) {
  for (const ConvolutionPass pass : kPasses) {
    for (const WindowArgs& args :
         {Layer(0, 3, 64, 64), Layer(1, 3, 64, 0), OddWindows()}) {
      EXPECT_EQ(PlanConvolution(pass, args, 4).way, ConvolutionWay::kDirect);
    }
    // Each channel forms its own group.
    WindowArgs depthwise = Layer(64, 3, 64, 64);
    depthwise.depth = depthwise.filters_of_group = 1;
    EXPECT_EQ(PlanConvolution(pass, depthwise, 4).way, ConvolutionWay::kDirect);
  }
}

TEST(ConvolutionPlanTest, ImageBeyondTheWorkspaceRunsDirectly) {
  WindowArgs args = Layer(1, 5, 1024, 64);
  args.rows.in = args.columns.in = args.rows.out = args.columns.out = 1 << 20;
  for (const ConvolutionPass pass : kPasses) {
    EXPECT_EQ(PlanConvolution(pass, args, 4).way, ConvolutionWay::kDirect);
  }
}

}  // namespace
}  // namespace weft::cuda
