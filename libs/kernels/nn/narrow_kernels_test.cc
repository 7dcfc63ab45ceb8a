// Tests ops on half and bfloat16 numbers, which are computed as floats in
// blocks. Compares them with the float op rounded once, or with sequential
// sums. Sizes are around the block sizes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename T>
class NarrowKernelsTest : public testing::Test {
 protected:
  // Winograd convolutions are not exact where other sums are.
  NarrowKernelsTest() : harness_(RegisterNnKernels) {
    setenv("WEFT_WINOGRAD", "off", 1);
  }
  ~NarrowKernelsTest() override { unsetenv("WEFT_WINOGRAD"); }

  // Returns multiples of 1/8 between -1 and 2, which half and bfloat16
  // represent. Their products and small sums are exact as floats.
  static Tensor Eighths(const TensorShape& shape, int64_t seed) {
    Tensor tensor(DT_FLOAT, shape);
    const auto numbers = tensor.mutable_flat<float>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] =
          static_cast<float>((static_cast<int64_t>(i) * 31 + seed * 17) % 23) /
              8 -
          1;
    }
    return tensor;
  }

  static Tensor Narrow(const Tensor& floats) {
    Tensor narrow(DataTypeOf<T>::value, floats.shape());
    std::transform(floats.flat<float>().begin(), floats.flat<float>().end(),
                   narrow.mutable_flat<T>().begin(),
                   [](float x) { return T(x); });
    return narrow;
  }

  static void ExpectSame(const Tensor& got, const Tensor& want) {
    ASSERT_EQ(got.shape(), want.shape());
    ASSERT_EQ(got.dtype(), DataTypeOf<T>::value);
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      const float x = got.flat<T>()[i], y = want.flat<T>()[i];
      if (std::isnan(x) && std::isnan(y)) continue;
      ASSERT_EQ(got.flat<T>()[i].bits, want.flat<T>()[i].bits)
          << "at " << i << ": " << x << " and " << y;
    }
  }

  // Checks that the op on T equals the op on floats, rounded once. All float
  // inputs must be representable in T; other inputs are passed unchanged.
  void ExpectRoundedOnce(const std::string& op,
                         const std::vector<Tensor>& inputs,
                         const AttrMap& attrs = {}) {
    SCOPED_TRACE(op);
    std::vector<KernelInput> wide, narrow;
    for (const Tensor& input : inputs) {
      wide.emplace_back(input);
      narrow.emplace_back(input.dtype() == DT_FLOAT ? Narrow(input) : input);
    }
    ASSERT_OK_AND_ASSIGN(const Tensor want,
                         harness_.RunOne(op, std::move(wide), attrs));
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         harness_.RunOne(op, std::move(narrow), attrs));
    ExpectSame(got, Narrow(want));
  }

  KernelTestHarness harness_;
};

using NarrowNumbers = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(NarrowKernelsTest, NarrowNumbers);

TYPED_TEST(NarrowKernelsTest, Activations) {
  for (const int64_t n : {1, 127, 512, 513, 1500}) {
    Tensor x = this->Eighths({n}, 1);
    const Tensor gradient = this->Eighths({n}, 2);
    x.mutable_flat<float>()[0] = -0.0f;
    x.mutable_flat<float>()[n / 2] = kNaN;
    x.mutable_flat<float>()[n - 1] = kInfinity;
    for (const std::string op :
         {"Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign"}) {
      this->ExpectRoundedOnce(op, {x});
      this->ExpectRoundedOnce(op + "Grad", {gradient, x});
    }
    // As in TensorFlow, alpha is rounded to the type.
    const AttrMap attrs = {{"alpha", static_cast<float>(TypeParam(0.2f))}};
    this->ExpectRoundedOnce("LeakyRelu", {x}, attrs);
    this->ExpectRoundedOnce("LeakyReluGrad", {gradient, x}, attrs);
    for (const char* op : {"LeakyRelu", "LeakyReluGrad"}) {
      std::vector<KernelInput> inputs, same;
      if (op == std::string("LeakyReluGrad")) {
        inputs.emplace_back(this->Narrow(gradient));
        same.emplace_back(this->Narrow(gradient));
      }
      inputs.emplace_back(this->Narrow(x));
      same.emplace_back(this->Narrow(x));
      ASSERT_OK_AND_ASSIGN(
          const Tensor by_default,
          this->harness_.RunOne(op, std::move(inputs), {{"alpha", 0.2f}}));
      ASSERT_OK_AND_ASSIGN(const Tensor by_nearest,
                           this->harness_.RunOne(op, std::move(same), attrs));
      this->ExpectSame(by_default, by_nearest);
    }
  }
}

TYPED_TEST(NarrowKernelsTest, Biases) {
  for (const int64_t channels : {1, 7, 255, 511, 512, 513, 1100}) {
    for (const int64_t rows : {1, 3, 80, 257, 600}) {
      const Tensor x = this->Eighths({rows, channels}, 1);
      this->ExpectRoundedOnce("BiasAdd", {x, this->Eighths({channels}, 2)});
      this->ExpectRoundedOnce("BiasAddGrad", {x});
    }
  }
}

