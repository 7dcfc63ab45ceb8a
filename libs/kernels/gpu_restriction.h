// GpuRestriction selects the kernels and types that run on a GPU.
#ifndef WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_
#define WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {

// Parses a list of types such as "half float".
std::vector<DataType> TypesOf(absl::string_view names);

// Immutable.
class GpuRestriction {
 public:
  // Attr name -> types, as in KernelDef.
  using Constraints = std::map<std::string, std::vector<DataType>>;

  // Restricts to what TensorFlow runs on GPUs, and to ops of Weft that belong
  // to these.
  GpuRestriction();
  // Restricts to the ops with CUDA kernels in Weft (cuda_kernel_types.h).
  static GpuRestriction OfCuda();
  // Restricts to the ops and types that either TensorFlow or Weft's CUDA
  // kernels run on GPUs.
  static GpuRestriction OfAnyGpu();

  // Removes the types that the op does not support on the GPU; returns false if
  // none is left.
  bool Restrict(KernelDef& def) const;

  const absl::flat_hash_map<std::string, Constraints>& by_op() const {
    return by_op_;
  }

 private:
  explicit GpuRestriction(absl::Span<const TensorFlowGpuKernels> kernels);
  // Also allows the kernels and types that `other` allows.
  void Join(const GpuRestriction& other);

  absl::flat_hash_map<std::string, Constraints> by_op_;
};

// Keeps the allowed types of the attr, or sets all allowed ones if the kernel
// takes any type; returns false if none is left.
bool RestrictTypes(const std::string& attr,
                   const std::vector<DataType>& allowed, KernelDef& def);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_
