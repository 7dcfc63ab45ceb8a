// Kernels of branches and loops. They only forward slots; the executor decides
// which nodes run.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/control/control_kernels.h"

namespace weft {
namespace {

// Forwards a value or a reference.
void PassOn(OpKernelContext& context, int input, int output) {
  if (context.input_is_ref(input)) {
    context.SetOutputRef(output, context.input_variable(input));
  } else {
    context.SetOutput(output, context.TakeInput(input));
  }
}

class NoOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }
};

class Forward : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    PassOn(context, 0, 0);
    return absl::OkStatus();
  }
};

class Switch : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& pred = context.input(1);
    if (!pred.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The second input must be a scalar, but it has shape ",
                       pred.shape().ToString()));
    }
    const int taken = pred.scalar<bool>() ? 1 : 0;
    PassOn(context, 0, taken);
    context.SetOutputDead(1 - taken);
    return absl::OkStatus();
  }
};

// The executor fills the slot of only one input.
class Merge : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!context.input_is_ref(i) && !context.input(i).IsInitialized()) {
        continue;
      }
      PassOn(context, i, 0);
      ASSIGN_OR_RETURN(Tensor * index,
                       context.AllocateOutput(1, TensorShape()));
      index->mutable_scalar<int32_t>() = i;
      return absl::OkStatus();
    }
    return absl::InternalError("none of the inputs is available");
  }
};

}  // namespace

void RegisterControlFlowKernels(KernelRegistry& registry) {
  constexpr bool kIsCheap = true;
  for (const char* op : {"NoOp", "ControlTrigger"}) {
    registry.Register<NoOp>(op, {}, kIsCheap);
  }
  for (const char* op : {"Enter", "RefEnter", "Exit", "RefExit", "LoopCond",
                         "NextIteration", "RefNextIteration"}) {
    registry.Register<Forward>(op, {}, kIsCheap);
  }
  for (const char* op : {"Switch", "RefSwitch"}) {
    registry.Register<Switch>(op, {}, kIsCheap);
  }
  for (const char* op : {"Merge", "RefMerge"}) {
    registry.Register<Merge>(op, {}, kIsCheap);
  }
}

}  // namespace weft
