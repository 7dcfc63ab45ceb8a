// MadeUpShapesTest: shapes and numbers that a seed draws, for tests of kernels
// over images.
#ifndef WEFT_LIBS_KERNELS_NN_TESTING_MADE_UP_SHAPES_H_
#define WEFT_LIBS_KERNELS_NN_TESTING_MADE_UP_SHAPES_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {

using List = std::vector<int64_t>;

// Draws shapes and numbers from a seed of its own for each test.
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

  const std::unique_ptr<Random> random_ = NewSeededRandom(7);
  KernelTestHarness harness_;
};

// As an op takes a shape.
inline Tensor SizesOf(const TensorShape& shape) {
  Tensor sizes(DT_INT32, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    sizes.mutable_flat<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
  }
  return sizes;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_TESTING_MADE_UP_SHAPES_H_
