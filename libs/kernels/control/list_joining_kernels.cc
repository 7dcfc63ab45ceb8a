// Kernels that convert between several elements of a list and one tensor: by
// index (gather, scatter), or concatenated along the first dimension, with a
// length for each element (concat, split).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/list_value.h"
#include "libs/kernels/control/nesting.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using lists::CheckType;
using lists::ElementAt;
using lists::Invalid;
using lists::kMaxElements;
using lists::List;

absl::StatusOr<TensorShape> WithFirst(int64_t first,
                                      absl::Span<const int64_t> others) {
  Dims dims = {first};
  dims.insert(dims.end(), others.begin(), others.end());
  return TensorShape::Create(dims);
}

// Returns the elements of the vector `indices`.
absl::StatusOr<absl::Span<const int32_t>> IndicesOf(const Tensor& indices) {
  if (indices.rank() != 1) {
    return Invalid("indices must be a vector, but have shape ",
                   indices.shape().ToString());
  }
  return indices.flat<int32_t>();
}

class TensorListGather : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const List list, lists::ReadList(context.input(0)));
    RETURN_IF_ERROR(CheckType(list, context.output_type(0)));
    ASSIGN_OR_RETURN(const auto indices, IndicesOf(context.input(1)));
    ASSIGN_OR_RETURN(PartialShape shape,
                     lists::ElementShape(list, context.input(2)));
    const auto size = static_cast<int64_t>(list.tensors->size());
    for (const int32_t index : indices) {
      if (index < 0 || index >= size) {
        return Invalid("Index ", index, " out of range; list only has ", size,
                       " elements.");
      }
      const Tensor& element = (*list.tensors)[index];
      if (!element.IsInitialized()) continue;
      ASSIGN_OR_RETURN(shape, shape.MergeWith(element.shape()));
    }
    if (!shape.IsFullyDefined()) {
      return Invalid(
          "Tried to gather uninitialized elements from a list with non-fully-"
          "defined element_shape: ",
          shape.ToString());
    }
    ASSIGN_OR_RETURN(
        const TensorShape gathered,
        WithFirst(static_cast<int64_t>(indices.size()), shape.dims()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, gathered));
    HeapCharge charge(context.host_allocator());
    const int64_t elements = shape.num_elements();
    for (size_t i = 0; i < indices.size(); ++i) {
      ASSIGN_OR_RETURN(const Tensor element,
                       ElementAt(context, list, indices[i], shape));
      RETURN_IF_ERROR(CopyElements(charge, element, 0, elements, *output,
                                   static_cast<int64_t>(i) * elements));
    }
    return absl::OkStatus();
  }
};

class TensorListScatterIntoExistingList : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor rows = context.input(1);
    const Tensor places = context.input(2);
    ASSIGN_OR_RETURN(const auto indices, IndicesOf(places));
    if (rows.rank() < 1) {
      return Invalid("Tensor must be at least a vector, but saw shape: []");
    }
    if (rows.dim(0) != static_cast<int64_t>(indices.size())) {
      return Invalid("Expected len(indices) == tensor.shape[0], but saw: ",
                     indices.size(), " vs. ", rows.dim(0));
    }
    ASSIGN_OR_RETURN(const TensorShape row,
                     TensorShape::Create(rows.shape().dims().subspan(1)));
    ASSIGN_OR_RETURN(List list, lists::TakeList(context));
    RETURN_IF_ERROR(Nest(rows, list.kind.depth));
    RETURN_IF_ERROR(Grow(indices, list));
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto begin = static_cast<int64_t>(i);
      ASSIGN_OR_RETURN(const Tensor slice,
                       rows.SliceRows(begin, begin + 1, context.allocator()));
      ASSIGN_OR_RETURN(Tensor element, slice.Reshaped(row));
      RETURN_IF_ERROR(lists::CheckElement(list, element));
      (*list.tensors)[indices[i]] = std::move(element);
    }
    return lists::WriteList(context, std::move(list));
  }

 private:
  // Extends the list to the largest index.
  static absl::Status Grow(absl::Span<const int32_t> indices, List& list) {
    int64_t size = static_cast<int64_t>(list.tensors->size());
    for (const int32_t index : indices) {
      if (index < 0 || index >= kMaxElements) {
        return Invalid("Indices in TensorListScatter must all be between 0 ",
                       "and ", kMaxElements, ", but got ", index);
      }
      size = std::max<int64_t>(size, int64_t{index} + 1);
    }
    list.tensors->resize(size);
    return absl::OkStatus();
  }
};

