// Checks the inputs of Split and SplitV on CPUs and GPUs. Errors are
// INVALID_ARGUMENT, with TensorFlow's texts.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SPLIT_PIECES_H_
#define WEFT_LIBS_KERNELS_ARRAY_SPLIT_PIECES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/tensor.h"

namespace weft {

// The dimension to split, and the sizes of the pieces.
struct Pieces {
  int axis = 0;
  Dims sizes;
  std::vector<TensorShape> shapes;
};
absl::StatusOr<Pieces> PiecesOfSplit(const OpKernelContext& context);
absl::StatusOr<Pieces> PiecesOfSplitV(const OpKernelContext& context);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SPLIT_PIECES_H_
