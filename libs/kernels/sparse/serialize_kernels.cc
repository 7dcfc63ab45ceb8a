// Serialization of sparse tensors as tensors of strings or variants:
// SerializeSparse makes a vector of indices, values and shape,
// SerializeManySparse a matrix with such a row for each row of the sparse
// tensor; DeserializeSparse and DeserializeManySparse stack their inputs. A
// string is a TensorProto with the same bytes as TensorFlow's
// (tensor_content.h); all forms of it can be read.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor_content.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

// Indices, values and shape.
constexpr int kParts = 3;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Variants are rejected because each step of a loop could nest the previous
// one's result, and destructors and writers recurse.
absl::Status CheckInputs(const OpKernelContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(1);
  const Tensor& shape = context.input(2);
  if (!indices.shape().IsMatrix()) {
    return Invalid("Input indices should be a matrix but received shape ",
                   indices.shape().ToString());
  }
  if (!values.shape().IsVector()) {
    return Invalid("Input values should be a vector but received shape ",
                   values.shape().ToString());
  }
  if (!shape.shape().IsVector()) {
    return Invalid("Input shape should be a vector but received shape ",
                   shape.shape().ToString());
  }
  if (values.dtype() == DT_VARIANT) {
    return Invalid("Input values of type variant cannot be serialized");
  }
  return absl::OkStatus();
}

// Resources have no bytes.
bool HasContent(const Tensor& tensor) { return tensor.dtype() != DT_RESOURCE; }

// An upper bound of the size of a tensor's message.
absl::Status ChargeMessage(HeapCharge& charge, const Tensor& tensor) {
  constexpr size_t kHeader = 64, kDimension = 16;
  const size_t rank = static_cast<size_t>(tensor.rank());
  return charge.Add(tensor.TotalBytes() + kHeader + rank * kDimension);
}

// Sets element `at` of `serialized` to `part`.
absl::Status SetPart(HeapCharge& charge, const Tensor& part, int64_t at,
                     Tensor& serialized) {
  if (serialized.dtype() == DT_VARIANT) {
    serialized.mutable_flat<Variant>()[at] = TensorVariant(part);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ChargeMessage(charge, part));
  std::string& text = serialized.mutable_flat<std::string>()[at];
  text = HasContent(part) ? SerializeTensorContent(part)
                          : SerializeTensorProto(part);
  if (!text.empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a tensor of type ", DataTypeName(part.dtype()),
                   " and shape ", part.shape().ToString(),
                   " is too large for a string; use out_type DT_VARIANT"));
}

class SerializeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckInputs(context));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {kParts}));
    HeapCharge charge(context.host_allocator());
    for (int i = 0; i < kParts; ++i) {
      RETURN_IF_ERROR(SetPart(charge, context.input(i), i, *output));
    }
    return absl::OkStatus();
  }
};

class SerializeManyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckInputs(context));
    const int64_t rank = context.input(2).num_elements();
    if (rank <= 1) {
      return Invalid("Rank of input SparseTensor should be > 1, but saw rank: ",
                     rank);
    }
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), &context.input(1), context.input(2)));
    // Rows are then runs of elements.
    RETURN_IF_ERROR(input.CheckOrder());
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({input.shape().dim(0), kParts}));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return SetRows(context, input, *output);
  }

 private:
  static absl::Status SetRows(OpKernelContext& context, const SparseView& input,
                              Tensor& output) {
    const Tensor inner =
        Tensor::Vector<int64_t>(input.shape().dims().subspan(1));
    HeapCharge charge(context.host_allocator());
    int64_t end = 0;
    for (int64_t row = 0; row < input.shape().dim(0); ++row) {
      const int64_t begin = end;
      while (end < input.count() && input.index(end, 0) == row) ++end;
      RETURN_IF_ERROR(SetRow(context, charge, input, begin, end, row, output));
      RETURN_IF_ERROR(SetPart(charge, inner, row * kParts + 2, output));
    }
    return absl::OkStatus();
  }

  static absl::Status SetRow(OpKernelContext& context, HeapCharge& charge,
                             const SparseView& input, int64_t begin,
                             int64_t end, int64_t row, Tensor& output) {
    const Tensor& all = context.input(1);
    ASSIGN_OR_RETURN(
        Tensor indices,
        context.AllocateTemp(DT_INT64, {end - begin, input.rank() - 1}));
    ASSIGN_OR_RETURN(Tensor values,
                     context.AllocateTemp(all.dtype(), {end - begin}));
    int64_t* out = indices.mutable_flat<int64_t>().data();
    for (int64_t i = begin; i < end; ++i) {
      const auto inner = input.position(i).subspan(1);
      out = std::copy(inner.begin(), inner.end(), out);
    }
    RETURN_IF_ERROR(CopyElements(charge, all, begin, end - begin, values, 0));
    RETURN_IF_ERROR(SetPart(charge, indices, row * kParts, output));
    return SetPart(charge, values, row * kParts + 1, output);
  }
};

