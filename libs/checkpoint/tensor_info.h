// TensorInfo describes one tensor of a checkpoint. It is a plain value, not
// thread-safe.
#ifndef WEFT_LIBS_CHECKPOINT_TENSOR_INFO_H_
#define WEFT_LIBS_CHECKPOINT_TENSOR_INFO_H_

#include <vector>

#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft::checkpoint {

struct TensorInfo {
  DataType dtype = DT_INVALID;  // as in the file, may be invalid
  TensorShape shape;            // of the whole tensor
  // The slices in which the tensor is stored. Empty if it is stored whole.
  std::vector<TensorSlice> slices;
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TENSOR_INFO_H_
