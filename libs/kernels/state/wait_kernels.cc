// Kernels that wait for a variable's value without a thread: WaitForVariable
// for resource handles, WaitForRefVariable for references.
#include <memory>
#include <string>
#include <utility>

#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/resource/resource_manager.h"
#include "libs/resource/variable.h"

namespace weft {
namespace {

// Both outlive the wait, as the step does.
struct Awaited {
  ResourceManager& resources;
  Cancellation& step;
  std::string container, name;
};

// Waits for the variable, which is created with its value, and then for the
// value. If the variable is deleted in between, waits for the next one.
void Wait(const Awaited& awaited, AsyncOpKernel::Done done) {
  auto variable =
      awaited.resources.Lookup<Variable>(awaited.container, awaited.name);
  if (variable.ok()) {
    (*variable)->WhenInitialized(awaited.step, std::move(done));
    return;
  }
  awaited.resources.WhenCreated<Variable>(
      awaited.step, awaited.container, awaited.name,
      [awaited, done = std::move(done)](const absl::Status& status) mutable {
        if (!status.ok()) return done(status);
        Wait(awaited, std::move(done));
      });
}

class WaitForVariableKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext& context, Done done) override {
    const auto handle = VariableHandle(context, 0);
    if (!handle.ok()) return done(handle.status());
    Wait({context.resources(), context.mutable_cancellation(),
          (*handle)->container, (*handle)->name},
         std::move(done));
  }
};

class WaitForRefVariableKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  // Holds no reference to the variable, so that a deleted variable can end the
  // wait.
  void ComputeAsync(OpKernelContext& context, Done done) override {
    const std::shared_ptr<Variable> variable = context.TakeInputVariable(0);
    variable->WhenInitialized(context.mutable_cancellation(), std::move(done));
  }
};

}  // namespace

void RegisterStateWaitKernels(KernelRegistry& registry) {
  registry.Register<WaitForVariableKernel>("WaitForVariable", {});
  registry.Register<WaitForRefVariableKernel>("WaitForRefVariable", {});
}

}  // namespace weft
