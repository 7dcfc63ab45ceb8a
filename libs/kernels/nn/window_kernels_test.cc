#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

using List = std::vector<int64_t>;

Tensor Floats(const TensorShape& shape, std::initializer_list<float> values) {
  return Tensor::FromValues<float>(shape, values);
}

// Returns 1 to 9 in three rows.
Tensor Image() { return Floats({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}); }

AttrMap Windows(List strides, const char* padding) {
  return {{"strides", std::move(strides)}, {"padding", padding}};
}
AttrMap Pool(List ksize, List strides, const char* padding) {
  AttrMap attrs = Windows(std::move(strides), padding);
  attrs["ksize"] = std::move(ksize);
  return attrs;
}

class NnWindowKernelsTest : public testing::Test {
 protected:
  NnWindowKernelsTest() : harness_(RegisterNnKernels) {}

  void Expect(const char* op, std::vector<KernelInput> inputs, AttrMap attrs,
              const Tensor& expected) {
    ASSERT_OK_AND_ASSIGN(auto got,
                         harness_.Run(op, std::move(inputs), std::move(attrs)));
    ASSERT_EQ(got[0].shape(), expected.shape()) << op;
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      EXPECT_NEAR(got[0].flat<float>()[i], expected.flat<float>()[i], 1e-5)
          << op << " " << i;
    }
  }

  KernelTestHarness harness_;
};

// Invalid arguments are still reported.
TEST_F(NnWindowKernelsTest, UnusedConvolutionsAreNotComputed) {
  AttrMap attrs = Windows({1, 1, 1, 1}, "SAME");
  const Tensor image = Image(), filter = Floats({1, 1, 1, 1}, {2});
  const Tensor sizes = Tensor::Vector({1, 3, 3, 1});
  const Tensor first_sizes = Tensor::Vector({1, 1, 3, 3});
  const Tensor filter_sizes = Tensor::Vector({1, 1, 1, 1});
  const Tensor wrong = Floats({1, 1, 2, 1}, {1, 2});
  const auto run = [&](const std::string& op, std::vector<KernelInput> inputs) {
    SCOPED_TRACE(op);
    std::vector<DataType> types;
    for (const KernelInput& input : inputs) {
      types.push_back(input.tensor.dtype());
    }
    ASSERT_OK_AND_ASSIGN(const auto kernel, harness_.Make(op, types, attrs));
    kernel->RequireNothing();
    ASSERT_OK_AND_ASSIGN(const auto outputs, kernel->Run(inputs));
    EXPECT_FALSE(outputs[0].IsInitialized());
    inputs.back() = inputs.size() == 2 ? Tensor::Scalar(1.0f) : wrong;
    EXPECT_THAT(kernel->Run(inputs), StatusIs(kInvalid));
  };
  for (const char* format : {"NHWC", "NCHW"}) {
    attrs["data_format"] = std::string(format);
    const bool last = std::string(format) == "NHWC";
    const Tensor input = last ? image : *image.Reshaped({1, 1, 3, 3});
    const Tensor& input_sizes = last ? sizes : first_sizes;
    for (const std::string op : {"Conv2D", "DepthwiseConv2dNative"}) {
      run(op, {input, filter});
      run(op + "BackpropInput", {input_sizes, filter, input});
      run(op + "BackpropFilter", {input, filter_sizes, input});
    }
  }
}

TEST_F(NnWindowKernelsTest, AbsurdWindowsAreRefusedWhileTheGraphIsBuilt) {
  constexpr int64_t kMany = int64_t{1} << 40;
  const AttrMap attrs = Windows({1, 1, 1, 1}, "VALID");
  EXPECT_THAT(
      harness_.InferShapes("DepthwiseConv2dNative",
                           {{DT_FLOAT, PartialShape({-1, 4, 4, kMany})},
                            {DT_FLOAT, PartialShape({1, 1, -1, kMany})}},
                           attrs),
      StatusIs(kInvalid, "overflow"));
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(
      harness_.InferShapes("MaxPool", {{DT_FLOAT, PartialShape({1, 4, 4, 1})}},
                           Pool({1, least, 1, 1}, {1, 1, 1, 1}, "VALID")),
      StatusIs(kInvalid, "must be positive"));
}

// A loop over all images would practically never end.
TEST_F(NnWindowKernelsTest, PoolsOfManyEmptyImagesTakeNoTime) {
  const Tensor many(DT_FLOAT, {int64_t{1} << 40, 0, 2, 1});
  const AttrMap attrs = Pool({1, 1, 1, 1}, {1, 1, 1, 1}, "SAME");
  Expect("MaxPool", {many}, attrs, many);
  Expect("AvgPool", {many}, attrs, many);
  Expect("MaxPoolGrad", {many, many, many}, attrs, many);
  const Tensor wide(DT_FLOAT, {1, 1 << 30, 1 << 30, 0});
  Expect("MaxPool", {wide}, attrs, wide);
  Expect("DepthwiseConv2dNative", {many, Floats({1, 1, 1, 1}, {1})},
         Windows({1, 1, 1, 1}, "SAME"), many);
}

