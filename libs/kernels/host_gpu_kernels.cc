#include "libs/kernels/host_gpu_kernels.h"

#include <utility>

#include "libs/kernels/gpu_restriction.h"

namespace weft {

void RegisterHostGpuKernels(KernelRegistry& registry) {
  const GpuRestriction gpu = GpuRestriction::OfAnyGpu();
  for (const KernelRegistry::Registration* cpu : registry.Registrations()) {
    if (cpu->def.device_type != "CPU") continue;
    KernelDef def = cpu->def;
    def.device_type = "GPU";
    if (gpu.Restrict(def)) registry.Register(std::move(def), cpu->factory);
  }
}

}  // namespace weft
