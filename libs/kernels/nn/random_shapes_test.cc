// Tests kernels over images with random shapes from a seed: kernels that pass
// floats to oneDNN or to loops for the CPU are compared with sums in double.
#include "libs/kernels/nn/testing/random_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

// Winograd convolutions are less exact and have their own tests.
class ConvolutionShapesTest : public RandomShapesTest {
 protected:
  ConvolutionShapesTest() { setenv("WEFT_WINOGRAD", "off", 1); }
  ~ConvolutionShapesTest() override { unsetenv("WEFT_WINOGRAD"); }

  // Tests a convolution and its gradients.
  void ExpectConvolutionsAsInDouble(const TensorShape& image,
                                    const TensorShape& filter,
                                    const AttrMap& attrs,
                                    const std::string& what) {
    const Tensor x = Numbers(image), w = Numbers(filter);
    ExpectAsInDouble("Conv2D", {x, w}, attrs, what);
    ASSERT_OK_AND_ASSIGN(const Tensor y,
                         harness_.RunOne("Conv2D", {x, w}, attrs));
    const Tensor gradient = Numbers(y.shape());
    ExpectAsInDouble("Conv2DBackpropInput", {SizesOf(image), w, gradient},
                     attrs, what);
    ExpectAsInDouble("Conv2DBackpropFilter", {x, SizesOf(filter), gradient},
                     attrs, what);
  }
};

TEST_F(ConvolutionShapesTest, FloatConvolutionsMatchDouble) {
  for (int i = 0; i < 60; ++i) {
    const TensorShape image = {Draw(1, 5), Draw(1, 20), Draw(1, 20),
                               OneOf({1, 3, 7, 8, 16, 17, 32})};
    const TensorShape filter = {Draw(1, 5), Draw(1, 5), image.dim(3),
                                OneOf({1, 2, 8, 15, 16, 24})};
    AttrMap attrs = {{"strides", List{1, Draw(1, 3), Draw(1, 3), 1}},
                     {"dilations", List{1, Draw(1, 2), Draw(1, 2), 1}},
                     {"padding", "SAME"}};
    if (i % 3 == 0) {
      attrs["padding"] = "EXPLICIT";
      attrs["explicit_paddings"] =
          List{0, 0, Draw(0, 9), Draw(8, 9), Draw(0, 9), Draw(8, 9), 0, 0};
    }
    const std::string what = absl::StrCat(" of ", image.ToString(), " by ",
                                          filter.ToString(), " case ", i);
    ExpectConvolutionsAsInDouble(image, filter, attrs, what);
  }
}

// A single image is split by rows, several are distributed whole, and the sum
// over many is computed in parts.
TEST_F(ConvolutionShapesTest, LargeConvolutionsAreSplitCorrectly) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  for (const int64_t batch : {1, 3, 37}) {
    const TensorShape image = {batch, 41, 23, 8}, filter = {7, 3, 8, 16};
    const std::string what = absl::StrCat(" of ", batch, " images");
    ExpectConvolutionsAsInDouble(image, filter, attrs, what);
  }
}

// Filters large enough for several threads to pack them, in blocks that do and
// do not divide their number.
TEST_F(ConvolutionShapesTest, LargeFiltersArePackedCorrectly) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  for (const int64_t filters : {64, 96, 100, 256}) {
    ExpectConvolutionsAsInDouble({6, 9, 8, 72}, {3, 3, 72, filters}, attrs,
                                 absl::StrCat(" of ", filters, " filters"));
  }
}

// With few filters, windows are joined, except the remainder of a row.
TEST_F(ConvolutionShapesTest, FewFiltersOnLongRows) {
  for (int i = 0; i < 60; ++i) {
    const TensorShape image = {Draw(1, 3), Draw(1, 30), Draw(16, 70),
                               OneOf({1, 3, 8})};
    const TensorShape filter = {Draw(1, 3), Draw(1, 15), image.dim(3),
                                Draw(1, 8)};
    const int64_t stride = Draw(1, 3);
    const AttrMap attrs = {{"strides", List{1, stride, stride, 1}},
                           {"padding", i % 2 == 0 ? "SAME" : "VALID"}};
    if (filter.dim(0) > image.dim(1) && i % 2 != 0) continue;
    ExpectConvolutionsAsInDouble(
        image, filter, attrs,
        absl::StrCat(" of ", image.ToString(), " by ", filter.ToString(),
                     " stride ", stride, " case ", i));
  }
}

