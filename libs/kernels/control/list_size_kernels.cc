// Kernels that change the length of lists, or combine lists: TensorListResize,
// TensorListScatter, TensorListConcatLists, TensorListPushBackBatch.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/list_value.h"
#include "libs/kernels/control/nesting.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

using lists::CheckElement;
using lists::CheckType;
using lists::Invalid;
using lists::kMaxElements;
using lists::List;
using lists::ReadList;
using lists::ScalarFrom;
using lists::ShapeFrom;
using lists::TakeList;
using lists::VariantFrom;
using lists::WriteList;

absl::Status CheckLength(int64_t length) {
  if (length <= kMaxElements) return absl::OkStatus();
  return Invalid("A list has at most ", kMaxElements, " elements, not ",
                 length);
}

// Returns the list in element `i` of a tensor of lists.
absl::StatusOr<List> ListAt(const Tensor& handles, int64_t i) {
  return ReadList(Tensor::Scalar(handles.flat<Variant>()[i]));
}

// Truncates the list, or appends zeros, to the requested length.
class TensorListResize : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const int64_t size, ScalarFrom(context.input(1), "size"));
    if (size < 0 || size > kMaxElements) {
      return Invalid("TensorListSlice expects size to be non-negative and at ",
                     "most ", kMaxElements, ". Got: ", size);
    }
    ASSIGN_OR_RETURN(List list, TakeList(context));
    list.tensors->resize(static_cast<size_t>(size));
    return WriteList(context, std::move(list));
  }
};

// A row for each index; if a fourth input is not negative, the list has at
// least that many elements.
class TensorListScatter : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    ASSIGN_OR_RETURN(const Dims indices, IntegersOf(context.input(1)));
    if (tensor.rank() < 1) {
      return Invalid("Tensor must be at least a vector, but saw shape: []");
    }
    if (static_cast<int64_t>(indices.size()) != tensor.dim(0)) {
      return Invalid("Specified the wrong number of indices: there are ",
                     indices.size(), " for ", tensor.dim(0), " rows");
    }
    ASSIGN_OR_RETURN(const TensorShape row,
                     TensorShape::Create(tensor.shape().dims().subspan(1)));
    List list;
    ASSIGN_OR_RETURN(list.kind.shape, ShapeFrom(context.input(2)));
    if (!list.kind.shape.IsCompatibleWith(row)) {
      return Invalid("Specified a list with shape ", list.kind.shape.ToString(),
                     " from a tensor with shape ", row.ToString());
    }
    list.kind.dtype = tensor.dtype();
    RETURN_IF_ERROR(Nest(tensor, list.kind.depth));
    ASSIGN_OR_RETURN(const int64_t size, SizeFor(context, indices));
    list.tensors = std::make_shared<std::vector<Tensor>>(size);
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      ASSIGN_OR_RETURN(const Tensor slice,
                       tensor.SliceRows(at, at + 1, context.allocator()));
      ASSIGN_OR_RETURN((*list.tensors)[indices[i]], slice.Reshaped(row));
    }
    return WriteList(context, std::move(list));
  }

 private:
  static absl::StatusOr<int64_t> SizeFor(const OpKernelContext& context,
                                         const Dims& indices) {
    int64_t size = 0, asked = -1;
    if (context.num_inputs() > 3) {
      ASSIGN_OR_RETURN(asked, ScalarFrom(context.input(3), "num_elements"));
      if (asked < -1) {
        return Invalid("TensorListScatter expects num_elements >= -1, found: ",
                       asked);
      }
    }
    for (const int64_t index : indices) {
      if (index < 0) {
        return Invalid(
            "Indices in TensorListScatter must all be non-negative.");
      }
      if (asked >= 0 && index >= asked) {
        return Invalid("TensorListScatter: Trying to scatter at index ", index,
                       " in list with size ", asked);
      }
      size = std::max(size, index + 1);
    }
    size = std::max(size, asked);
    RETURN_IF_ERROR(CheckLength(size));
    return size;
  }
};

// Returns the concatenation of two lists.
absl::StatusOr<Variant> Joined(const List& first, const List& second) {
  List joined;
  joined.kind = first.kind;
  RETURN_IF_ERROR(CheckType(second, first.kind.dtype));
  ASSIGN_OR_RETURN(joined.kind.shape,
                   first.kind.shape.MergeWith(second.kind.shape));
  joined.kind.depth = std::max(first.kind.depth, second.kind.depth);
  RETURN_IF_ERROR(CheckLength(first.tensors->size() + second.tensors->size()));
  joined.tensors = std::make_shared<std::vector<Tensor>>(*first.tensors);
  joined.tensors->insert(joined.tensors->end(), second.tensors->begin(),
                         second.tensors->end());
  return VariantFrom(std::move(joined));
}

// Concatenates two tensors of lists, list by list.
class TensorListConcatLists : public OpKernel {
 public:
  TensorListConcatLists(const OpKernelConstruction& construction,
                        DataType dtype)
      : OpKernel(construction), dtype_(dtype) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (a.shape() != b.shape()) {
      return Invalid("TensorListConcatLists requires tensors of the same ",
                     "shape: ", a.shape().ToString(), " vs. ",
                     b.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, a.shape()));
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      ASSIGN_OR_RETURN(const List first, ListAt(a, i));
      RETURN_IF_ERROR(CheckType(first, dtype_));
      ASSIGN_OR_RETURN(const List second, ListAt(b, i));
      ASSIGN_OR_RETURN(output->mutable_flat<Variant>()[i],
                       Joined(first, second));
    }
    return absl::OkStatus();
  }

 private:
  const DataType dtype_;
};

// Pushes each row to the corresponding list of a vector.
class TensorListPushBackBatch : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& handles = context.input(0);
    const Tensor& rows = context.input(1);
    if (rows.rank() < handles.rank() ||
        rows.shape().dims().first(handles.rank()) != handles.shape().dims()) {
      return Invalid("Inputs must have the same leading dimensions; shapes ",
                     "are ", handles.shape().ToString(), " and ",
                     rows.shape().ToString());
    }
    ASSIGN_OR_RETURN(
        const TensorShape shape,
        TensorShape::Create(rows.shape().dims().subspan(handles.rank())));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, handles.shape()));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, rows));
    const int64_t size = shape.num_elements();
    for (int64_t i = 0; i < handles.num_elements(); ++i) {
      ASSIGN_OR_RETURN(Tensor row, context.AllocateTemp(rows.dtype(), shape));
      CopyElements(rows, i * size, size, row, 0);
      ASSIGN_OR_RETURN(List list, ListAt(handles, i));
      RETURN_IF_ERROR(CheckElement(list, row));
      RETURN_IF_ERROR(CheckLength(list.tensors->size() + 1));
      RETURN_IF_ERROR(Nest(row, list.kind.depth));
      list.tensors = std::make_shared<std::vector<Tensor>>(*list.tensors);
      list.tensors->push_back(std::move(row));
      output->mutable_flat<Variant>()[i] = VariantFrom(std::move(list));
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterListSizeKernels(KernelRegistry& registry) {
  registry.Register<TensorListResize>("TensorListResize");
  registry.Register<TensorListScatter>("TensorListScatter");
  registry.Register<TensorListScatter>("TensorListScatterV2");
  registry.Register<TensorListPushBackBatch>("TensorListPushBackBatch");
  registry.Register(
      {.op = "TensorListConcatLists"},
      [](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(const DataType dtype,
                         construction.GetAttr<DataType>("element_dtype"));
        return std::make_unique<TensorListConcatLists>(construction, dtype);
      });
}

}  // namespace weft
