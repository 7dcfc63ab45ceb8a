// Kernels of lists of tensors and of optionals.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/list_value.h"
#include "libs/kernels/control/nesting.h"
#include "libs/kernels/control/optional_value.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

using lists::CheckElement;
using lists::CheckType;
using lists::ElementAt;
using lists::ElementShape;
using lists::Invalid;
using lists::kMaxElements;
using lists::List;
using lists::ReadList;
using lists::ScalarFrom;
using lists::ShapeFrom;
using lists::TakeList;
using lists::VariantOf;
using lists::WriteList;

class EmptyTensorList : public OpKernel {
 public:
  EmptyTensorList(const OpKernelConstruction& construction, DataType dtype)
      : OpKernel(construction), dtype_(dtype) {}

  absl::Status Compute(OpKernelContext& context) override {
    List list;
    ASSIGN_OR_RETURN(list.kind.shape, ShapeFrom(context.input(0)));
    ASSIGN_OR_RETURN(list.kind.max_elements,
                     ScalarFrom(context.input(1), "max_num_elements"));
    list.kind.dtype = dtype_;
    list.tensors = std::make_shared<std::vector<Tensor>>();
    return WriteList(context, std::move(list));
  }

 private:
  const DataType dtype_;
};

class TensorListReserve : public OpKernel {
 public:
  TensorListReserve(const OpKernelConstruction& construction, DataType dtype)
      : OpKernel(construction), dtype_(dtype) {}

  absl::Status Compute(OpKernelContext& context) override {
    List list;
    ASSIGN_OR_RETURN(list.kind.shape, ShapeFrom(context.input(0)));
    ASSIGN_OR_RETURN(const int64_t size,
                     ScalarFrom(context.input(1), "num_elements"));
    if (size < 0 || size > kMaxElements) {
      return Invalid("The num_elements to reserve must be between 0 and ",
                     kMaxElements, ", but got ", size);
    }
    list.kind.dtype = dtype_;
    list.tensors = std::make_shared<std::vector<Tensor>>(size);
    return WriteList(context, std::move(list));
  }

 private:
  const DataType dtype_;
};

class TensorListFromTensor : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    if (tensor.rank() == 0) {
      return Invalid("Tensor must be at least a vector, but saw shape: []");
    }
    if (tensor.dim(0) > kMaxElements) {
      return Invalid("A list has at most ", kMaxElements,
                     " elements, but the tensor has ", tensor.dim(0), " rows");
    }
    ASSIGN_OR_RETURN(const TensorShape row,
                     TensorShape::Create(tensor.shape().dims().subspan(1)));
    List list;
    ASSIGN_OR_RETURN(list.kind.shape, ShapeFrom(context.input(1)));
    if (!list.kind.shape.IsCompatibleWith(row)) {
      return Invalid("Specified a list with shape ", list.kind.shape.ToString(),
                     " from a tensor with shape ", row.ToString());
    }
    list.kind.dtype = tensor.dtype();
    RETURN_IF_ERROR(Nest(tensor, list.kind.depth));
    list.tensors = std::make_shared<std::vector<Tensor>>();
    for (int64_t i = 0; i < tensor.dim(0); ++i) {
      ASSIGN_OR_RETURN(const Tensor slice,
                       tensor.SliceRows(i, i + 1, context.allocator()));
      ASSIGN_OR_RETURN(Tensor element, slice.Reshaped(row));
      list.tensors->push_back(std::move(element));
    }
    return WriteList(context, std::move(list));
  }
};

class TensorListPushBack : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    Tensor tensor = context.input(1);
    ASSIGN_OR_RETURN(List list, TakeList(context));
    RETURN_IF_ERROR(CheckElement(list, tensor));
    const int64_t max = list.kind.max_elements;
    if (max != -1 && static_cast<int64_t>(list.tensors->size()) >= max) {
      return Invalid("Tried to push item into a full list list size: ",
                     list.tensors->size(), " max_num_elements: ", max);
    }
    RETURN_IF_ERROR(Nest(tensor, list.kind.depth));
    list.tensors->push_back(std::move(tensor));
    return WriteList(context, std::move(list));
  }
};

