#include "libs/kernels/random/fill.h"

#include "libs/kernels/resource/variable_lookup.h"

namespace weft {

absl::StatusOr<TensorShape> ShapeFromTensor(const Tensor& tensor) {
  if (!tensor.shape().IsVector()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be a vector of {int32,int64}, got shape ",
                     tensor.shape().ToString()));
  }
  Dims dims(tensor.num_elements());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = IndexAt(tensor, i);
  return TensorShape::Create(dims);
}

absl::Status CheckScalarBound(const Tensor& tensor, absl::string_view name) {
  if (tensor.shape().IsScalar()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be 0-D, got shape ", tensor.shape().ToString()));
}

}  // namespace weft
