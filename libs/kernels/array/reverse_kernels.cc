// Kernels that reverse or rotate dimensions: Reverse, ReverseV2,
// ReverseSequence, Roll.
#include <algorithm>

#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/sequence_lengths.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Returns the pattern of the whole tensor with the marked dimensions reversed.
ElementPattern ReversedPattern(const TensorShape& shape,
                               const std::vector<bool>& reversed) {
  ElementPattern pattern;
  const Dims strides = PackedStrides(shape.dims());
  for (int i = 0; i < shape.rank(); ++i) {
    pattern.dims.push_back(shape.dim(i));
    pattern.strides.push_back(reversed[i] ? -strides[i] : strides[i]);
    if (reversed[i]) pattern.offset += (shape.dim(i) - 1) * strides[i];
  }
  return pattern;
}

absl::Status ReverseDims(OpKernelContext& context,
                         const std::vector<bool>& reversed) {
  const Tensor& input = context.input(0);
  if (std::find(reversed.begin(), reversed.end(), true) == reversed.end()) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
  return CopyFromPattern(context, input,
                         ReversedPattern(input.shape(), reversed), *output);
}

// The kernel of Reverse, whose second input marks the dimensions by bools.
class ReverseKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& dims = context.input(1);
    const int rank = context.input(0).rank();
    if (dims.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'dims' must be 1-dimension, not ", dims.rank()));
    }
    if (dims.num_elements() != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'dims' must have the same number of values as 'tensor' has "
          "dimensions. 'tensor' has ",
          rank, " 'dims' has ", dims.num_elements(), " values"));
    }
    const absl::Span<const bool> marks = dims.flat<bool>();
    return ReverseDims(context, std::vector<bool>(marks.begin(), marks.end()));
  }
};

// The kernel of ReverseV2, whose second input lists the dimensions.
class ReverseV2Kernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const int rank = context.input(0).rank();
    if (context.input(1).rank() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'dims' must be 1-dimension, not ", context.input(1).rank()));
    }
    ASSIGN_OR_RETURN(Dims axes, IntegersOf(context.input(1)));
    std::vector<bool> reversed(rank, false);
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank) {
        return absl::InvalidArgumentError(
            absl::StrCat("'axis'[", i, "] = ", axes[i],
                         " is out of valid range [", 0, ", ", rank - 1));
      }
      if (reversed[axis]) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", axis, " specified more than once."));
      }
      reversed[axis] = true;
    }
    return ReverseDims(context, reversed);
  }
};

class ReverseSequenceKernel : public OpKernel {
 public:
  explicit ReverseSequenceKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), dims_(SequenceDims::Read(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const Dims lengths, SequenceLengths(context, dims_));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, input));
    CopyElements(input, 0, input.num_elements(), *output, 0);
    for (size_t i = 0; i < lengths.size(); ++i) {
      RETURN_IF_ERROR(
          ReverseOne(context, static_cast<int64_t>(i), lengths[i], *output));
    }
    return absl::OkStatus();
  }

 private:
  // Reverses the first `length` steps of sequence `batch`.
  absl::Status ReverseOne(OpKernelContext& context, int64_t batch,
                          int64_t length, Tensor& output) const {
    if (length < 2 || output.num_elements() == 0) return absl::OkStatus();
    const int seq = static_cast<int>(dims_.step);
    const int fixed = static_cast<int>(dims_.sequence);
    const Dims strides = PackedStrides(output.shape().dims());
    ElementPattern to;
    to.dims.assign(output.shape().dims().begin(), output.shape().dims().end());
    to.dims[fixed] = 1;
    to.dims[seq] = length;
    to.strides = strides;
    to.offset = batch * strides[fixed];
    ElementPattern from = to;
    from.strides[seq] = -strides[seq];
    from.offset += (length - 1) * strides[seq];
    ASSIGN_OR_RETURN(
        Tensor reversed,
        context.AllocateTemp(output.dtype(), TensorShape(to.dims)));
    RETURN_IF_ERROR(CopyFromPattern(context.input(0), from, reversed));
    return CopyToPattern(reversed, to, output);
  }

  const SequenceDims dims_;
};

class RollKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckShapes(context));
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const Dims shifts, ShiftsOf(context));
    const auto turned = std::find_if(shifts.rbegin(), shifts.rend(),
                                     [](int64_t shift) { return shift != 0; });
    if (input.num_elements() == 0 || turned == shifts.rend()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, input));
    CopyRows(input, shifts, static_cast<int>(shifts.rend() - turned) - 1,
             *output);
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckShapes(const OpKernelContext& context) {
    if (context.input(0).rank() < 1) {
      return absl::InvalidArgumentError("input must be 1-D or higher");
    }
    for (const int i : {1, 2}) {
      const TensorShape& shape = context.input(i).shape();
      if (shape.rank() <= 1) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          i == 1 ? "shift" : "axis",
          " must be a scalar or a 1-D vector. Found: ", shape.ToString()));
    }
    if (!(context.input(1).shape() == context.input(2).shape())) {
      return absl::InvalidArgumentError(
          "shift and axis must have the same size");
    }
    return absl::OkStatus();
  }

  // Returns the shift of each dimension, reduced to less than the dimension's
  // size.
  static absl::StatusOr<Dims> ShiftsOf(const OpKernelContext& context) {
    const TensorShape& shape = context.input(0).shape();
    ASSIGN_OR_RETURN(const Dims shifts, IntegersOf(context.input(1)));
    ASSIGN_OR_RETURN(const Dims axes, IntegersOf(context.input(2)));
    Dims sums(shape.rank(), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + shape.rank() : axes[i];
      if (axis < 0 || axis >= shape.rank()) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", axes[i], " is out of range"));
      }
      const int64_t size =
          std::max<int64_t>(1, shape.dim(static_cast<int>(axis)));
      sums[axis] = (sums[axis] + shifts[i] % size + size) % size;
    }
    return sums;
  }

  // Copies the shifted rows. `last` is the last shifted dimension; its elements
  // are copied together, in two pieces.
  static void CopyRows(const Tensor& input, const Dims& shifts, int last,
                       Tensor& output) {
    const Dims strides = PackedStrides(input.shape().dims());
    const int64_t row = input.shape().dim(last) * strides[last];
    const int64_t shift = shifts[last] * strides[last];
    for (int64_t from = 0; from < input.num_elements(); from += row) {
      int64_t to = 0;
      for (int i = 0; i < last; ++i) {
        const int64_t size = input.shape().dim(i);
        const int64_t place = from / strides[i] % size;
        to += (place + shifts[i]) % size * strides[i];
      }
      CopyElements(input, from, row - shift, output, to + shift);
      CopyElements(input, from + row - shift, shift, output, to);
    }
  }
};

}  // namespace

void RegisterArrayReverseKernels(KernelRegistry& registry) {
  registry.Register<ReverseKernel>("Reverse");
  registry.Register<ReverseV2Kernel>("ReverseV2");
  registry.Register<ReverseSequenceKernel>("ReverseSequence");
  registry.Register<RollKernel>("Roll");
}

}  // namespace weft
