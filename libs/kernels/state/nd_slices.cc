#include "libs/kernels/state/nd_slices.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// The division of a variable into slices by indices [..., depth].
struct Slices {
  TensorShape batch;  // of the indices without their last dimension
  int depth = 0;      // dimensions of the variable that an index names
  int64_t size = 1;   // elements of one slice
};

absl::Status WrongUpdates(const TensorShape& variable,
                          const TensorShape& indices,
                          const TensorShape& updates, const Slices& slices) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Must have updates.shape = indices.shape[:batch_dim] + "
      "params_shape[slice_dim:], got updates.shape: ",
      updates.ToString(), ", indices.shape: ", indices.ToString(),
      ", params_shape: ", variable.ToString(), ", slice_dim: ", slices.depth,
      ", and batch_dim: ", slices.batch.rank()));
}

absl::StatusOr<Slices> FindSlices(const TensorShape& variable,
                                  const TensorShape& indices,
                                  const TensorShape& updates) {
  if (indices.rank() < 1) {
    return absl::InvalidArgumentError(
        "Indices shape must have rank at least one");
  }
  Slices slices;
  slices.batch = indices;
  slices.batch.RemoveDim(indices.rank() - 1);
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > variable.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The inner ", depth, " dimensions of indices.shape ",
                     indices.ToString(), " index a variable of shape ",
                     variable.ToString()));
  }
  slices.depth = static_cast<int>(depth);
  TensorShape wanted = slices.batch;
  for (int d = slices.depth; d < variable.rank(); ++d) {
    slices.size *= variable.dim(d);
    wanted.AddDim(variable.dim(d));
  }
  if (wanted == updates) return slices;
  return WrongUpdates(variable, indices, updates, slices);
}

// The number of each selected slice.
absl::StatusOr<Dims> NumbersOf(HeapCharge& charge, const TensorShape& variable,
                               const Tensor& indices, const Slices& slices) {
  // Many empty indices of an empty variable: nothing needs a check or a change.
  if (slices.depth == 0 && slices.size == 0) return Dims();
  const auto count = static_cast<size_t>(slices.batch.num_elements());
  RETURN_IF_ERROR(charge.AddObjects(count, sizeof(int64_t)));
  Dims numbers(count);
  std::vector<int64_t> index(slices.depth);
  for (size_t i = 0; i < count; ++i) {
    bool inside = true;
    int64_t number = 0;
    for (int d = 0; d < slices.depth; ++d) {
      index[d] = IndexAt(indices, static_cast<int64_t>(i) * slices.depth + d);
      inside = inside && index[d] >= 0 && index[d] < variable.dim(d);
      if (inside) number = number * variable.dim(d) + index[d];
    }
    if (!inside) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices", ElementPosition(slices.batch, static_cast<int64_t>(i)),
          " = [", absl::StrJoin(index, ", "), "] does not index into shape ",
          variable.ToString()));
    }
    numbers[i] = number;
  }
  return numbers;
}

}  // namespace

absl::StatusOr<VariableSlices> FindVariableSlices(HeapCharge& charge,
                                                  const TensorShape& variable,
                                                  const Tensor& indices,
                                                  const TensorShape& updates) {
  ASSIGN_OR_RETURN(const Slices slices,
                   FindSlices(variable, indices.shape(), updates));
  VariableSlices result;
  ASSIGN_OR_RETURN(result.slices, NumbersOf(charge, variable, indices, slices));
  result.size = slices.size;
  return result;
}

}  // namespace weft
