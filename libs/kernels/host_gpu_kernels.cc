#include "libs/kernels/host_gpu_kernels.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"

namespace weft {
namespace {

// Ops with one of these words in their names have no GPU kernel.
constexpr absl::string_view kHostWords[] = {
    "Accumulator", "AsString", "Barrier", "Dataset", "Decode", "Example",
    "File",        "Iterator", "Lookup",  "Parse",   "Print",  "Queue",
    "Random",      "Reader",   "Regex",   "Restore", "Save",   "Sparse",
    "Stage",       "String",   "Summary", "Table",   "Unique", "Where",
    "Checkpoint",  "ToNumber",
};
// Exceptions.
constexpr absl::string_view kDeviceOps[] = {
    "RandomStandardNormal", "RandomUniform",
    "RandomUniformInt",     "SparseSoftmaxCrossEntropyWithLogits",
    "TruncatedNormal",      "Where",
};

constexpr absl::string_view kVariableOps[] = {
    "Assign",           "AssignAdd",           "AssignSub",
    "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
    "ReadVariableOp",   "VarHandleOp",         "Variable",
    "VariableV2",
};
constexpr DataType kVariableTypes[] = {DT_HALF,      DT_FLOAT, DT_DOUBLE,
                                       DT_COMPLEX64, DT_INT64, DT_COMPLEX128,
                                       DT_BFLOAT16};

template <size_t N, typename T>
bool Contains(const T (&list)[N], const T& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

bool RunsOnGpu(absl::string_view op) {
  if (Contains(kDeviceOps, op)) return true;
  return std::none_of(
      std::begin(kHostWords), std::end(kHostWords),
      [&](absl::string_view word) { return absl::StrContains(op, word); });
}

bool IsOnGpu(DataType type) { return DataTypeSize(type) > 0; }

// What is left of the types; false when nothing is.
bool KeepGpuTypes(KernelDef& def) {
  if (Contains(kVariableOps, absl::string_view(def.op))) {
    const bool is_reference =
        def.op[0] == 'A' && !absl::EndsWith(def.op, "VariableOp");
    def.types[is_reference ? "T" : "dtype"].assign(std::begin(kVariableTypes),
                                                   std::end(kVariableTypes));
  }
  for (auto& [attr, types] : def.types) {
    types.erase(std::remove_if(types.begin(), types.end(),
                               [](DataType type) { return !IsOnGpu(type); }),
                types.end());
    if (types.empty()) return false;
  }
  return true;
}

}  // namespace

void RegisterHostGpuKernels(KernelRegistry& registry) {
  for (const KernelRegistry::Registration* cpu : registry.Registrations()) {
    if (cpu->def.device_type != "CPU" || !RunsOnGpu(cpu->def.op)) continue;
    KernelDef def = cpu->def;
    def.device_type = "GPU";
    if (KeepGpuTypes(def)) registry.Register(std::move(def), cpu->factory);
  }
}

}  // namespace weft
