#include "libs/kernels/array/split_pieces.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

absl::StatusOr<int> ReadSplitDim(const Tensor& split_dim, int rank) {
  if (split_dim.rank() > 1 || split_dim.num_elements() != 1) {
    return absl::InvalidArgumentError(
        "split_dim_tensor must have exactly one element.");
  }
  ASSIGN_OR_RETURN(Dims values, IntegersOf(split_dim));
  if (values[0] < -rank || values[0] >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("-input rank(-", rank, ") <= split_dim < input rank (",
                     rank, "), but got ", values[0]));
  }
  return static_cast<int>(values[0] < 0 ? values[0] + rank : values[0]);
}

Pieces PiecesAlong(const TensorShape& whole, int axis, Dims sizes) {
  Pieces pieces;
  pieces.axis = axis;
  pieces.shapes.assign(sizes.size(), whole);
  for (size_t i = 0; i < sizes.size(); ++i) {
    pieces.shapes[i].set_dim(axis, sizes[i]);
  }
  pieces.sizes = std::move(sizes);
  return pieces;
}

// `sizes` with -1 replaced by the remaining size.
absl::StatusOr<Dims> CompleteSizes(Dims sizes, int64_t whole) {
  int64_t sum = 0;
  int rest = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (rest >= 0) {
        return absl::InvalidArgumentError(
            "There can only be one -1 in the size_splits input.");
      }
      rest = static_cast<int>(i);
    } else if (sizes[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Split size at index ", i, " must be >= 0. Got: ", sizes[i]));
    } else if (__builtin_add_overflow(sum, sizes[i], &sum)) {
      return absl::InvalidArgumentError("The sizes in size_splits overflow.");
    }
  }
  if (rest >= 0 ? sum > whole : sum != whole) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Determined shape must either match input shape along split_dim "
        "exactly if fully specified, or be less than the size of the input "
        "along split_dim if not fully specified.  Got: ",
        sum));
  }
  if (rest >= 0) sizes[rest] = whole - sum;
  return sizes;
}

}  // namespace

absl::StatusOr<Pieces> PiecesOfSplit(const OpKernelContext& context) {
  const TensorShape& whole = context.input(1).shape();
  ASSIGN_OR_RETURN(const int axis,
                   ReadSplitDim(context.input(0), whole.rank()));
  const int64_t size = whole.dim(axis);
  const int count = context.num_outputs();
  if (size % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of ways to split should evenly divide the split dimension, "
        "but got split_dim ",
        axis, " (size = ", size, ") and num_split ", count));
  }
  return PiecesAlong(whole, axis, Dims(count, size / count));
}

absl::StatusOr<Pieces> PiecesOfSplitV(const OpKernelContext& context) {
  const TensorShape& whole = context.input(0).shape();
  const Tensor& splits = context.input(1);
  if (splits.rank() != 1 || splits.num_elements() != context.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "size of the split_tensor must be 1-D and have the same elements as "
        "outputs got ",
        splits.shape().ToString(), ", but expected ", context.num_outputs()));
  }
  ASSIGN_OR_RETURN(const int axis,
                   ReadSplitDim(context.input(2), whole.rank()));
  ASSIGN_OR_RETURN(Dims sizes, IntegersOf(splits));
  ASSIGN_OR_RETURN(sizes, CompleteSizes(std::move(sizes), whole.dim(axis)));
  return PiecesAlong(whole, axis, std::move(sizes));
}

}  // namespace weft
