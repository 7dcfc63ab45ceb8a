// Access to resources other than variables: ResourceHandleKernel creates a
// resource and its handle, and FindResource serves the kernels that take the
// handle.
//
// A handle is a DT_RESOURCE tensor or, for old ops (FIFOQueue,
// ConditionalAccumulator, ...), a reference to a vector of two strings,
// container and name, or that vector itself (TensorArrayV2).
#ifndef WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_LOOKUP_H_
#define WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_LOOKUP_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/session_kernel.h"
#include "libs/resource/resource.h"
#include "libs/resource/resource_manager.h"
#include "libs/tensor/resource_handle.h"

namespace weft {

// Input `i` as the handle of one resource on this device, of the given type or
// of any type.
absl::StatusOr<const ResourceHandle*> ResourceHandleAt(
    const OpKernelContext& context, int i, absl::string_view type_name);
absl::StatusOr<const ResourceHandle*> ResourceHandleAt(
    const OpKernelContext& context, int i);

// ResourceAddress locates the resource at input `i`, for all kinds of handles.
struct ResourceAddress {
  std::string container, name;
};
absl::StatusOr<ResourceAddress> ResourceAddressAt(
    const OpKernelContext& context, int i, absl::string_view type_name);

template <typename T>
absl::StatusOr<std::shared_ptr<T>> FindResource(const OpKernelContext& context,
                                                int i) {
  ASSIGN_OR_RETURN(ResourceAddress address,
                   ResourceAddressAt(context, i, T::kTypeName));
  return context.resources().Lookup<T>(address.container, address.name);
}

// Like FindResource, for resources that live as long as the step.
template <typename T>
absl::StatusOr<std::shared_ptr<T>> FindStepResource(
    const OpKernelContext& context, int i) {
  ASSIGN_OR_RETURN(ResourceAddress address,
                   ResourceAddressAt(context, i, T::kTypeName));
  return context.step_resources().Lookup<T>(address.container, address.name);
}
// Sets output 0 to the handle of such a resource, of the op's kind of handle.
absl::Status SetStepHandle(OpKernelContext& context, const std::string& name,
                           absl::string_view type_name);

// The base of all kernels that create handles.
class ResourceHandleKernelBase : public OpKernel, public SessionKernel {
 public:
  absl::Status Compute(OpKernelContext& context) final;
  void EndSession() final ABSL_LOCKS_EXCLUDED(mutex_);

 protected:
  explicit ResourceHandleKernelBase(const OpKernelConstruction& construction);

  // Reads attrs container and shared_name, and use_node_name_sharing if the op
  // has it.
  absl::Status ReadName(const OpKernelConstruction& construction);

  const std::string& container() const { return container_; }
  // Empty: the resource is private to this kernel.
  const std::string& shared_name() const { return shared_name_; }
  const std::string& node_name() const { return node_name_; }

 private:
  virtual absl::string_view resource_type() const = 0;
  // Returns the resource's name; creates the resource if it does not exist,
  // unless the step is cancelled.
  virtual absl::StatusOr<std::string> FindOrCreate(
      OpKernelContext& context) = 0;
  // Called in each step that creates the handle.
  virtual absl::Status NoteStep(OpKernelContext&) { return absl::OkStatus(); }
  absl::Status SetHandle(OpKernelContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  // Moves out the private resource if it holds kernels; null otherwise. The
  // caller must destroy it without the lock.
  std::shared_ptr<Resource> TakeOwnThatHoldsKernels()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeHandle(OpKernelContext& context, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string node_name_;
  std::string container_, shared_name_;
  absl::Mutex mutex_;
  bool is_ended_ ABSL_GUARDED_BY(mutex_) = false;
  // The handle is valid for the generation in which it was created.
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  Tensor handle_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Variable> reference_ ABSL_GUARDED_BY(mutex_);

 protected:
  // The private resource, if there is one. Guarded by mutex_, under which
  // FindOrCreate runs.
  std::shared_ptr<Resource> own_;
};

template <typename T>
class ResourceHandleKernel : public ResourceHandleKernelBase {
 protected:
  using ResourceHandleKernelBase::ResourceHandleKernelBase;

  virtual std::shared_ptr<T> Create(const std::string& name) = 0;
  // Returns an error unless an existing resource matches the node.
  virtual absl::Status CheckShared(const T& resource) const = 0;

 private:
  absl::string_view resource_type() const final { return T::kTypeName; }

  absl::StatusOr<std::string> FindOrCreate(OpKernelContext& context) final {
    if (shared_name().empty()) return FindOrCreatePrivate(context);
    ASSIGN_OR_RETURN(std::shared_ptr<T> found,
                     context.resources().LookupOrCreate<T>(
                         context.cancellation(), container(), shared_name(),
                         [&]() -> absl::StatusOr<std::shared_ptr<T>> {
                           return Create(shared_name());
                         }));
    RETURN_IF_ERROR(CheckShared(*found));
    return shared_name();
  }

  // Creates a new one after its container was reset.
  absl::StatusOr<std::string> FindOrCreatePrivate(OpKernelContext& context) {
    ResourceManager& resources = context.resources();
    const bool is_there =
        own_ != nullptr && resources.Lookup<T>(container(), own_name_).ok();
    if (is_there) return own_name_;
    RETURN_IF_ERROR(context.cancellation().status());
    own_ = resources.AddPrivate<T>(container(), node_name(),
                                   [&](const std::string& name) {
                                     own_name_ = name;
                                     return Create(name);
                                   });
    return own_name_;
  }

  // Guarded by the lock of the base.
  std::string own_name_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_RESOURCE_LOOKUP_H_
