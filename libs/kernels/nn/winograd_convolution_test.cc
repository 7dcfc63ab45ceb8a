// Compares Winograd convolutions and their gradients with sums in double.
#include "libs/kernels/nn/winograd_convolution.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/nn/testing/random_shapes.h"

namespace weft {
namespace {

class WinogradConvolutionTest : public RandomShapesTest {
 protected:
  struct Shapes {
    TensorShape image, filter;
    int64_t above = 0, below = 0, left = 0, right = 0;  // padding

    std::string text() const {
      return absl::StrCat(" of ", image.ToString(), " by ", filter.ToString(),
                          " padded by ", above, ", ", below, ", ", left, ", ",
                          right);
    }
    AttrMap attrs() const {
      return {
          {"strides", List{1, 1, 1, 1}},
          {"padding", "EXPLICIT"},
          {"explicit_paddings", List{0, 0, above, below, left, right, 0, 0}}};
    }
    Convolution convolution() const {
      Convolution c;
      c.batch = image.dim(0);
      c.channels = c.depth = image.dim(3);
      c.filters = filter.dim(3);
      c.rows = {.in = image.dim(1), .size = filter.dim(0), .pad = above};
      c.rows.out = c.rows.in + above + below - c.rows.size + 1;
      c.columns = {.in = image.dim(2), .size = filter.dim(1), .pad = left};
      c.columns.out = c.columns.in + left + right - c.columns.size + 1;
      return c;
    }
  };

  static Shapes Same(const TensorShape& image, const TensorShape& filter) {
    Shapes shapes = {image, filter};
    shapes.above = (filter.dim(0) - 1) / 2;
    shapes.below = filter.dim(0) / 2;
    shapes.left = shapes.right = filter.dim(1) / 2;
    return shapes;
  }

  // Returns numbers that are not multiples of small powers of two, so that
  // results are rounded.
  Tensor Rough(const TensorShape& shape) {
    Tensor x = Numbers(shape);
    for (float& number : x.mutable_flat<float>()) number = std::sin(number);
    return x;
  }

  // A convolution or gradient with its inputs.
  struct Case {
    const char* op;
    ConvolutionPass pass;
    std::vector<Tensor> inputs;
  };
  std::vector<Case> CasesOf(const Shapes& shapes) {
    const Tensor x = Rough(shapes.image), w = Rough(shapes.filter);
    const Tensor gradient = Rough(shapes.convolution().output_shape());
    return {{"Conv2D", ConvolutionPass::kForward, {x, w}},
            {"Conv2DBackpropInput",
             ConvolutionPass::kInput,
             {SizesOf(shapes.image), w, gradient}},
            {"Conv2DBackpropFilter",
             ConvolutionPass::kFilter,
             {x, SizesOf(shapes.filter), gradient}}};
  }

  absl::StatusOr<Tensor> Run(const Case& a_case, const Shapes& shapes) {
    std::vector<KernelInput> inputs(a_case.inputs.begin(), a_case.inputs.end());
    return harness_.RunOne(a_case.op, inputs, shapes.attrs());
  }
  absl::StatusOr<Tensor> RunInDouble(const Case& a_case, const Shapes& shapes) {
    std::vector<KernelInput> inputs;
    for (const Tensor& input : a_case.inputs) {
      inputs.emplace_back(input.dtype() == DT_FLOAT ? ToDouble(input) : input);
    }
    return harness_.RunOne(a_case.op, inputs, shapes.attrs());
  }

  // Checks that `got` is as close as sums of so many products can be, relative
  // to their size, and infinite where `wanted` is. Returns the number of finite
  // results.
  int64_t ExpectNear(const Tensor& got, const Tensor& wanted,
                     const std::string& what) {
    double squares = 0;
    int64_t num_finite = 0;
    for (const double number : wanted.flat<double>()) {
      if (!std::isfinite(number)) continue;
      squares += number * number;
      ++num_finite;
    }
    const double size = std::sqrt(squares / static_cast<double>(num_finite));
    int64_t num_far = 0;
    for (int64_t i = 0; i < wanted.num_elements(); ++i) {
      const double number = wanted.flat<double>()[i];
      const float other = got.flat<float>()[i];
      const bool is_near = std::isfinite(number)
                               ? std::abs(other - number) <= 4e-5 * size
                               : !std::isfinite(other);
      if (!is_near) ++num_far;
    }
    EXPECT_EQ(num_far, 0) << what;
    return num_finite;
  }

