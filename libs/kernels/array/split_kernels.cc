// Kernels that cut tensors into pieces: Split, SplitV, Unpack.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

// Pieces of the first dimension, which share the memory where they are large
// enough to be worth it.
absl::Status CutRows(OpKernelContext& context, const Tensor& value,
                     const Dims& sizes,
                     const std::vector<TensorShape>& shapes) {
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor rows, value.SliceRows(begin, begin + sizes[i],
                                                  context.allocator()));
    ASSIGN_OR_RETURN(Tensor piece, rows.Reshaped(shapes[i]));
    context.SetOutput(static_cast<int>(i), std::move(piece));
    begin += sizes[i];
  }
  return absl::OkStatus();
}

// Pieces along `axis`, of `sizes`, in order; piece i has shape `shapes[i]`.
absl::Status Cut(OpKernelContext& context, const Tensor& value, int axis,
                 const Dims& sizes, const std::vector<TensorShape>& shapes) {
  if (axis == 0) return CutRows(context, value, sizes, shapes);
  int64_t before = 1, after = 1;
  for (int i = 0; i < axis; ++i) before *= value.dim(i);
  for (int i = axis + 1; i < value.rank(); ++i) after *= value.dim(i);
  const int64_t row = value.dim(axis) * after;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor * piece,
                     context.AllocateOutput(static_cast<int>(i), shapes[i]));
    const int64_t length = sizes[i] * after;
    for (int64_t r = 0; length > 0 && r < before; ++r) {
      CopyElements(value, r * row + begin, length, *piece, r * length);
    }
    begin += length;
  }
  return absl::OkStatus();
}

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

std::vector<TensorShape> PieceShapes(const TensorShape& whole, int axis,
                                     const Dims& sizes) {
  std::vector<TensorShape> shapes(sizes.size(), whole);
  for (size_t i = 0; i < sizes.size(); ++i) shapes[i].set_dim(axis, sizes[i]);
  return shapes;
}

class SplitKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(1);
    ASSIGN_OR_RETURN(int axis, ReadSplitDim(context.input(0), value.rank()));
    const int64_t size = value.dim(axis);
    const int count = context.num_outputs();
    if (size % count != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Number of ways to split should evenly divide the split dimension, "
          "but got split_dim ",
          axis, " (size = ", size, ") and num_split ", count));
    }
    if (count == 1) {
      context.SetOutput(0, context.TakeInput(1));
      return absl::OkStatus();
    }
    const Dims sizes(count, size / count);
    return Cut(context, value, axis, sizes,
               PieceShapes(value.shape(), axis, sizes));
  }
};

// `sizes` with the one that is -1 filled in.
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

class SplitVKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(0);
    const Tensor& splits = context.input(1);
    if (splits.rank() != 1 || splits.num_elements() != context.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "size of the split_tensor must be 1-D and have the same elements as "
          "outputs got ",
          splits.shape().ToString(), ", but expected ", context.num_outputs()));
    }
    ASSIGN_OR_RETURN(int axis, ReadSplitDim(context.input(2), value.rank()));
    ASSIGN_OR_RETURN(Dims sizes, IntegersOf(splits));
    ASSIGN_OR_RETURN(sizes, CompleteSizes(std::move(sizes), value.dim(axis)));
    return Cut(context, value, axis, sizes,
               PieceShapes(value.shape(), axis, sizes));
  }
};

class UnpackKernel : public OpKernel {
 public:
  explicit UnpackKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const int64_t* axis = construction.node().attr<int64_t>("axis");
    if (axis != nullptr) axis_ = *axis;
  }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(0);
    const int rank = value.rank();
    if (axis_ < -rank || axis_ >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis = ", axis_, " not in [", -rank, ", ", rank, ")"));
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    const int count = context.num_outputs();
    if (value.dim(axis) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input shape axis ", axis, " must equal ", count,
                       ", got shape ", value.shape().ToString()));
    }
    TensorShape each = value.shape();
    each.RemoveDim(axis);
    return Cut(context, value, axis, Dims(count, 1),
               std::vector<TensorShape>(count, each));
  }

 private:
  int64_t axis_ = 0;
};

}  // namespace

void RegisterArraySplitKernels(KernelRegistry& registry) {
  registry.Register<SplitKernel>("Split", {}, true);
  registry.Register<SplitVKernel>("SplitV", {}, true);
  registry.Register<UnpackKernel>("Unpack", {}, true);
}

}  // namespace weft
