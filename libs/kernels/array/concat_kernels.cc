// Kernels of concatenations: Concat, ConcatV2, Pack; and ConcatOffset.
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Returns the axis from a tensor that holds one integer.
absl::StatusOr<int64_t> ReadAxis(const Tensor& axis, absl::string_view name) {
  if (axis.rank() > 1 || axis.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " tensor should be a scalar integer, but got shape ",
                     axis.shape().ToString()));
  }
  ASSIGN_OR_RETURN(Dims values, IntegersOf(axis));
  return values[0];
}

absl::Status CheckJoins(const TensorShape& first, const TensorShape& other,
                        int i, int axis) {
  if (first.rank() != other.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ConcatOp : Ranks of all input tensors should match: shape[0] = ",
        first.ToString(), " vs. shape[", i, "] = ", other.ToString()));
  }
  for (int d = 0; d < first.rank(); ++d) {
    if (d == axis || first.dim(d) == other.dim(d)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "ConcatOp : Dimension ", d,
        " in both shapes must be equal: shape[0] = ", first.ToString(),
        " vs. shape[", i, "] = ", other.ToString()));
  }
  return absl::OkStatus();
}

// Returns the product of the dimensions before `axis`: the number of rows if
// the tensor is viewed as a matrix.
int64_t RowsBefore(const TensorShape& shape, int axis) {
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= shape.dim(i);
  return rows;
}

// BytesOfRows is the address and the row size of a part whose elements are
// plain bytes.
struct BytesOfRows {
  const char* data;
  int64_t length;
};

void CopyRow(const BytesOfRows& part, int64_t row, char* to) {
  const char* const from = part.data + row * part.length;
  // Columns of one number are common, and faster without a call.
  if (part.length == sizeof(float)) {
    std::memcpy(to, from, sizeof(float));
  } else {
    std::memcpy(to, from, static_cast<size_t>(part.length));
  }
}

// Like CopyRow, on as many threads as the work justifies.
void CopyLongRow(OpKernelContext& context, const BytesOfRows& part, int64_t row,
                 char* to) {
  constexpr int64_t kPiece = 64 << 10;
  const char* const from = part.data + row * part.length;
  ParallelLoop(context, (part.length + kPiece - 1) / kPiece, CopyCost(kPiece),
               [&](int64_t begin, int64_t end) {
                 const int64_t first = begin * kPiece;
                 const int64_t last = std::min(end * kPiece, part.length);
                 std::memcpy(to + first, from + first,
                             static_cast<size_t>(last - first));
               });
}

void JoinRowsOfBytes(OpKernelContext& context,
                     const std::vector<const Tensor*>& parts, int64_t rows,
                     Tensor& output) {
  std::vector<BytesOfRows> all;
  for (const Tensor* part : parts) {
    if (part->num_elements() == 0) continue;
    all.push_back({static_cast<const char*>(part->data()),
                   static_cast<int64_t>(part->num_bytes()) / rows});
  }
  char* const first = static_cast<char*>(output.mutable_data());
  const int64_t length = static_cast<int64_t>(output.num_bytes()) / rows;
  if (rows < context.scheduler().num_compute_threads()) {
    char* to = first;
    for (int64_t row = 0; row < rows; ++row) {
      for (const BytesOfRows& part : all) {
        CopyLongRow(context, part, row, to);
        to += part.length;
      }
    }
    return;
  }
  ParallelLoop(context, rows, CopyCost(length),
               [&](int64_t begin, int64_t end) {
                 char* to = first + begin * length;
                 for (int64_t row = begin; row < end; ++row) {
                   for (const BytesOfRows& part : all) {
                     CopyRow(part, row, to);
                     to += part.length;
                   }
                 }
               });
}

// Sets each row of `output` to the concatenation of the parts' rows.
absl::Status JoinRows(OpKernelContext& context,
                      const std::vector<const Tensor*>& parts, int64_t rows,
                      Tensor& output) {
  if (output.num_elements() == 0) return absl::OkStatus();
  if (DataTypeSize(output.dtype()) > 0) {
    JoinRowsOfBytes(context, parts, rows, output);
    return absl::OkStatus();
  }
  HeapCharge charge(context.host_allocator());
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (const Tensor* part : parts) {
      const int64_t length = part->num_elements() / rows;
      RETURN_IF_ERROR(
          CopyElements(charge, *part, row * length, length, output, at));
      at += length;
    }
  }
  return absl::OkStatus();
}

