// GPU kernels that move elements: gathers, transposes, concatenations and
// splits.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/segment_ids.h"
#include "libs/kernels/array/split_pieces.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/cuda/array.cu.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/patterns.h"
#include "libs/kernels/cuda/row_changes.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// An axis in host memory, counted from the front.
absl::StatusOr<int> ReadAxis(const Tensor& axis, int rank) {
  if (axis.rank() > 1 || axis.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the axis must have exactly one element, but got shape ",
                     axis.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const Dims values, IntegersOf(axis));
  if (values[0] < -rank || values[0] >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected axis in the range [", -rank, ", ", rank,
                     "), but got ", values[0]));
  }
  return static_cast<int>(values[0] < 0 ? values[0] + rank : values[0]);
}

// Gathers rows `axis` of params; the first `batch_dims` dimensions of params
// and indices correspond.
absl::Status GatherAlong(OpKernelContext& context, const Tensor& params,
                         const Tensor& indices, int axis, int64_t batch_dims) {
  const TensorShape& shape = params.shape();
  if (batch_dims < 0) batch_dims += indices.rank();
  bool fits = batch_dims >= 0 && batch_dims <= std::min(axis, indices.rank());
  for (int i = 0; fits && i < batch_dims; ++i) {
    fits = shape.dim(i) == indices.dim(i);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "params.shape ", shape.ToString(), " and indices.shape ",
        indices.shape().ToString(), " must agree in their first ", batch_dims,
        " dimensions (batch_dims), which must not be more than the axis"));
  }
  const int batch = static_cast<int>(batch_dims);
  Dims dims(shape.dims().begin(), shape.dims().begin() + axis);
  dims.insert(dims.end(), indices.shape().dims().begin() + batch,
              indices.shape().dims().end());
  dims.insert(dims.end(), shape.dims().begin() + axis + 1, shape.dims().end());
  ASSIGN_OR_RETURN(const TensorShape result, TensorShape::Create(dims));
  ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, result));
  if (result.num_elements() == 0) return absl::OkStatus();
  cuda::Gather gather;
  gather.batch = Product(shape, 0, batch);
  gather.outer = Product(shape, batch, axis);
  gather.rows = shape.dim(axis);
  gather.inner = Product(shape, axis + 1, shape.rank());
  gather.count = Product(indices.shape(), batch, indices.rank());
  gather.indices = indices.data();
  gather.is_int64 = indices.dtype() == DT_INT64;
  LaunchGather(ElementSize(params), gather, params.data(), out->mutable_data(),
               StreamOf(context));
  return LaunchStatus();
}

// Gather, GatherV2 and ResourceGather.
class GatherKernel : public OpKernel {
 public:
  explicit GatherKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        is_resource_(construction.node().type() == "ResourceGather") {
    const int64_t* dims = construction.node().attr<int64_t>("batch_dims");
    if (dims != nullptr) batch_dims_ = *dims;
  }

  absl::Status Compute(OpKernelContext& context) override {
    if (!is_resource_) return Gather(context, context.input(0));
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    RETURN_IF_ERROR(CheckVariableType(*variable, context.output_type(0)));
    // The lock is only held for the launch: later writes are launched later.
    return variable->ReadPart(
        [&](const Tensor& value) { return Gather(context, value); });
  }

 private:
  absl::Status Gather(OpKernelContext& context, const Tensor& params) const {
    if (params.rank() < 1) {
      return absl::InvalidArgumentError(
          "params must be at least 1 dimensional");
    }
    int axis = 0;
    if (context.num_inputs() == 3) {
      ASSIGN_OR_RETURN(axis, ReadAxis(context.input(2), params.rank()));
    } else if (batch_dims_ > 0) {
      axis =
          static_cast<int>(std::min<int64_t>(batch_dims_, params.rank() - 1));
    }
    return GatherAlong(context, params, context.input(1), axis, batch_dims_);
  }

  const bool is_resource_;
  int64_t batch_dims_ = 0;
  VariableLookup lookup_;
};

// UnsortedSegmentSum and related ops. Rows with ids out of range are dropped.
class SegmentKernel : public OpKernel {
 public:
  enum class Kind { kSum, kProd, kMax, kMin };