// A non-finite value must not reach the windows joined with its own.
TEST_F(RandomShapesTest, NonFiniteValuesStayInTheirWindows) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  for (const float value : {std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t filters : {1, 2, 5, 8}) {
      Tensor x = Numbers({2, 16, 50, 3});
      const Tensor w = Numbers({3, 9, 3, filters});
      x.mutable_flat<float>()[filters == 5 ? 4799 : 333] = value;
      ASSERT_OK_AND_ASSIGN(const Tensor got,
                           harness_.RunOne("Conv2D", {x, w}, attrs));
      ASSERT_OK_AND_ASSIGN(
          const Tensor wanted,
          harness_.RunOne("Conv2D", {ToDouble(x), ToDouble(w)}, attrs));
      int64_t num_finite = 0;
      for (int64_t i = 0; i < got.num_elements(); ++i) {
        const double number = wanted.flat<double>()[i];
        ASSERT_EQ(std::isfinite(got.flat<float>()[i]), std::isfinite(number));
        if (!std::isfinite(number)) continue;
        ++num_finite;
        ASSERT_NEAR(got.flat<float>()[i], number, 1e-4);
      }
      // The value lies in 9 windows in each of 3 rows. For 5 filters it lies in
      // a corner, in 5 windows in each of 2 rows.
      const int64_t windows = filters == 5 ? 10 : 27;
      EXPECT_EQ(num_finite, got.num_elements() - windows * filters);
    }
  }
}

// Filters as wide as the image, as high, or both, as used for sentences and as
// a replacement of fully connected layers.
TEST_F(ConvolutionShapesTest, WindowsMaySpanAWholeRowOrColumn) {
  for (int i = 0; i < 60; ++i) {
    const int64_t rows = Draw(1, 12), columns = Draw(1, 12);
    const TensorShape image = {Draw(1, 5), rows, columns, OneOf({1, 3, 8, 17})};
    const bool all_rows = i % 3 != 0, all_columns = i % 3 != 1;
    const TensorShape filter = {
        all_rows ? rows : Draw(1, std::min<int64_t>(rows, 4)),
        all_columns ? columns : Draw(1, std::min<int64_t>(columns, 4)),
        image.dim(3), OneOf({1, 2, 15, 16, 24})};
    const AttrMap attrs = {{"strides", List{1, Draw(1, 3), Draw(1, 3), 1}},
                           {"padding", i % 4 == 0 ? "SAME" : "VALID"}};
    ExpectConvolutionsAsInDouble(image, filter, attrs,
                                 absl::StrCat(" of ", image.ToString(), " by ",
                                              filter.ToString(), " case ", i));
  }
}

// Filters as large as the image with padding, dilated taps or several windows
// cannot process whole rows. Neither can filters of one of several groups.
TEST_F(ConvolutionShapesTest, ImageSizedFiltersMayHaveSeveralWindows) {
  for (int i = 0; i < 200; ++i) {
    const int64_t groups = OneOf({1, 1, 2}), dilation = OneOf({1, 1, 2});
    const TensorShape image = {Draw(1, 3), Draw(1, 6), Draw(1, 6),
                               groups * OneOf({1, 3, 8})};
    const TensorShape filter = {image.dim(1), image.dim(2),
                                image.dim(3) / groups,
                                groups * OneOf({1, 5, 16})};
    List paddings = {0, 0};
    for (const int dim : {1, 2}) {
      const int64_t more = (image.dim(dim) - 1) * (dilation - 1);
      paddings.push_back(OneOf({0, 0, 1}));
      paddings.push_back(more + OneOf({0, 0, 1, 2}));
    }
    paddings.insert(paddings.end(), {0, 0});
    const AttrMap attrs = {{"strides", List{1, Draw(1, 4), Draw(1, 4), 1}},
                           {"dilations", List{1, dilation, dilation, 1}},
                           {"padding", "EXPLICIT"},
                           {"explicit_paddings", paddings}};
    ExpectConvolutionsAsInDouble(image, filter, attrs,
                                 absl::StrCat(" of ", image.ToString(), " by ",
                                              filter.ToString(), " case ", i));
  }
}

// Rows of images that are one column wide, possibly dilated.
TEST_F(ConvolutionShapesTest, ImagesMayBeOneColumnWide) {
  for (int i = 0; i < 30; ++i) {
    const TensorShape image = {Draw(1, 5), Draw(9, 20), 1, OneOf({1, 8, 17})};
    const TensorShape filter = {Draw(1, 5), 1, image.dim(3), OneOf({1, 8, 24})};
    const AttrMap attrs = {{"strides", List{1, Draw(1, 3), Draw(1, 3), 1}},
                           {"dilations", List{1, Draw(1, 2), Draw(1, 2), 1}},
                           {"padding", i % 2 == 0 ? "SAME" : "VALID"}};
    ExpectConvolutionsAsInDouble(image, filter, attrs,
                                 absl::StrCat(" of ", image.ToString(), " by ",
                                              filter.ToString(), " case ", i));
  }
}