struct SparseParts {
  Tensor indices;
  Tensor values;
  Tensor shape;
};

// Part `part` of sparse tensor `i`. `charge` counts its memory outside of the
// tensor, if it is parsed from a string.
absl::StatusOr<Tensor> GetPart(OpKernelContext& context, HeapCharge& charge,
                               int64_t i, int part) {
  const Tensor& serialized = context.input(0);
  const int64_t at = i * kParts + part;
  if (serialized.dtype() == DT_VARIANT) {
    const Variant& variant = serialized.flat<Variant>()[at];
    if (variant.type_name != kTensorVariant || variant.tensors == nullptr ||
        variant.tensors->size() != 1) {
      return Invalid("Could not get a tensor from serialized_sparse[", i, ", ",
                     part, "]");
    }
    return variant.tensors->front();
  }
  auto parsed = ParseTensorProto(serialized.flat<std::string>()[at],
                                 context.allocator(), charge);
  if (parsed.ok()) return parsed;
  return absl::Status(
      parsed.status().code(),
      absl::StrCat("Could not parse serialized proto of serialized_sparse[", i,
                   ", ", part, "]: ", parsed.status().message()));
}

// Indices (part 0) and shape (part 2) must be int64 and of the right rank.
absl::Status CheckIntegers(const Tensor& tensor, int64_t i, int part) {
  const bool is_shape = part == 2;
  if (tensor.dtype() != DT_INT64) {
    return Invalid("Expected serialized_sparse[", i, ", ", part, "] to be a ",
                   is_shape ? "vector" : "matrix",
                   " of DT_INT64 but received dtype ",
                   DataTypeName(tensor.dtype()));
  }
  if (tensor.rank() == (is_shape ? 1 : 2)) return absl::OkStatus();
  return Invalid("Expected serialized_sparse[", i, ", ", part,
                 is_shape
                     ? "] to be a shape vector but its shape is "
                     : "] to represent an index matrix but received shape ",
                 tensor.shape().ToString());
}

absl::Status CheckValues(const Tensor& values, DataType dtype, int64_t i) {
  if (!values.shape().IsVector()) {
    return Invalid("Expected serialized_sparse[", i,
                   ", 1] to represent a values vector but received shape ",
                   values.shape().ToString());
  }
  if (values.dtype() == dtype) return absl::OkStatus();
  return Invalid("Requested SparseTensor of type ", DataTypeName(dtype),
                 " but SparseTensor[", i,
                 "].values.dtype() == ", DataTypeName(values.dtype()));
}

absl::Status CheckSizes(const SparseParts& parts, int64_t i) {
  if (parts.indices.dim(0) != parts.values.dim(0)) {
    return Invalid("Expected row counts of SparseTensor[", i,
                   "].indices and SparseTensor[", i,
                   "].values to match but they do not: ", parts.indices.dim(0),
                   " vs. ", parts.values.dim(0));
  }
  if (parts.indices.dim(1) == parts.shape.dim(0)) return absl::OkStatus();
  return Invalid("Expected column counts of SparseTensor[", i,
                 "].indices to match size of SparseTensor[", i,
                 "].shape but they do not: ", parts.indices.dim(1), " vs. ",
                 parts.shape.dim(0));
}

// As in TensorFlow, does not check that indices are within the shape: the ops
// that read the elements do.
absl::StatusOr<SparseParts> GetParts(OpKernelContext& context,
                                     HeapCharge& charge, int64_t i) {
  SparseParts parts;
  ASSIGN_OR_RETURN(parts.indices, GetPart(context, charge, i, 0));
  RETURN_IF_ERROR(CheckIntegers(parts.indices, i, 0));
  ASSIGN_OR_RETURN(parts.values, GetPart(context, charge, i, 1));
  RETURN_IF_ERROR(CheckValues(parts.values, context.output_type(1), i));
  ASSIGN_OR_RETURN(parts.shape, GetPart(context, charge, i, 2));
  RETURN_IF_ERROR(CheckIntegers(parts.shape, i, 2));
  RETURN_IF_ERROR(CheckSizes(parts, i));
  return parts;
}

