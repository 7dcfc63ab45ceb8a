#include "libs/kernels/control/list_value.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/control/nesting.h"

namespace weft::lists {
namespace {

// "dtype max depth rank-or-(-1) size size ..."
std::string ToMetadata(const ListKind& kind) {
  std::string text = absl::StrCat(
      static_cast<int>(kind.dtype), " ", kind.max_elements, " ", kind.depth,
      " ", kind.shape.has_rank() ? kind.shape.rank() : -1);
  if (!kind.shape.has_rank()) return text;
  for (const int64_t dim : kind.shape.dims()) absl::StrAppend(&text, " ", dim);
  return text;
}

absl::StatusOr<ListKind> FromMetadata(const std::string& text) {
  std::vector<int64_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ' ')) {
    if (!absl::SimpleAtoi(part, &numbers.emplace_back())) numbers.clear();
  }
  const bool is_whole =
      numbers.size() >= 4 && static_cast<int64_t>(numbers.size()) - 4 ==
                                 std::max<int64_t>(numbers[3], 0);
  if (!is_whole) return Invalid("the variant holds a damaged list");
  ListKind kind{.dtype = static_cast<DataType>(numbers[0]),
                .max_elements = numbers[1],
                .depth = std::clamp<int64_t>(numbers[2], 1, kMaxNesting)};
  if (numbers[3] < 0) return kind;
  ASSIGN_OR_RETURN(kind.shape,
                   PartialShape::Create(absl::MakeSpan(numbers).subspan(4)));
  return kind;
}

absl::StatusOr<Tensor> Zeros(OpKernelContext& context, const List& list,
                             const PartialShape& shape) {
  if (!shape.IsFullyDefined()) {
    return Invalid(
        "Trying to read an uninitialized tensor but element_shape "
        "is not fully defined: ",
        shape.ToString());
  }
  ASSIGN_OR_RETURN(Tensor zeros,
                   context.AllocateTemp(list.kind.dtype, shape.ToShape()));
  RETURN_IF_ERROR(FillWithZeros(zeros));
  return zeros;
}

}  // namespace

absl::StatusOr<const Variant*> VariantOf(const Tensor& handle,
                                         absl::string_view type_name,
                                         absl::string_view what) {
  if (handle.dtype() != DT_VARIANT || handle.num_elements() != 1) {
    return Invalid("the handle must be a scalar variant, but is ",
                   handle.ToString());
  }
  const Variant& variant = handle.scalar<Variant>();
  if (variant.type_name != type_name) {
    return Invalid("the variant holds no ", what, ", but a '",
                   variant.type_name, "'");
  }
  return &variant;
}

absl::StatusOr<List> ReadList(const Tensor& handle) {
  ASSIGN_OR_RETURN(const Variant* variant,
                   VariantOf(handle, kListType, "list"));
  List list;
  ASSIGN_OR_RETURN(list.kind, FromMetadata(variant->metadata));
  list.tensors =
      variant->tensors == nullptr
          ? std::make_shared<std::vector<Tensor>>()
          : std::const_pointer_cast<std::vector<Tensor>>(variant->tensors);
  return list;
}

absl::StatusOr<List> TakeList(OpKernelContext& context) {
  const Tensor handle = context.TakeInput(0);
  ASSIGN_OR_RETURN(List list, ReadList(handle));
  // The list and the handle hold it at this point.
  const bool is_alone = handle.RefCountIsOne() && list.tensors.use_count() <= 2;
  if (!is_alone) {
    list.tensors = std::make_shared<std::vector<Tensor>>(*list.tensors);
  }
  return list;
}

Variant VariantFrom(List list) {
  return {kListType, ToMetadata(list.kind),
          std::shared_ptr<const std::vector<Tensor>>(std::move(list.tensors))};
}

absl::Status WriteList(OpKernelContext& context, List list) {
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
  output->mutable_scalar<Variant>() = VariantFrom(std::move(list));
  return absl::OkStatus();
}

absl::StatusOr<PartialShape> ShapeFrom(const Tensor& tensor) {
  ASSIGN_OR_RETURN(const Dims dims, IntegersOf(tensor));
  if (tensor.rank() == 1) return PartialShape::Create(dims);
  if (tensor.rank() == 0 && dims[0] == -1) return PartialShape();
  return Invalid("an element_shape is a vector, or the scalar -1, but not ",
                 tensor.ToString());
}

absl::StatusOr<int64_t> ScalarFrom(const Tensor& tensor,
                                   absl::string_view what) {
  if (tensor.num_elements() != 1) {
    return Invalid(what, " is a scalar, but has shape ",
                   tensor.shape().ToString());
  }
  return tensor.scalar<int32_t>();
}

absl::Status CheckType(const List& list, DataType dtype) {
  if (list.kind.dtype == dtype) return absl::OkStatus();
  return Invalid("Invalid data types; op elements ", DataTypeName(dtype),
                 " but list elements ", DataTypeName(list.kind.dtype));
}

absl::Status CheckElement(const List& list, const Tensor& tensor) {
  RETURN_IF_ERROR(CheckType(list, tensor.dtype()));
  if (list.kind.shape.IsCompatibleWith(tensor.shape())) return absl::OkStatus();
  return Invalid(
      "Tried to append a tensor with incompatible shape to a list. Op element "
      "shape: ",
      tensor.shape().ToString(), " list shape: ", list.kind.shape.ToString());
}

absl::StatusOr<PartialShape> ElementShape(const List& list,
                                          const Tensor& asked) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeFrom(asked));
  auto merged = list.kind.shape.MergeWith(shape);
  if (merged.ok()) return merged;
  return Annotate(merged.status(),
                  "Incompatible shapes of the list and the op");
}

absl::StatusOr<Tensor> ElementAt(OpKernelContext& context, const List& list,
                                 size_t i, PartialShape shape) {
  const Tensor& element = (*list.tensors)[i];
  if (!element.IsInitialized()) {
    // Other elements may have the shape.
    for (const Tensor& other : *list.tensors) {
      if (shape.IsFullyDefined()) break;
      if (!other.IsInitialized()) continue;
      ASSIGN_OR_RETURN(shape, shape.MergeWith(other.shape()));
    }
    return Zeros(context, list, shape);
  }
  // A variant from a peer may describe its tensors wrongly.
  if (element.dtype() != list.kind.dtype) {
    return Invalid("The list is of ", DataTypeName(list.kind.dtype),
                   " elements, but an element is of ",
                   DataTypeName(element.dtype()));
  }
  if (shape.IsCompatibleWith(element.shape())) return element;
  return Invalid("Expected element of shape ", shape.ToString(),
                 " but the list has an element of shape ",
                 element.shape().ToString());
}

}  // namespace weft::lists
