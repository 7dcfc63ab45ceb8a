// ArrayKernelsTest is the fixture of the tests of array kernels.
#ifndef WEFT_LIBS_KERNELS_ARRAY_ARRAY_KERNELS_TEST_BASE_H_
#define WEFT_LIBS_KERNELS_ARRAY_ARRAY_KERNELS_TEST_BASE_H_

#include <string>
#include <utility>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {

class ArrayKernelsTest : public testing::Test {
 protected:
  // Returns the outputs, for example "[2,3] 1 2 3 4 5 6", or the error message.
  std::string Run(absl::string_view op, std::vector<KernelInput> inputs,
                  AttrMap attrs = {}) {
    absl::StatusOr<std::vector<Tensor>> outputs =
        harness_.Run(op, std::move(inputs), std::move(attrs));
    if (!outputs.ok()) {
      EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument)
          << outputs.status();
      return std::string(outputs.status().message());
    }
    std::string text;
    for (const Tensor& output : *outputs) {
      if (!text.empty()) text += " | ";
      text += Show(output);
    }
    return text;
  }

  static std::string Show(const Tensor& tensor) {
    std::string text = tensor.shape().ToString();
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      text += " " + Element(tensor, i);
    }
    return text;
  }

  static std::string Element(const Tensor& tensor, int64_t i) {
    switch (tensor.dtype()) {
      case DT_FLOAT:
        return absl::StrCat(tensor.flat<float>()[i]);
      case DT_DOUBLE:
        return absl::StrCat(tensor.flat<double>()[i]);
      case DT_INT32:
        return absl::StrCat(tensor.flat<int32_t>()[i]);
      case DT_INT64:
        return absl::StrCat(tensor.flat<int64_t>()[i]);
      case DT_BOOL:
        return tensor.flat<bool>()[i] ? "true" : "false";
      case DT_STRING:
        return tensor.flat<std::string>()[i];
      default:
        return "?";
    }
  }

  // 0, 1, 2, ... as int32.
  static Tensor Counting(const TensorShape& shape) {
    Tensor tensor(DT_INT32, shape);
    for (int32_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.mutable_flat<int32_t>()[i] = i;
    }
    return tensor;
  }
  static Tensor Floats(const TensorShape& shape,
                       std::initializer_list<float> values) {
    return Tensor::FromValues<float>(shape, values);
  }
  static Tensor Ints(std::initializer_list<int32_t> values) {
    return Tensor::Vector<int32_t>(values);
  }
  static Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
  static Tensor Strings(std::initializer_list<std::string> values) {
    return Tensor::Vector<std::string>(values);
  }
  // A tensor without elements.
  static Tensor Empty(const TensorShape& shape) {
    return Tensor(DT_FLOAT, shape);
  }

  KernelTestHarness harness_{RegisterArrayKernels};
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_ARRAY_KERNELS_TEST_BASE_H_
