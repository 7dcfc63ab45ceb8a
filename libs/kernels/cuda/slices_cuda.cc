// Slices, pads, tiles, reverses and OneHot on GPUs.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/slice_plan.h"
#include "libs/kernels/cuda/array.cu.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/patterns.h"
#include "libs/ops/array/strided_slice.h"

namespace weft {
namespace {

class SliceKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(
        const SliceBox box,
        ReadSliceBox(input.shape(), context.input(1), context.input(2)));
    const TensorShape shape(box.size);
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return FromPattern(context, input,
                       BoxPattern(input.shape(), box.begin,
                                  Dims(input.rank(), 1), shape.dims()),
                       *out);
  }
};

// StridedSlice and its gradient.
class StridedSliceKernel : public OpKernel {
 public:
  StridedSliceKernel(const OpKernelConstruction& construction, bool is_gradient)
      : OpKernel(construction), is_gradient_(is_gradient) {
    const auto mask = [&](const char* name) {
      return construction.GetAttr<int64_t>(name).value_or(0);
    };
    masks_.begin = mask("begin_mask");
    masks_.end = mask("end_mask");
    masks_.ellipsis = mask("ellipsis_mask");
    masks_.new_axis = mask("new_axis_mask");
    masks_.shrink_axis = mask("shrink_axis_mask");
  }

  absl::Status Compute(OpKernelContext& context) override {
    if (is_gradient_) return Gradient(context);
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const StridedSlicePlan plan,
                     ReadPlan(context, input.shape()));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create(plan.final_shape.dims()));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return FromPattern(context, input, PatternOfPlan(input.shape(), plan),
                       *out);
  }

 private:
  static ElementPattern PatternOfPlan(const TensorShape& whole,
                                      const StridedSlicePlan& plan) {
    return BoxPattern(whole, plan.begin, plan.strides,
                      plan.processing_shape.dims());
  }

  absl::Status Gradient(OpKernelContext& context) const {
    if (context.input(0).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be 1-D, got shape.shape = ",
                       context.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Dims dims, IntegersOf(context.input(0)));
    ASSIGN_OR_RETURN(const TensorShape whole, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(const StridedSlicePlan plan, ReadPlan(context, whole));
    const Tensor& dy = context.input(4);
    if (!plan.final_shape.IsCompatibleWith(dy.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape of dy was ", dy.shape().ToString(),
                       " instead of ", plan.final_shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, whole));
    RETURN_IF_ERROR(SetToZero(context, *out));
    return ToPattern(context, dy, PatternOfPlan(whole, plan), *out);
  }

  absl::StatusOr<StridedSlicePlan> ReadPlan(const OpKernelContext& context,
                                            const TensorShape& input) const {
    const TensorShape& begin = context.input(1).shape();
    if (begin.rank() != 1 || begin != context.input(2).shape() ||
        begin != context.input(3).shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected begin, end, and strides to be 1D equal size tensors, but "
          "got shapes ",
          begin.ToString(), ", ", context.input(2).shape().ToString(), ", and ",
          context.input(3).shape().ToString(), " instead."));
    }
    StridedSliceSpec spec;
    spec.masks = masks_;
    ASSIGN_OR_RETURN(spec.begin, IntegersOf(context.input(1)));
    ASSIGN_OR_RETURN(spec.end, IntegersOf(context.input(2)));
    ASSIGN_OR_RETURN(spec.strides, IntegersOf(context.input(3)));
    return PlanStridedSlice(spec, input);
  }

  const bool is_gradient_;
  StridedSliceMasks masks_;
};

