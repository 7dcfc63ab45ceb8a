// TensorInfo describes one tensor of a checkpoint. A value type, not
// thread-safe.
#ifndef WEFT_LIBS_CHECKPOINT_TENSOR_INFO_H_
#define WEFT_LIBS_CHECKPOINT_TENSOR_INFO_H_

#include <vector>

#include "libs/checkpoint/tensor_slice.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft::checkpoint {

struct TensorInfo {
  DataType dtype = DT_INVALID;  // any number that the file has
  TensorShape shape;            // of the whole tensor
  // Not empty: the tensor is stored in these slices.
  std::vector<TensorSlice> slices;
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TENSOR_INFO_H_
