#include "libs/kernels/cuda/broadcast_dims.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The size of dimension `i` from the innermost; 1 beyond the outermost.
int64_t SizeAt(const TensorShape& shape, int i) {
  return i < shape.rank() ? shape.dim(shape.rank() - 1 - i) : 1;
}

absl::Status TooManyDims(const TensorShape& out) {
  return absl::UnimplementedError(
      absl::StrCat("broadcasting to ", out.ToString(),
                   " needs more dimensions than GPU kernels support"));
}

}  // namespace

absl::StatusOr<cuda::Dims> BroadcastDims(
    absl::Span<const TensorShape* const> operands, const TensorShape& out) {
  cuda::Dims dims;
  std::array<bool, 3> moved{};
  std::array<int64_t, 3> strides = {1, 1, 1};
  for (int i = 0; i < out.rank(); ++i) {
    const int64_t size = SizeAt(out, i);
    if (size == 1) continue;
    std::array<bool, 3> moves{};
    for (size_t o = 0; o < operands.size(); ++o) {
      moves[o] = SizeAt(*operands[o], i) != 1;
    }
    if (dims.rank > 0 && moves == moved) {
      dims.sizes[dims.rank - 1] *= size;
    } else {
      if (dims.rank == cuda::kMostDims) return TooManyDims(out);
      dims.sizes[dims.rank] = size;
      for (size_t o = 0; o < operands.size(); ++o) {
        dims.strides[o][dims.rank] = moves[o] ? strides[o] : 0;
      }
      ++dims.rank;
    }
    for (size_t o = 0; o < operands.size(); ++o) {
      if (moves[o]) strides[o] *= size;
    }
    moved = moves;
  }
  return dims;
}

}  // namespace weft
