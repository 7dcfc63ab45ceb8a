// Tensors of every dtype for tests that loop over dtypes.
#ifndef WEFT_LIBS_TENSOR_TESTING_SAMPLE_TENSOR_H_
#define WEFT_LIBS_TENSOR_TESTING_SAMPLE_TENSOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

// All types that a Tensor can hold.
inline std::vector<DataType> SupportedTypes() {
  std::vector<DataType> types;
  for (int number = 0; number < 200; ++number) {
    const auto type = static_cast<DataType>(number);
    if (IsSupportedType(type)) types.push_back(type);
  }
  return types;
}

// Neighboring elements differ; deterministic for the same arguments.
inline Tensor SampleTensor(DataType dtype, const TensorShape& shape) {
  Tensor tensor(dtype, shape);
  const int64_t count = tensor.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const auto text = absl::StrCat("element ", i);
    if (dtype == DT_STRING) {
      tensor.mutable_flat<std::string>()[i] = text;
    } else if (dtype == DT_RESOURCE) {
      tensor.mutable_flat<ResourceHandle>()[i] = {
          "/job:ps/task:0", "ps", text, "Var", DT_FLOAT, PartialShape({-1, i})};
    } else if (dtype == DT_VARIANT) {
      tensor.mutable_flat<Variant>()[i] = {
          text, std::string("\0meta", 5),
          std::make_shared<const std::vector<Tensor>>(
              std::vector<Tensor>{Tensor::Scalar<int64_t>(i), Tensor()})};
    } else if (dtype == DT_BOOL) {
      tensor.mutable_flat<bool>()[i] = i % 2 == 1;
    } else {
      const size_t size = DataTypeSize(dtype);
      auto* bytes = static_cast<uint8_t*>(tensor.mutable_data()) + i * size;
      for (size_t b = 0; b < size; ++b) {
        bytes[b] = static_cast<uint8_t>(i * 7 + b + 1);
      }
    }
  }
  return tensor;
}

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TESTING_SAMPLE_TENSOR_H_