// The bits must not depend on the number of threads. The sums are rounded.
TEST_F(ConvolutionShapesTest, TheSameConvolutionHasTheSameBits) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  Tensor x = Numbers({33, 20, 20, 16});
  for (float& number : x.mutable_flat<float>()) number = std::sin(number);
  const SystemClock clock;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  for (const int threads : {1, 2, 4}) {
    schedulers.push_back(
        NewThreadScheduler(clock, {.compute_threads = threads}));
  }
  for (const std::string op : {"Conv2D", "DepthwiseConv2dNative"}) {
    const TensorShape filter = {3, 3, 16, op == "Conv2D" ? 16 : 1};
    Tensor first;
    for (int i = 0; i < 9; ++i) {
      harness_.set_scheduler(*schedulers[i % 3]);
      ASSERT_OK_AND_ASSIGN(const Tensor sums,
                           harness_.RunOne(op + "BackpropFilter",
                                           {x, SizesOf(filter), x}, attrs));
      if (i == 0) first = sums;
      EXPECT_TRUE(SameBits(sums, first)) << op << i % 3;
    }
  }
}

// The kernel sees more shapes than it caches plans for.
TEST_F(RandomShapesTest, KernelAcceptsAnyNumberOfShapes) {
  ASSERT_OK_AND_ASSIGN(
      auto kernel,
      harness_.Make("Conv2D", {DT_FLOAT, DT_FLOAT},
                    {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}}));
  const Tensor w =
      Tensor::FromValues<float>({1, 1, 8, 8}, std::vector<float>(64, 1.0f));
  for (int round = 0; round < 2; ++round) {
    for (int64_t batch = 1; batch <= 20; ++batch) {
      Tensor x(DT_FLOAT, {batch, 2, 2, 8});
      for (float& value : x.mutable_flat<float>()) value = 1;
      ASSERT_OK_AND_ASSIGN(const auto y, kernel->Run({x, w}));
      ASSERT_EQ(y[0].num_elements(), batch * 32);
      for (const float value : y[0].flat<float>()) ASSERT_EQ(value, 8);
    }
  }
}

TEST_F(RandomShapesTest, MaxPoolGradGoesToTheFirstMaximum) {
  for (int i = 0; i < 60; ++i) {
    const TensorShape shape = {Draw(1, 3), Draw(1, 9), Draw(1, 9),
                               OneOf({1, 3, 15, 16, 17, 33})};
    const int64_t size = Draw(1, 3), stride = Draw(1, 3);
    const AttrMap attrs = {{"ksize", List{1, size, size, 1}},
                           {"strides", List{1, stride, stride, 1}},
                           {"padding", i % 2 == 0 ? "SAME" : "VALID"}};
    const Tensor x = Numbers(shape);
    const auto y = harness_.RunOne("MaxPool", {x}, attrs);
    if (!y.ok()) continue;  // a window that does not fit
    ExpectAsInDouble("MaxPoolGrad", {x, *y, Numbers(y->shape())}, attrs,
                     shape.ToString());
    // Integers use other loops.
    Tensor small(DT_INT32, shape), to(DT_INT32, y->shape());
    for (int64_t at = 0; at < x.num_elements(); ++at) {
      small.mutable_flat<int32_t>()[at] =
          static_cast<int32_t>(x.flat<float>()[at] * 16);
    }
    for (int32_t& value : to.mutable_flat<int32_t>()) value = 3;
    Tensor threes(DT_FLOAT, y->shape());
    for (float& value : threes.mutable_flat<float>()) value = 3;
    ASSERT_OK_AND_ASSIGN(
        const Tensor floats,
        harness_.RunOne("MaxPoolGrad", {x, *y, threes}, attrs));
    ASSERT_OK_AND_ASSIGN(
        const Tensor integers,
        harness_.RunOne("MaxPoolGrad", {small, to, to}, attrs));
    for (int64_t at = 0; at < x.num_elements(); ++at) {
      ASSERT_EQ(floats.flat<float>()[at], integers.flat<int32_t>()[at]);
    }
  }
}

