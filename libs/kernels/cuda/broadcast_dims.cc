#include "libs/kernels/cuda/broadcast_dims.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The size of dimension `i` from the innermost; 1 beyond the outermost.
int64_t SizeAt(const TensorShape& shape, int i) {
  return i < shape.rank() ? shape.dim(shape.rank() - 1 - i) : 1;
}

}  // namespace

absl::StatusOr<cuda::Dims> BroadcastDims(const TensorShape& x,
                                         const TensorShape& y,
                                         const TensorShape& out) {
  cuda::Dims dims;
  bool moves_before[2] = {false, false};
  int64_t strides[2] = {1, 1};
  for (int i = 0; i < out.rank(); ++i) {
    const int64_t size = SizeAt(out, i);
    const int64_t sizes[2] = {SizeAt(x, i), SizeAt(y, i)};
    const bool moves[2] = {sizes[0] != 1, sizes[1] != 1};
    if (size == 1) continue;
    const bool joins = dims.rank > 0 && moves[0] == moves_before[0] &&
                       moves[1] == moves_before[1];
    if (joins) {
      dims.sizes[dims.rank - 1] *= size;
    } else {
      if (dims.rank == cuda::kMostDims) {
        return absl::UnimplementedError(absl::StrCat(
            "broadcasting between ", x.ToString(), " and ", y.ToString(),
            " takes more dimensions than GPUs are given"));
      }
      dims.sizes[dims.rank] = size;
      for (int o = 0; o < 2; ++o) {
        dims.strides[o][dims.rank] = moves[o] ? strides[o] : 0;
      }
      ++dims.rank;
    }
    for (int o = 0; o < 2; ++o) {
      moves_before[o] = moves[o];
      strides[o] *= sizes[o];
    }
  }
  return dims;
}

}  // namespace weft
