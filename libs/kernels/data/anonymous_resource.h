// Resources without a name in the graph: seed generators, caches and iterators
// that the datasets of a function share.
#ifndef WEFT_LIBS_KERNELS_DATA_ANONYMOUS_RESOURCE_H_
#define WEFT_LIBS_KERNELS_DATA_ANONYMOUS_RESOURCE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/variant.h"

namespace weft {

// Returns a handle of `resource`, which has no name in the graph and lives as
// long as the step and its other holders.
template <typename T>
absl::Status SetAnonymous(OpKernelContext& context,
                          const std::shared_ptr<T>& resource) {
  RETURN_IF_ERROR(context.cancellation().status());
  std::string name;
  context.resources().AddPrivate<T>("", context.node_name(),
                                    [&](const std::string& private_name) {
                                      name = private_name;
                                      return resource;
                                    });
  RETURN_IF_ERROR(context.step_resources().LookupOrCreate<T>(
      context.cancellation(), "", name,
      [&]() -> absl::StatusOr<std::shared_ptr<T>> { return resource; }));
  context.SetOutput(0, Tensor::Scalar(ResourceHandle{
                           .device = context.device().name(),
                           .container = context.resources().default_container(),
                           .name = name,
                           .type_name = std::string(T::kTypeName),
                           .dtype = DT_INVALID,
                           .shape = PartialShape()}));
  if (context.num_outputs() > 1) {
    Tensor deleter(DT_VARIANT, TensorShape());
    deleter.mutable_scalar<Variant>().type_name = "tensorflow::ResourceDeleter";
    context.SetOutput(1, std::move(deleter));
  }
  return absl::OkStatus();
}

// DeleteAnonymousKernel is the kernel of the ops that delete a resource, given
// its handle and its deleter. Other holders keep the resource.
template <typename T>
class DeleteAnonymousKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const ResourceAddress address,
                     ResourceAddressAt(context, 0, T::kTypeName));
    const absl::Status status = context.step_resources().Delete<T>(
        context.cancellation(), "", address.name);
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }
};

// DummyHandleKernel returns a null handle, for ops that require one.
template <typename T>
class DummyHandleKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ResourceHandle handle;
    handle.device = context.device().name();
    handle.type_name = absl::StrCat("Dummy", T::kTypeName);
    context.SetOutput(0, Tensor::Scalar(std::move(handle)));
    return absl::OkStatus();
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ANONYMOUS_RESOURCE_H_
