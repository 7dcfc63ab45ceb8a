#include "libs/kernels/resource/variable_lookup.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/uninitialized.h"

namespace weft {

absl::StatusOr<ResourceName> ResourceName::FromAttrs(
    const OpKernelConstruction& construction) {
  ResourceName result;
  ASSIGN_OR_RETURN(result.container,
                   construction.GetAttr<std::string>("container"));
  ASSIGN_OR_RETURN(result.name,
                   construction.GetAttr<std::string>("shared_name"));
  RETURN_IF_ERROR(ValidateContainerName(result.container));
  if (absl::StartsWith(result.name, "_")) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared_name cannot start with '_': ", result.name));
  }
  if (result.name.empty()) result.name = construction.node().name();
  return result;
}

std::shared_ptr<Variable> VariableLookup::Remembered(
    const ResourceManager& resources, absl::string_view container,
    absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  const bool is_same = manager_ == &resources &&
                       generation_ == resources.generation() &&
                       absl::string_view(name_) == name &&
                       absl::string_view(container_) == container;
  return is_same ? variable_.lock() : nullptr;
}

std::shared_ptr<Variable> VariableLookup::Remembered(
    const ResourceManager& resources, const Tensor& handle) {
  absl::MutexLock lock(&mutex_);
  // Rows of a vector of handles share a buffer.
  const bool is_same =
      handle.num_elements() == 1 && handle.SharesBufferWith(handle_) &&
      handle.data() == handle_.data() && manager_ == &resources &&
      generation_ == resources.generation();
  return is_same ? variable_.lock() : nullptr;
}

void VariableLookup::RememberHandle(const Tensor& handle) {
  absl::MutexLock lock(&mutex_);
  const ResourceHandle& names = handle.scalar<ResourceHandle>();
  // A concurrent step may have cached another variable meanwhile.
  if (names.name == name_ && names.container == container_) handle_ = handle;
}

void VariableLookup::Remember(const ResourceManager& resources,
                              uint64_t generation, absl::string_view container,
                              absl::string_view name,
                              const std::shared_ptr<Variable>& variable) {
  absl::MutexLock lock(&mutex_);
  manager_ = &resources;
  generation_ = generation;
  container_ = std::string(container);
  name_ = std::string(name);
  variable_ = variable;
  handle_ = Tensor();
}

absl::StatusOr<std::shared_ptr<Variable>> VariableLookup::Find(
    ResourceManager& resources, absl::string_view container,
    absl::string_view name) {
  if (auto found = Remembered(resources, container, name)) return found;
  // Read before the lookup: a change in between only causes another lookup.
  const uint64_t generation = resources.generation();
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                   resources.Lookup<Variable>(container, name));
  Remember(resources, generation, container, name, variable);
  return variable;
}

absl::StatusOr<std::shared_ptr<Variable>> VariableLookup::FindOrCreate(
    const OpKernelContext& context, absl::string_view container,
    absl::string_view name, DataType dtype, const PartialShape& shape) {
  ResourceManager& resources = context.resources();
  if (auto found = Remembered(resources, container, name)) return found;
  const uint64_t generation = resources.generation();
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                   resources.LookupOrCreate<Variable>(
                       context.cancellation(), container, name,
                       [&]() -> absl::StatusOr<std::shared_ptr<Variable>> {
                         return std::make_shared<Variable>(std::string(name),
                                                           dtype, shape);
                       }));
  Remember(resources, generation, container, name, variable);
  return variable;
}

absl::StatusOr<std::shared_ptr<Variable>> VariableLookup::FromInput(
    const OpKernelContext& context, int i) {
  if (context.input_is_ref(i)) return context.input_variable(i);
  if (auto found = Remembered(context.resources(), context.input(i))) {
    return found;
  }
  ASSIGN_OR_RETURN(const ResourceHandle* handle, VariableHandle(context, i));
  auto variable = Find(context.resources(), handle->container, handle->name);
  if (absl::IsNotFound(variable.status())) {
    return Append(variable.status(), kInitializeRemedy);
  }
  if (variable.ok()) RememberHandle(context.input(i));
  return variable;
}

absl::StatusOr<const ResourceHandle*> VariableHandle(
    const OpKernelContext& context, int i) {
  return ResourceHandleAt(context, i, Variable::kTypeName);
}

absl::Status CouldNotFindVariable(const ResourceHandle& handle,
                                  const absl::Status& cause) {
  if (!absl::IsNotFound(cause)) return cause;
  return absl::FailedPreconditionError(absl::StrCat(
      "Could not find variable ", handle.name,
      ". This could mean that the variable has been deleted. In TF1, it can "
      "also mean the variable is uninitialized. Debug info: container=",
      handle.container, ", status error message=", cause.message()));
}

absl::Status CheckVariableType(const Variable& variable, DataType wanted) {
  if (variable.dtype() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Trying to read variable with wrong dtype. Expected ",
      DataTypeName(wanted), " got ", DataTypeName(variable.dtype()),
      " (variable ", variable.name(), ")"));
}

absl::Status AssignInput(OpKernelContext& context, int i, Variable& variable) {
  Tensor value = context.TakeInput(i);
  absl::Status status =
      variable.Assign(context.cancellation(), &value, context.when_locked());
  if (IsGivenUp(status)) context.PutBackInput(i, std::move(value));
  return status;
}

void ForwardReference(OpKernelContext& context) {
  if (context.input_is_ref(0)) {
    context.SetOutputRef(0, context.input_variable(0));
  }
}

std::string ElementPosition(const TensorShape& shape, int64_t i) {
  std::vector<int64_t> position(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    position[d] = i % shape.dim(d);
    i /= shape.dim(d);
  }
  if (position.empty()) return "";
  return absl::StrCat("[", absl::StrJoin(position, ","), "]");
}

absl::Status CheckIndices(const Tensor& indices, int64_t limit) {
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = IndexAt(indices, i);
    if (index >= 0 && index < limit) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("indices", ElementPosition(indices.shape(), i), " = ",
                     index, " is not in [0, ", limit, ")"));
  }
  return absl::OkStatus();
}

}  // namespace weft