// Concatenates the elements along their first dimension, and returns their
// lengths.
class TensorListConcat : public OpKernel {
 public:
  // `element_shape` is the attr's; an input may add another.
  TensorListConcat(const OpKernelConstruction& construction,
                   PartialShape element_shape)
      : OpKernel(construction), element_shape_(std::move(element_shape)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const List list, lists::ReadList(context.input(0)));
    RETURN_IF_ERROR(CheckType(list, context.output_type(0)));
    PartialShape shape = element_shape_;
    absl::Span<const int64_t> leading;
    if (context.num_inputs() > 1) {
      ASSIGN_OR_RETURN(shape, lists::ShapeFrom(context.input(1)));
      leading = context.input(2).flat<int64_t>();
    }
    ASSIGN_OR_RETURN(shape, shape.MergeWith(list.kind.shape));
    ASSIGN_OR_RETURN(const std::vector<Tensor> elements,
                     Elements(context, list, shape, leading));
    return Join(context, elements, shape);
  }

 private:
  // Elements that were not set are zeros of the length in `leading`. `shape` is
  // set to the common shape after the first dimension.
  static absl::StatusOr<std::vector<Tensor>> Elements(
      OpKernelContext& context, const List& list, PartialShape& shape,
      absl::Span<const int64_t> leading) {
    ASSIGN_OR_RETURN(const PartialShape common, CommonRest(list, shape));
    std::vector<Tensor> elements;
    for (size_t i = 0; i < list.tensors->size(); ++i) {
      const Tensor& element = (*list.tensors)[i];
      PartialShape own = PartialShape::UnknownRank();
      if (!element.IsInitialized()) {
        if (i >= leading.size()) {
          return Invalid("List contains uninitialized tensor at index ", i,
                         " but leading_dims has only ", leading.size(),
                         " elements.");
        }
        if (leading[i] < 0 || !common.IsFullyDefined()) {
          return Invalid("List contains uninitialized tensor at index ", i,
                         ", of ", leading[i], " rows of the shape ",
                         common.ToString());
        }
        Dims dims = {leading[i]};
        dims.insert(dims.end(), common.dims().begin(), common.dims().end());
        ASSIGN_OR_RETURN(own, PartialShape::Create(dims));
      }
      ASSIGN_OR_RETURN(elements.emplace_back(),
                       ElementAt(context, list, i, std::move(own)));
    }
    shape = common;
    return elements;
  }

  static absl::StatusOr<PartialShape> Rest(const PartialShape& shape) {
    if (!shape.has_rank()) return PartialShape::UnknownRank();
    if (shape.rank() > 0) return PartialShape::Create(shape.dims().subspan(1));
    return Invalid(
        "Concat requires elements to be at least vectors, found "
        "scalar instead.");
  }

  static absl::StatusOr<PartialShape> CommonRest(const List& list,
                                                 const PartialShape& shape) {
    ASSIGN_OR_RETURN(PartialShape common, Rest(shape));
    for (const Tensor& element : *list.tensors) {
      if (!element.IsInitialized()) continue;
      ASSIGN_OR_RETURN(const PartialShape rest, Rest(element.shape()));
      auto merged = common.MergeWith(rest);
      if (!merged.ok()) {
        return Annotate(merged.status(),
                        "Concat: elements differ after their first dimension");
      }
      common = *std::move(merged);
    }
    return common;
  }

  static absl::Status Join(OpKernelContext& context,
                           const std::vector<Tensor>& elements,
                           const PartialShape& rest) {
    if (!rest.IsFullyDefined()) {
      return Invalid(
          "All except the first dimension must be fully defined when concating "
          "an empty tensor list. element_shape: ",
          rest.ToString());
    }
    const auto count = static_cast<int64_t>(elements.size());
    ASSIGN_OR_RETURN(Tensor * lengths,
                     context.AllocateOutput(1, TensorShape({count})));
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t length = elements[i].dim(0);
      if (length > std::numeric_limits<int64_t>::max() - total) {
        return Invalid("the elements of the list are too long together");
      }
      lengths->mutable_flat<int64_t>()[i] = length;
      total += length;
    }
    ASSIGN_OR_RETURN(const TensorShape joined, WithFirst(total, rest.dims()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, joined));
    HeapCharge charge(context.host_allocator());
    int64_t at = 0;
    for (const Tensor& element : elements) {
      RETURN_IF_ERROR(CopyElements(charge, element, 0, element.num_elements(),
                                   *output, at));
      at += element.num_elements();
    }
    return absl::OkStatus();
  }

  const PartialShape element_shape_;
};

