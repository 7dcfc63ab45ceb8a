#include "libs/kernels/testing/fake_device_kernels.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/testing/fake_device.h"
#include "libs/kernels/device_memory_kernels.h"

namespace weft {
namespace {

// Checks that each value is in the memory that the kernel's registration
// declares. A real device could not access the host's memory.
class FakeKernel : public OpKernel {
 public:
  FakeKernel(const OpKernelConstruction& construction, const KernelDef& def,
             std::unique_ptr<OpKernel> kernel)
      : OpKernel(construction), kernel_(std::move(kernel)) {
    const Node& node = construction.node();
    for (int i = 0; i < node.num_inputs(); ++i) {
      inputs_on_host_.push_back(KernelRegistry::InputOnHost(def, node, i));
    }
  }

  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (context.input_is_ref(i)) continue;
      RETURN_IF_ERROR(CheckMemory(i, context.input(i), inputs_on_host_[i]));
    }
    auto& device = static_cast<FakeDevice&>(context.device());
    return device.Launch([&] { return kernel_->Compute(context); });
  }

 private:
  static absl::Status CheckMemory(int i, const Tensor& value, bool on_host) {
    if (!value.IsInitialized() || value.num_bytes() == 0 ||
        value.IsOnDevice() != on_host) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat(
        "input ", i, " lies in the memory of the ",
        on_host ? "device, and not of the host" : "host, and not the device"));
  }

  const std::unique_ptr<OpKernel> kernel_;
  std::vector<bool> inputs_on_host_;
};

KernelFactory OnFakeDevice(const KernelDef& def, const KernelFactory& factory) {
  return [def, factory](const OpKernelConstruction& construction)
             -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, factory(construction));
    if (kernel->AsAsync() != nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("a fake device launches no asynchronous kernel, as of ",
                       construction.node().type()));
    }
    return std::make_unique<FakeKernel>(construction, def, std::move(kernel));
  };
}

}  // namespace

void RegisterFakeDeviceKernels(KernelRegistry& registry) {
  RegisterDeviceMemoryKernels(registry, OnFakeDevice);
}

}  // namespace weft
