// Which inputs and outputs TensorFlow's kernels of GPUs have in host memory:
// shapes, axes, and all of what counts rather than computes (int32). Written
// down from TensorFlow's own registry.
#ifndef WEFT_LIBS_KERNELS_TENSORFLOW_GPU_MEMORY_H_
#define WEFT_LIBS_KERNELS_TENSORFLOW_GPU_MEMORY_H_

#include "absl/types/span.h"

namespace weft {

// Of one op. What is in no entry has all in the device's memory.
struct TensorFlowGpuMemory {
  const char* op;
  const char* attr;        // empty: no type has all on the host
  const char* host_types;  // as in "int32", of `attr`: these have all there
  const char* host_args;   // for all other types, as in "shape axis"; "*": all
};

absl::Span<const TensorFlowGpuMemory> AllTensorFlowGpuMemory();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TENSORFLOW_GPU_MEMORY_H_
