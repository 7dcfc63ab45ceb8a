// KernelRegistry maps ops to kernels, by device type and types.
//
// It is filled explicitly: RegisterStandardKernels(registry) calls one function
// for each family, in the family's own file.
#ifndef WEFT_LIBS_KERNELS_KERNEL_REGISTRY_H_
#define WEFT_LIBS_KERNELS_KERNEL_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

using KernelFactory = std::function<absl::StatusOr<std::unique_ptr<OpKernel>>(
    const OpKernelConstruction&)>;

struct KernelDef {
  std::string op;
  std::string device_type = "CPU";
  // Attr name -> types that this kernel supports; other attrs match any value.
  std::map<std::string, std::vector<DataType>> types;
  // Runs in less than about a microsecond for inputs of up to 4 KiB and never
  // blocks. It may run on a thread that reads the bus, and is never worth a
  // thread switch. It takes locks of variables as OpKernelContext::when_locked
  // requires.
  bool is_cheap = false;
  // For devices with their own memory (Device::context): the inputs and outputs
  // in host memory, by their names in the op's definition, or "*" for all, for
  // a kernel that runs on the CPU. Values that are not plain bytes (strings,
  // handles) are always in host memory.
  std::vector<std::string> host_memory;
};

// Thread-safe after all kernels have been registered.
class KernelRegistry {
 public:
  void Register(KernelDef def, KernelFactory factory);

  // For kernels that only need a constructor call:
  //   registry.Register<Square<float>>("Square", {{"T", {DT_FLOAT}}});
  template <typename Kernel>
  void Register(absl::string_view op,
                std::map<std::string, std::vector<DataType>> types = {},
                bool is_cheap = false) {
    Register(KernelDef{std::string(op), "CPU", std::move(types), is_cheap},
             [](const OpKernelConstruction& construction)
                 -> absl::StatusOr<std::unique_ptr<OpKernel>> {
               return std::make_unique<Kernel>(construction);
             });
  }

  struct Registration {
    KernelDef def;
    KernelFactory factory;  // creates the kernels of `def`
  };
  // Returns the kernel for a node on a device type. NOT_FOUND "No registered
  // 'OP' OpKernel for 'CPU' devices compatible with node NAME ...", followed by
  // the registered kernels.
  absl::StatusOr<const Registration*> Find(const Node& node,
                                           absl::string_view device_type) const;
  bool Has(absl::string_view op, absl::string_view device_type) const;
  // Returns whether the kernel expects input i, or produces output i, of the
  // node in host memory, on a device with its own memory.
  static bool InputOnHost(const KernelDef& def, const Node& node, int i);
  static bool OutputOnHost(const KernelDef& def, const Node& node, int i);
  // The device types with a kernel for the node's op and types.
  std::vector<std::string> DeviceTypesFor(const Node& node) const;
  // Sorted by op; for tests that iterate over the registry.
  std::vector<const KernelDef*> List() const;
  // Like List, with the factories.
  std::vector<const Registration*> Registrations() const;

 private:
  absl::Status NoKernel(const Node& node, absl::string_view device_type) const;

  absl::flat_hash_map<std::string, std::vector<std::unique_ptr<Registration>>>
      by_op_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_KERNEL_REGISTRY_H_
