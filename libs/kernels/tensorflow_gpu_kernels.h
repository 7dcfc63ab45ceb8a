// The ops, among those of Weft, for which TensorFlow has GPU kernels, and their
// types. Taken from TensorFlow's registry.
#ifndef WEFT_LIBS_KERNELS_TENSORFLOW_GPU_KERNELS_H_
#define WEFT_LIBS_KERNELS_TENSORFLOW_GPU_KERNELS_H_

#include "absl/types/span.h"

namespace weft {

// GPU kernels of some ops, restricted to these types of one attribute. An op
// has an entry for each restricted attribute.
struct TensorFlowGpuKernels {
  const char* attr;   // empty: not restricted
  const char* types;  // as in "half float", of `attr`
  const char* ops;    // as in "Add Sub"
};

absl::Span<const TensorFlowGpuKernels> AllTensorFlowGpuKernels();

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TENSORFLOW_GPU_KERNELS_H_