// The smallest shape that contains all of them.
absl::StatusOr<Dims> CommonSizes(const std::vector<SparseParts>& all) {
  const auto first = all[0].shape.flat<int64_t>();
  Dims sizes(first.begin(), first.end());
  for (size_t i = 1; i < all.size(); ++i) {
    const auto other = all[i].shape.flat<int64_t>();
    if (other.size() != sizes.size()) {
      return Invalid(
          "Inconsistent shape across SparseTensors: rank prior to "
          "SparseTensor[",
          i, "] was: ", sizes.size(), " but rank of SparseTensor[", i,
          "] is: ", other.size());
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      sizes[d] = std::max(sizes[d], other[d]);
    }
  }
  return sizes;
}

class DeserializeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& shape = context.input(0).shape();
    if (shape.rank() == 0) {
      return Invalid("Serialized sparse should have non-zero rank ",
                     shape.ToString());
    }
    if (shape.dim(shape.rank() - 1) != kParts) {
      return Invalid("Serialized sparse should have 3 as the last dimension ",
                     shape.ToString());
    }
    if (shape.num_elements() == 0) {
      return Invalid(
          "Serialized sparse should have at least 1 serialized tensor, but has "
          "a zero dimension ",
          shape.ToString());
    }
    return shape.rank() == 1 ? SetOne(context) : SetStacked(context);
  }

 private:
  static absl::Status SetOne(OpKernelContext& context) {
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(SparseParts parts, GetParts(context, charge, 0));
    context.SetOutput(0, std::move(parts.indices));
    context.SetOutput(1, std::move(parts.values));
    context.SetOutput(2, std::move(parts.shape));
    return absl::OkStatus();
  }

  static absl::Status SetStacked(OpKernelContext& context) {
    const auto outer = context.input(0).shape().dims();
    const int64_t rows = context.input(0).num_elements() / kParts;
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(
        charge.AddObjects(static_cast<size_t>(rows), sizeof(SparseParts)));
    std::vector<SparseParts> all(rows);
    int64_t count = 0;
    for (int64_t i = 0; i < rows; ++i) {
      ASSIGN_OR_RETURN(all[i], GetParts(context, charge, i));
      count += all[i].values.num_elements();
    }
    ASSIGN_OR_RETURN(Dims sizes, CommonSizes(all));
    sizes.insert(sizes.begin(), outer.begin(), outer.end() - 1);
    RETURN_IF_ERROR(TensorShape::Create(sizes).status());
    RETURN_IF_ERROR(SetVector(context, 2, sizes));
    RETURN_IF_ERROR(SetIndices(context, all, count, sizes));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {count}));
    int64_t at = 0;
    for (const SparseParts& parts : all) {
      RETURN_IF_ERROR(CopyElements(charge, parts.values, 0,
                                   parts.values.num_elements(), *values, at));
      at += parts.values.num_elements();
    }
    return absl::OkStatus();
  }

  // Each index is preceded by the position of its sparse tensor in the input.
  static absl::Status SetIndices(OpKernelContext& context,
                                 const std::vector<SparseParts>& all,
                                 int64_t count, const Dims& sizes) {
    ASSIGN_OR_RETURN(
        const TensorShape shape,
        TensorShape::Create({count, static_cast<int64_t>(sizes.size())}));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    int64_t* out = output->mutable_flat<int64_t>().data();
    Dims place(context.input(0).rank() - 1, 0);
    for (const SparseParts& parts : all) {
      const int64_t rank = parts.shape.num_elements();
      const int64_t* inner = parts.indices.flat<int64_t>().data();
      for (int64_t i = 0; i < parts.values.num_elements(); ++i) {
        out = std::copy(place.begin(), place.end(), out);
        out = std::copy(inner, inner + rank, out);
        inner += rank;
      }
      Advance(sizes, place);
    }
    return absl::OkStatus();
  }

  // Advances to the next position, row-major; from the last one to the first.
  static void Advance(const Dims& sizes, Dims& place) {
    for (size_t d = place.size(); d-- > 0;) {
      if (++place[d] < sizes[d]) return;
      place[d] = 0;
    }
  }
};

}  // namespace

void RegisterSparseSerializeKernels(KernelRegistry& registry) {
  registry.Register<SerializeKernel>("SerializeSparse");
  registry.Register<SerializeManyKernel>("SerializeManySparse");
  registry.Register<DeserializeKernel>("DeserializeSparse");
  registry.Register<DeserializeKernel>("DeserializeManySparse");
}

}  // namespace weft