  SegmentKernel(const OpKernelConstruction& construction, Kind kind)
      : OpKernel(construction), kind_(kind) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& ids = context.input(1);
    ASSIGN_OR_RETURN(const UnsortedSegments found,
                     FindUnsortedSegments(context));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, found.shape));
    RETURN_IF_ERROR(SetToNothing(context, *out));
    if (data.num_elements() == 0 || out->num_elements() == 0) {
      return absl::OkStatus();
    }
    cuda::Rows rows;
    rows.indices = ids.data();
    rows.is_int64 = ids.dtype() == DT_INT64;
    rows.count = ids.num_elements();
    rows.rows = found.count;
    rows.row = out->num_elements() / found.count;
    if (kind_ == Kind::kSum) {
      return SumRows(context, cuda::Change::kAdd, rows, data,
                     /*is_scalar=*/false, *out);
    }
    const cuda::RowReduction op =
        kind_ == Kind::kProd  ? cuda::RowReduction::kProd
        : kind_ == Kind::kMax ? cuda::RowReduction::kMax
                              : cuda::RowReduction::kMin;
    return ReduceRows(context, op, rows, data, *out);
  }

 private:
  // Sets all segments to the value of an empty one.
  absl::Status SetToNothing(const OpKernelContext& context, Tensor& out) const {
    if (kind_ == Kind::kSum) return SetToZero(context, out);
    if (out.num_elements() == 0) return absl::OkStatus();
    return DispatchType(
        FloatingTypes{}, out.dtype(), [&]<typename T>(TypeTag<T>) {
          T nothing = static_cast<T>(Wide<T>(1));
          if (kind_ == Kind::kMax) nothing = LowestOf<T>();
          if (kind_ == Kind::kMin) nothing = HighestOf<T>();
          cuda::LaunchValue(sizeof(T), out.num_elements(), &nothing,
                            out.mutable_data(), StreamOf(context));
          return LaunchStatus();
        });
  }

  const Kind kind_;
};

class TransposeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const Dims perm, ReadPermutation(context));
    ElementPattern pattern;
    const Dims strides = PackedStrides(input.shape().dims());
    for (const int64_t dim : perm) {
      pattern.dims.push_back(input.dim(static_cast<int>(dim)));
      pattern.strides.push_back(strides[dim]);
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, TensorShape(pattern.dims)));
    return FromPattern(context, input, pattern, *out);
  }

 private:
  static absl::StatusOr<Dims> ReadPermutation(const OpKernelContext& context) {
    const int rank = context.input(0).rank();
    const Tensor& perm = context.input(1);
    if (perm.rank() != 1 || perm.num_elements() != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("transpose expects a vector of size ", rank,
                       ". But input(1) has shape ", perm.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Dims values, IntegersOf(perm));
    std::vector<bool> seen(rank, false);
    for (const int64_t dim : values) {
      if (dim < 0 || dim >= rank || seen[dim]) {
        return absl::InvalidArgumentError(absl::StrCat(
            dim, " is out of range [0 .. ", rank, "), or there twice"));
      }
      seen[dim] = true;
    }
    return values;
  }
};

// Part `i` of a whole, [before, size, after], at `begin` of the middle
// dimension.
ElementPattern PartPattern(int64_t before, int64_t whole, int64_t begin,
                           int64_t size, int64_t after) {
  ElementPattern pattern;
  pattern.dims = {before, size * after};
  pattern.strides = {whole * after, 1};
  pattern.offset = begin * after;
  return pattern;
}

// Concatenates inputs [begin, end) in `out`, which is [before, ., after].
absl::Status Join(OpKernelContext& context, int begin, int end, int64_t before,
                  Tensor& out) {
  if (out.num_elements() == 0) return absl::OkStatus();
  const int64_t whole = out.num_elements() / before;
  int64_t at = 0;
  for (int i = begin; i < end; ++i) {
    const Tensor& part = context.input(i);
    const int64_t size = part.num_elements() / before;
    RETURN_IF_ERROR(
        ToPattern(context, part, PartPattern(before, whole, at, size, 1), out));
    at += size;
  }
  return absl::OkStatus();
}

// Concat, whose first input is the axis, and ConcatV2.
class ConcatKernel : public OpKernel {
 public:
  ConcatKernel(const OpKernelConstruction& construction, bool axis_is_first)
      : OpKernel(construction), axis_is_first_(axis_is_first) {}

  absl::Status Compute(OpKernelContext& context) override {
    const int begin = axis_is_first_ ? 1 : 0;
    const int end = begin + context.num_inputs() - 1;
    const Tensor& axis_input = context.input(axis_is_first_ ? 0 : end);
    const TensorShape& first = context.input(begin).shape();
    if (first.rank() == 0) {
      return absl::InvalidArgumentError(
          "ConcatOp : Can't concatenate scalars (use tf.stack, ops::Stack, "
          "instead)");
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(axis_input, first.rank()));
    Dims dims(first.dims().begin(), first.dims().end());
    dims[axis] = 0;
    for (int i = begin; i < end; ++i) {
      const TensorShape& shape = context.input(i).shape();
      RETURN_IF_ERROR(CheckJoins(first, shape, i - begin, axis));
      if (__builtin_add_overflow(dims[axis], shape.dim(axis), &dims[axis])) {
        return absl::InvalidArgumentError("ConcatOp : the sizes overflow");
      }
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return Join(context, begin, end, Product(shape, 0, axis), *out);
  }

 private:
  static absl::Status CheckJoins(const TensorShape& first,
                                 const TensorShape& other, int i, int axis) {
    bool fits = first.rank() == other.rank();
    for (int d = 0; fits && d < first.rank(); ++d) {
      fits = d == axis || first.dim(d) == other.dim(d);
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "ConcatOp : Dimensions of inputs should match: shape[0] = ",
        first.ToString(), " vs. shape[", i, "] = ", other.ToString()));
  }

