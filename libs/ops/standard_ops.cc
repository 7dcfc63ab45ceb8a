#include "libs/ops/standard_ops.h"

namespace weft {

std::shared_ptr<const OpRegistry> StandardOps() {
  static const auto& ops = *new std::shared_ptr<const OpRegistry>([] {
    auto registry = std::make_shared<OpRegistry>();
    RegisterArrayOps(*registry);
    RegisterControlFlowOps(*registry);
    RegisterMathOps(*registry);
    RegisterNnOps(*registry);
    RegisterRandomOps(*registry);
    RegisterSendRecvOps(*registry);
    RegisterStateOps(*registry);
    RegisterTrainingOps(*registry);
    return registry;
  }());
  return ops;
}

}  // namespace weft
