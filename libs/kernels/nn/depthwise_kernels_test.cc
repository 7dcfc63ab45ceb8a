// Compares depthwise convolutions of random shapes with plain sums, and their
// loops for each instruction set.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/isa/depthwise_loops.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/nn/testing/random_shapes.h"

namespace weft {
namespace {

// Returns the equivalent filter of a full convolution: each output depends on
// one channel only.
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

TEST_F(RandomShapesTest, DepthwiseEqualsOneChannelConvolutions) {
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

// Calls `visit(image, filter, output)` with the positions of the operands of
// each product.
template <typename Visit>
void ForEachProduct(const TensorShape& image, const TensorShape& filter,
                    const TensorShape& output, const List& strides,
                    const List& dilations, int64_t top, int64_t left,
                    const Visit& visit) {
  const int64_t channels = image.dim(3), filters = output.dim(3);
  const int64_t many = filter.dim(3);
  for (int64_t window = 0; window < output.num_elements() / filters; ++window) {
    const int64_t x = window % output.dim(2);
    const int64_t y = window / output.dim(2) % output.dim(1);
    const int64_t n = window / output.dim(2) / output.dim(1);
    for (int64_t tap = 0; tap < filter.dim(0) * filter.dim(1); ++tap) {
      const int64_t i = tap / filter.dim(1), j = tap % filter.dim(1);
      const int64_t row = y * strides[1] - top + i * dilations[1];
      const int64_t column = x * strides[2] - left + j * dilations[2];
      if (row < 0 || row >= image.dim(1)) continue;
      if (column < 0 || column >= image.dim(2)) continue;
      const int64_t pixel = (n * image.dim(1) + row) * image.dim(2) + column;
      for (int64_t f = 0; f < filters; ++f) {
        visit(pixel * channels + f / many, tap * filters + f,
              window * filters + f);
      }
    }
  }
}

// A depthwise convolution with random sizes, and its padding.
struct DepthwiseCase {
  TensorShape image, filter;
  List strides, dilations;
  std::string padding;
  List paddings = List(8, 0);  // before and after each dimension

  AttrMap attrs() const {
    AttrMap result = {
        {"strides", strides}, {"dilations", dilations}, {"padding", padding}};
    if (padding == "EXPLICIT") result["explicit_paddings"] = paddings;
    return result;
  }
  std::string what() const {
    return absl::StrCat(" of ", image.ToString(), " by ", filter.ToString(),
                        " strides ", strides[1], " ", strides[2], " dilations ",
                        dilations[1], " ", dilations[2], " ", padding);
  }
  int64_t reach(int dim) const {
    return (filter.dim(dim - 1) - 1) * dilations[dim] + 1;
  }
  // Returns the number of windows along a dimension.
  int64_t windows(int dim) const {
    const int64_t in = image.dim(dim), stride = strides[dim];
    if (padding == "SAME") return (in + stride - 1) / stride;
    return (in + paddings[2 * dim] + paddings[2 * dim + 1] - reach(dim)) /
               stride +
           1;
  }
  int64_t padding_before(int dim) const {
    if (padding != "SAME") return paddings[2 * dim];
    const int64_t seen = (windows(dim) - 1) * strides[dim] + reach(dim);
    return std::max<int64_t>(0, seen - image.dim(dim)) / 2;
  }
  TensorShape output() const {
    return {image.dim(0), windows(1), windows(2), image.dim(3) * filter.dim(3)};
  }
};

class DepthwiseTest : public RandomShapesTest {
 protected:
  DepthwiseCase DrawCase() {
    DepthwiseCase c;
    const int64_t channels = OneOf({1, 2, 3, 7, 15, 16, 17, 24, 31, 33, 64});
    c.image = {Draw(1, 3), Draw(1, 20), Draw(1, 20), channels};
    c.filter = {Draw(1, 5), Draw(1, 5), channels, OneOf({1, 1, 1, 2, 3})};
    c.strides = {1, Draw(1, 4), Draw(1, 4), 1};
    c.dilations = {1, Draw(1, 3), Draw(1, 3), 1};
    const bool fits =
        c.reach(1) <= c.image.dim(1) && c.reach(2) <= c.image.dim(2);
    c.padding = fits && Draw(0, 1) == 0 ? "VALID" : "SAME";
    if (Draw(0, 2) == 0) {
      c.padding = "EXPLICIT";
      c.paddings = {0, 0, Draw(0, 9), Draw(12, 14), Draw(0, 9), Draw(12, 14),
                    0, 0};
    }
    return c;
  }

  // Checks the convolution and its two gradients against sums in double.
  template <typename T>
  void ExpectPlainSums(const DepthwiseCase& c) {
    const auto in_type = [](const Tensor& x) {
      return DataTypeOf<T>::value == DT_DOUBLE ? ToDouble(x) : x;
    };
    const Tensor x = in_type(Numbers(c.image)), w = in_type(Numbers(c.filter));
    const Tensor dy = in_type(Numbers(c.output()));
    std::vector<double> y(dy.num_elements()), dx(x.num_elements()),
        dw(w.num_elements());
    ForEachProduct(c.image, c.filter, c.output(), c.strides, c.dilations,
                   c.padding_before(1), c.padding_before(2),
                   [&](int64_t pixel, int64_t tap, int64_t out) {
                     const double gradient = dy.flat<T>()[out];
                     y[out] += double{x.flat<T>()[pixel]} * w.flat<T>()[tap];
                     dx[pixel] += gradient * w.flat<T>()[tap];
                     dw[tap] += gradient * x.flat<T>()[pixel];
                   });
    Expect<T>("DepthwiseConv2dNative", {x, w}, c, c.output(), y);
    Expect<T>("DepthwiseConv2dNativeBackpropInput", {SizesOf(c.image), w, dy},
              c, c.image, dx);
    Expect<T>("DepthwiseConv2dNativeBackpropFilter", {x, SizesOf(c.filter), dy},
              c, c.filter, dw);
  }

  template <typename T>
  void Expect(const std::string& op, const std::vector<KernelInput>& inputs,
              const DepthwiseCase& c, const TensorShape& shape,
              const std::vector<double>& wanted) {
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         harness_.RunOne(op, inputs, c.attrs()));
    ASSERT_EQ(got.shape(), shape) << op << c.what();
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      ASSERT_NEAR(got.flat<T>()[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i])))
          << op << c.what() << " at " << i;
    }
  }
};