// Pad and PadV2, whose third input is the value, in host memory.
class PadKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& paddings = context.input(1);
    if (paddings.rank() != 2 || paddings.dim(1) != 2 ||
        paddings.dim(0) != input.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "paddings must be a matrix with 2 columns, and a row for each "
          "dimension of inputs: ",
          paddings.shape().ToString(), " ", input.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Dims values, IntegersOf(paddings));
    Dims before, dims;
    for (int i = 0; i < input.rank(); ++i) {
      const int64_t low = values[2 * i], high = values[2 * i + 1];
      if (low < 0 || high < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Paddings must be non-negative: ", low, " ", high));
      }
      int64_t size;
      if (__builtin_add_overflow(input.dim(i), low, &size) ||
          __builtin_add_overflow(size, high, &size)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Padding dimension ", i, " overflows its size"));
      }
      before.push_back(low);
      dims.push_back(size);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(SetAll(context, *out));
    return ToPattern(
        context, input,
        BoxPattern(shape, before, Dims(input.rank(), 1), input.shape().dims()),
        *out);
  }

 private:
  static absl::Status SetAll(const OpKernelContext& context, Tensor& out) {
    if (context.num_inputs() < 3) return SetToZero(context, out);
    const Tensor& value = context.input(2);
    if (value.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("constant_values must be a scalar. Found shape ",
                       value.shape().ToString()));
    }
    if (out.num_elements() == 0) return absl::OkStatus();
    cuda::LaunchValue(ElementSize(out), out.num_elements(), value.data(),
                      out.mutable_data(), StreamOf(context));
    return LaunchStatus();
  }
};

// Reverse, whose dimensions are marked by bools, and ReverseV2, whose
// dimensions are listed.
class ReverseKernel : public OpKernel {
 public:
  ReverseKernel(const OpKernelConstruction& construction, bool has_marks)
      : OpKernel(construction), has_marks_(has_marks) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const std::vector<bool> reversed,
                     has_marks_ ? Marked(context.input(1), input.rank())
                                : Listed(context.input(1), input.rank()));
    ElementPattern pattern;
    pattern.dims.assign(input.shape().dims().begin(),
                        input.shape().dims().end());
    pattern.strides = PackedStrides(input.shape().dims());
    for (int i = 0; i < input.rank(); ++i) {
      if (!reversed[i]) continue;
      pattern.offset += (input.dim(i) - 1) * pattern.strides[i];
      pattern.strides[i] = -pattern.strides[i];
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, input.shape()));
    return FromPattern(context, input, pattern, *out);
  }

 private:
  static absl::StatusOr<std::vector<bool>> Marked(const Tensor& dims,
                                                  int rank) {
    if (dims.rank() != 1 || dims.num_elements() != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'dims' must be 1-dimension, and have the same number of values as "
          "'tensor' has dimensions. 'tensor' has ",
          rank, " 'dims' has shape ", dims.shape().ToString()));
    }
    const absl::Span<const bool> marks = dims.flat<bool>();
    return std::vector<bool>(marks.begin(), marks.end());
  }

  static absl::StatusOr<std::vector<bool>> Listed(const Tensor& axes,
                                                  int rank) {
    if (axes.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'dims' must be 1-dimension, not ", axes.rank()));
    }
    ASSIGN_OR_RETURN(const Dims values, IntegersOf(axes));
    std::vector<bool> reversed(rank, false);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t axis = values[i] < 0 ? values[i] + rank : values[i];
      if (axis < 0 || axis >= rank) {
        return absl::InvalidArgumentError(
            absl::StrCat("'axis'[", i, "] = ", values[i],
                         " is out of valid range [", 0, ", ", rank - 1));
      }
      if (reversed[axis]) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", axis, " specified more than once."));
      }
      reversed[axis] = true;
    }
    return reversed;
  }

  const bool has_marks_;
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
    ASSIGN_OR_RETURN(const Dims dims, IntegersOf(sizes));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(const ElementPattern pattern,
                     Stretched(input.shape(), shape));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return FromPattern(context, input, pattern, *out);
  }

 private:
  static absl::StatusOr<ElementPattern> Stretched(const TensorShape& from,
                                                  const TensorShape& to) {
    const int extra = to.rank() - from.rank();
    if (extra < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Rank of input (", from.rank(),
          ") must be no greater than rank of output shape (", to.rank(), ")."));
    }
    ElementPattern pattern;
    const Dims strides = PackedStrides(from.dims());
    for (int i = 0; i < to.rank(); ++i) {
      const bool repeats = i < extra || from.dim(i - extra) == 1;
      if (!repeats && from.dim(i - extra) != to.dim(i)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Incompatible shapes: ", from.ToString(), " vs. ", to.ToString()));
      }
      pattern.dims.push_back(to.dim(i));
      pattern.strides.push_back(repeats ? 0 : strides[i - extra]);
    }
    return pattern;
  }
};

class TileKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (context.input(1).rank() != 1 ||
        context.input(1).num_elements() != input.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected multiples argument to be a vector of length ", input.rank(),
          " but got shape ", context.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Dims multiples, IntegersOf(context.input(1)));
    const Dims strides = PackedStrides(input.shape().dims());
    ElementPattern pattern;
    Dims dims;
    for (int i = 0; i < input.rank(); ++i) {
      if (multiples[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Expected multiples[", i, "] >= 0, but got ", multiples[i]));
      }
      int64_t size;
      if (__builtin_mul_overflow(input.dim(i), multiples[i], &size)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Tile: size ", i, " of the result has too many elements"));
      }
      dims.push_back(size);
      pattern.dims.insert(pattern.dims.end(), {multiples[i], input.dim(i)});
      pattern.strides.insert(pattern.strides.end(), {0, strides[i]});
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return FromPattern(context, input, pattern, *out);
  }
};

class OneHotKernel : public OpKernel {
 public:
  explicit OneHotKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        axis_(construction.GetAttr<int64_t>("axis").value_or(-1)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& indices = context.input(0);
    const int rank = indices.rank();
    for (int i = 1; i < 4; ++i) {
      if (context.input(i).rank() == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "depth, on_value and off_value must be scalars, but got: ",
          context.input(i).shape().ToString()));
    }
    if (axis_ < -1 || axis_ > rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected axis to be -1 or between [0, ", rank + 1,
                       ").  But received: ", axis_));
    }
    ASSIGN_OR_RETURN(const Dims depth, IntegersOf(context.input(1)));
    if (depth[0] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("depth must be non-negative, got: ", depth[0]));
    }
    const int axis = static_cast<int>(axis_ == -1 ? rank : axis_);
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth[0]);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const cuda::OneHot one_hot = {Product(shape, 0, axis), depth[0],
                                  Product(shape, axis + 1, shape.rank()),
                                  indices.data(), ElementSize(indices)};
    LaunchOneHot(ElementSize(*out), one_hot, context.input(2).data(),
                 context.input(3).data(), out->mutable_data(),
                 StreamOf(context));
    return LaunchStatus();
  }

 private:
  const int64_t axis_;
};

}  // namespace

void RegisterCudaSliceKernels(CudaRegistrar& add, const std::string& most,
                              const std::string& all) {
  add.Add<SliceKernel>("Slice", {{"T", most}}, {"begin", "size"});
  add.Add<StridedSliceKernel>("StridedSlice", {{"T", most}},
                              {"begin", "end", "strides"}, false);
  add.Add<StridedSliceKernel>("StridedSliceGrad", {{"T", most}},
                              {"begin", "end", "shape", "strides"}, true);
  add.Add<PadKernel>("Pad", {{"T", most}}, {"paddings"});
  add.Add<PadKernel>("PadV2", {{"T", most}}, {"paddings", "constant_values"});
  add.Add<ReverseKernel>("Reverse", {{"T", most}}, {"dims"}, true);
  add.Add<ReverseKernel>("ReverseV2", {{"T", most}}, {"axis"}, false);
  add.Add<BroadcastToKernel>("BroadcastTo", {{"T", most}}, {"shape"});
  add.Add<TileKernel>("Tile", {{"T", all}}, {"multiples"});
  add.Add<OneHotKernel>("OneHot", {{"T", all}, {"TI", "uint8 int32 int64"}},
                        {"depth"});
}

}  // namespace weft