// Concatenates inputs [begin, end) along the axis in input `axis_input`.
absl::Status Concat(OpKernelContext& context, int begin, int end,
                    int axis_input, absl::string_view axis_name) {
  ASSIGN_OR_RETURN(int64_t axis,
                   ReadAxis(context.input(axis_input), axis_name));
  const TensorShape& first = context.input(begin).shape();
  if (first.rank() == 0) {
    return absl::InvalidArgumentError(
        "ConcatOp : Can't concatenate scalars (use tf.stack, ops::Stack, "
        "instead)");
  }
  if (axis < -first.rank() || axis >= first.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ConcatOp : Expected concatenating dimensions in the range [",
        -first.rank(), ", ", first.rank(), "), but got ", axis));
  }
  const int dim = static_cast<int>(axis < 0 ? axis + first.rank() : axis);
  std::vector<const Tensor*> parts;
  Dims dims(first.dims().begin(), first.dims().end());
  dims[dim] = 0;
  for (int i = begin; i < end; ++i) {
    const TensorShape& shape = context.input(i).shape();
    RETURN_IF_ERROR(CheckJoins(first, shape, i - begin, dim));
    if (__builtin_add_overflow(dims[dim], shape.dim(dim), &dims[dim])) {
      return absl::InvalidArgumentError("ConcatOp : the sizes overflow");
    }
    parts.push_back(&context.input(i));
  }
  ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  return JoinRows(context, parts, RowsBefore(shape, dim), *output);
}

class ConcatKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    return Concat(context, 1, context.num_inputs(), 0, "concat_dim");
  }
};

class ConcatV2Kernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const int count = context.num_inputs() - 1;
    return Concat(context, 0, count, count, "axis");
  }
};

class ConcatOffsetKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(int64_t axis, ReadAxis(context.input(0), "concat_dim"));
    ASSIGN_OR_RETURN(Dims first, Sizes(context, 1));
    const int64_t rank = static_cast<int64_t>(first.size());
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Concat dim is out of range: ", axis, " vs. ", rank));
    }
    if (axis < 0) axis += rank;
    int64_t offset = 0;
    for (int i = 1; i < context.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(Dims sizes, Sizes(context, i));
      RETURN_IF_ERROR(CheckSizes(first, sizes, i - 1, axis));
      RETURN_IF_ERROR(WriteOffset(context, i - 1, rank, axis, offset));
      if (__builtin_add_overflow(offset, sizes[axis], &offset)) {
        return absl::InvalidArgumentError("ConcatOffset: the sizes overflow");
      }
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Dims> Sizes(OpKernelContext& context, int i) {
    if (context.input(i).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i - 1, " should be a vector, but got shape ",
                       context.input(i).shape().ToString()));
    }
    return IntegersOf(context.input(i));
  }

  static absl::Status CheckSizes(const Dims& first, const Dims& sizes, int i,
                                 int64_t axis) {
    if (sizes.size() != first.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " should contain ", first.size(),
                       " elements, but got ", sizes.size()));
    }
    for (size_t d = 0; d < first.size(); ++d) {
      if (static_cast<int64_t>(d) == axis || first[d] == sizes[d]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("All dimensions except ", axis, " must match. Input ", i,
                       " has shape [", absl::StrJoin(sizes, " "),
                       "] and doesn't match input 0 with shape [",
                       absl::StrJoin(first, " "), "]."));
    }
    return absl::OkStatus();
  }

  static absl::Status WriteOffset(OpKernelContext& context, int i, int64_t rank,
                                  int64_t axis, int64_t offset) {
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, {rank}));
    RETURN_IF_ERROR(FillWithZeros(*output));
    if (output->dtype() == DT_INT64) {
      output->mutable_flat<int64_t>()[axis] = offset;
    } else {
      output->mutable_flat<int32_t>()[axis] = static_cast<int32_t>(offset);
    }
    return absl::OkStatus();
  }
};

class PackKernel : public OpKernel {
 public:
  explicit PackKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const int64_t* axis = construction.node().attr<int64_t>("axis");
    if (axis != nullptr) axis_ = *axis;
  }

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& first = context.input(0).shape();
    const int rank = first.rank() + 1;
    if (axis_ < -rank || axis_ >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis = ", axis_, " not in [", -rank, ", ", rank, ")"));
    }
    std::vector<const Tensor*> parts;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const TensorShape& shape = context.input(i).shape();
      if (shape != first) {
        return absl::InvalidArgumentError(
            absl::StrCat("Shapes of all inputs must match: values[0].shape = ",
                         first.ToString(), " != values[", i,
                         "].shape = ", shape.ToString()));
      }
      parts.push_back(&context.input(i));
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    Dims dims(first.dims().begin(), first.dims().end());
    dims.insert(dims.begin() + axis, context.num_inputs());
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return JoinRows(context, parts, RowsBefore(shape, axis), *output);
  }

 private:
  int64_t axis_ = 0;
};

}  // namespace

void RegisterArrayConcatKernels(KernelRegistry& registry) {
  registry.Register<ConcatKernel>("Concat", {}, true);
  registry.Register<ConcatV2Kernel>("ConcatV2", {}, true);
  registry.Register<ConcatOffsetKernel>("ConcatOffset", {}, true);
  registry.Register<PackKernel>("Pack", {}, true);
}

}  // namespace weft
