// Definitions shared by the CPU and GPU kernels of TensorArrays.
#ifndef WEFT_LIBS_KERNELS_RESOURCE_TENSOR_ARRAY_KERNELS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_TENSOR_ARRAY_KERNELS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/heap_charge.h"

namespace weft {

// ArrayValues implements the operations on elements' values, in the memory of
// the device.
//
// Thread-safe: immutable.
class ArrayValues {
 public:
  virtual ~ArrayValues() = default;

  virtual absl::StatusOr<Tensor> Zeros(OpKernelContext& context, DataType dtype,
                                       const TensorShape& shape) const = 0;
  // Copies `count` elements of one type between the two tensors. `charge`
  // counts the strings of all copies in a kernel's run.
  virtual absl::Status Copy(OpKernelContext& context, HeapCharge& charge,
                            const Tensor& in, int64_t in_begin, int64_t count,
                            Tensor& out, int64_t out_begin) const = 0;
  // sum = sum + added, of the same type and shape. The old memory of `sum` may
  // be held elsewhere.
  virtual absl::Status Add(OpKernelContext& context, Tensor& sum,
                           const Tensor& added) const = 0;
};

// Registers kernels for devices with their own memory, of the third version of
// the ops (TensorArrayV3, ...), for arrays of `types`. Handles, indices and
// sizes are in host memory.
void RegisterTensorArrayV3Kernels(KernelRegistry& registry,
                                  const std::string& device_type,
                                  const std::vector<DataType>& types,
                                  std::shared_ptr<const ArrayValues> values);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_TENSOR_ARRAY_KERNELS_H_
