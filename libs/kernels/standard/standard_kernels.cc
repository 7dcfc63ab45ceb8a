#include "libs/kernels/standard/standard_kernels.h"

#include <memory>

#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/host_gpu_kernels.h"
#include "libs/kernels/image/image_kernels.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/linalg/linalg_kernels.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/parsing/parsing_kernels.h"
#include "libs/kernels/random/random_kernels.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/kernels/summary/summary_kernels.h"
#include "libs/kernels/training/training_kernels.h"

namespace weft {
namespace {

std::shared_ptr<const KernelRegistry> NewKernels(
    const ClientFunctions& functions) {
  auto registry = std::make_shared<KernelRegistry>();
  RegisterCpuKernels(*registry, functions);
  RegisterHostGpuKernels(*registry);
  return registry;
}

}  // namespace

void RegisterCpuKernels(KernelRegistry& registry,
                        const ClientFunctions& functions) {
  RegisterClientFunctionKernels(
      registry, std::make_shared<const ClientFunctions>(functions));
  RegisterArrayKernels(registry);
  RegisterControlKernels(registry);
  RegisterDataKernels(registry);
  RegisterIoKernels(registry);
  RegisterImageKernels(registry);
  RegisterLinalgKernels(registry);
  RegisterMathKernels(registry);
  RegisterNnKernels(registry);
  RegisterParsingKernels(registry);
  RegisterRandomKernels(registry);
  RegisterResourceKernels(registry);
  RegisterSparseKernels(registry);
  RegisterStateKernels(registry);
  RegisterStringKernels(registry);
  RegisterSummaryKernels(registry);
  RegisterTrainingKernels(registry);
}

void RegisterStandardKernels(KernelRegistry& registry) {
  RegisterCpuKernels(registry, {});
}

std::shared_ptr<const KernelRegistry> StandardKernels() {
  static const auto& kernels =
      *new std::shared_ptr<const KernelRegistry>(NewKernels({}));
  return kernels;
}

std::shared_ptr<const KernelRegistry> StandardKernels(
    const ClientFunctions& functions) {
  return functions.empty() ? StandardKernels() : NewKernels(functions);
}

}  // namespace weft