class TensorListPopBack : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(List list, TakeList(context));
    RETURN_IF_ERROR(CheckType(list, context.output_type(1)));
    if (list.tensors->empty()) {
      return Invalid("Trying to pop from an empty list.");
    }
    ASSIGN_OR_RETURN(const PartialShape shape,
                     ElementShape(list, context.input(1)));
    ASSIGN_OR_RETURN(Tensor element,
                     ElementAt(context, list, list.tensors->size() - 1, shape));
    list.tensors->pop_back();
    context.SetOutput(1, std::move(element));
    return WriteList(context, std::move(list));
  }
};

class TensorListSetItem : public OpKernel {
 public:
  TensorListSetItem(const OpKernelConstruction& construction, bool grows)
      : OpKernel(construction), grows_(grows) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const int64_t index,
                     ScalarFrom(context.input(1), "index"));
    Tensor item = context.input(2);
    ASSIGN_OR_RETURN(List list, TakeList(context));
    RETURN_IF_ERROR(CheckElement(list, item));
    const auto size = static_cast<int64_t>(list.tensors->size());
    if (index < 0 || (index >= size && !grows_) || index >= kMaxElements) {
      return Invalid("Trying to modify element ", index, " in a list with ",
                     size, " elements.");
    }
    RETURN_IF_ERROR(Nest(item, list.kind.depth));
    if (index >= size) list.tensors->resize(index + 1);
    (*list.tensors)[index] = std::move(item);
    return WriteList(context, std::move(list));
  }

 private:
  const bool grows_;
};

class TensorListLength : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const List list, ReadList(context.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
    output->mutable_scalar<int32_t>() =
        static_cast<int32_t>(list.tensors->size());
    return absl::OkStatus();
  }
};

class TensorListElementShape : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const List list, ReadList(context.input(0)));
    const PartialShape& shape = list.kind.shape;
    const std::vector<int64_t> dims =
        shape.has_rank()
            ? std::vector<int64_t>(shape.dims().begin(), shape.dims().end())
            : std::vector<int64_t>{-1};
    ASSIGN_OR_RETURN(
        Tensor * output,
        context.AllocateOutput(
            0, shape.has_rank() ? TensorShape({shape.rank()}) : TensorShape()));
    for (size_t i = 0; i < dims.size(); ++i) {
      if (output->dtype() == DT_INT64) {
        output->mutable_flat<int64_t>()[i] = dims[i];
      } else if (dims[i] <= std::numeric_limits<int32_t>::max()) {
        output->mutable_flat<int32_t>()[i] = static_cast<int32_t>(dims[i]);
      } else {
        return Invalid("dim ", i, " is ", dims[i],
                       ", which does not fit into int32");
      }
    }
    return absl::OkStatus();
  }
};

class TensorListGetItem : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const List list, ReadList(context.input(0)));
    RETURN_IF_ERROR(CheckType(list, context.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t index,
                     ScalarFrom(context.input(1), "index"));
    if (index < 0 || index >= static_cast<int64_t>(list.tensors->size())) {
      return Invalid("Trying to access element ", index, " in a list with ",
                     list.tensors->size(), " elements.");
    }
    ASSIGN_OR_RETURN(const PartialShape shape,
                     ElementShape(list, context.input(2)));
    ASSIGN_OR_RETURN(Tensor element, ElementAt(context, list, index, shape));
    context.SetOutput(0, std::move(element));
    return absl::OkStatus();
  }
};

class TensorListStack : public OpKernel {
 public:
  TensorListStack(const OpKernelConstruction& construction, int64_t size)
      : OpKernel(construction), size_(size) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const List list, ReadList(context.input(0)));
    RETURN_IF_ERROR(CheckType(list, context.output_type(0)));
    const auto size = static_cast<int64_t>(list.tensors->size());
    if (size_ >= 0 && size_ != size) {
      return Invalid("Operation expected a list with ", size_,
                     " elements but got a list with ", size, " elements.");
    }
    ASSIGN_OR_RETURN(PartialShape shape, ElementShape(list, context.input(1)));
    for (const Tensor& element : *list.tensors) {
      if (!element.IsInitialized()) continue;
      ASSIGN_OR_RETURN(shape, shape.MergeWith(element.shape()));
    }
    if (!shape.IsFullyDefined()) {
      return Invalid(
          "Tried to stack elements of an empty list with non-fully-"
          "defined element_shape: ",
          shape.ToString());
    }
    return Stack(context, list, shape);
  }

 private:
  static absl::Status Stack(OpKernelContext& context, const List& list,
                            const PartialShape& shape) {
    const auto size = static_cast<int64_t>(list.tensors->size());
    std::vector<int64_t> dims = {size};
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    ASSIGN_OR_RETURN(const TensorShape stacked, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, stacked));
    HeapCharge charge(context.host_allocator());
    const int64_t elements = shape.num_elements();
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(const Tensor element,
                       ElementAt(context, list, i, shape));
      RETURN_IF_ERROR(
          CopyElements(charge, element, 0, elements, *output, i * elements));
    }
    return absl::OkStatus();
  }

  const int64_t size_;
};

