// The table of all ops, with the signature of each op, and whether it has a
// shape function, kernels and a gradient. Rows are created from the registries.
// The tool prints them, and its test checks them.
//
// Value types, not thread-safe. The functions have no state.
#ifndef WEFT_TOOLS_OPS_OP_TABLE_H_
#define WEFT_TOOLS_OPS_OP_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "libs/gradients/registry/gradient_registry.h"
#include "libs/graph/op_def.h"
#include "libs/kernels/kernel_registry.h"

namespace weft::tools {

// What the shape function of an op infers.
enum class ShapeStatus {
  kInferred,
  kUnknown,    // infers nothing: shapes::Unknown
  kNoOutputs,  // the op has no outputs
};

enum class KernelStatus {
  kYes,
  kExecutor,  // the executor runs the op itself
  kMissing,
};

enum class GradientStatus {
  kYes,
  kNone,     // the op has no gradient by nature
  kRuntime,  // only the runtime creates the op, after gradients were added
  kMissing,
};

// The kernels of an op on devices of one type.
struct KernelColumn {
  KernelStatus status = KernelStatus::kMissing;
  // Maps names of attrs to the types that some kernel supports and the op
  // allows, sorted by their enum values. Omits attrs that kernels do not
  // constrain.
  std::map<std::string, std::vector<DataType>> types;
};

struct OpRow {
  std::string name;
  // for example "values: N * T, axis: Tidx -> output: T"
  std::string signature;
  std::string summary;  // a single line
  bool is_stateful = false;
  ShapeStatus shape = ShapeStatus::kInferred;
  KernelColumn cpu;
  // Kernels for NVIDIA GPUs (libs/kernels/cuda). A build without CUDA has only
  // kernels without GPU code. A missing kernel is not an error.
  KernelColumn gpu;
  GradientStatus gradient = GradientStatus::kMissing;
};

// Returns one row for each op in `ops`, sorted by name.
std::vector<OpRow> OpTable(const OpRegistry& ops, const KernelRegistry& kernels,
                           const GradientRegistry& gradients);

// Returns the table for all registries of Weft.
std::vector<OpRow> StandardOpTable();

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OP_TABLE_H_
