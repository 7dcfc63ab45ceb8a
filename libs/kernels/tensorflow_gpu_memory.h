// The inputs and outputs that TensorFlow's GPU kernels keep in host memory:
// shapes, axes, and all values used for counting (int32). Taken from
// TensorFlow's registry.
#ifndef WEFT_LIBS_KERNELS_TENSORFLOW_GPU_MEMORY_H_
#define WEFT_LIBS_KERNELS_TENSORFLOW_GPU_MEMORY_H_

#include "absl/types/span.h"

namespace weft {

// The arguments of one op in host memory. Ops without an entry have all
// arguments in device memory.
struct TensorFlowGpuMemory {
  const char* op;
  const char* attr;        // empty: no type has all on the host
  const char* host_types;  // "int32": all arguments of these types
  const char* host_args;   // for other types, e.g. "shape axis"; "*": all
};

absl::Span<const TensorFlowGpuMemory> AllTensorFlowGpuMemory();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TENSORFLOW_GPU_MEMORY_H_
