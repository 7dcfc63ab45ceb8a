#include "libs/kernels/testing/fake_device_kernels.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/testing/fake_device.h"
#include "libs/kernels/device_memory_kernels.h"

namespace weft {
namespace {

class FakeKernel : public OpKernel {
 public:
  FakeKernel(const OpKernelConstruction& construction,
             std::unique_ptr<OpKernel> kernel)
      : OpKernel(construction), kernel_(std::move(kernel)) {}

  absl::Status Compute(OpKernelContext& context) override {
    auto& device = static_cast<FakeDevice&>(context.device());
    return device.Launch([&] { return kernel_->Compute(context); });
  }

 private:
  const std::unique_ptr<OpKernel> kernel_;
};

KernelFactory OnFakeDevice(const KernelDef&, const KernelFactory& factory) {
  return [factory](const OpKernelConstruction& construction)
             -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, factory(construction));
    if (kernel->AsAsync() != nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("a fake device launches no asynchronous kernel, as of ",
                       construction.node().type()));
    }
    return std::make_unique<FakeKernel>(construction, std::move(kernel));
  };
}

}  // namespace

void RegisterFakeDeviceKernels(KernelRegistry& registry) {
  RegisterDeviceMemoryKernels(registry, OnFakeDevice);
}

}  // namespace weft
