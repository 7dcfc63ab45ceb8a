// Which ops TensorFlow has a kernel of for GPUs, and for which types, among the
// ops that Weft has. Written down from TensorFlow's own registry.
#ifndef WEFT_LIBS_KERNELS_TENSORFLOW_GPU_KERNELS_H_
#define WEFT_LIBS_KERNELS_TENSORFLOW_GPU_KERNELS_H_

#include "absl/types/span.h"

namespace weft {

// The kernels of some ops, which take these types only for this attribute. An
// op is in as many of these as it has attributes that count.
struct TensorFlowGpuKernels {
  const char* attr;   // empty: no attribute counts
  const char* types;  // as in "half float", of `attr`
  const char* ops;    // as in "Add Sub"
};

absl::Span<const TensorFlowGpuKernels> AllTensorFlowGpuKernels();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TENSORFLOW_GPU_KERNELS_H_
