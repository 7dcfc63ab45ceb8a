#include "tools/ops/op_table.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/graph/inference_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/device_memory_kernels.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/ops/standard_ops.h"

namespace weft::tools {
namespace {

using KernelsByOp = std::map<std::string, std::vector<const KernelDef*>>;

std::string ArgText(const ArgDef& arg) {
  std::string type = absl::StrCat(arg.type_attr, arg.type_list_attr);
  if (type.empty()) type = DataTypeName(arg.type);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  return absl::StrCat(arg.name, ": ", arg.number_attr,
                      arg.number_attr.empty() ? "" : " * ", type);
}

std::string ArgsText(const std::vector<ArgDef>& args) {
  return absl::StrJoin(args, ", ", [](std::string* out, const ArgDef& arg) {
    absl::StrAppend(out, ArgText(arg));
  });
}

std::string SignatureText(const OpDef& op) {
  return absl::StrCat(ArgsText(op.inputs), op.inputs.empty() ? "->" : " ->",
                      op.outputs.empty() ? "" : " ", ArgsText(op.outputs));
}

ShapeStatus ShapeOf(const OpDef& op) {
  if (op.outputs.empty()) return ShapeStatus::kNoOutputs;
  using Function = absl::Status (*)(InferenceContext&);
  const auto* function = op.shape_fn.target<Function>();
  return function != nullptr && *function == &shapes::Unknown
             ? ShapeStatus::kUnknown
             : ShapeStatus::kInferred;
}

// Returns whether the executor runs the op itself. These ops are the inputs and
// outputs of a partition.
bool IsRunByTheExecutor(absl::string_view op) {
  return op == "_Arg" || op == "_Retval";
}

std::vector<DataType> Union(const std::vector<DataType>& a,
                            const std::vector<DataType>& b) {
  std::set<DataType> both(a.begin(), a.end());
  both.insert(b.begin(), b.end());
  return {both.begin(), both.end()};
}

// Returns the types that some kernel supports. Omits attrs that not every
// kernel constrains, because a kernel without a constraint supports any type.
KernelColumn UnionOf(const std::vector<const KernelDef*>& kernels,
                     absl::string_view device_type) {
  KernelColumn column;
  for (const KernelDef* kernel : kernels) {
    if (kernel->device_type != device_type) continue;
    if (column.status == KernelStatus::kMissing) {
      column.status = KernelStatus::kYes;
      for (const auto& [attr, types] : kernel->types) {
        column.types[attr] = Union(types, {});
      }
      continue;
    }
    for (auto it = column.types.begin(); it != column.types.end();) {
      const auto types = kernel->types.find(it->first);
      if (types == kernel->types.end()) {
        it = column.types.erase(it);
      } else {
        it->second = Union(it->second, types->second);
        ++it;
      }
    }
  }
  return column;
}

// Returns the types that the kernels support and the op allows. Kernels that
// are registered for many types may include types that the op does not allow.
KernelColumn ColumnOf(const OpDef& op,
                      const std::vector<const KernelDef*>& kernels,
                      absl::string_view device_type) {
  KernelColumn column = UnionOf(kernels, device_type);
  for (auto& [name, types] : column.types) {
    const AttrDef* attr = op.FindAttr(name);
    if (attr == nullptr || attr->allowed_types.empty()) continue;
    const std::vector<DataType>& allowed = attr->allowed_types;
    types.erase(std::remove_if(types.begin(), types.end(),
                               [&](DataType type) {
                                 return std::find(allowed.begin(),
                                                  allowed.end(),
                                                  type) == allowed.end();
                               }),
                types.end());
  }
  return column;
}

GradientStatus GradientOf(const OpDef& op, const GradientRegistry& gradients) {
  if (absl::StartsWith(op.name, "_")) return GradientStatus::kRuntime;
  const GradientRegistry::Entry* entry = gradients.Find(op.name);
  if (entry == nullptr) return GradientStatus::kMissing;
  return entry->fn == nullptr ? GradientStatus::kNone : GradientStatus::kYes;
}

OpRow RowOf(const OpDef& op, const std::vector<const KernelDef*>& kernels,
            const GradientRegistry& gradients) {
  OpRow row;
  row.name = op.name;
  row.signature = SignatureText(op);
  row.summary = op.summary;
  row.is_stateful = op.is_stateful;
  row.shape = ShapeOf(op);
  row.cpu = ColumnOf(op, kernels, "CPU");
  row.gpu = ColumnOf(op, kernels, "GPU");
  if (IsRunByTheExecutor(op.name)) {
    row.cpu.status = row.gpu.status = KernelStatus::kExecutor;
  }
  row.gradient = GradientOf(op, gradients);
  return row;
}

}  // namespace

std::vector<OpRow> OpTable(const OpRegistry& ops, const KernelRegistry& kernels,
                           const GradientRegistry& gradients) {
  KernelsByOp by_op;
  for (const KernelDef* kernel : kernels.List()) {
    by_op[kernel->op].push_back(kernel);
  }
  std::vector<OpRow> rows;
  for (const OpDef* op : ops.List()) {
    rows.push_back(RowOf(*op, by_op[op->name], gradients));
  }
  return rows;
}

std::vector<OpRow> StandardOpTable() {
  KernelRegistry kernels;
  RegisterStandardKernels(kernels);
  RegisterCudaKernels(kernels);
  RegisterDeviceMemoryKernels(kernels);
  return OpTable(*StandardOps(), kernels, StandardGradients());
}

}  // namespace weft::tools
