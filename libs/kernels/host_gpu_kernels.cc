#include "libs/kernels/host_gpu_kernels.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {
namespace {

// Attr name -> types, as in KernelDef.
using Constraints = std::map<std::string, std::vector<DataType>>;

std::vector<DataType> Types(absl::string_view names) {
  std::vector<DataType> types;
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    types.push_back(*DataTypeFromName(name));
  }
  return types;
}

absl::flat_hash_map<std::string, Constraints> ConstraintsByOp() {
  absl::flat_hash_map<std::string, Constraints> result;
  for (const TensorFlowGpuKernels& kernels : AllTensorFlowGpuKernels()) {
    const std::string attr = kernels.attr;
    const std::vector<DataType> types = Types(kernels.types);
    for (absl::string_view op : absl::StrSplit(kernels.ops, ' ')) {
      Constraints& constraints = result[op];
      if (!attr.empty()) constraints[attr] = types;
    }
  }
  // It lies where the variable does; TensorFlow has no such ops.
  result["WaitForVariable"];
  result["WaitForRefVariable"];
  return result;
}

// What is left of the CPU's types; false when nothing is.
bool Restrict(const Constraints& gpu, KernelDef& def) {
  for (const auto& [attr, allowed] : gpu) {
    const auto own = def.types.find(attr);
    if (own == def.types.end()) {
      def.types[attr] = allowed;
      continue;
    }
    std::vector<DataType>& types = own->second;
    types.erase(std::remove_if(types.begin(), types.end(),
                               [&, &list = allowed](DataType type) {
                                 return std::find(list.begin(), list.end(),
                                                  type) == list.end();
                               }),
                types.end());
    if (types.empty()) return false;
  }
  return true;
}

}  // namespace

void RegisterHostGpuKernels(KernelRegistry& registry) {
  const auto constraints = ConstraintsByOp();
  for (const KernelRegistry::Registration* cpu : registry.Registrations()) {
    if (cpu->def.device_type != "CPU") continue;
    const auto gpu = constraints.find(cpu->def.op);
    if (gpu == constraints.end()) continue;
    KernelDef def = cpu->def;
    def.device_type = "GPU";
    if (Restrict(gpu->second, def)) {
      registry.Register(std::move(def), cpu->factory);
    }
  }
}

}  // namespace weft
