// Helpers for the registration of GPU kernels.
#ifndef WEFT_LIBS_KERNELS_CUDA_REGISTRATION_H_
#define WEFT_LIBS_KERNELS_CUDA_REGISTRATION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/kernels/kernel_registry.h"

namespace weft {

inline std::vector<DataType> CudaFloats() {
  return {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
}
inline std::vector<DataType> CudaNumbers() {
  return {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
}

inline KernelDef DefOf(absl::string_view op,
                       const std::vector<DataType>& types) {
  KernelDef def{std::string(op)};
  def.types["T"] = types;
  return def;
}

// Registers a kernel whose constructor also takes `args`.
template <typename Kernel, typename... Args>
void RegisterForGpu(KernelRegistry& registry, KernelDef def, Args... args) {
  def.device_type = "GPU";
  registry.Register(std::move(def),
                    [args...](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      return std::make_unique<Kernel>(construction, args...);
                    });
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_REGISTRATION_H_
