#include "libs/runtime/process/node_evaluator.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/device/device.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/op_kernel.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/resource/resource_manager.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

constexpr size_t kMaxBytes = 64 << 20;

// LimitedAllocator allocates heap memory up to a limit. Its buffers may outlive
// it.
class LimitedAllocator : public Allocator {
 public:
  BufferPtr Allocate(size_t bytes) override {
    if (bytes > kMaxBytes ||
        taken_.fetch_add(bytes, std::memory_order_relaxed) >
            kMaxBytes - bytes) {
      return BufferPtr();
    }
    return HeapAllocator().Allocate(bytes);
  }

 private:
  std::atomic<size_t> taken_{0};
};

absl::Status Unimplemented(const Node& node, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat("node ", node.name(), " (", node.type(),
                   ") can't be evaluated outside a step:  ", why));
}

// Evaluation holds everything that a kernel may use while it runs.
class Evaluation {
 public:
  Evaluation(Process& process, const Node& node)
      : process_(process),
        node_(node),
        device_({.name = node.assigned_device(),
                 .device_type = "CPU",
                 .incarnation = 1},
                allocator_) {
    step_.cancellation = &cancellation_;
    step_.scheduler = &process.scheduler();
    step_.device = &device_;
    step_.allocator = &allocator_;
    step_.resources = &resources_;
    step_.step_resources = &step_resources_;
    step_.rendezvous = &rendezvous_;
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) {
    ASSIGN_OR_RETURN(const KernelRegistry::Registration* registration,
                     process_.kernels().Find(node_, device_.device_type()));
    ASSIGN_OR_RETURN(const std::unique_ptr<OpKernel> kernel,
                     registration->factory(OpKernelConstruction(
                         node_, device_, process_.random())));
    if (kernel->AsAsync() != nullptr) {
      return Unimplemented(node_, "its kernel may wait");
    }
    std::vector<Slot> in(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) in[i].tensor = inputs[i];
    std::vector<Slot> out(node_.num_outputs());
    const OpKernelContext::NodeView view{node_.name(), node_.type(),
                                         node_.output_types()};
    OpKernelContext context(step_, view, absl::MakeSpan(in),
                            absl::MakeSpan(out));
    RETURN_IF_ERROR(kernel->Compute(context));
    std::vector<Tensor> outputs;
    for (Slot& slot : out) {
      if (slot.is_dead || !slot.tensor.IsInitialized()) {
        return Unimplemented(node_, "it has an output without a value");
      }
      outputs.push_back(std::move(slot.tensor));
    }
    return outputs;
  }

 private:
  Process& process_;
  const Node& node_;
  LimitedAllocator allocator_;
  Device device_;
  Cancellation cancellation_;
  ResourceManager resources_{"localhost"};
  ResourceManager step_resources_{"step"};
  LocalRendezvous rendezvous_;
  StepContext step_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> EvaluateNode(
    Process& process, const Node& node, absl::Span<const Tensor> inputs) {
  ASSIGN_OR_RETURN(const DeviceName device,
                   DeviceName::Parse(node.assigned_device()));
  if (device.type != "CPU") {
    return Unimplemented(node, "its device is not a CPU");
  }
  return CatchExceptions([&] { return Evaluation(process, node).Run(inputs); });
}

}  // namespace weft
