// Kernels over images with shapes that a seed draws: those that hand floats to
// oneDNN or to loops for the processor, against the same sums in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using List = std::vector<int64_t>;

class MadeUpShapesTest : public testing::Test {
 protected:
  MadeUpShapesTest() : harness_(RegisterNnKernels) {}

  int64_t Draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_->Next() % (high - low + 1));
  }
  int64_t OneOf(const List& values) {
    return values[Draw(0, static_cast<int64_t>(values.size()) - 1)];
  }
  // Numbers of one digit and some sixteenths, so that products are exact.
  Tensor Numbers(const TensorShape& shape) {
    Tensor x(DT_FLOAT, shape);
    for (float& value : x.mutable_flat<float>()) {
      value = static_cast<float>(Draw(-32, 32)) / 16;
    }
    return x;
  }
  static Tensor ToDouble(const Tensor& x) {
    Tensor wide(DT_DOUBLE, x.shape());
    std::copy_n(x.flat<float>().data(), x.num_elements(),
                wide.mutable_flat<double>().data());
    return wide;
  }

  // Runs the op in float and in double.
  void ExpectAsInDouble(const char* op, const std::vector<Tensor>& inputs,
                        const AttrMap& attrs, const std::string& what) {
    std::vector<KernelInput> floats, doubles;
    for (const Tensor& input : inputs) {
      floats.emplace_back(input);
      doubles.emplace_back(input.dtype() == DT_FLOAT ? ToDouble(input) : input);
    }
    ASSERT_OK_AND_ASSIGN(const Tensor got, harness_.RunOne(op, floats, attrs));
    ASSERT_OK_AND_ASSIGN(const Tensor wanted,
                         harness_.RunOne(op, doubles, attrs));
    ASSERT_EQ(got.shape(), wanted.shape()) << op << what;
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      const double value = wanted.flat<double>()[i];
      ASSERT_NEAR(got.flat<float>()[i], value, 1e-5 * (1 + std::abs(value)))
          << op << what << " at " << i;
    }
  }

  // A convolution and its gradients.
  void ExpectConvolutionsAsInDouble(const TensorShape& image,
                                    const TensorShape& filter,
                                    const AttrMap& attrs,
                                    const std::string& what);

  const std::unique_ptr<Random> random_ = NewSeededRandom(7);
  KernelTestHarness harness_;
};

Tensor SizesOf(const TensorShape& shape) {
  Tensor sizes(DT_INT32, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    sizes.mutable_flat<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
  }
  return sizes;
}

void MadeUpShapesTest::ExpectConvolutionsAsInDouble(const TensorShape& image,
                                                    const TensorShape& filter,
                                                    const AttrMap& attrs,
                                                    const std::string& what) {
  const Tensor x = Numbers(image), w = Numbers(filter);
  ExpectAsInDouble("Conv2D", {x, w}, attrs, what);
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       harness_.RunOne("Conv2D", {x, w}, attrs));
  const Tensor gradient = Numbers(y.shape());
  ExpectAsInDouble("Conv2DBackpropInput", {SizesOf(image), w, gradient}, attrs,
                   what);
  ExpectAsInDouble("Conv2DBackpropFilter", {x, SizesOf(filter), gradient},
                   attrs, what);
}

TEST_F(MadeUpShapesTest, ConvolutionsOfFloatsAreThoseOfDoubles) {
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

// One image is cut by rows, many are shared out whole, and the sum over many
// is made of parts.
TEST_F(MadeUpShapesTest, LargeConvolutionsAreCutWithoutASeam) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  for (const int64_t batch : {1, 3, 37}) {
    const TensorShape image = {batch, 41, 23, 8}, filter = {7, 3, 8, 16};
    const std::string what = absl::StrCat(" of ", batch, " images");
    ExpectConvolutionsAsInDouble(image, filter, attrs, what);
  }
}

// Filters so large that several threads lay them out, in blocks that divide them
// and others.
TEST_F(MadeUpShapesTest, LargeFiltersAreLaidOutWithoutASeam) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  for (const int64_t filters : {64, 96, 100, 256}) {
    ExpectConvolutionsAsInDouble({6, 9, 8, 72}, {3, 3, 72, filters}, attrs,
                                 absl::StrCat(" of ", filters, " filters"));
  }
}

