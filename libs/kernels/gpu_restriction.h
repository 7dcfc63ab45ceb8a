// GpuRestriction: what TensorFlow runs on a GPU, of what there is.
#ifndef WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_
#define WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/kernel_registry.h"

namespace weft {

// The types of a list such as "half float".
std::vector<DataType> TypesOf(absl::string_view names);

// Immutable.
class GpuRestriction {
 public:
  GpuRestriction();

  // Takes from the kernel the types that TensorFlow does not run its op with on
  // a GPU; false when nothing is left.
  bool Restrict(KernelDef& def) const;

 private:
  // Attr name -> types, as in KernelDef.
  using Constraints = std::map<std::string, std::vector<DataType>>;

  absl::flat_hash_map<std::string, Constraints> by_op_;
};

// Leaves `def` those of its types of the attr that are allowed, or all the
// allowed ones where it takes any; false when nothing is left.
bool RestrictTypes(const std::string& attr,
                   const std::vector<DataType>& allowed, KernelDef& def);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_GPU_RESTRICTION_H_