TEST_F(DepthwiseTest, SumsEqualPlainLoops) {
  for (int i = 0; i < 300; ++i) {
    const DepthwiseCase c = DrawCase();
    if (i % 4 == 0) {
      ExpectPlainSums<double>(c);
    } else {
      ExpectPlainSums<float>(c);
    }
    if (HasFatalFailure()) return;
  }
}

// The sum over windows is computed in parts, and repeated images are split.
TEST_F(DepthwiseTest, LargeImagesAreSplitCorrectly) {
  for (const int64_t many : {1, 2}) {
    for (const int64_t stride : {1, 2}) {
      DepthwiseCase c;
      c.image = {5, 40, 61, 33};
      c.filter = {3, 4, 33, many};
      c.strides = {1, stride, stride, 1};
      c.dilations = {1, 1, 1, 1};
      c.padding = "SAME";
      ExpectPlainSums<float>(c);
      ExpectPlainSums<double>(c);
    }
  }
}

// Padding is not multiplied, and a number outside all windows affects nothing.
TEST_F(DepthwiseTest, NonFiniteValuesStayInTheirWindows) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const AttrMap attrs = {{"strides", List{1, 3, 3, 1}}, {"padding", "SAME"}};
  const Tensor x =
      Tensor::FromValues<float>({1, 1, 6, 1}, {1, nan, nan, 2, nan, nan});
  const Tensor w = Tensor::FromValues<float>({3, 1, 1, 1}, {inf, 3, inf});
  const Tensor y = Tensor::FromValues<float>({1, 1, 2, 1}, {3, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor forward,
                       harness_.RunOne("DepthwiseConv2dNative", {x, w}, attrs));
  EXPECT_TRUE(SameBits(forward, y));
  ASSERT_OK_AND_ASSIGN(const Tensor to_input,
                       harness_.RunOne("DepthwiseConv2dNativeBackpropInput",
                                       {SizesOf(x.shape()), w, y}, attrs));
  EXPECT_TRUE(SameBits(
      to_input, Tensor::FromValues<float>({1, 1, 6, 1}, {9, 0, 0, 18, 0, 0})));
  ASSERT_OK_AND_ASSIGN(const Tensor to_filter,
                       harness_.RunOne("DepthwiseConv2dNativeBackpropFilter",
                                       {x, SizesOf(w.shape()), y}, attrs));
  EXPECT_TRUE(
      SameBits(to_filter, Tensor::FromValues<float>({3, 1, 1, 1}, {0, 15, 0})));
}

// Visiting all rows or columns would take too long.
TEST_F(DepthwiseTest, ImagesWithoutColumnsTakeNoTime) {
  constexpr int64_t kMany = std::numeric_limits<int32_t>::max();
  const AttrMap attrs = {{"strides", List{1, kMany, 1, 1}},
                         {"padding", "EXPLICIT"},
                         {"explicit_paddings", List{0, 0, 0, 0, 1, 1, 0, 0}}};
  const TensorShape image = {1, kMany, 0, 1}, filter = {1, 1, 1, 1};
  const Tensor gradient = Numbers({1, 1, 2, 1});
  ASSERT_OK_AND_ASSIGN(
      const Tensor none,
      harness_.RunOne("DepthwiseConv2dNativeBackpropInput",
                      {SizesOf(image), Numbers(filter), gradient}, attrs));
  EXPECT_EQ(none.shape(), image);
}

