#include "libs/kernels/resource/resource_lookup.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

absl::StatusOr<ResourceAddress> FromNames(const Tensor& names) {
  if (names.dtype() != DT_STRING || names.num_elements() != 2) {
    return absl::InvalidArgumentError(
        "Resource handle must have two elements, but had shape: " +
        names.shape().ToString());
  }
  return ResourceAddress{names.flat<std::string>()[0],
                         names.flat<std::string>()[1]};
}

Tensor ToNames(const ResourceAddress& address) {
  return Tensor::Vector<std::string>({address.container, address.name});
}

// Returns the handle that old ops use: a string variable with the container and
// the name of the resource.
absl::StatusOr<std::shared_ptr<Variable>> ReferenceTo(
    const OpKernelContext& context, const ResourceAddress& address,
    const std::string& variable_name) {
  auto reference = std::make_shared<Variable>(variable_name, DT_STRING,
                                              PartialShape::Vector(2));
  RETURN_IF_ERROR(reference->Assign(context.cancellation(), ToNames(address)));
  return reference;
}

// The handle of a resource on the kernel's device.
Tensor HandleOf(const OpKernelContext& context, const ResourceAddress& address,
                absl::string_view type_name) {
  return Tensor::Scalar(ResourceHandle{.device = context.device().name(),
                                       .container = address.container,
                                       .name = address.name,
                                       .type_name = std::string(type_name),
                                       .dtype = DT_INVALID,
                                       .shape = PartialShape()});
}

absl::StatusOr<const ResourceHandle*> AnyHandleAt(
    const OpKernelContext& context, int i) {
  const Tensor& input = context.input(i);
  if (input.dtype() != DT_RESOURCE || input.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be the handle of one resource"));
  }
  return &input.scalar<ResourceHandle>();
}

absl::Status CheckIsHere(const OpKernelContext& context,
                         const ResourceHandle& handle) {
  if (handle.device.empty() || handle.device == context.device().name()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Trying to access resource ", handle.name, " located in device ",
      handle.device, " from device ", context.device().name()));
}

}  // namespace

absl::StatusOr<const ResourceHandle*> ResourceHandleAt(
    const OpKernelContext& context, int i, absl::string_view type_name) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, AnyHandleAt(context, i));
  if (handle->type_name != type_name) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Trying to access a handle's resource using the wrong type. The handle "
        "points to a resource (name '",
        handle->name, "') of type '", handle->type_name,
        "' but you are trying to access the resource as type '", type_name,
        "'"));
  }
  RETURN_IF_ERROR(CheckIsHere(context, *handle));
  return handle;
}

absl::StatusOr<const ResourceHandle*> ResourceHandleAt(
    const OpKernelContext& context, int i) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, AnyHandleAt(context, i));
  RETURN_IF_ERROR(CheckIsHere(context, *handle));
  return handle;
}

absl::Status SetStepHandle(OpKernelContext& context, const std::string& name,
                           absl::string_view type_name) {
  const DataType type = context.output_type(0);
  const ResourceAddress address = {context.step_resources().default_container(),
                                   name};
  if (IsRefType(type)) {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> reference,
                     ReferenceTo(context, address, name));
    context.SetOutputRef(0, std::move(reference));
  } else if (type == DT_RESOURCE) {
    context.SetOutput(0, HandleOf(context, address, type_name));
  } else {
    context.SetOutput(0, ToNames(address));
  }
  return absl::OkStatus();
}

absl::StatusOr<ResourceAddress> ResourceAddressAt(
    const OpKernelContext& context, int i, absl::string_view type_name) {
  if (context.input_is_ref(i)) {
    ASSIGN_OR_RETURN(const Tensor names, context.input_variable(i)->Read());
    return FromNames(names);
  }
  if (context.input(i).dtype() == DT_STRING) return FromNames(context.input(i));
  ASSIGN_OR_RETURN(const ResourceHandle* handle,
                   ResourceHandleAt(context, i, type_name));
  return ResourceAddress{handle->container, handle->name};
}

ResourceHandleKernelBase::ResourceHandleKernelBase(
    const OpKernelConstruction& construction)
    : OpKernel(construction), node_name_(construction.node().name()) {}

absl::Status ResourceHandleKernelBase::ReadName(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(container_, construction.GetAttr<std::string>("container"));
  ASSIGN_OR_RETURN(shared_name_,
                   construction.GetAttr<std::string>("shared_name"));
  RETURN_IF_ERROR(ValidateContainerName(container_));
  if (absl::StartsWith(shared_name_, "_")) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared_name cannot start with '_': ", shared_name_));
  }
  const bool* by_node = construction.node().attr<bool>("use_node_name_sharing");
  if (shared_name_.empty() && by_node != nullptr && *by_node) {
    shared_name_ = node_name_;
  }
  return absl::OkStatus();
}

absl::Status ResourceHandleKernelBase::Compute(OpKernelContext& context) {
  RETURN_IF_ERROR(SetHandle(context));
  return NoteStep(context);
}

// Iterators that outlive the session may still use the kernel's other members.
void ResourceHandleKernelBase::EndSession() {
  std::shared_ptr<Resource> own;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  own = TakeOwnThatHoldsKernels();
  is_ended_ = true;
}

std::shared_ptr<Resource> ResourceHandleKernelBase::TakeOwnThatHoldsKernels() {
  if (own_ == nullptr || !own_->HoldsKernels()) return nullptr;
  generation_ = 0;  // the handle is no longer valid
  return std::move(own_);
}

absl::Status ResourceHandleKernelBase::SetHandle(OpKernelContext& context) {
  std::shared_ptr<Resource> rejected;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  const uint64_t generation = context.resources().generation();
  if (generation != generation_) {
    ASSIGN_OR_RETURN(const std::string name, FindOrCreate(context));
    if (is_ended_) rejected = TakeOwnThatHoldsKernels();
    if (rejected != nullptr) {
      return absl::CancelledError(absl::StrCat("the session that owned this ",
                                               resource_type(), " has ended"));
    }
    RETURN_IF_ERROR(MakeHandle(context, name));
    generation_ = generation;
  }
  if (reference_ != nullptr) {
    context.SetOutputRef(0, reference_);
  } else {
    context.SetOutput(0, handle_);
  }
  return absl::OkStatus();
}

absl::Status ResourceHandleKernelBase::MakeHandle(OpKernelContext& context,
                                                  const std::string& name) {
  const ResourceAddress address = {
      container_.empty() ? context.resources().default_container() : container_,
      name};
  if (IsRefType(context.output_type(0))) {
    ASSIGN_OR_RETURN(reference_, ReferenceTo(context, address, node_name_));
  } else {
    handle_ = HandleOf(context, address, resource_type());
  }
  return absl::OkStatus();
}

}  // namespace weft