TYPED_TEST(NarrowKernelsTest, Pools) {
  struct Case {
    int64_t size, stride;
    std::string padding;
  };
  for (const auto& [size, stride, padding] :
       std::vector<Case>{{2, 2, "VALID"}, {3, 2, "SAME"}, {3, 1, "SAME"}}) {
    const AttrMap attrs = {
        {"ksize", std::vector<int64_t>{1, size, size, 1}},
        {"strides", std::vector<int64_t>{1, stride, stride, 1}},
        {"padding", padding}};
    for (const int64_t channels : {1, 5, 33}) {
      const Tensor x = this->Eighths({3, 9, 8, channels}, 1);
      this->ExpectRoundedOnce("MaxPool", {x}, attrs);
      this->ExpectRoundedOnce("AvgPool", {x}, attrs);
      ASSERT_OK_AND_ASSIGN(const Tensor y,
                           this->harness_.RunOne("MaxPool", {x}, attrs));
      const Tensor gradient = this->Eighths(y.shape(), 2);
      // The inputs are few multiples of 1/8, so sums are exact.
      this->ExpectRoundedOnce("MaxPoolGrad", {x, y, gradient}, attrs);
      this->ExpectRoundedOnce(
          "AvgPoolGrad",
          {Tensor::Vector<int32_t>({3, 9, 8, static_cast<int32_t>(channels)}),
           gradient},
          attrs);
    }
  }
}

// The result of a window without any number above the lowest one.
TYPED_TEST(NarrowKernelsTest, MaxPoolOfNaNAndMinusInfinityIsLowest) {
  const AttrMap attrs = {{"ksize", std::vector<int64_t>{1, 1, 2, 1}},
                         {"strides", std::vector<int64_t>{1, 1, 2, 1}},
                         {"padding", std::string("VALID")}};
  const Tensor x = Tensor::FromValues<float>(
      TensorShape({1, 1, 6, 1}), {kNaN, kNaN, -kInfinity, -kInfinity, kNaN, 1});
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      this->harness_.RunOne("MaxPool", {this->Narrow(x)}, attrs));
  const auto lowest = static_cast<float>(LowestOf<TypeParam>());
  EXPECT_EQ(static_cast<float>(y.flat<TypeParam>()[0]), lowest);
  EXPECT_EQ(static_cast<float>(y.flat<TypeParam>()[1]), lowest);
  EXPECT_EQ(static_cast<float>(y.flat<TypeParam>()[2]), 1);
}

// 256 + 1 is not a bfloat16, and 2048 + 1 is not a half. Float sums rounded at
// the end would be larger.
TYPED_TEST(NarrowKernelsTest, OverlappingGradientsAreRoundedOneByOne) {
  const float large = std::is_same_v<TypeParam, half> ? 2048 : 256;
  const AttrMap attrs = {{"ksize", std::vector<int64_t>{1, 1, 3, 1}},
                         {"strides", std::vector<int64_t>{1, 1, 1, 1}},
                         {"padding", std::string("VALID")}};
  // Position 2 is the maximum of all three windows.
  const Tensor x =
      Tensor::FromValues<float>(TensorShape({1, 1, 5, 1}), {0, 1, 2, 1, 0});
  const Tensor y =
      Tensor::FromValues<float>(TensorShape({1, 1, 3, 1}), {2, 2, 2});
  const Tensor gradient =
      Tensor::FromValues<float>(TensorShape({1, 1, 3, 1}), {large, 1, 1});
  ASSERT_OK_AND_ASSIGN(
      const Tensor sums,
      this->harness_.RunOne(
          "MaxPoolGrad",
          {this->Narrow(x), this->Narrow(y), this->Narrow(gradient)}, attrs));
  EXPECT_EQ(static_cast<float>(sums.flat<TypeParam>()[2]), large);
}