class TensorListSplit : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    const Tensor& lengths = context.input(2);
    if (tensor.rank() == 0) {
      return Invalid("Tensor must be at least a vector, but saw shape: []");
    }
    if (lengths.rank() != 1 || lengths.num_elements() > kMaxElements) {
      return Invalid("Expected lengths to be a vector of at most ",
                     kMaxElements,
                     ", received shape: ", lengths.shape().ToString());
    }
    List list;
    ASSIGN_OR_RETURN(list.kind.shape, lists::ShapeFrom(context.input(1)));
    list.kind.dtype = tensor.dtype();
    RETURN_IF_ERROR(CheckRows(list.kind.shape, tensor.shape()));
    RETURN_IF_ERROR(Nest(tensor, list.kind.depth));
    list.tensors = std::make_shared<std::vector<Tensor>>();
    int64_t begin = 0;
    for (const int64_t length : lengths.flat<int64_t>()) {
      if (length < 0 || length > tensor.dim(0) - begin) {
        return Invalid("Attempting to slice [", begin, ", ", length,
                       " more] from tensor with length ", tensor.dim(0));
      }
      ASSIGN_OR_RETURN(Tensor element, tensor.SliceRows(begin, begin + length,
                                                        context.allocator()));
      list.tensors->push_back(std::move(element));
      begin += length;
    }
    if (begin < tensor.dim(0)) {
      return Invalid("Unused values in tensor. Length of tensor: ",
                     tensor.dim(0), " Values used: ", begin);
    }
    return lists::WriteList(context, std::move(list));
  }

 private:
  // As in TensorFlow, elements may have any length, whatever the first size in
  // `element` is; a read of an element compares the whole shape.
  static absl::Status CheckRows(PartialShape element,
                                const TensorShape& tensor) {
    if (!element.has_rank()) return absl::OkStatus();
    if (element.rank() == 0) {
      return Invalid(
          "TensorListSplit requires element_shape to be at least of rank 1, "
          "but saw: ",
          element.ToString());
    }
    element.set_dim(0, PartialShape::kUnknown);
    if (element.IsCompatibleWith(tensor)) return absl::OkStatus();
    return Invalid("tensor shape ", tensor.ToString(),
                   " is not compatible with element_shape ",
                   element.ToString());
  }
};

template <bool kHasAttr>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeConcat(
    const OpKernelConstruction& construction) {
  PartialShape shape;
  if (kHasAttr) {
    ASSIGN_OR_RETURN(shape,
                     construction.GetAttr<PartialShape>("element_shape"));
  }
  return std::make_unique<TensorListConcat>(construction, std::move(shape));
}

}  // namespace

void RegisterListJoiningKernels(KernelRegistry& registry) {
  registry.Register<TensorListGather>("TensorListGather");
  registry.Register<TensorListScatterIntoExistingList>(
      "TensorListScatterIntoExistingList");
  registry.Register({.op = "TensorListConcat"}, MakeConcat<true>);
  registry.Register({.op = "TensorListConcatV2"}, MakeConcat<false>);
  registry.Register<TensorListSplit>("TensorListSplit");
}

}  // namespace weft
