#include "libs/ops/standard_ops.h"

namespace weft {

void RegisterStandardOps(OpRegistry& registry) {
  RegisterArrayOps(registry);
  RegisterControlOps(registry);
  RegisterDataOps(registry);
  RegisterIoOps(registry);
  RegisterImageOps(registry);
  RegisterLinalgOps(registry);
  RegisterMathOps(registry);
  RegisterNnOps(registry);
  RegisterParsingOps(registry);
  RegisterRandomOps(registry);
  RegisterResourceOps(registry);
  RegisterSparseOps(registry);
  RegisterStateOps(registry);
  RegisterStringOps(registry);
  RegisterSummaryOps(registry);
  RegisterTrainingOps(registry);
}

std::shared_ptr<const OpRegistry> StandardOps() {
  static const auto& ops = *new std::shared_ptr<const OpRegistry>([] {
    auto registry = std::make_shared<OpRegistry>();
    RegisterStandardOps(*registry);
    return registry;
  }());
  return ops;
}

}  // namespace weft