  const bool axis_is_first_;
};

// Checks the attribute against the tensor's rank.
absl::StatusOr<int> AxisIn(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) {
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("axis = ", axis, " not in [", -rank, ", ", rank, ")"));
}

class PackKernel : public OpKernel {
 public:
  explicit PackKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        axis_(construction.GetAttr<int64_t>("axis").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& first = context.input(0).shape();
    ASSIGN_OR_RETURN(const int axis, AxisIn(axis_, first.rank() + 1));
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (context.input(i).shape() == first) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Shapes of all inputs must match: values[0].shape = ",
                       first.ToString(), " != values[", i,
                       "].shape = ", context.input(i).shape().ToString()));
    }
    Dims dims(first.dims().begin(), first.dims().end());
    dims.insert(dims.begin() + axis, context.num_inputs());
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return Join(context, 0, context.num_inputs(), Product(shape, 0, axis),
                *out);
  }

 private:
  const int64_t axis_;
};

// Splits along the axis into pieces of `sizes`; piece i has shape `shapes[i]`.
absl::Status Cut(OpKernelContext& context, const Tensor& value, int axis,
                 const Dims& sizes, const std::vector<TensorShape>& shapes) {
  const int64_t before = Product(value.shape(), 0, axis);
  const int64_t after = Product(value.shape(), axis + 1, value.rank());
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor * piece,
                     context.AllocateOutput(static_cast<int>(i), shapes[i]));
    RETURN_IF_ERROR(FromPattern(
        context, value,
        PartPattern(before, value.dim(axis), begin, sizes[i], after), *piece));
    begin += sizes[i];
  }
  return absl::OkStatus();
}

class SplitKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Pieces pieces, PiecesOfSplit(context));
    return Cut(context, context.input(1), pieces.axis, pieces.sizes,
               pieces.shapes);
  }
};

class SplitVKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Pieces pieces, PiecesOfSplitV(context));
    return Cut(context, context.input(0), pieces.axis, pieces.sizes,
               pieces.shapes);
  }
};

class UnpackKernel : public OpKernel {
 public:
  explicit UnpackKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        axis_(construction.GetAttr<int64_t>("axis").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(0);
    ASSIGN_OR_RETURN(const int axis, AxisIn(axis_, value.rank()));
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
  const int64_t axis_;
};

}  // namespace

void RegisterCudaArrayKernels(KernelRegistry& registry) {
  // int32 is in host memory where it is in TensorFlow.
  const std::string most =
      "half bfloat16 float double int8 int16 int64 uint8 uint16 uint32 uint64 "
      "bool complex64 complex128";
  const std::string all = most + " int32";
  const std::string indices = "int32 int64";
  CudaRegistrar add(registry);
  add.Add<GatherKernel>("Gather", {{"Tparams", all}, {"Tindices", indices}},
                        {});
  add.Add<GatherKernel>("GatherV2", {{"Tparams", all}, {"Tindices", indices}},
                        {"axis"});
  add.Add<GatherKernel>("ResourceGather",
                        {{"dtype", all}, {"Tindices", indices}}, {"resource"});
  const auto segment = [&](const char* op, SegmentKernel::Kind kind,
                           const std::string& types) {
    add.Add<SegmentKernel>(op, {{"T", types}, {"Tindices", indices}},
                           {"num_segments"}, kind);
  };
  const std::string floats = "half bfloat16 float double";
  segment("UnsortedSegmentSum", SegmentKernel::Kind::kSum, floats + " int64");
  segment("UnsortedSegmentProd", SegmentKernel::Kind::kProd, floats);
  segment("UnsortedSegmentMax", SegmentKernel::Kind::kMax, floats);
  segment("UnsortedSegmentMin", SegmentKernel::Kind::kMin, floats);
  add.Add<TransposeKernel>("Transpose", {{"T", all}}, {"perm"});
  add.Add<ConcatKernel>("Concat", {{"T", most}}, {"concat_dim"}, true);
  add.Add<ConcatKernel>("ConcatV2", {{"T", most}}, {"axis"}, false);
  add.Add<PackKernel>("Pack", {{"T", most}}, {});
  add.Add<SplitKernel>("Split", {{"T", all}}, {"split_dim"});
  add.Add<SplitVKernel>("SplitV", {{"T", most}}, {"size_splits", "split_dim"});
  add.Add<UnpackKernel>(
      "Unpack",
      {{"T",
        "half bfloat16 float double int8 int16 uint8 uint16 uint32 uint64 "
        "bool complex64 complex128"}},
      {});
  RegisterCudaNdKernels(add, most, all);
  RegisterCudaSliceKernels(add, most, all);
}

}  // namespace weft
