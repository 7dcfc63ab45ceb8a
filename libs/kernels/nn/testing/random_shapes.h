// RandomShapesTest generates random shapes and numbers from a seed, for tests
// of kernels on images.
#ifndef WEFT_LIBS_KERNELS_NN_TESTING_RANDOM_SHAPES_H_
#define WEFT_LIBS_KERNELS_NN_TESTING_RANDOM_SHAPES_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/kernels/testing/random_tensors.h"

namespace weft {

using List = std::vector<int64_t>;

// Each test draws shapes and numbers from its own seed.
class RandomShapesTest : public testing::Test, public RandomTensors {
 protected:
  RandomShapesTest() : harness_(RegisterNnKernels) {}

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

  KernelTestHarness harness_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_TESTING_RANDOM_SHAPES_H_
