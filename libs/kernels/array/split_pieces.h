// What Split and SplitV, for CPUs and for GPUs, find out from their inputs
// before they cut. Errors are INVALID_ARGUMENT, in TensorFlow's words.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SPLIT_PIECES_H_
#define WEFT_LIBS_KERNELS_ARRAY_SPLIT_PIECES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Along which dimension is cut, and what comes of it, in order.
struct Pieces {
  int axis = 0;
  Dims sizes;
  std::vector<TensorShape> shapes;
};
absl::StatusOr<Pieces> PiecesOfSplit(const OpKernelContext& context);
absl::StatusOr<Pieces> PiecesOfSplitV(const OpKernelContext& context);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SPLIT_PIECES_H_