// Windows that tile the image, and windows that extend beyond its borders.
TEST_F(RandomShapesTest, MaxPoolGradHasNoNegativeZero) {
  const Tensor x = Tensor::FromValues<float>({1, 2, 2, 1}, {1, 3, 2, 0});
  const Tensor y = Tensor::FromValues<float>({1, 1, 1, 1}, {3});
  const Tensor gradient = Tensor::FromValues<float>({1, 1, 1, 1}, {-0.0f});
  for (const List& paddings :
       {List{0, 0, 0, 0, 0, 0, 0, 0}, List{0, 0, 1, 1, 0, 1, 0, 0}}) {
    const int64_t size = paddings[2] == 0 ? 2 : 3;
    const AttrMap attrs = {{"ksize", List{1, size, size, 1}},
                           {"strides", List{1, size, size, 1}},
                           {"padding", "EXPLICIT"},
                           {"explicit_paddings", paddings}};
    ASSERT_OK_AND_ASSIGN(
        const Tensor got,
        harness_.RunOne("MaxPoolGrad", {x, y, gradient}, attrs));
    EXPECT_TRUE(
        SameBits(got, Tensor::FromValues<float>({1, 2, 2, 1}, {0, 0, 0, 0})));
  }
}

TEST_F(RandomShapesTest, WindowStartingWithNaNKeepsItsGradient) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::FromValues<float>({1, 1, 4, 1}, {nan, 1, 2, nan});
  const AttrMap attrs = {{"ksize", List{1, 1, 2, 1}},
                         {"strides", List{1, 1, 2, 1}},
                         {"padding", "VALID"}};
  const Tensor y = Tensor::FromValues<float>({1, 1, 2, 1}, {1, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor got,
                       harness_.RunOne("MaxPoolGrad", {x, y, y}, attrs));
  EXPECT_TRUE(
      SameBits(got, Tensor::FromValues<float>({1, 1, 4, 1}, {1, 0, 2, 0})));
}

// Computes mean and variance of each channel with plain loops.
struct Moments {
  std::vector<double> mean, variance;

  explicit Moments(const Tensor& x) : mean(x.dim(3)), variance(x.dim(3)) {
    const auto values = x.flat<float>();
    const int64_t channels = x.dim(3), rows = x.num_elements() / channels;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      mean[i % channels] += values[i] / static_cast<double>(rows);
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const double distance = values[i] - mean[i % channels];
      variance[i % channels] += distance * distance / static_cast<double>(rows);
    }
  }
};

TEST_F(RandomShapesTest, BatchNormMatchesItsFormula) {
  for (const int64_t channels : {1, 3, 16, 31, 33}) {
    for (const int64_t rows : {1, 2, 5, 300, 3000}) {
      const Tensor x = Numbers({rows, 1, 1, channels});
      const Tensor dy = Numbers(x.shape());
      const Tensor scale = Numbers({channels}), offset = Numbers({channels});
      const Tensor none(DT_FLOAT, {0});
      ASSERT_OK_AND_ASSIGN(
          const auto y,
          harness_.Run("FusedBatchNormV3", {x, scale, offset, none, none},
                       {{"epsilon", 0.5f}}));
      ASSERT_OK_AND_ASSIGN(
          const auto dx,
          harness_.Run("FusedBatchNormGradV3", {dy, x, scale, y[3], y[4], y[5]},
                       {{"epsilon", 0.5f}}));
      const Moments moments(x);
      std::vector<double> sum(channels), product(channels);
      const auto centre = [&](int64_t i) {
        return x.flat<float>()[i] - moments.mean[i % channels];
      };
      const auto inverse = [&](int64_t i) {
        return 1 / std::sqrt(moments.variance[i % channels] + 0.5);
      };
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        sum[i % channels] += dy.flat<float>()[i];
        product[i % channels] += dy.flat<float>()[i] * centre(i) * inverse(i);
      }
      const double count = static_cast<double>(rows);
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t c = i % channels;
        const double normal = centre(i) * inverse(i);
        ASSERT_NEAR(y[0].flat<float>()[i],
                    normal * scale.flat<float>()[c] + offset.flat<float>()[c],
                    1e-5)
            << rows << " rows of " << channels << " at " << i;
        ASSERT_NEAR(dx[0].flat<float>()[i],
                    (dy.flat<float>()[i] - sum[c] / count -
                     normal * product[c] / count) *
                        inverse(i) * scale.flat<float>()[c],
                    1e-5)
            << rows << " rows of " << channels << " at " << i;
      }
      for (int64_t c = 0; c < channels; ++c) {
        ASSERT_NEAR(dx[1].flat<float>()[c], product[c], 1e-3);
        ASSERT_NEAR(dx[2].flat<float>()[c], sum[c], 1e-3);
      }
    }
  }
}

}  // namespace
}  // namespace weft