// With this many filters, no row of the image is repeated.
TEST_F(DepthwiseTest, ManyFiltersTakeNoExtraMemory) {
  constexpr int64_t kMany = 1 << 17;
  const AttrMap attrs = {{"strides", List{1, kMany, kMany, 1}},
                         {"padding", "VALID"}};
  const TensorShape image = {1, 1, kMany, 1}, filter = {1, 1, 1, kMany};
  const Tensor x = Numbers(image), w = Numbers(filter);
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       harness_.RunOne("DepthwiseConv2dNative", {x, w}, attrs));
  EXPECT_EQ(y.flat<float>()[77], x.flat<float>()[0] * w.flat<float>()[77]);
  ASSERT_OK_AND_ASSIGN(const Tensor dw,
                       harness_.RunOne("DepthwiseConv2dNativeBackpropFilter",
                                       {x, SizesOf(filter), y}, attrs));
  EXPECT_EQ(dw.flat<float>()[77], x.flat<float>()[0] * y.flat<float>()[77]);
  ASSERT_OK_AND_ASSIGN(const Tensor dx,
                       harness_.RunOne("DepthwiseConv2dNativeBackpropInput",
                                       {SizesOf(image), w, y}, attrs));
  EXPECT_EQ(dx.flat<float>()[1], 0);
}

TEST_F(DepthwiseTest, FilterGradientIsZeroWithoutImages) {
  const TensorShape image = {0, 5, 5, 3}, filter = {3, 3, 3, 2};
  const AttrMap attrs = {{"strides", List{1, 1, 1, 1}}, {"padding", "SAME"}};
  const Tensor x(DT_FLOAT, image), y(DT_FLOAT, {0, 5, 5, 6});
  const Tensor w = Numbers(filter);
  ASSERT_OK_AND_ASSIGN(const Tensor forward,
                       harness_.RunOne("DepthwiseConv2dNative", {x, w}, attrs));
  EXPECT_EQ(forward.shape(), y.shape());
  ASSERT_OK_AND_ASSIGN(const Tensor to_input,
                       harness_.RunOne("DepthwiseConv2dNativeBackpropInput",
                                       {SizesOf(image), w, y}, attrs));
  EXPECT_EQ(to_input.shape(), image);
  ASSERT_OK_AND_ASSIGN(const Tensor to_filter,
                       harness_.RunOne("DepthwiseConv2dNativeBackpropFilter",
                                       {x, SizesOf(filter), y}, attrs));
  for (const float value : to_filter.flat<float>()) ASSERT_EQ(value, 0);
}

// Computes runs of windows with random taps. Every instruction set of this
// machine must match plain loops and write nothing else.
template <typename T>
void ExpectRunsOf(const DepthwiseLoops<T>& loops, int64_t channels,
                  int64_t windows, int64_t num_taps) {
  std::vector<DepthwiseTap> taps;
  for (int64_t t = 0; t < num_taps; ++t) {
    taps.push_back({t * 3 * channels, (num_taps - 1 - t) * channels});
  }
  const DepthwiseRun run = {.rows = 1 + windows % 3,
                            .windows = windows,
                            .channels = channels,
                            .taps = taps.data(),
                            .num_taps = num_taps,
                            .pixel_row = 5 * channels,
                            .pixel_step = 2 * channels,
                            .result_row = windows * 3 * channels,
                            .result_step = 3 * channels};
  std::vector<T> pixels((num_taps * 3 + windows * 2 + 10) * channels),
      filter(num_taps * channels), result(run.rows * run.result_row);
  T next = 0;
  for (auto* list : {&pixels, &filter, &result}) {
    for (T& value : *list) value = next = next > 3 ? -3 : next + T(0.125);
  }
  std::vector<T> sums = result, to_filter = filter;
  for (int64_t window = 0; window < run.rows * windows; ++window) {
    const int64_t y = window / windows, x = window % windows;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t at = y * run.result_row + x * run.result_step + c;
      sums[at] = 0;
      for (const DepthwiseTap& tap : taps) {
        const T pixel =
            pixels[tap.pixel + y * run.pixel_row + x * run.pixel_step + c];
        sums[at] += pixel * filter[tap.filter + c];
        to_filter[tap.filter + c] += pixel * result[at];
      }
    }
  }
  std::vector<T> got = result;
  loops.products(run, pixels.data(), filter.data(), got.data());
  EXPECT_EQ(got, sums) << channels << " " << windows << " " << num_taps;
  got = filter;
  loops.add_to_filter(run, pixels.data(), result.data(), got.data());
  EXPECT_EQ(got, to_filter) << channels << " " << windows << " " << num_taps;
}

TEST(DepthwiseLoopsTest, EachInstructionSetEqualsPlainSums) {
  for (const InstructionSet set : SupportedInstructionSets()) {
    for (const int64_t channels : {1, 2, 3, 7, 15, 16, 17, 31, 64, 127}) {
      for (const int64_t windows : {1, 2, 7, 8, 9, 20, 65}) {
        for (const int64_t taps : {0, 1, 2, 4, 9, 10, 25}) {
          ExpectRunsOf(DepthwiseLoopsFor<float>(set), channels, windows, taps);
          ExpectRunsOf(DepthwiseLoopsFor<double>(set), channels, windows, taps);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
