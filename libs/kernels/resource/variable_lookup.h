// Lookup of the variable that a kernel uses: by a reference input, or by a
// resource handle.
#ifndef WEFT_LIBS_KERNELS_RESOURCE_VARIABLE_LOOKUP_H_
#define WEFT_LIBS_KERNELS_RESOURCE_VARIABLE_LOOKUP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/kernels/op_kernel.h"
#include "libs/resource/resource_manager.h"
#include "libs/resource/variable.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/tensor.h"

namespace weft {

// ResourceName is the name of a resource by TensorFlow's rules
// (core/framework/resource_mgr.cc), from attrs `container` and `shared_name` of
// the node that creates it: the shared name, else the node's name.
struct ResourceName {
  std::string container;  // empty: the manager's default
  std::string name;

  // Returns INVALID_ARGUMENT for an invalid container, or a shared name that
  // begins with "_", which is reserved for private resources.
  static absl::StatusOr<ResourceName> FromAttrs(
      const OpKernelConstruction& construction);
};

// VariableLookup caches the variable of one input between runs. Thread-safe.
class VariableLookup {
 public:
  // Returns the variable `name`; NOT_FOUND if there is none.
  absl::StatusOr<std::shared_ptr<Variable>> Find(ResourceManager& resources,
                                                 absl::string_view container,
                                                 absl::string_view name);
  // Returns the variable `name`, creating it if there is none, unless the step
  // is cancelled.
  absl::StatusOr<std::shared_ptr<Variable>> FindOrCreate(
      const OpKernelContext& context, absl::string_view container,
      absl::string_view name, DataType dtype, const PartialShape& shape);

  // Returns the variable of input `i`, a reference or a handle. NOT_FOUND, or
  // INVALID_ARGUMENT if the handle is for another kind of resource.
  absl::StatusOr<std::shared_ptr<Variable>> FromInput(
      const OpKernelContext& context, int i);

 private:
  std::shared_ptr<Variable> Remembered(const ResourceManager& resources,
                                       absl::string_view container,
                                       absl::string_view name);
  // The variable of a handle that is the same tensor as in the last run.
  std::shared_ptr<Variable> Remembered(const ResourceManager& resources,
                                       const Tensor& handle);
  void RememberHandle(const Tensor& handle);
  void Remember(const ResourceManager& resources, uint64_t generation,
                absl::string_view container, absl::string_view name,
                const std::shared_ptr<Variable>& variable);

  absl::Mutex mutex_;
  const ResourceManager* manager_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string container_ ABSL_GUARDED_BY(mutex_);
  std::string name_ ABSL_GUARDED_BY(mutex_);
  // The handle of the cached variable; kept so that no other handle can take
  // its place in memory.
  Tensor handle_ ABSL_GUARDED_BY(mutex_);
  // Weak, so that a reset frees the memory at once.
  std::weak_ptr<Variable> variable_ ABSL_GUARDED_BY(mutex_);
};

// Input `i` as the handle of a variable on this device.
absl::StatusOr<const ResourceHandle*> VariableHandle(
    const OpKernelContext& context, int i);

// The error of an op whose variable was not found: with TensorFlow's text if it
// does not exist.
absl::Status CouldNotFindVariable(const ResourceHandle& handle,
                                  const absl::Status& cause);

// Returns INVALID_ARGUMENT, with TensorFlow's text, unless the variable has
// type `wanted`.
absl::Status CheckVariableType(const Variable& variable, DataType wanted);

// Makes input `i` the variable's value; takes the input so that it need not be
// copied.
absl::Status AssignInput(OpKernelContext& context, int i, Variable& variable);

// Forwards the reference at input 0 to output 0; does nothing for handles.
void ForwardReference(OpKernelContext& context);

// "[1,0]": the position of element `i` in a tensor of that shape, for error
// texts.
std::string ElementPosition(const TensorShape& shape, int64_t i);

// Element `i` of a tensor of int32 or int64.
inline int64_t IndexAt(const Tensor& indices, int64_t i) {
  return indices.dtype() == DT_INT32
             ? static_cast<const int32_t*>(indices.data())[i]
             : static_cast<const int64_t*>(indices.data())[i];
}

// Returns INVALID_ARGUMENT "indices[0] = 3 is not in [0, 3)" unless all are
// valid.
absl::Status CheckIndices(const Tensor& indices, int64_t limit);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_VARIABLE_LOOKUP_H_
