#include "libs/kernels/array/nd_indices.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"

namespace weft {
namespace {

using Integers = TypeList<int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t>;

// Returns the number of the slice that a tuple selects, or -1 if the tuple is
// out of range.
template <typename T>
int64_t SliceOf(const TensorShape& shape, absl::Span<const T> index) {
  int64_t slice = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t size = shape.dim(static_cast<int>(d));
    const int64_t at = index[d];
    if (at < 0 || at >= size) return -1;
    slice = slice * size + at;
  }
  return slice;
}

// Returns a description of tuple i: "[1,0] = [7, 8]".
template <typename T>
std::string Tuple(TensorShape indices, int64_t i, absl::Span<const T> index) {
  indices.RemoveDim(indices.rank() - 1);
  return absl::StrCat("indices", CoordinatesOf(indices, i), " = [",
                      absl::StrJoin(index, ", "), "]");
}

// `where` describes the target of an out-of-range tuple in the error.
template <typename T>
absl::Status FindNumbers(const TensorShape& shape, const Tensor& indices,
                         bool ignores_bad,
                         absl::FunctionRef<std::string()> where,
                         NdSlices& result) {
  const int64_t depth = indices.dim(indices.rank() - 1);
  result.numbers.reserve(result.count);
  for (int64_t i = 0; i < result.count; ++i) {
    const auto index = indices.flat<T>().subspan(i * depth, depth);
    const int64_t slice = SliceOf(shape, index);
    if (slice < 0 && !ignores_bad) {
      return absl::InvalidArgumentError(absl::StrCat(
          Tuple(indices.shape(), i, index), " does not index into ", where()));
    }
    result.numbers.push_back(slice);
  }
  return absl::OkStatus();
}

absl::StatusOr<NdSlices> FindSlices(HeapCharge& charge,
                                    const TensorShape& shape,
                                    const Tensor& indices, bool ignores_bad,
                                    absl::FunctionRef<std::string()> where) {
  const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
  NdSlices result;
  for (int i = depth; i < shape.rank(); ++i) result.inner *= shape.dim(i);
  // Empty tuples of an empty tensor, of which there may be many, need no check
  // and no copy.
  if (depth == 0 && result.inner == 0) return result;
  result.count = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) result.count *= indices.dim(i);
  if (depth == 0) return result;
  RETURN_IF_ERROR(
      charge.AddObjects(static_cast<size_t>(result.count), sizeof(int64_t)));
  RETURN_IF_ERROR(
      DispatchType(Integers{}, indices.dtype(), [&]<typename T>(TypeTag<T>) {
        return FindNumbers<T>(shape, indices, ignores_bad, where, result);
      }));
  return result;
}

absl::Status CheckGathered(const TensorShape& params,
                           const TensorShape& indices) {
  if (params.rank() < 1) {
    return absl::InvalidArgumentError("params must be at least a vector");
  }
  if (indices.rank() < 1) {
    return absl::InvalidArgumentError("indices must be at least a vector");
  }
  if (indices.dim(indices.rank() - 1) > params.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index innermost dimension length must be <= params rank; saw: ",
        indices.dim(indices.rank() - 1), " vs. ", params.rank()));
  }
  return absl::OkStatus();
}

absl::Status CheckUpdateShape(const TensorShape& target,
                              const TensorShape& indices,
                              const TensorShape& updates) {
  const int outer = indices.rank() - 1;
  const int depth = static_cast<int>(indices.dim(outer));
  bool matches = updates.rank() == outer + target.rank() - depth;
  for (int i = 0; matches && i < updates.rank(); ++i) {
    matches = updates.dim(i) ==
              (i < outer ? indices.dim(i) : target.dim(i - outer + depth));
  }
  if (matches) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Dimensions [0,", outer, ") of indices[shape=", indices.ToString(),
      "] must match dimensions [0,", outer, ") of updates[shape=",
      updates.ToString(), "], and dimensions [", depth, ",", target.rank(),
      ") of input[shape=", target.ToString(), "] the rest of updates"));
}

absl::Status CheckScattered(const TensorShape& target,
                            const TensorShape& indices,
                            const TensorShape& updates) {
  if (target.rank() < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Output must be at least 1-D, got shape: ", target.ToString()));
  }
  if (indices.rank() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Indices shape must have rank at least one. Found:",
                     indices.ToString()));
  }
  if (indices.dim(indices.rank() - 1) > target.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The inner dimension of indices ", indices.dim(indices.rank() - 1),
        " must be at most the rank of the output ", target.rank()));
  }
  if (target.num_elements() == 0 &&
      (indices.num_elements() > 0 || updates.num_elements() > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Indices and updates specified for empty output.  indices shape: ",
        indices.ToString()));
  }
  return CheckUpdateShape(target, indices, updates);
}

}  // namespace

bool IgnoresBadIndices(const OpKernelConstruction& construction) {
  const std::string* policy =
      construction.node().attr<std::string>("bad_indices_policy");
  return policy != nullptr && *policy == "IGNORE";
}

absl::StatusOr<TensorShape> ShapeOfSlices(const TensorShape& params,
                                          const TensorShape& indices) {
  RETURN_IF_ERROR(CheckGathered(params, indices));
  const int64_t depth = indices.dim(indices.rank() - 1);
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), params.dims().begin() + depth, params.dims().end());
  return TensorShape::Create(dims);
}

absl::StatusOr<NdSlices> SlicesToGather(HeapCharge& charge,
                                        const TensorShape& params,
                                        const Tensor& indices, bool ignores_bad,
                                        const std::string& node) {
  return FindSlices(charge, params, indices, ignores_bad, [&] {
    return absl::StrCat("param shape ", params.ToString(),
                        ", node name: ", node);
  });
}

absl::StatusOr<NdSlices> SlicesToScatter(HeapCharge& charge,
                                         const TensorShape& target,
                                         const Tensor& indices,
                                         const TensorShape& updates,
                                         bool ignores_bad) {
  RETURN_IF_ERROR(CheckScattered(target, indices.shape(), updates));
  return FindSlices(charge, target, indices, ignores_bad,
                    [&] { return absl::StrCat("shape ", target.ToString()); });
}

}  // namespace weft