  // Checks all passes. Returns how many of them used Winograd.
  int ExpectAllAsInDouble(const Shapes& shapes) {
    int num_winograd = 0;
    for (const Case& a_case : CasesOf(shapes)) {
      const std::string what = a_case.op + shapes.text();
      if (IsBestWinograd(shapes.convolution().Flattened(), a_case.pass)) {
        ++num_winograd;
      }
      const auto got = Run(a_case, shapes),
                 wanted = RunInDouble(a_case, shapes);
      EXPECT_OK(got.status()) << what;
      EXPECT_OK(wanted.status()) << what;
      if (!got.ok() || !wanted.ok()) return 0;
      EXPECT_EQ(got->shape(), wanted->shape()) << what;
      ExpectNear(*got, *wanted, what);
    }
    return num_winograd;
  }
};

TEST_F(WinogradConvolutionTest, SumsMatchDouble) {
  int num_winograd = 0;
  for (int i = 0; i < 40; ++i) {
    Shapes shapes;
    const int64_t columns = OneOf({3, 5});
    shapes.image = {Draw(1, 9), Draw(5, 20), Draw(columns, 30),
                    OneOf({16, 17, 31, 32, 40})};
    shapes.filter = {Draw(1, 5), columns, shapes.image.dim(3),
                     OneOf({16, 18, 33, 48, 70})};
    shapes.above = Draw(0, shapes.filter.dim(0) - 1);
    shapes.below = Draw(0, shapes.filter.dim(0) - 1);
    shapes.left = Draw(0, columns - 1);
    shapes.right = Draw(0, columns - 1);
    num_winograd += ExpectAllAsInDouble(shapes);
  }
  EXPECT_GE(num_winograd, 60);
}

// A block contains several images, and a part has an odd remainder.
TEST_F(WinogradConvolutionTest, ImagesMayHaveOneRowOrColumn) {
  int num_winograd = 0;
  for (const int64_t batch : {64, 131}) {
    for (const int64_t columns : {3, 5}) {
      // Rows 0 and 2 of the filter lie outside the image.
      num_winograd +=
          ExpectAllAsInDouble(Same({batch, 1, 16, 24}, {3, columns, 24, 40}));
      num_winograd +=
          ExpectAllAsInDouble(Same({batch, 4, 4, 24}, {3, columns, 24, 40}));
      // A long sentence: a row of taps, flattened from a column.
      num_winograd +=
          ExpectAllAsInDouble(Same({batch, 50, 1, 64}, {columns, 1, 64, 66}));
    }
  }
  EXPECT_GE(num_winograd, 24);
}

// Tests an infinite number, and one too large for the transforms.
TEST_F(WinogradConvolutionTest, NonFiniteValuesStayInTheirWindows) {
  const Shapes shapes = Same({2, 17, 20, 16}, {3, 3, 16, 24});
  for (const float value : {std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 2e38f}) {
    for (Case a_case : CasesOf(shapes)) {
      ASSERT_TRUE(IsBestWinograd(shapes.convolution(), a_case.pass));
      // Modifies the image, or the gradient.
      Tensor& operand =
          a_case.inputs[a_case.pass == ConvolutionPass::kInput ? 2 : 0];
      operand = Rough(operand.shape());  // not shared with other cases
      for (float& number : operand.mutable_flat<float>()) number /= 1024;
      operand.mutable_flat<float>()[operand.num_elements() / 2 + 99] = value;
      ASSERT_OK_AND_ASSIGN(const Tensor got, Run(a_case, shapes));
      ASSERT_OK_AND_ASSIGN(const Tensor wanted, RunInDouble(a_case, shapes));
      ASSERT_EQ(got.shape(), wanted.shape());
      const int64_t num_finite = ExpectNear(
          got, wanted, absl::StrCat(a_case.op, shapes.text(), " ", value));
      EXPECT_GT(num_finite, 0) << a_case.op;
    }
  }
}

TEST_F(WinogradConvolutionTest, BitsDoNotDependOnThreads) {
  const SystemClock clock;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  for (const int threads : {1, 2, 5}) {
    schedulers.push_back(
        NewThreadScheduler(clock, {.compute_threads = threads}));
  }
  // The last case is one block whose filters are split over several threads.
  for (const Shapes& shapes : {Same({9, 23, 21, 19}, {3, 3, 19, 35}),
                               Same({9, 23, 21, 19}, {3, 5, 19, 35}),
                               Same({1, 14, 14, 160}, {3, 3, 160, 200})}) {
    for (const Case& a_case : CasesOf(shapes)) {
      EXPECT_TRUE(IsBestWinograd(shapes.convolution(), a_case.pass));
      Tensor first;
      for (int i = 0; i < 9; ++i) {
        harness_.set_scheduler(*schedulers[i % 3]);
        ASSERT_OK_AND_ASSIGN(const Tensor got, Run(a_case, shapes));
        if (i == 0) first = got;
        EXPECT_TRUE(SameBits(got, first)) << a_case.op << i % 3;
      }
    }
  }
}

// Other convolutions are exact for numbers with few binary digits.
TEST_F(WinogradConvolutionTest, TurningItOffGivesExactSums) {
  const Shapes shapes = Same({2, 17, 20, 16}, {3, 3, 16, 24});
  const Case a_case = {"Conv2D",
                       ConvolutionPass::kForward,
                       {Numbers(shapes.image), Numbers(shapes.filter)}};
  ASSERT_OK_AND_ASSIGN(const Tensor wanted, RunInDouble(a_case, shapes));
  const auto is_exact = [&] {
    const auto got = Run(a_case, shapes);
    EXPECT_OK(got.status());
    return got.ok() && SameBits(ToDouble(*got), wanted);
  };
  EXPECT_FALSE(is_exact());
  setenv("WEFT_WINOGRAD", "off", 1);
  EXPECT_TRUE(is_exact());
  unsetenv("WEFT_WINOGRAD");
}

}  // namespace
}  // namespace weft
