#include "libs/ops/standard_ops.h"

namespace weft {

std::shared_ptr<const OpRegistry> StandardOps() {
  static const auto& ops = *new std::shared_ptr<const OpRegistry>([] {
    auto registry = std::make_shared<OpRegistry>();
    RegisterAccumulatorOps(*registry);
    RegisterArrayOps(*registry);
    RegisterControlFlowOps(*registry);
    RegisterLoggingOps(*registry);
    RegisterLookupOps(*registry);
    RegisterMathOps(*registry);
    RegisterNnOps(*registry);
    RegisterQueueOps(*registry);
    RegisterRandomOps(*registry);
    RegisterSendRecvOps(*registry);
    RegisterSparseOps(*registry);
    RegisterStateOps(*registry);
    RegisterStringOps(*registry);
    RegisterTensorArrayOps(*registry);
    RegisterTrainingOps(*registry);
    return registry;
  }());
  return ops;
}

}  // namespace weft
