// Kernels of permutations: Transpose, InvertPermutation.
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

absl::Status CheckPermutation(const Dims& perm) {
  const int64_t rank = static_cast<int64_t>(perm.size());
  std::vector<bool> seen(rank, false);
  for (int64_t dim : perm) {
    if (dim < 0 || dim >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat(dim, " is out of range [0 .. ", rank, ")"));
    }
    seen[dim] = true;
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!seen[dim]) {
      return absl::InvalidArgumentError(absl::StrCat(
          dim, " is missing from {", absl::StrJoin(perm, ","), "}."));
    }
  }
  return absl::OkStatus();
}

// Returns whether only dimensions of size 1 move, so that elements stay in
// place.
bool KeepsOrder(const TensorShape& shape, const Dims& perm) {
  int64_t last = -1;
  for (int64_t dim : perm) {
    if (shape.dim(static_cast<int>(dim)) == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

class TransposeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& input = context.input(0).shape();
    ASSIGN_OR_RETURN(Dims perm, ReadPermutation(context));
    ElementPattern pattern;
    const Dims strides = PackedStrides(input.dims());
    for (int64_t dim : perm) {
      pattern.dims.push_back(input.dim(static_cast<int>(dim)));
      pattern.strides.push_back(strides[dim]);
    }
    TensorShape shape(pattern.dims);
    if (KeepsOrder(input, perm)) {
      ASSIGN_OR_RETURN(Tensor same,
                       context.TakeInput(0).Reshaped(std::move(shape)));
      context.SetOutput(0, std::move(same));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyFromPattern(context, context.input(0), pattern, *output);
  }

 private:
  static absl::StatusOr<Dims> ReadPermutation(OpKernelContext& context) {
    const Tensor& perm = context.input(1);
    const int rank = context.input(0).rank();
    if (perm.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "perm must be rank 1, got shape ", perm.shape().ToString()));
    }
    if (perm.num_elements() != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "transpose expects a vector of size ", rank,
          ". But input(1) is a vector of size ", perm.num_elements()));
    }
    ASSIGN_OR_RETURN(Dims values, IntegersOf(perm));
    RETURN_IF_ERROR(CheckPermutation(values));
    return values;
  }
};

template <typename T>
class InvertPermutationKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() != 1) {
      return absl::InvalidArgumentError(
          "invert_permutation expects a 1D vector.");
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    const absl::Span<const T> perm = input.flat<T>();
    const absl::Span<T> inverse = output->mutable_flat<T>();
    const T size = static_cast<T>(perm.size());
    std::fill(inverse.begin(), inverse.end(), T{-1});
    for (T i = 0; i < size; ++i) {
      const T place = perm[i];
      if (place < 0 || place >= size) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, " is not between 0 and ", size));
      }
      if (inverse[place] != T{-1}) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, " is duplicated in the input."));
      }
      inverse[place] = i;
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterArrayTransposeKernels(KernelRegistry& registry) {
  registry.Register<TransposeKernel>("Transpose");
  registry.Register<InvertPermutationKernel<int32_t>>(
      "InvertPermutation", {{"T", {DT_INT32}}}, true);
  registry.Register<InvertPermutationKernel<int64_t>>(
      "InvertPermutation", {{"T", {DT_INT64}}}, true);
}

}  // namespace weft