TEST_F(NnWindowKernelsTest, ConvolutionsPadAndStrideAsTensorFlowDoes) {
  const Tensor ones = Floats({2, 2, 1, 1}, {1, 1, 1, 1});
  Expect("Conv2D", {Image(), ones}, Windows({1, 1, 1, 1}, "VALID"),
         Floats({1, 2, 2, 1}, {12, 16, 24, 28}));
  Expect("Conv2D", {Image(), ones}, Windows({1, 2, 2, 1}, "SAME"),
         Floats({1, 2, 2, 1}, {12, 9, 15, 9}));
  AttrMap dilated = Windows({1, 1, 1, 1}, "VALID");
  dilated["dilations"] = List{1, 2, 2, 1};
  Expect("Conv2D", {Image(), ones}, dilated, Floats({1, 1, 1, 1}, {20}));
  AttrMap padded = Windows({1, 1, 2, 1}, "EXPLICIT");
  padded["explicit_paddings"] = List{0, 0, 1, 0, 0, 1, 0, 0};
  Expect("Conv2D", {Image(), ones}, padded,
         Floats({1, 3, 2, 1}, {3, 3, 12, 9, 24, 15}));
  const Tensor two = Floats({1, 1, 1, 2}, {1, -1});
  Expect("Conv2D", {Floats({2, 1, 1, 1}, {3, 4}), two},
         Windows({1, 1, 1, 1}, "SAME"), Floats({2, 1, 1, 2}, {3, -3, 4, -4}));
  // Two groups of one channel, with one filter each.
  Expect("Conv2D",
         {Floats({1, 1, 1, 2}, {3, 4}), Floats({1, 1, 1, 2}, {10, 100})},
         Windows({1, 1, 1, 1}, "SAME"), Floats({1, 1, 1, 2}, {30, 400}));
  Expect("Conv2D", {Tensor(DT_FLOAT, {0, 3, 3, 1}), ones},
         Windows({1, 1, 1, 1}, "VALID"), Tensor(DT_FLOAT, {0, 2, 2, 1}));
}

// A convolution without padding, computed by its definition.
struct PlainConvolution {
  int64_t batch, size, channels, taps, depth, filters, stride, dilation;

  int64_t out() const {
    return (size - (taps - 1) * dilation - 1) / stride + 1;
  }
  TensorShape image() const { return {batch, size, size, channels}; }
  TensorShape filter() const { return {taps, taps, depth, filters}; }
  TensorShape output() const { return {batch, out(), out(), filters}; }

  // Calls `visit(position in image, position in filter, position in output)`
  // for each product.
  template <typename Visit>
  void ForEachProduct(const Visit& visit) const {
    const int64_t groups = channels / depth, share = filters / groups;
    for (int64_t o = 0; o < output().num_elements(); ++o) {
      const int64_t f = o % filters, x = o / filters % out();
      const int64_t y = o / filters / out() % out();
      const int64_t n = o / filters / out() / out();
      for (int64_t tap = 0; tap < taps * taps * depth; ++tap) {
        const int64_t d = tap % depth;
        const int64_t column = x * stride + tap / depth % taps * dilation;
        const int64_t row = y * stride + tap / depth / taps * dilation;
        visit(((n * size + row) * size + column) * channels +
                  f / share * depth + d,
              tap * filters + f, o);
      }
    }
  }
};

Tensor SmallIntegers(const TensorShape& shape) {
  Tensor x(DT_FLOAT, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_flat<float>()[i] = static_cast<float>(i * 7 % 5) - 2;
  }
  return x;
}

Tensor SizesOf(const TensorShape& shape) {
  Tensor sizes(DT_INT32, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    sizes.mutable_flat<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
  }
  return sizes;
}

