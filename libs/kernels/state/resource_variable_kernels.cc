// Kernels of resource variables: VarHandleOp, ReadVariableOp, AssignVariableOp
// and queries.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/kernels/common/constant_output.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/resource/gradient_accumulator.h"
#include "libs/resource/lookup_table.h"
#include "libs/resource/queue.h"
#include "libs/resource/tensor_array.h"
#include "libs/resource/variable.h"

namespace weft {
namespace {

class VarHandleKernel : public OpKernel, public ConstantOutput {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Create(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<VarHandleKernel>(construction);
    ASSIGN_OR_RETURN(ResourceName name, ResourceName::FromAttrs(construction));
    ResourceHandle& handle = kernel->handle_;
    handle.container = std::move(name.container);
    handle.name = std::move(name.name);
    handle.type_name = std::string(Variable::kTypeName);
    handle.device = construction.device().name();
    ASSIGN_OR_RETURN(handle.dtype, construction.GetAttr<DataType>("dtype"));
    ASSIGN_OR_RETURN(handle.shape, construction.GetAttr<PartialShape>("shape"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    context.SetOutput(0, OutputIn(context.resources().default_container()));
    return absl::OkStatus();
  }

  // The default container is known at the first call; the handle is constant
  // afterwards.
  Tensor OutputIn(absl::string_view default_container) override {
    absl::MutexLock lock(&mutex_);
    if (!output_.IsInitialized()) {
      if (handle_.container.empty()) {
        handle_.container = std::string(default_container);
      }
      output_ = Tensor::Scalar(handle_);
    }
    return output_;
  }

 private:
  ResourceHandle handle_;
  absl::Mutex mutex_;
  Tensor output_ ABSL_GUARDED_BY(mutex_);
};

class ReadVariableKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    auto variable = lookup_.FromInput(context, 0);
    if (!variable.ok()) {
      ASSIGN_OR_RETURN(const ResourceHandle* handle,
                       VariableHandle(context, 0));
      return CouldNotFindVariable(*handle, variable.status());
    }
    RETURN_IF_ERROR(CheckVariableType(**variable, context.output_type(0)));
    ASSIGN_OR_RETURN(Tensor value, (*variable)->Read(context.when_locked()));
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }

 private:
  VariableLookup lookup_;
};

class AssignVariableKernel : public OpKernel {
 public:
  explicit AssignVariableKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        validate_shape_(
            construction.GetAttr<bool>("validate_shape").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, VariableHandle(context, 0));
    const Tensor& value = context.input(1);
    ASSIGN_OR_RETURN(
        std::shared_ptr<Variable> variable,
        lookup_.FindOrCreate(context, handle->container, handle->name,
                             value.dtype(), handle->shape));
    if (variable->dtype() != value.dtype()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Trying to assign variable with wrong dtype. Expected ",
                       DataTypeName(variable->dtype()), " got ",
                       DataTypeName(value.dtype())));
    }
    if (validate_shape_) {
      RETURN_IF_ERROR(CheckShape(context, *variable, value.shape()));
    }
    return AssignInput(context, 1, *variable);
  }

 private:
  static absl::Status CheckShape(const OpKernelContext& context,
                                 const Variable& variable,
                                 const TensorShape& shape) {
    if (!variable.IsInitialized()) return absl::OkStatus();
    return variable.ReadPart(
        [&](const Tensor& value) {
          if (value.shape() == shape) return absl::OkStatus();
          return absl::InvalidArgumentError(absl::StrCat(
              "Trying to assign to variable with tensor with wrong shape. "
              "Expected ",
              value.shape().ToString(), " got ", shape.ToString()));
        },
        context.when_locked());
  }

  const bool validate_shape_;
  VariableLookup lookup_;
};

class VarIsInitializedKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    auto variable = lookup_.FromInput(context, 0);
    if (!variable.ok() && !absl::IsNotFound(variable.status())) {
      return variable.status();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {}));
    output->mutable_scalar<bool>() =
        variable.ok() && (*variable)->IsInitialized();
    return absl::OkStatus();
  }

 private:
  VariableLookup lookup_;
};

class VariableShapeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, VariableHandle(context, 0));
    auto variable = lookup_.FromInput(context, 0);
    if (!variable.ok()) return CouldNotFindVariable(*handle, variable.status());
    TensorShape shape;
    RETURN_IF_ERROR((*variable)->ReadPart(
        [&](const Tensor& value) {
          shape = value.shape();
          return absl::OkStatus();
        },
        context.when_locked()));
    return DispatchType(
        IndexTypes{}, context.output_type(0),
        [&]<typename T>(TypeTag<T>) { return Write<T>(shape, context); });
  }

 private:
  template <typename T>
  static absl::Status Write(const TensorShape& shape,
                            OpKernelContext& context) {
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, TensorShape({shape.rank()})));
    for (int i = 0; i < shape.rank(); ++i) {
      output->mutable_flat<T>()[i] = static_cast<T>(shape.dim(i));
    }
    return absl::OkStatus();
  }

  VariableLookup lookup_;
};

template <typename... T>
struct ResourceTypes {};
using SharedTypes =
    ResourceTypes<Variable, Queue, LookupTable, GradientAccumulator>;
using StepTypes = ResourceTypes<TensorArray>;

// Deletes the resource of the handle, if its type is one of these; otherwise
// returns false.
template <typename... T>
bool DeleteAnyOf(ResourceTypes<T...>, ResourceManager& resources,
                 const Cancellation& step, const ResourceHandle& handle,
                 absl::Status& status) {
  const auto try_one = [&]<typename U>(U*) {
    if (handle.type_name != U::kTypeName) return false;
    status = resources.Delete<U>(step, handle.container, handle.name);
    return true;
  };
  return (try_one(static_cast<T*>(nullptr)) || ...);
}

class DestroyResourceKernel : public OpKernel {
 public:
  explicit DestroyResourceKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        ignore_lookup_error_(
            construction.GetAttr<bool>("ignore_lookup_error").value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle,
                     ResourceHandleAt(context, 0));
    absl::Status status;
    const Cancellation& step = context.cancellation();
    const bool is_known = DeleteAnyOf(SharedTypes(), context.resources(), step,
                                      *handle, status) ||
                          DeleteAnyOf(StepTypes(), context.step_resources(),
                                      step, *handle, status);
    if (!is_known) {
      return absl::InvalidArgumentError(
          absl::StrCat("Resource '", handle->name, "' of type '",
                       handle->type_name, "' cannot be destroyed"));
    }
    if (absl::IsNotFound(status) && ignore_lookup_error_) {
      return absl::OkStatus();
    }
    return status;
  }

 private:
  const bool ignore_lookup_error_;
};

// Reads share memory and writers copy on write in Weft, so there is nothing to
// disable.
class DisableCopyOnReadKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

}  // namespace

void RegisterResourceVariableKernels(KernelRegistry& registry) {
  constexpr bool kCheap = true;
  registry.Register({.op = "VarHandleOp", .is_cheap = kCheap},
                    VarHandleKernel::Create);
  registry.Register<ReadVariableKernel>("ReadVariableOp", {}, kCheap);
  registry.Register<AssignVariableKernel>("AssignVariableOp", {}, kCheap);
  registry.Register<VarIsInitializedKernel>("VarIsInitializedOp", {}, kCheap);
  registry.Register<VariableShapeKernel>("VariableShape", {}, kCheap);
  registry.Register<DestroyResourceKernel>("DestroyResourceOp", {}, kCheap);
  registry.Register<DisableCopyOnReadKernel>("DisableCopyOnRead", {}, kCheap);
}

}  // namespace weft
