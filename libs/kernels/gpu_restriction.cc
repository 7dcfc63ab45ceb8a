#include "libs/kernels/gpu_restriction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/kernels/cuda_kernel_types.h"

namespace weft {

std::vector<DataType> TypesOf(absl::string_view names) {
  std::vector<DataType> types;
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    types.push_back(*DataTypeFromName(name));
  }
  return types;
}

GpuRestriction::GpuRestriction(absl::Span<const TensorFlowGpuKernels> kernels) {
  for (const TensorFlowGpuKernels& some : kernels) {
    const std::string attr = some.attr;
    for (absl::string_view op : absl::StrSplit(some.ops, ' ')) {
      Constraints& constraints = by_op_[op];
      if (!attr.empty()) constraints[attr] = TypesOf(some.types);
    }
  }
}

GpuRestriction GpuRestriction::OfCuda() {
  return GpuRestriction(AllCudaKernels());
}

GpuRestriction GpuRestriction::OfAnyGpu() {
  GpuRestriction any;
  any.Join(OfCuda());
  return any;
}

void GpuRestriction::Join(const GpuRestriction& other) {
  for (const auto& [op, more] : other.by_op_) {
    const auto [own, is_new] = by_op_.emplace(op, more);
    if (is_new) continue;
    for (auto& [attr, types] : own->second) {
      const auto found = more.find(attr);
      if (found == more.end()) continue;
      for (const DataType type : found->second) {
        if (std::find(types.begin(), types.end(), type) == types.end()) {
          types.push_back(type);
        }
      }
    }
  }
}

GpuRestriction::GpuRestriction() : GpuRestriction(AllTensorFlowGpuKernels()) {
  // The wait is on the variable's device; TensorFlow has no such ops.
  by_op_["WaitForVariable"];
  by_op_["WaitForRefVariable"];
  // As in TensorFlow, values that loops keep for gradients, and elements of
  // arrays, stay on the device where they were computed.
  for (const char* op : {"Stack", "StackClose", "StackPop", "StackPush"}) {
    by_op_[op];
    by_op_[absl::StrCat(op, "V2")];
  }
  for (const char* op : {"", "Gather", "Grad", "Write", "Read", "Scatter",
                         "Concat", "Split", "Size", "Close"}) {
    by_op_[absl::StrCat("TensorArray", op, "V3")];
  }
  const std::vector<DataType> numbers =
      TypesOf("half bfloat16 float double int64");
  for (const char* op : {"", "Gather", "Read", "Concat"}) {
    by_op_[absl::StrCat("TensorArray", op, "V3")]["dtype"] = numbers;
  }
  for (const char* op : {"Write", "Scatter", "Split"}) {
    by_op_[absl::StrCat("TensorArray", op, "V3")]["T"] = numbers;
  }
}

bool GpuRestriction::Restrict(KernelDef& def) const {
  const auto found = by_op_.find(def.op);
  if (found == by_op_.end()) return false;
  for (const auto& [attr, allowed] : found->second) {
    if (!RestrictTypes(attr, allowed, def)) return false;
  }
  return true;
}

bool RestrictTypes(const std::string& attr,
                   const std::vector<DataType>& allowed, KernelDef& def) {
  const auto own = def.types.find(attr);
  if (own == def.types.end()) {
    def.types[attr] = allowed;
    return !allowed.empty();
  }
  std::vector<DataType>& types = own->second;
  types.erase(std::remove_if(types.begin(), types.end(),
                             [&](DataType type) {
                               return std::find(allowed.begin(), allowed.end(),
                                                type) == allowed.end();
                             }),
              types.end());
  return !types.empty();
}

}  // namespace weft
