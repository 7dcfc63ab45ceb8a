// GpuRestriction: what runs on a GPU, of what there is.
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

// The types of a list such as "half float".
std::vector<DataType> TypesOf(absl::string_view names);

// Immutable.
class GpuRestriction {
 public:
  // Attr name -> types, as in KernelDef.
  using Constraints = std::map<std::string, std::vector<DataType>>;

  // To what TensorFlow runs there, and what lies with it in Weft.
  GpuRestriction();
  // To what CUDA's GPUs have a kernel of Weft's for (cuda_kernel_types.h).
  static GpuRestriction OfCuda();
  // To what is in either of these.
  static GpuRestriction OfAnyGpu();

  // Takes from the kernel the types that its op does not run with there; false
  // when nothing is left.
  bool Restrict(KernelDef& def) const;

  const absl::flat_hash_map<std::string, Constraints>& by_op() const {
    return by_op_;
  }

 private:
  explicit GpuRestriction(absl::Span<const TensorFlowGpuKernels> kernels);
  // Takes in what the other one allows as well.
  void Join(const GpuRestriction& other);

  absl::flat_hash_map<std::string, Constraints> by_op_;
};

// Leaves `def` those of its types of the attr that are allowed, or all the
// allowed ones where it takes any; false when nothing is left.
bool RestrictTypes(const std::string& attr,
                   const std::vector<DataType>& allowed, KernelDef& def);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_
