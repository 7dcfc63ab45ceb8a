#include "libs/kernels/device_memory_kernels.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "libs/kernels/gpu_restriction.h"
#include "libs/kernels/tensorflow_gpu_memory.h"

namespace weft {
namespace {

// Kernels of these ops forward values, or only read shapes.
constexpr absl::string_view kForwardingOps[] = {
    "Assign",
    "AssignVariableOp",
    "ControlTrigger",
    "DestroyResourceOp",
    "DisableCopyOnRead",
    "EnsureShape",
    "Enter",
    "Exit",
    "ExpandDims",
    "Identity",
    "IdentityN",
    "IsVariableInitialized",
    "LoopCond",
    "Merge",
    "NextIteration",
    "NoOp",
    "Placeholder",
    "PlaceholderV2",
    "PlaceholderWithDefault",
    "PreventGradient",
    "Rank",
    "ReadVariableOp",
    "RefEnter",
    "RefExit",
    "RefIdentity",
    "RefMerge",
    "RefNextIteration",
    "RefSwitch",
    "Reshape",
    "Shape",
    "ShapeN",
    "Size",
    "Snapshot",
    "Squeeze",
    "StackPop",
    "StackPopV2",
    "StackPush",
    "StackPushV2",
    "StopGradient",
    "Switch",
    "VarHandleOp",
    "VarIsInitializedOp",
    "Variable",
    "VariableShape",
    "VariableV2",
    "WaitForRefVariable",
    "WaitForVariable",
};

// Their inputs and outputs are in host memory, whatever the type: values come
// from the host or go to it.
constexpr absl::string_view kHostOps[] = {"Const", "_Arg", "_Recv", "_Retval",
                                          "_Send"};

// Their output sizes depend on values, so on the device they would wait for it.
constexpr absl::string_view kWaitingOps[] = {"UniqueWithCounts", "Where"};

bool Contains(absl::Span<const absl::string_view> ops, const std::string& op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

std::vector<DataType> AllTypes() {
  return TypesOf(
      "half bfloat16 float double int8 int16 int32 int64 uint8 uint16 uint32 "
      "uint64 bool complex64 complex128 string resource variant");
}

class Registrar {
 public:
  Registrar(KernelRegistry& registry, const DeviceKernelMaker& make)
      : registry_(registry), make_(make) {
    for (const TensorFlowGpuMemory& memory : AllTensorFlowGpuMemory()) {
      memory_[memory.op] = &memory;
    }
    for (const KernelRegistry::Registration* kernel :
         registry.Registrations()) {
      if (kernel->def.device_type == "GPU") {
        present_[kernel->def.op].push_back(kernel->def);
      }
    }
  }

  void Run() {
    if (make_) Play();
    for (const KernelRegistry::Registration* cpu : registry_.Registrations()) {
      if (cpu->def.device_type == "CPU") Add(*cpu);
    }
  }

 private:
  // Registers emulations of the CUDA kernels.
  void Play() {
    const GpuRestriction cuda = GpuRestriction::OfCuda();
    for (const KernelRegistry::Registration* cpu : registry_.Registrations()) {
      KernelDef def = cpu->def;
      if (def.device_type != "CPU" || !cuda.Restrict(def)) continue;
      def.device_type = "GPU";
      if (const auto found = memory_.find(def.op); found != memory_.end()) {
        SetHostMemory(*found->second, def);
      }
      KernelFactory factory = make_(def, cpu->factory);
      if (!factory) continue;
      present_[def.op].push_back(def);
      registry_.Register(std::move(def), std::move(factory));
    }
  }

  static void SetHostMemory(const TensorFlowGpuMemory& memory, KernelDef& def) {
    def.host_memory = absl::StrSplit(memory.host_args, ' ', absl::SkipEmpty());
  }

  void Add(const KernelRegistry::Registration& cpu) {
    KernelDef def = cpu.def;
    def.device_type = "GPU";
    if (def.op == "_CopyToDevice") def.host_memory = {"input"};
    if (def.op == "_CopyToHost") def.host_memory = {"output"};
    if (!def.host_memory.empty()) return Register(def, cpu.factory);
    if (Contains(kHostOps, def.op)) return AddOnHost(def, cpu.factory);
    if (!gpu_.Restrict(def)) return;
    if (Contains(kWaitingOps, def.op)) return AddOnHost(def, cpu.factory);
    const auto found = memory_.find(def.op);
    if (found == memory_.end()) return AddOnDevice(def, cpu.factory);
    const TensorFlowGpuMemory& memory = *found->second;
    if (memory.host_args == absl::string_view("*")) {
      return AddOnHost(def, cpu.factory);
    }
    const std::vector<DataType> host_types = TypesOf(memory.host_types);
    if (!host_types.empty()) {
      KernelDef on_host = def;
      if (RestrictTypes(memory.attr, host_types, on_host)) {
        AddOnHost(std::move(on_host), cpu.factory);
      }
      if (!RestrictTypes(memory.attr, AllBut(host_types), def)) return;
    }
    SetHostMemory(memory, def);
    AddOnDevice(std::move(def), cpu.factory);
  }

  static std::vector<DataType> AllBut(const std::vector<DataType>& types) {
    std::vector<DataType> result = AllTypes();
    std::erase_if(result, [&](DataType type) {
      return std::find(types.begin(), types.end(), type) != types.end();
    });
    return result;
  }

  void AddOnHost(KernelDef def, const KernelFactory& factory) {
    def.host_memory = {"*"};
    Register(std::move(def), factory);
  }

  void AddOnDevice(KernelDef def, const KernelFactory& cpu_factory) {
    if (Contains(kForwardingOps, def.op)) {
      return Register(std::move(def), cpu_factory);
    }
    // Small integers are few and mostly needed on the host: those without a
    // device kernel get a host kernel, so that no node that TensorFlow places
    // on a GPU is rejected for them.
    if (def.types.contains("T") && RestrictTypes("T", {DT_INT32}, def)) {
      AddOnHost(std::move(def), cpu_factory);
    }
  }

  // Registers the kernel, except for types that already have one.
  void Register(KernelDef def, KernelFactory factory) {
    for (const KernelDef& present : present_[def.op]) {
      if (!TakeAway(present, def)) return;
    }
    registry_.Register(std::move(def), std::move(factory));
  }

  // Removes the types of `present` from `def`; returns false if none is left.
  static bool TakeAway(const KernelDef& present, KernelDef& def) {
    for (const auto& [attr, types] : present.types) {
      KernelDef rest = def;
      if (!RestrictTypes(attr, AllBut(types), rest)) continue;
      def = std::move(rest);
      return true;
    }
    return false;
  }

  KernelRegistry& registry_;
  const DeviceKernelMaker& make_;
  const GpuRestriction gpu_;
  absl::flat_hash_map<std::string, const TensorFlowGpuMemory*> memory_;
  absl::flat_hash_map<std::string, std::vector<KernelDef>> present_;
};

}  // namespace

void RegisterDeviceMemoryKernels(KernelRegistry& registry,
                                 const DeviceKernelMaker& make) {
  Registrar(registry, make).Run();
}

}  // namespace weft