TYPED_TEST(NarrowKernelsTest, Convolutions) {
  struct Case {
    TensorShape image, filter;
    int64_t stride, dilation;
    std::string padding;
  };
  for (const Case& c :
       std::vector<Case>{{{2, 9, 8, 3}, {3, 3, 3, 5}, 1, 1, "SAME"},
                         {{3, 12, 12, 16}, {3, 3, 16, 32}, 1, 1, "SAME"},
                         {{2, 13, 11, 32}, {3, 3, 32, 16}, 2, 1, "VALID"},
                         {{2, 12, 12, 16}, {3, 3, 16, 16}, 1, 2, "SAME"},
                         {{1, 7, 7, 64}, {1, 1, 64, 7}, 1, 1, "VALID"},
                         {{1, 5, 5, 1}, {5, 5, 1, 1}, 1, 1, "VALID"},
                         {{2, 8, 8, 8}, {3, 3, 4, 6}, 1, 1, "SAME"}}) {
    SCOPED_TRACE(c.image.ToString() + c.filter.ToString());
    const AttrMap attrs = {
        {"strides", std::vector<int64_t>{1, c.stride, c.stride, 1}},
        {"dilations", std::vector<int64_t>{1, c.dilation, c.dilation, 1}},
        {"padding", c.padding}};
    const auto sizes = [](const TensorShape& shape) {
      std::vector<int32_t> dims;
      for (const int64_t dim : shape.dims()) {
        dims.push_back(static_cast<int32_t>(dim));
      }
      return Tensor::Vector<int32_t>(dims);
    };
    const Tensor image = this->Eighths(c.image, 1);
    const Tensor filter = this->Eighths(c.filter, 2);
    this->ExpectRoundedOnce("Conv2D", {image, filter}, attrs);
    ASSERT_OK_AND_ASSIGN(
        const Tensor output,
        this->harness_.RunOne("Conv2D", {image, filter}, attrs));
    const Tensor gradient = this->Eighths(output.shape(), 3);
    this->ExpectRoundedOnce("Conv2DBackpropInput",
                            {sizes(c.image), filter, gradient}, attrs);
    this->ExpectRoundedOnce("Conv2DBackpropFilter",
                            {image, sizes(c.filter), gradient}, attrs);
  }
}

// Computes softmax step by step with the C library's functions, as described in
// softmax_kernels.cc.
template <typename T>
struct Steps {
  std::vector<float> shifted, exps;
  float sum = 0;

  explicit Steps(absl::Span<const T> row) {
    float max = -kInfinity;
    for (const T x : row) max = std::max<float>(max, x);
    for (const T x : row) shifted.push_back(T(x - max));
    for (const float x : shifted) exps.push_back(T(std::exp(x)));
    for (const float x : exps) sum += x;
  }
};

// Sums rounded at each step deviate from the exact sum, so the test allows a
// tolerance.
TYPED_TEST(NarrowKernelsTest, Softmaxes) {
  const double tolerance = std::is_same_v<TypeParam, half> ? 4e-3 : 4e-2;
  for (const int64_t classes : {1, 2, 10, 127, 512, 513, 1000}) {
    const Tensor x = this->Narrow(this->Eighths({5, classes}, 1));
    std::vector<int64_t> wanted;
    for (int64_t row = 0; row < 5; ++row) wanted.push_back(row * 7 % classes);
    ASSERT_OK_AND_ASSIGN(const Tensor shares,
                         this->harness_.RunOne("Softmax", {x}));
    ASSERT_OK_AND_ASSIGN(const Tensor logs,
                         this->harness_.RunOne("LogSoftmax", {x}));
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> losses,
        this->harness_.Run("SparseSoftmaxCrossEntropyWithLogits",
                           {x, Tensor::Vector<int64_t>(wanted)}));
    Tensor one_hot(x.dtype(), x.shape());
    for (int64_t row = 0; row < 5; ++row) {
      one_hot.mutable_flat<TypeParam>()[row * classes + wanted[row]] =
          TypeParam(1.0f);
    }
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> dense,
        this->harness_.Run("SoftmaxCrossEntropyWithLogits", {x, one_hot}));
    for (int64_t row = 0; row < 5; ++row) {
      const int64_t first = row * classes;
      const Steps<TypeParam> steps(x.flat<TypeParam>().subspan(first, classes));
      for (int64_t i = 0; i < classes; ++i) {
        const double share = steps.exps[i] / steps.sum;
        const auto value = [&](const Tensor& tensor) {
          return static_cast<double>(
              static_cast<float>(tensor.flat<TypeParam>()[first + i]));
        };
        ASSERT_NEAR(value(shares), share, tolerance * share);
        ASSERT_NEAR(value(logs), steps.shifted[i] - std::log(steps.sum),
                    tolerance * 10);
        const double gradient = share - (i == wanted[row] ? 1 : 0);
        ASSERT_NEAR(value(losses[1]), gradient, tolerance * (share + 0.1));
        ASSERT_EQ(value(losses[1]), value(dense[1]));
      }
      const double loss = std::log(steps.sum) - steps.shifted[wanted[row]];
      ASSERT_NEAR(static_cast<float>(losses[0].flat<TypeParam>()[row]), loss,
                  tolerance * 10);
      ASSERT_EQ(losses[0].flat<TypeParam>()[row].bits,
                dense[0].flat<TypeParam>()[row].bits);
    }
  }
}

TYPED_TEST(NarrowKernelsTest, NaNSpreadsToItsWholeRow) {
  Tensor x = this->Eighths({3, 40}, 1);
  x.mutable_flat<float>()[40 + 39] = kNaN;
  ASSERT_OK_AND_ASSIGN(const Tensor shares,
                       this->harness_.RunOne("Softmax", {this->Narrow(x)}));
  for (int64_t i = 0; i < 120; ++i) {
    EXPECT_EQ(std::isnan(static_cast<float>(shares.flat<TypeParam>()[i])),
              i / 40 == 1);
  }
}

}  // namespace
}  // namespace weft
