// Kernels that repeat elements: Tile and BroadcastTo.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

class TileKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Dims multiples, Multiples(context));
    Dims dims(input.shape().dims().begin(), input.shape().dims().end());
    bool unchanged = true;
    for (size_t i = 0; i < dims.size(); ++i) {
      unchanged &= multiples[i] == 1;
      if (__builtin_mul_overflow(dims[i], multiples[i], &dims[i])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Tile: size ", i, " of the result has too many elements"));
      }
    }
    if (unchanged) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyFromPattern(context, input, Repeated(input.shape(), multiples),
                           *output);
  }

 private:
  static absl::StatusOr<Dims> Multiples(OpKernelContext& context) {
    const Tensor& multiples = context.input(1);
    if (multiples.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected multiples to be 1-D, but got shape ",
                       multiples.shape().ToString()));
    }
    if (multiples.num_elements() != context.input(0).rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected multiples argument to be a vector of length ",
          context.input(0).rank(), " but got length ", multiples.dim(0)));
    }
    ASSIGN_OR_RETURN(Dims values, IntegersOf(multiples));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Expected multiples[", i, "] >= 0, but got ", values[i]));
      }
    }
    return values;
  }

  // Repeats each dimension by an additional outer dimension of stride 0.
  static ElementPattern Repeated(const TensorShape& shape,
                                 const Dims& multiples) {
    ElementPattern pattern;
    const Dims strides = PackedStrides(shape.dims());
    for (int i = 0; i < shape.rank(); ++i) {
      pattern.dims.push_back(multiples[i]);
      pattern.strides.push_back(0);
      pattern.dims.push_back(shape.dim(i));
      pattern.strides.push_back(strides[i]);
    }
    return pattern;
  }
};

class BroadcastToKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& sizes = context.input(1);
    if (sizes.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape must be a vector, got shape ", sizes.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims dims, IntegersOf(sizes));
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    RETURN_IF_ERROR(CheckBroadcasts(input.shape(), shape));
    if (shape == input.shape()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyFromPattern(context, input,
                           BroadcastPattern(input.shape().dims(), shape.dims()),
                           *output);
  }

 private:
  static absl::Status CheckBroadcasts(const TensorShape& from,
                                      const TensorShape& to) {
    if (from.rank() > to.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Rank of input (", from.rank(),
          ") must be no greater than rank of output shape (", to.rank(), ")."));
    }
    const int extra = to.rank() - from.rank();
    for (int i = 0; i < from.rank(); ++i) {
      if (from.dim(i) != 1 && from.dim(i) != to.dim(extra + i)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Incompatible shapes: ", from.ToString(), " vs. ", to.ToString()));
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterArrayTileKernels(KernelRegistry& registry) {
  registry.Register<TileKernel>("Tile");
  registry.Register<BroadcastToKernel>("BroadcastTo");
}

}  // namespace weft
