// ConstantOutput is implemented by kernels whose only output is the same in
// each step, so that a plan need not run them.
#ifndef WEFT_LIBS_KERNELS_COMMON_CONSTANT_OUTPUT_H_
#define WEFT_LIBS_KERNELS_COMMON_CONSTANT_OUTPUT_H_

#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"

namespace weft {

class ConstantOutput {
 public:
  virtual ~ConstantOutput() = default;

  // Returns the output of the kernel in steps with this default container.
  // Thread-safe.
  virtual Tensor OutputIn(absl::string_view default_container) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_CONSTANT_OUTPUT_H_
