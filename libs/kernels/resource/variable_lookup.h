// Finding the variable a kernel works on, in either family: behind an input
// that is a reference, or behind a resource handle.
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

// Where a named resource lives: attrs `container` and `shared_name` of the node
// that makes it, by TensorFlow's rules (core/framework/resource_mgr.cc): the
// shared name, else the node's name.
struct ResourceName {
  std::string container;  // empty: the manager's default
  std::string name;

  // INVALID_ARGUMENT for a bad container, or a shared name that begins with
  // "_", which is kept for private resources.
  static absl::StatusOr<ResourceName> FromAttrs(
      const OpKernelConstruction& construction);
};

// One input's variable, remembered from run to run. Thread-safe.
class VariableLookup {
 public:
  // The variable named; NOT_FOUND when there is none.
  absl::StatusOr<std::shared_ptr<Variable>> Find(ResourceManager& resources,
                                                 absl::string_view container,
                                                 absl::string_view name);
  // The variable named, made if there is none, unless the step is cancelled.
  absl::StatusOr<std::shared_ptr<Variable>> FindOrCreate(
      const OpKernelContext& context, absl::string_view container,
      absl::string_view name, DataType dtype, const PartialShape& shape);

  // The variable behind input `i`, a reference or a handle. NOT_FOUND, or
  // INVALID_ARGUMENT where the handle is for something else.
  absl::StatusOr<std::shared_ptr<Variable>> FromInput(
      const OpKernelContext& context, int i);

 private:
  std::shared_ptr<Variable> Remembered(const ResourceManager& resources,
                                       absl::string_view container,
                                       absl::string_view name);
  // The one behind a handle that is the very tensor it was behind last.
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
  // Whose names these are; kept, so that no other handle takes its place.
  Tensor handle_ ABSL_GUARDED_BY(mutex_);
  // Weak, so that a reset gives the memory back at once.
  std::weak_ptr<Variable> variable_ ABSL_GUARDED_BY(mutex_);
};

// Input `i` as the handle of a variable on this device.
absl::StatusOr<const ResourceHandle*> VariableHandle(
    const OpKernelContext& context, int i);

// What an op that needs the variable says where a look-up failed so: in
// TensorFlow's words where there is none.
absl::Status CouldNotFindVariable(const ResourceHandle& handle,
                                  const absl::Status& cause);

// INVALID_ARGUMENT, in TensorFlow's words, unless the variable holds `wanted`.
absl::Status CheckVariableType(const Variable& variable, DataType wanted);

// Makes input `i` the variable's value; taken, so that it need not be copied.
absl::Status AssignInput(OpKernelContext& context, int i, Variable& variable);

// Passes the reference at input 0 on to output 0; nothing for handles.
void ForwardReference(OpKernelContext& context);

// "[1,0]": where element `i` of a tensor of that shape is, for error texts.
std::string ElementPosition(const TensorShape& shape, int64_t i);

// Element `i` of a tensor of int32 or int64.
inline int64_t IndexAt(const Tensor& indices, int64_t i) {
  return indices.dtype() == DT_INT32
             ? static_cast<const int32_t*>(indices.data())[i]
             : static_cast<const int64_t*>(indices.data())[i];
}

// INVALID_ARGUMENT "indices[0] = 3 is not in [0, 3)" unless all are.
absl::Status CheckIndices(const Tensor& indices, int64_t limit);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_VARIABLE_LOOKUP_H_
