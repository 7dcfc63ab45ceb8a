#include "libs/runtime/process.h"

#include <utility>

#include "libs/kernels/host_gpu_kernels.h"
#include "libs/kernels/standard_kernels.h"

namespace weft {
namespace {

void RegisterKernels(KernelRegistry& kernels) {
  RegisterStandardKernels(kernels);
  RegisterHostGpuKernels(kernels);
}

}  // namespace

Process::Process(const ProcessOptions& options)
    : clock_(std::make_unique<SystemClock>()),
      random_(NewSystemRandom()),
      scheduler_(NewThreadScheduler(
          *clock_, {.compute_threads = options.compute_threads})) {
  RegisterKernels(kernels_);
}

Process::Process(std::unique_ptr<Clock> clock, std::unique_ptr<Random> random,
                 std::unique_ptr<Scheduler> scheduler)
    : clock_(std::move(clock)),
      random_(std::move(random)),
      scheduler_(std::move(scheduler)) {
  RegisterKernels(kernels_);
}

Process::~Process() = default;

}  // namespace weft