TEST_F(NnWindowKernelsTest, ConvolutionsAreSumsOfProducts) {
  // Covers joined taps, groups, dilation, and more windows than are laid out at
  // a time.
  const PlainConvolution cases[] = {{2, 6, 3, 3, 3, 4, 1, 1},
                                    {2, 6, 4, 2, 2, 6, 2, 1},
                                    {1, 9, 4, 3, 4, 2, 1, 2},
                                    {3, 34, 32, 3, 32, 2, 1, 1}};
  for (const PlainConvolution& c : cases) {
    const Tensor image = SmallIntegers(c.image());
    const Tensor filter = SmallIntegers(c.filter());
    const Tensor gradient = SmallIntegers(c.output());
    Tensor output(DT_FLOAT, c.output());
    Tensor to_image(DT_FLOAT, c.image()), to_filter(DT_FLOAT, c.filter());
    for (Tensor* sum : {&output, &to_image, &to_filter}) {
      for (float& value : sum->mutable_flat<float>()) value = 0;
    }
    c.ForEachProduct([&](int64_t i, int64_t f, int64_t o) {
      const float x = image.flat<float>()[i], w = filter.flat<float>()[f];
      const float g = gradient.flat<float>()[o];
      output.mutable_flat<float>()[o] += x * w;
      to_image.mutable_flat<float>()[i] += g * w;
      to_filter.mutable_flat<float>()[f] += g * x;
    });
    AttrMap attrs = Windows({1, c.stride, c.stride, 1}, "VALID");
    attrs["dilations"] = List{1, c.dilation, c.dilation, 1};
    Expect("Conv2D", {image, filter}, attrs, output);
    Expect("Conv2DBackpropInput", {SizesOf(c.image()), filter, gradient}, attrs,
           to_image);
    Expect("Conv2DBackpropFilter", {image, SizesOf(c.filter()), gradient},
           attrs, to_filter);
  }
}

TEST_F(NnWindowKernelsTest, DepthwiseFiltersSeeTheirChannelAlone) {
  const Tensor image = Floats({1, 1, 2, 2}, {1, 10, 2, 20});
  const Tensor filter = Floats({1, 2, 2, 1}, {1, 3, 2, 4});
  Expect("DepthwiseConv2dNative", {image, filter},
         Windows({1, 1, 1, 1}, "VALID"), Floats({1, 1, 1, 2}, {5, 110}));
}

