// KernelRegistry: which kernel runs which op, for which device type and types.
//
// Filled explicitly: RegisterStandardKernels(registry) calls one function for
// each family, each in the family's own file.
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
  // Attr name -> types this kernel takes; attrs not named match anything.
  std::map<std::string, std::vector<DataType>> types;
  // Ends in under about a microsecond for inputs of up to 4 KiB and never
  // blocks: may run on a reader (a thread that reads the bus), and is never
  // worth a hand-over. Locks of variables it takes as
  // OpKernelContext::when_locked says.
  bool is_cheap = false;
  // Of a device with memory of its own (Device::context): the inputs and
  // outputs that lie in host memory all the same, by the names of the op's
  // definition;
  // "*" for all, of a kernel that runs on the processor. Values that are no
  // plain bytes (strings, handles) always do.
  std::vector<std::string> host_memory;
};

// Thread-safe once filled.
class KernelRegistry {
 public:
  void Register(KernelDef def, KernelFactory factory);

  // For kernels made by their constructor alone:
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
    KernelFactory factory;  // makes the kernels of `def`
  };
  // The kernel for a node on a device type. NOT_FOUND "No registered 'OP'
  // OpKernel for 'CPU' devices compatible with node NAME ..." with what there
  // is.
  absl::StatusOr<const Registration*> Find(const Node& node,
                                           absl::string_view device_type) const;
  bool Has(absl::string_view op, absl::string_view device_type) const;
  // Whether that kernel takes, or makes, input or output `i` of the node in
  // host memory, on a device with memory of its own.
  static bool InputOnHost(const KernelDef& def, const Node& node, int i);
  static bool OutputOnHost(const KernelDef& def, const Node& node, int i);
  // Device types with any kernel for the node's op and types.
  std::vector<std::string> DeviceTypesFor(const Node& node) const;
  // Sorted by op; for tests that loop over the registry.
  std::vector<const KernelDef*> List() const;
  // The same, with what makes the kernels.
  std::vector<const Registration*> Registrations() const;

 private:
  absl::Status NoKernel(const Node& node, absl::string_view device_type) const;

  absl::flat_hash_map<std::string, std::vector<std::unique_ptr<Registration>>>
      by_op_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_KERNEL_REGISTRY_H_
