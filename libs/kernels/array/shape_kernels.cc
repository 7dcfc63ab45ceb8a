// Kernels of shapes: Shape, ShapeN, Size, Rank; and Reshape, ExpandDims,
// Squeeze and Bitcast, which forward the memory.
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

absl::Status WriteShape(const TensorShape& shape, Tensor& output) {
  if (output.dtype() == DT_INT64) {
    std::copy(shape.dims().begin(), shape.dims().end(),
              output.mutable_flat<int64_t>().begin());
    return absl::OkStatus();
  }
  absl::Span<int32_t> out = output.mutable_flat<int32_t>();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape output type is 32-bit but dim ", i, " is ",
                       shape.dim(i), "; ask for out_type int64"));
    }
    out[i] = static_cast<int32_t>(shape.dim(i));
  }
  return absl::OkStatus();
}

// Shape and ShapeN.
class ShapeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      const TensorShape& shape = context.input(i).shape();
      ASSIGN_OR_RETURN(Tensor * output,
                       context.AllocateOutput(i, {shape.rank()}));
      RETURN_IF_ERROR(WriteShape(shape, *output));
    }
    return absl::OkStatus();
  }
};

class SizeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const int64_t size = context.input(0).num_elements();
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {}));
    if (output->dtype() == DT_INT64) {
      output->mutable_scalar<int64_t>() = size;
      return absl::OkStatus();
    }
    if (size > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          "Number of elements was larger than representable by 32-bit output "
          "type; ask for out_type int64");
    }
    output->mutable_scalar<int32_t>() = static_cast<int32_t>(size);
    return absl::OkStatus();
  }
};

class RankKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {}));
    output->mutable_scalar<int32_t>() = context.input(0).rank();
    return absl::OkStatus();
  }
};

// Forwards input 0 with another shape of the same number of elements.
absl::Status HandOver(OpKernelContext& context, TensorShape shape) {
  ASSIGN_OR_RETURN(Tensor output,
                   context.TakeInput(0).Reshaped(std::move(shape)));
  context.SetOutput(0, std::move(output));
  return absl::OkStatus();
}

// The checked sizes of a Reshape.
struct RequestedShape {
  Dims dims;
  int unknown_index = -1;
  bool has_zero = false;
  int64_t product = 1;  // of the known sizes other than 0
};

absl::StatusOr<RequestedShape> ReadRequestedShape(const Tensor& sizes) {
  // A scalar counts as a vector of one size, as in old graphs.
  if (sizes.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sizes input must be 1-D, not ", sizes.shape().ToString()));
  }
  RequestedShape result;
  ASSIGN_OR_RETURN(result.dims, IntegersOf(sizes));
  for (int i = 0; i < static_cast<int>(result.dims.size()); ++i) {
    const int64_t size = result.dims[i];
    if (size == -1) {
      if (result.unknown_index >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Only one input size may be -1, not both ",
                         result.unknown_index, " and ", i));
      }
      result.unknown_index = i;
    } else if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Size ", i, " must be non-negative, not ", size));
    } else if (size == 0) {
      result.has_zero = true;
    } else if (__builtin_mul_overflow(result.product, size, &result.product)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape [", absl::StrJoin(result.dims, ","),
                       "] has too many elements"));
    }
  }
  return result;
}

// The missing size. Sizes of 0 on both sides cancel out, so that an empty
// tensor may be reshaped to [0,-1].
absl::StatusOr<int64_t> MissingSize(const TensorShape& input,
                                    const RequestedShape& requested) {
  int64_t elements = 1;
  bool some_zero = false;
  for (int64_t size : input.dims()) {
    if (size > 0 || !requested.has_zero) {
      elements *= size;
    } else {
      some_zero = true;
    }
  }
  const int64_t missing = elements / requested.product;
  if (!some_zero && missing * requested.product != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input to reshape is a tensor with ", elements,
                     " values, but the requested shape requires a multiple of ",
                     requested.product));
  }
  return missing;
}

class ReshapeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& input = context.input(0).shape();
    ASSIGN_OR_RETURN(RequestedShape requested,
                     ReadRequestedShape(context.input(1)));
    if (requested.unknown_index >= 0) {
      ASSIGN_OR_RETURN(requested.dims[requested.unknown_index],
                       MissingSize(input, requested));
    }
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(requested.dims));
    if (shape.num_elements() != input.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input to reshape is a tensor with ", input.num_elements(),
          " values, but the requested shape has ", shape.num_elements()));
    }
    return HandOver(context, std::move(shape));
  }
};

class ExpandDimsKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    TensorShape shape = context.input(0).shape();
    ASSIGN_OR_RETURN(Dims dim, IntegersOf(context.input(1)));
    if (dim.size() != 1) {
      return absl::InvalidArgumentError(
          "'dim' must be a tensor with a single value");
    }
    const int rank = shape.rank();
    if (dim[0] < -1 - rank || dim[0] > rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tried to expand dim index ", dim[0],
                       " for tensor with ", rank, " dimensions."));
    }
    if (rank == kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("ExpandDims: the tensor has ", rank,
                       " dimensions already, the most there can be"));
    }
    shape.InsertDim(static_cast<int>(dim[0] < 0 ? dim[0] + rank + 1 : dim[0]),
                    1);
    return HandOver(context, std::move(shape));
  }
};

class SqueezeKernel : public OpKernel {
 public:
  explicit SqueezeKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const auto* dims =
        construction.node().attr<std::vector<int64_t>>("squeeze_dims");
    if (dims != nullptr) squeeze_dims_ = *dims;
  }

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& input = context.input(0).shape();
    const int rank = input.rank();
    std::vector<bool> squeezed(rank, false);
    for (int64_t dim : squeeze_dims_) {
      if (dim < -rank || dim >= rank) {
        return absl::InvalidArgumentError(
            absl::StrCat("Tried to squeeze dim index ", dim,
                         " for tensor with ", rank, " dimensions."));
      }
      squeezed[dim < 0 ? dim + rank : dim] = true;
    }
    Dims dims;
    for (int i = 0; i < rank; ++i) {
      const int64_t size = input.dim(i);
      if (squeezed[i] && size != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("Can not squeeze dim[", i,
                         "], expected a dimension of 1, got ", size));
      }
      if (squeeze_dims_.empty() ? size != 1 : !squeezed[i]) {
        dims.push_back(size);
      }
    }
    return HandOver(context, TensorShape(dims));
  }

 private:
  std::vector<int64_t> squeeze_dims_;
};

class BitcastKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const DataType type = context.output_type(0);
    const Tensor input = context.TakeInput(0);
    ASSIGN_OR_RETURN(TensorShape shape, ShapeOf(input, type));
    // A row of a tensor may not be aligned for `type`.
    const bool is_aligned =
        reinterpret_cast<uintptr_t>(input.data()) % DataTypeSize(type) == 0;
    if (input.num_elements() > 0 && is_aligned) {
      const auto offset = static_cast<const char*>(input.data()) -
                          static_cast<const char*>(input.buffer()->data());
      context.SetOutput(
          0, Tensor::FromBuffer(type, std::move(shape), input.buffer(),
                                static_cast<size_t>(offset)));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (input.num_elements() > 0) {
      std::memcpy(output->mutable_data(), input.data(), input.num_bytes());
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<TensorShape> ShapeOf(const Tensor& input,
                                             DataType type) {
    const auto from = static_cast<int64_t>(DataTypeSize(input.dtype()));
    const auto to = static_cast<int64_t>(DataTypeSize(type));
    Dims dims(input.shape().dims().begin(), input.shape().dims().end());
    if (from > to) dims.push_back(from / to);
    if (from < to) {
      if (dims.empty() || dims.back() != to / from) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Cannot bitcast from ", input.dtype(), " to ", type, ": ",
            DataTypeName(type), " needs a last dimension of ", to / from,
            ", but the shape is ", input.shape().ToString()));
      }
      dims.pop_back();
    }
    return TensorShape::Create(dims);
  }
};

}  // namespace

void RegisterArrayShapeKernels(KernelRegistry& registry) {
  registry.Register<ShapeKernel>("Shape", {}, true);
  registry.Register<ShapeKernel>("ShapeN", {}, true);
  registry.Register<SizeKernel>("Size", {}, true);
  registry.Register<RankKernel>("Rank", {}, true);
  registry.Register<ReshapeKernel>("Reshape", {}, true);
  registry.Register<ExpandDimsKernel>("ExpandDims", {}, true);
  registry.Register<SqueezeKernel>("Squeeze", {}, true);
  registry.Register<BitcastKernel>("Bitcast", {}, true);
}

}  // namespace weft