TEST_F(NnWindowKernelsTest, PoolsIgnorePadding) {
  Expect("MaxPool", {Image()}, Pool({1, 2, 2, 1}, {1, 1, 1, 1}, "VALID"),
         Floats({1, 2, 2, 1}, {5, 6, 8, 9}));
  Expect("AvgPool", {Image()}, Pool({1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"),
         Floats({1, 2, 2, 1}, {3, 4.5f, 7.5f, 9}));
  const Tensor equal = Floats({1, 1, 2, 1}, {7, 7});
  Expect("MaxPoolGrad",
         {equal, Floats({1, 1, 1, 1}, {7}), Floats({1, 1, 1, 1}, {5})},
         Pool({1, 1, 2, 1}, {1, 1, 2, 1}, "VALID"),
         Floats({1, 1, 2, 1}, {5, 0}));
}

// More channels than vector elements. The last window has one pixel.
TEST_F(NnWindowKernelsTest, PoolsManyChannels) {
  constexpr int kChannels = 37;
  Tensor image(DT_FLOAT, {1, 3, 3, kChannels});
  Tensor most(DT_FLOAT, {1, 2, 2, kChannels});
  Tensor mean(DT_FLOAT, {1, 2, 2, kChannels});
  const float largest[] = {5, 6, 8, 9}, means[] = {3, 4.5f, 7.5f, 9};
  for (int c = 0; c < kChannels; ++c) {
    for (int i = 0; i < 9; ++i) {
      image.mutable_flat<float>()[i * kChannels + c] =
          static_cast<float>(i + 1 + 10 * c);
    }
    for (int i = 0; i < 4; ++i) {
      const int at = i * kChannels + c;
      const float base = static_cast<float>(10 * c);
      most.mutable_flat<float>()[at] = base + largest[i];
      mean.mutable_flat<float>()[at] = base + means[i];
    }
  }
  Expect("MaxPool", {image}, Pool({1, 2, 2, 1}, {1, 1, 1, 1}, "VALID"), most);
  Expect("AvgPool", {image}, Pool({1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"), mean);
}

// As in TensorFlow, the maximum starts from the lowest number.
TEST_F(NnWindowKernelsTest, MaxPoolPassesOverNanWhereverItLies) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const float lowest = std::numeric_limits<float>::lowest();
  const AttrMap pool = Pool({1, 1, 2, 1}, {1, 1, 2, 1}, "VALID");
  const auto expect = [&](float first, float second, float most) {
    Expect("MaxPool", {Floats({1, 1, 2, 1}, {first, second})}, pool,
           Floats({1, 1, 1, 1}, {most}));
    // Channels for one vector and one more.
    const std::vector<float> wide(17, most);
    std::vector<float> image(17, first);
    image.resize(34, second);
    Expect("MaxPool",
           {Tensor::FromValues<float>({1, 1, 2, 17}, absl::MakeSpan(image))},
           pool,
           Tensor::FromValues<float>({1, 1, 1, 17}, absl::MakeSpan(wide)));
  };
  expect(nan, 1, 1);
  expect(1, nan, 1);
  expect(nan, -1, -1);
  expect(nan, nan, lowest);
  expect(-infinity, -infinity, lowest);
}

Tensor Integers(const TensorShape& shape, std::vector<int32_t> values) {
  return Tensor::FromValues<int32_t>(shape, absl::Span<const int32_t>(values));
}
// -5, -4, -3, ...
Tensor CountedFrom5Below(const TensorShape& shape) {
  std::vector<int32_t> values(shape.num_elements());
  std::iota(values.begin(), values.end(), -5);
  return Integers(shape, values);
}

// The expected numbers are those of TensorFlow 2.21.
TEST_F(NnWindowKernelsTest, ConvolutionsOfIntegersAreExactAndWrapRound) {
  const Tensor image = CountedFrom5Below({1, 3, 3, 2});
  const Tensor filter = CountedFrom5Below({2, 2, 2, 1});
  const AttrMap same = Windows({1, 1, 1, 1}, "SAME");
  ASSERT_OK_AND_ASSIGN(Tensor out,
                       harness_.RunOne("Conv2D", {image, filter}, same));
  EXPECT_TRUE(SameBits(out, Integers({1, 3, 3, 1}, {64, 40, 0, -8, -32, -60,
                                                    -114, -142, -103})));
  const Tensor of_groups = CountedFrom5Below({2, 2, 1, 2});
  ASSERT_OK_AND_ASSIGN(out,
                       harness_.RunOne("Conv2D", {image, of_groups}, same));
  EXPECT_TRUE(SameBits(
      out, Integers({1, 3, 3, 2}, {36, 28, 20, 20, 0, 0, -12, 4, -28, -4, -36,
                                   -24, -62, -52, -78, -64, -55, -48})));
  ASSERT_OK_AND_ASSIGN(
      out, harness_.RunOne("Conv2DBackpropInput",
                           {Tensor::Vector<int32_t>({1, 3, 3, 2}), filter,
                            CountedFrom5Below({1, 3, 3, 1})},
                           same));
  EXPECT_TRUE(SameBits(
      out, Integers({1, 3, 3, 2}, {25, 20, 35, 26, 27, 20, 15, 8, 10, -2, 2, -6,
                                   -3, -4, -14, -14, -22, -18})));
  const Tensor large = Integers({1, 1, 1, 1}, {1 << 30});
  ASSERT_OK_AND_ASSIGN(
      out,
      harness_.RunOne("Conv2D", {large, Integers({1, 1, 1, 1}, {3})}, same));
  EXPECT_TRUE(SameBits(out, Integers({1, 1, 1, 1}, {-(1 << 30)})));
}

TEST_F(NnWindowKernelsTest, MaxPoolAcrossChannels) {
  const Tensor image = Floats({1, 1, 2, 4}, {0, 7, 1, 8, 2, 9, 3, -10});
  Expect("MaxPool", {image}, Pool({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
         Floats({1, 1, 2, 2}, {7, 8, 9, 3}));
  // Strides along rows and columns are ignored in this case.
  Expect("MaxPool", {image}, Pool({1, 1, 1, 4}, {1, 2, 2, 4}, "SAME"),
         Floats({1, 1, 2, 1}, {8, 9}));
  AttrMap channels_first = Pool({1, 2, 1, 1}, {1, 2, 1, 1}, "VALID");
  channels_first["data_format"] = "NCHW";
  Expect("MaxPool", {Floats({1, 2, 1, 2}, {1, 5, 3, 4})}, channels_first,
         Floats({1, 1, 1, 2}, {3, 5}));
  const Tensor none(DT_FLOAT, {0, 2, 2, 4});
  Expect("MaxPool", {none}, Pool({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
         Tensor(DT_FLOAT, {0, 2, 2, 2}));
  // Strides across channels alone have no effect.
  Expect("MaxPool", {image}, Pool({1, 1, 1, 1}, {1, 1, 1, 2}, "VALID"), image);
}

// As in TensorFlow, the maximum across channels starts from the first value.
TEST_F(NnWindowKernelsTest, MaxAcrossChannelsMayBeNaNOrInfinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor pairs = Floats({1, 1, 1, 10}, {-infinity, -infinity, nan, 1, 1,
                                              nan, -infinity, -1, nan, nan});
  ASSERT_OK_AND_ASSIGN(
      const Tensor most,
      harness_.RunOne("MaxPool", {pairs},
                      Pool({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID")));
  EXPECT_TRUE(
      SameBits(most, Floats({1, 1, 1, 5}, {-infinity, nan, 1, -1, nan})))
      << most.ToString();
}

TEST_F(NnWindowKernelsTest, ShapesOfPoolsAcrossChannels) {
  const auto shape_of = [&](int64_t depth, int64_t window) {
    auto shapes = harness_.InferShapes(
        "MaxPool", {{DT_FLOAT, PartialShape({-1, 3, 3, depth})}},
        Pool({1, 1, 1, window}, {1, 2, 2, window}, "SAME"));
    return shapes.ok() ? (*shapes)[0] : PartialShape();
  };
  EXPECT_EQ(shape_of(6, 2), PartialShape({-1, 3, 3, 3}));
  EXPECT_EQ(shape_of(6, 4), PartialShape({-1, 3, 3, -1}));
  EXPECT_EQ(shape_of(-1, 2), PartialShape({-1, 3, 3, -1}));
}

// Error texts are those of TensorFlow 2.21.
TEST_F(NnWindowKernelsTest, PoolsAcrossChannelsHaveLimits) {
  const Tensor image = Floats({1, 1, 1, 4}, {1, 2, 3, 4});
  const auto max_pool = [&](List ksize, List strides) {
    return harness_
        .Run("MaxPool", {image},
             Pool(std::move(ksize), std::move(strides), "VALID"))
        .status();
  };
  EXPECT_THAT(max_pool({1, 1, 1, 3}, {1, 1, 1, 3}),
              StatusIs(kUnimplemented,
                       "requires the depth window to evenly divide the input "
                       "depth"));
  EXPECT_THAT(max_pool({1, 1, 1, 2}, {1, 1, 1, 1}),
              StatusIs(kUnimplemented,
                       "requires the depth window to equal the depth stride"));
  EXPECT_THAT(max_pool({1, 2, 1, 2}, {1, 2, 1, 2}),
              StatusIs(kUnimplemented,
                       "exactly one of pooling across depth or pooling across "
                       "width/height"));
  EXPECT_THAT(max_pool({2, 1, 1, 1}, {2, 1, 1, 1}),
              StatusIs(kUnimplemented, "on the batch dimension"));
  const AttrMap across = Pool({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID");
  EXPECT_THAT(harness_.Run("MaxPool", {Floats({4}, {1, 2, 3, 4})}, across),
              StatusIs(kInvalid, "tensor_in must be 4-dimensional"));
  const Tensor half = Floats({1, 1, 1, 2}, {2, 4});
  EXPECT_THAT(harness_.Run("MaxPoolGrad", {image, half, half}, across),
              StatusIs(kUnimplemented,
                       "MaxPoolingGrad is not yet supported on the depth "
                       "dimension."));
  EXPECT_THAT(harness_.Run("MaxPoolGradGrad", {image, half, image}, across),
              StatusIs(kUnimplemented,
                       "MaxPoolingGradGrad is not yet supported on the depth "
                       "dimension."));
  EXPECT_THAT(harness_.Run("AvgPool", {image}, across),
              StatusIs(kUnimplemented, "Non-spatial pooling"));
}

AttrMap Padded(AttrMap attrs, List paddings, const char* layout = "NHWC") {
  attrs["padding"] = "EXPLICIT";
  attrs["explicit_paddings"] = std::move(paddings);
  attrs["data_format"] = layout;
  return attrs;
}

// Error texts are those of TensorFlow 2.21.
TEST_F(NnWindowKernelsTest, BatchesAndChannelsAreNotPadded) {
  constexpr char kText[] =
      "Nonzero explicit padding in the batch or depth dimensions is not "
      "supported";
  const Tensor ones = Floats({2, 2, 1, 1}, {1, 1, 1, 1});
  const AttrMap windows = Windows({1, 1, 1, 1}, "");
  const ShapeInput anything = {DT_FLOAT, PartialShape()};
  const auto expect_refused = [&](const AttrMap& attrs) {
    for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
      EXPECT_THAT(harness_.Run(op, {Image(), ones}, attrs),
                  StatusIs(kInvalid, kText));
      EXPECT_THAT(harness_.InferShapes(op, {anything, anything}, attrs),
                  StatusIs(kInvalid, kText));
    }
  };
  for (const size_t i : {0, 1, 6, 7}) {
    List paddings = {0, 0, 1, 1, 1, 1, 0, 0};
    paddings[i] = 1;
    expect_refused(Padded(windows, paddings));
  }
  expect_refused(Padded(windows, {0, 0, 1, 0, 1, 1, 1, 1}, "NCHW"));
  EXPECT_OK(
      harness_.InferShapes("Conv2D", {anything, anything},
                           Padded(windows, {0, 0, 0, 0, 1, 1, 1, 1}, "NCHW")));

  for (const int64_t channels : {1, 2}) {
    const AttrMap attrs =
        Padded(Pool({1, 1, 1, channels}, {1, 1, 1, channels}, ""),
               {0, 0, 0, 0, 0, 0, 0, 1});
    EXPECT_THAT(harness_.InferShapes("MaxPool", {anything}, attrs),
                StatusIs(kInvalid, kText));
    EXPECT_THAT(harness_.Run("MaxPool", {Image()}, attrs),
                StatusIs(kInvalid, kText));
  }
  const Tensor sizes = Tensor::Vector({1, 3, 3, 1});
  const AttrMap attrs = Padded(windows, {1, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(
      harness_.Run("Conv2DBackpropInput", {sizes, ones, Image()}, attrs),
      StatusIs(kInvalid, kText));
}

// Even zeros are rejected. The text is TensorFlow's.
TEST_F(NnWindowKernelsTest, UnusedExplicitPaddingsAreRejected) {
  constexpr char kText[] =
      "explicit_paddings attribute must be empty if the padding attribute is "
      "not EXPLICIT";
  const Tensor ones = Floats({2, 2, 1, 1}, {1, 1, 1, 1});
  const Tensor sizes = Tensor::Vector({1, 3, 3, 1});
  const Tensor filter_sizes = Tensor::Vector({2, 2, 1, 1});
  const ShapeInput anything = {DT_FLOAT, PartialShape()};
  for (const char* padding : {"SAME", "VALID"}) {
    AttrMap windows = Windows({1, 1, 1, 1}, padding);
    windows["explicit_paddings"] = List(8, 0);
    AttrMap pool = Pool({1, 1, 1, 1}, {1, 1, 1, 1}, padding);
    pool["explicit_paddings"] = List{0, 0, 1, 1, 1, 1, 0, 0};
    const auto expect_refused = [&](const std::string& op,
                                    const std::vector<KernelInput>& inputs,
                                    const AttrMap& attrs) {
      SCOPED_TRACE(op + padding);
      EXPECT_THAT(harness_.Run(op, inputs, attrs), StatusIs(kInvalid, kText));
    };
    for (const std::string op : {"Conv2D", "DepthwiseConv2dNative"}) {
      EXPECT_THAT(harness_.InferShapes(op, {anything, anything}, windows),
                  StatusIs(kInvalid, kText));
      expect_refused(op, {Image(), ones}, windows);
      expect_refused(op + "BackpropInput", {sizes, ones, Image()}, windows);
      expect_refused(op + "BackpropFilter", {Image(), filter_sizes, Image()},
                     windows);
    }
    EXPECT_THAT(harness_.InferShapes("MaxPool", {anything}, pool),
                StatusIs(kInvalid, kText));
    expect_refused("MaxPool", {Image()}, pool);
    expect_refused("MaxPoolGrad", {Image(), Image(), Image()}, pool);
  }
}

// Error texts are those of TensorFlow 2.21.
TEST_F(NnWindowKernelsTest, MaxPoolRejectsWindowsOfPaddingOnly) {
  const auto expect_refused = [&](List paddings, const char* text) {
    const AttrMap attrs =
        Padded(Pool({1, 2, 3, 1}, {1, 1, 1, 1}, ""), std::move(paddings));
    EXPECT_THAT(harness_.Run("MaxPool", {Image()}, attrs),
                StatusIs(kInvalid, text));
    EXPECT_THAT(harness_.Run("MaxPoolGrad", {Image(), Image(), Image()}, attrs),
                StatusIs(kInvalid, text));
  };
  expect_refused({0, 0, 3, 0, 0, 0, 0, 0},
                 "Top padding 3 needs to be smaller than the window size 2");
  expect_refused({0, 0, 0, 2, 0, 0, 0, 0},
                 "Bottom padding 2 needs to be smaller than the window size 2");
  expect_refused({0, 0, 1, 1, 3, 0, 0, 0},
                 "Left padding 3 needs to be smaller than the window size 3");
  expect_refused({0, 0, 1, 1, 2, 4, 0, 0},
                 "Right padding 4 needs to be smaller than the window size 3");
  Expect("MaxPool", {Image()},
         Padded(Pool({1, 2, 3, 1}, {1, 2, 3, 1}, ""), {0, 0, 1, 0, 2, 1, 0, 0}),
         Floats({1, 2, 2, 1}, {1, 3, 7, 9}));
}

// The bound holds for any number of taps and threads.
TEST(ConvolutionTest, WindowsAtATimeAreBounded) {
  Convolution c;
  c.batch = c.rows.out = c.columns.out = 1000;
  c.depth = 1000;
  EXPECT_EQ(c.windows_at_a_time(4), 4 * 261);
  c.depth = 1 << 20;
  EXPECT_EQ(c.windows_at_a_time(1), 63);
  EXPECT_EQ(c.windows_at_a_time(64), 63);
  c.depth = 1 << 30;
  EXPECT_EQ(c.windows_at_a_time(64), 1);
}

TEST_F(NnWindowKernelsTest, Normalizes) {
  Expect("LRN", {Floats({1, 1, 1, 3}, {1, 2, 2})},
         {{"depth_radius", 1}, {"beta", 1.0f}},
         Floats({1, 1, 1, 3}, {1 / 6.0f, 0.2f, 2 / 9.0f}));
  const Tensor none(DT_FLOAT, {0});
  const Tensor x = Floats({1, 2, 1, 1}, {1, 3});
  ASSERT_OK_AND_ASSIGN(
      auto outputs,
      harness_.Run("FusedBatchNormV3",
                   {x, Floats({1}, {2}), Floats({1}, {1}), none, none},
                   {{"epsilon", 0.0f}}));
  EXPECT_TRUE(SameBits(outputs[0], Floats({1, 2, 1, 1}, {-1, 3})));
  EXPECT_TRUE(SameBits(outputs[1], Floats({1}, {2})));
  EXPECT_TRUE(SameBits(outputs[2], Floats({1}, {2})));
  Expect("FusedBatchNormV3",
         {x, Floats({1}, {2}), Floats({1}, {1}), Floats({1}, {1}),
          Floats({1}, {4})},
         {{"epsilon", 0.0f}, {"is_training", false}},
         Floats({1, 2, 1, 1}, {1, 3}));
}

// Computes LRN of a pixel, and its gradient for each channel, in double.
struct LrnReference {
  std::vector<double> in, norms;
  int64_t radius;
  double alpha, beta;

  LrnReference(std::vector<double> pixel, int64_t depth_radius, double bias,
               double by, double exponent)
      : in(std::move(pixel)),
        norms(in.size(), bias),
        radius(depth_radius),
        alpha(by),
        beta(exponent) {
    for (size_t c = 0; c < in.size(); ++c) {
      for (size_t k = 0; k < in.size(); ++k) {
        if (AreNeighbours(c, k)) norms[c] += alpha * in[k] * in[k];
      }
    }
  }
  bool AreNeighbours(size_t c, size_t k) const {
    return std::abs(static_cast<int64_t>(c) - static_cast<int64_t>(k)) <=
           radius;
  }
  double Output(size_t c) const { return in[c] * std::pow(norms[c], -beta); }
  double Gradient(size_t k, const std::vector<double>& grads) const {
    double sum = grads[k] * std::pow(norms[k], -beta);
    for (size_t c = 0; c < in.size(); ++c) {
      if (!AreNeighbours(c, k)) continue;
      sum -= grads[c] * 2 * alpha * beta * in[k] * Output(c) / norms[c];
    }
    return sum;
  }
};

TEST_F(NnWindowKernelsTest, NormalizesAcrossAnyNumberOfChannels) {
  for (const int64_t channels : {1, 2, 11, 17, 64, 130}) {
    for (const int64_t radius : {0, 1, 5, 200}) {
      for (const float beta : {0.5f, 0.75f, 1.0f, 2.0f, -0.3f}) {
        Tensor x(DT_FLOAT, {2, 3, 2, channels}), grads(DT_FLOAT, x.shape());
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          x.mutable_flat<float>()[i] = static_cast<float>(i % 13) / 4 - 1;
          grads.mutable_flat<float>()[i] = static_cast<float>(i % 7) / 2 - 1;
        }
        const AttrMap attrs = {{"depth_radius", radius},
                               {"bias", 0.7f},
                               {"alpha", 0.2f},
                               {"beta", beta}};
        ASSERT_OK_AND_ASSIGN(const Tensor y,
                             harness_.RunOne("LRN", {x}, attrs));
        ASSERT_OK_AND_ASSIGN(const Tensor dx,
                             harness_.RunOne("LRNGrad", {grads, x, y}, attrs));
        for (int64_t at = 0; at < x.num_elements(); at += channels) {
          const auto pixel = x.flat<float>().subspan(at, channels);
          const auto gradient = grads.flat<float>().subspan(at, channels);
          const LrnReference want({pixel.begin(), pixel.end()}, radius, 0.7f,
                                  0.2f, beta);
          const std::vector<double> by(gradient.begin(), gradient.end());
          for (int64_t c = 0; c < channels; ++c) {
            ASSERT_NEAR(y.flat<float>()[at + c], want.Output(c), 2e-4)
                << channels << " " << radius << " " << beta;
            ASSERT_NEAR(dx.flat<float>()[at + c], want.Gradient(c, by), 2e-3)
                << channels << " " << radius << " " << beta;
          }
        }
      }
    }
  }
}

// The mean of an empty batch is NaN, but the gradients must be zero: a step
// without examples must not corrupt the scale.
TEST_F(NnWindowKernelsTest, EmptyBatchHasZeroGradients) {
  const Tensor none(DT_FLOAT, {0});
  const Tensor empty(DT_FLOAT, {0, 1, 1, 2});
  const Tensor scale = Floats({2}, {2, 3});
  const Tensor zeros = Floats({2}, {0, 0});
  ASSERT_OK_AND_ASSIGN(
      const auto outputs,
      harness_.Run("FusedBatchNormV3", {empty, scale, scale, none, none}));
  EXPECT_TRUE(SameBits(outputs[0], empty));
  EXPECT_TRUE(std::isnan(outputs[1].flat<float>()[0]));
  EXPECT_TRUE(SameBits(outputs[3], zeros)) << outputs[3].ToString();
  EXPECT_TRUE(SameBits(outputs[4], zeros)) << outputs[4].ToString();
  ASSERT_OK_AND_ASSIGN(
      const auto gradients,
      harness_.Run("FusedBatchNormGradV3",
                   {empty, empty, scale, outputs[3], outputs[4], outputs[5]}));
  EXPECT_TRUE(SameBits(gradients[0], empty));
  EXPECT_TRUE(SameBits(gradients[1], zeros)) << gradients[1].ToString();
  EXPECT_TRUE(SameBits(gradients[2], zeros)) << gradients[2].ToString();
}

TEST_F(NnWindowKernelsTest, InvalidArgumentsAreRejected) {
  const Tensor ones = Floats({2, 2, 1, 1}, {1, 1, 1, 1});
  const AttrMap valid = Windows({1, 1, 1, 1}, "VALID");
  EXPECT_THAT(harness_.Run("Conv2D",
                           {Floats({1, 2, 2, 1}, {1, 2, 3, 4}),
                            Tensor(DT_FLOAT, {2, 2, 2, 1})},
                           valid),
              StatusIs(kInvalid,
                       "input depth must be evenly divisible by filter depth: "
                       "1 vs 2"));
  EXPECT_THAT(
      harness_.Run("Conv2D", {Image(), Tensor(DT_FLOAT, {5, 1, 1, 1})}, valid),
      StatusIs(kInvalid, "Computed output size would be negative"));
  EXPECT_THAT(
      harness_.Run("Conv2D", {Tensor(DT_FLOAT, {1, 3, 3, 0}), ones}, valid),
      StatusIs(kInvalid, "0 vs 1"));
  EXPECT_THAT(
      harness_.Run("Conv2D", {Tensor(DT_FLOAT, {1, 3, 3, 2}), ones}, valid),
      StatusIs(kInvalid, "number of groups"));
  EXPECT_THAT(harness_.Run("Conv2D", {Tensor(DT_FLOAT, {3}), ones}, valid),
              StatusIs(kInvalid));
  EXPECT_THAT(
      harness_.Run("Conv2D", {Image(), ones}, Windows({2, 1, 1, 1}, "SAME")),
      StatusIs(kUnimplemented,
               "does not yet support strides in the batch and depth"));
  EXPECT_THAT(
      harness_.Run("Conv2D", {Image(), ones}, Windows({1, 0, 1, 1}, "SAME")),
      StatusIs(kInvalid));
  AttrMap channels_first = valid;
  channels_first["data_format"] = "NCHW";
  EXPECT_THAT(harness_.Run("Conv2D", {Image(), ones}, channels_first),
              StatusIs(kInvalid, "with channels last"));
  AttrMap vectors = Pool({1, 1, 1, 1}, {1, 1, 1, 1}, "SAME");
  vectors["data_format"] = "NCHW_VECT_C";
  EXPECT_THAT(harness_.Run("MaxPool", {Image()}, vectors),
              StatusIs(kUnimplemented));
  const Tensor sizes = Tensor::Vector({1, 3, 3, 1});
  EXPECT_THAT(
      harness_.Run("Conv2DBackpropInput", {sizes, ones, Image()}, valid),
      StatusIs(kInvalid, "out_backprop"));
  EXPECT_THAT(
      harness_.Run("Conv2DBackpropInput",
                   {Tensor::Vector({1, -3, 3, 1}), ones, Image()}, valid),
      StatusIs(kInvalid));
  const AttrMap pool = Pool({1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
  EXPECT_THAT(harness_.Run("MaxPool", {Tensor(DT_FLOAT, {2})}, pool),
              StatusIs(kInvalid));
  EXPECT_THAT(harness_.Run("MaxPoolGrad", {Image(), Image(), Image()}, pool),
              StatusIs(kInvalid, "orig_output"));
  EXPECT_THAT(harness_.Run("AvgPoolGrad", {sizes, Image()}, pool),
              StatusIs(kInvalid, "grad"));
}

}  // namespace
}  // namespace weft