// Filters as wide, or as high, or both, as the image: as for sentences, and as
// for what takes the place of a layer that sees all.
TEST_F(MadeUpShapesTest, WindowsMayTakeALineOfTheImageWhole) {
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

// The rows of images one column wide, where they may be dilated.
TEST_F(MadeUpShapesTest, ImagesMayBeOneColumnWide) {
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

// The same filter for a convolution: each output sees one channel.
Tensor Dense(const Tensor& filter) {
  const int64_t channels = filter.dim(2), many = filter.dim(3);
  Tensor dense(DT_DOUBLE,
               {filter.dim(0), filter.dim(1), channels, channels * many});
  const auto to = dense.mutable_flat<double>();
  std::fill(to.begin(), to.end(), 0.0);
  for (int64_t at = 0; at < filter.num_elements(); ++at) {
    const int64_t c = at / many % channels;
    to[at / many * channels * many + c * many + at % many] =
        filter.flat<float>()[at];
  }
  return dense;
}

void ExpectNear(const Tensor& got, const Tensor& wanted,
                const std::string& what) {
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const double value = wanted.flat<double>()[i];
    ASSERT_NEAR(got.flat<float>()[i], value, 1e-5 * (1 + std::abs(value)))
        << what << " at " << i;
  }
}

TEST_F(MadeUpShapesTest, DepthwiseConvolutionsAreThoseOfFiltersOfOneChannel) {
  for (int i = 0; i < 40; ++i) {
    const TensorShape image = {Draw(1, 3), Draw(1, 12), Draw(1, 12),
                               OneOf({1, 3, 7, 8, 17, 33})};
    const TensorShape filter = {Draw(1, 4), Draw(1, 4), image.dim(3),
                                OneOf({1, 1, 2, 3})};
    const int64_t stride = Draw(1, 3);
    const AttrMap attrs = {{"strides", List{1, stride, stride, 1}},
                           {"dilations", List{1, Draw(1, 2), Draw(1, 2), 1}},
                           {"padding", "SAME"}};
    const std::string what = absl::StrCat(" of ", image.ToString(), " by ",
                                          filter.ToString(), " case ", i);
    const Tensor x = Numbers(image), w = Numbers(filter);
    ASSERT_OK_AND_ASSIGN(
        const Tensor y,
        harness_.RunOne("DepthwiseConv2dNative", {x, w}, attrs));
    ASSERT_OK_AND_ASSIGN(
        const Tensor wanted,
        harness_.RunOne("Conv2D", {ToDouble(x), Dense(w)}, attrs));
    ExpectNear(y, wanted, what);
    const Tensor gradient = Numbers(y.shape());
    ASSERT_OK_AND_ASSIGN(const Tensor of_input,
                         harness_.RunOne("DepthwiseConv2dNativeBackpropInput",
                                         {SizesOf(image), w, gradient}, attrs));
    ASSERT_OK_AND_ASSIGN(
        const Tensor wanted_of_input,
        harness_.RunOne("Conv2DBackpropInput",
                        {SizesOf(image), Dense(w), ToDouble(gradient)}, attrs));
    ExpectNear(of_input, wanted_of_input, what);
    ASSERT_OK_AND_ASSIGN(
        const Tensor of_filter,
        harness_.RunOne("DepthwiseConv2dNativeBackpropFilter",
                        {x, SizesOf(filter), gradient}, attrs));
    ASSERT_OK_AND_ASSIGN(
        const Tensor dense,
        harness_.RunOne(
            "Conv2DBackpropFilter",
            {ToDouble(x), SizesOf(Dense(w).shape()), ToDouble(gradient)},
            attrs));
    const int64_t many = filter.dim(3);
    for (int64_t at = 0; at < of_filter.num_elements(); ++at) {
      const int64_t c = at / many % filter.dim(2);
      const double value =
          dense.flat<double>()[at / many * filter.dim(2) * many + c * many +
                               at % many];
      ASSERT_NEAR(of_filter.flat<float>()[at], value,
                  1e-5 * (1 + std::abs(value)))
          << what << " at " << at;
    }
  }
}

TEST_F(MadeUpShapesTest, TheSameConvolutionHasTheSameBits) {
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  const TensorShape filter = {3, 3, 16, 16};
  const Tensor x = Numbers({33, 20, 20, 16}), gradient = x;
  ASSERT_OK_AND_ASSIGN(const Tensor first,
                       harness_.RunOne("Conv2DBackpropFilter",
                                       {x, SizesOf(filter), gradient}, attrs));
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor again,
        harness_.RunOne("Conv2DBackpropFilter", {x, SizesOf(filter), gradient},
                        attrs));
    EXPECT_TRUE(SameBits(again, first));
  }
}

// A kernel that meets more shapes than it keeps plans for.
TEST_F(MadeUpShapesTest, AKernelTakesAnyNumberOfShapes) {
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

TEST_F(MadeUpShapesTest, GradientsOfMaximaGoToTheFirstOfTheLargest) {
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
    // Integers take other loops.
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

// Whether the windows tile the image, or reach over its borders.
TEST_F(MadeUpShapesTest, GradientsOfMaximaAreSumsWithZero) {
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

TEST_F(MadeUpShapesTest, AWindowThatBeginsWithNaNKeepsItsGradient) {
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

// Mean and variance of each channel, plainly.
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

TEST_F(MadeUpShapesTest, BatchesAreNormalised) {
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
