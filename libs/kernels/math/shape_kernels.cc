// BroadcastArgs and BroadcastGradientArgs: arithmetic on shapes in tensors.
#include <algorithm>
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/tensor/shape.h"

namespace weft {
namespace {

using Sizes = absl::InlinedVector<int64_t, 8>;

template <typename T>
absl::StatusOr<Sizes> SizesOf(const Tensor& tensor, int index) {
  if (tensor.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "In[", index, "] must be a vector.", tensor.shape().ToString()));
  }
  const absl::Span<const T> sizes = tensor.flat<T>();
  return Sizes(sizes.begin(), sizes.end());
}

// The size of dimension i of `rank`, where missing dimensions have size 1.
int64_t SizeAt(const Sizes& sizes, size_t rank, size_t i) {
  const size_t missing = rank - sizes.size();
  return i < missing ? 1 : sizes[i - missing];
}

std::string ToString(const Sizes& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", sizes[i]);
  }
  return text + "]";
}

absl::StatusOr<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b) {
  const size_t rank = std::max(a.size(), b.size());
  Sizes result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = SizeAt(a, rank, i);
    const int64_t y = SizeAt(b, rank, i);
    if (x != y && x != 1 && y != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Incompatible shapes: ", ToString(a), " vs. ", ToString(b)));
    }
    result[i] = x == 1 ? y : x;
  }
  return result;
}

template <typename T>
absl::Status SetSizes(OpKernelContext& context, int output,
                      const Sizes& sizes) {
  ASSIGN_OR_RETURN(
      Tensor * out,
      context.AllocateOutput(
          output, TensorShape({static_cast<int64_t>(sizes.size())})));
  const absl::Span<T> values = out->mutable_flat<T>();
  for (size_t i = 0; i < sizes.size(); ++i) {
    values[i] = static_cast<T>(sizes[i]);
  }
  return absl::OkStatus();
}

template <typename T>
class BroadcastArgs : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Sizes a, SizesOf<T>(context.input(0), 0));
    ASSIGN_OR_RETURN(Sizes b, SizesOf<T>(context.input(1), 1));
    ASSIGN_OR_RETURN(Sizes result, BroadcastSizes(a, b));
    return SetSizes<T>(context, 0, result);
  }
};

// The dimensions along which an operand was repeated and its gradient is
// summed.
Sizes RepeatedDims(const Sizes& operand, size_t rank) {
  Sizes dims;
  for (size_t i = 0; i < rank; ++i) {
    if (SizeAt(operand, rank, i) == 1) dims.push_back(static_cast<int64_t>(i));
  }
  return dims;
}

template <typename T>
class BroadcastGradientArgs : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Sizes a, SizesOf<T>(context.input(0), 0));
    ASSIGN_OR_RETURN(Sizes b, SizesOf<T>(context.input(1), 1));
    ASSIGN_OR_RETURN(Sizes result, BroadcastSizes(a, b));
    const bool same = a == b;
    const size_t rank = result.size();
    RETURN_IF_ERROR(
        SetSizes<T>(context, 0, same ? Sizes() : RepeatedDims(a, rank)));
    return SetSizes<T>(context, 1, same ? Sizes() : RepeatedDims(b, rank));
  }
};

}  // namespace

void RegisterShapeArithmeticKernels(KernelRegistry& registry) {
  math::Types<int32_t, int64_t>::ForEach([&]<typename T>() {
    const DataType type = DataTypeOf<T>::value;
    registry.Register<BroadcastArgs<T>>("BroadcastArgs", {{"T", {type}}},
                                        /*is_cheap=*/true);
    registry.Register<BroadcastGradientArgs<T>>(
        "BroadcastGradientArgs", {{"T", {type}}}, /*is_cheap=*/true);
  });
}

}  // namespace weft