// ---- Optional ----

class OptionalFromValue : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    std::vector<Tensor> components;
    int64_t depth = 1;
    for (int i = 0; i < context.num_inputs(); ++i) {
      components.push_back(context.TakeInput(i));
      RETURN_IF_ERROR(Nest(components.back(), depth));
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
    output->mutable_scalar<Variant>() =
        OptionalOf(std::move(components), depth);
    return absl::OkStatus();
  }
};

class OptionalNone : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
    output->mutable_scalar<Variant>() = NoOptional();
    return absl::OkStatus();
  }
};

class OptionalHasValueKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Variant* variant,
                     VariantOf(context.input(0), kOptionalType, "Optional"));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
    output->mutable_scalar<bool>() = OptionalHasValue(*variant);
    return absl::OkStatus();
  }
};

class OptionalGetValue : public OpKernel {
 public:
  OptionalGetValue(const OpKernelConstruction& construction,
                   std::vector<PartialShape> shapes)
      : OpKernel(construction), shapes_(std::move(shapes)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Variant* variant,
                     VariantOf(context.input(0), kOptionalType, "Optional"));
    if (!OptionalHasValue(*variant) || variant->tensors == nullptr) {
      return Invalid("The given optional does not have a value.");
    }
    const std::vector<Tensor>& components = *variant->tensors;
    if (static_cast<int>(components.size()) != context.num_outputs() ||
        components.size() != shapes_.size()) {
      return Invalid("The given optional has ", components.size(),
                     " components, expected ", context.num_outputs());
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (components[i].dtype() != context.output_type(i) ||
          !shapes_[i].IsCompatibleWith(components[i].shape())) {
        return Invalid("The given optional has component ", i, " of type ",
                       DataTypeName(components[i].dtype()), " and shape ",
                       components[i].shape().ToString(), ", expected ",
                       DataTypeName(context.output_type(i)), " and ",
                       shapes_[i].ToString());
      }
      context.SetOutput(i, components[i]);
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<PartialShape> shapes_;
};

template <typename Kernel, typename Attr>
void RegisterWith(KernelRegistry& registry, absl::string_view op,
                  const char* attr, bool is_cheap = false) {
  registry.Register(
      {.op = std::string(op), .is_cheap = is_cheap},
      [attr](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(Attr value, construction.GetAttr<Attr>(attr));
        return std::make_unique<Kernel>(construction, std::move(value));
      });
}

}  // namespace

void RegisterListKernels(KernelRegistry& registry) {
  RegisterListJoiningKernels(registry);
  RegisterListSizeKernels(registry);
  RegisterWith<EmptyTensorList, DataType>(registry, "EmptyTensorList",
                                          "element_dtype");
  RegisterWith<TensorListReserve, DataType>(registry, "TensorListReserve",
                                            "element_dtype");
  registry.Register<TensorListFromTensor>("TensorListFromTensor");
  registry.Register<TensorListPushBack>("TensorListPushBack");
  registry.Register<TensorListPopBack>("TensorListPopBack");
  RegisterWith<TensorListSetItem, bool>(registry, "TensorListSetItem",
                                        "resize_if_index_out_of_bounds");
  registry.Register<TensorListLength>("TensorListLength");
  registry.Register<TensorListElementShape>("TensorListElementShape");
  registry.Register<TensorListGetItem>("TensorListGetItem");
  RegisterWith<TensorListStack, int64_t>(registry, "TensorListStack",
                                         "num_elements");
  registry.Register<OptionalFromValue>("OptionalFromValue");
  registry.Register<OptionalNone>("OptionalNone");
  registry.Register<OptionalHasValueKernel>("OptionalHasValue");
  RegisterWith<OptionalGetValue, std::vector<PartialShape>>(
      registry, "OptionalGetValue", "output_shapes");
}

}  // namespace weft
