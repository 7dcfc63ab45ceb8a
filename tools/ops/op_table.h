// The table of all ops: the signature of each op, and whether it has a shape
// function, kernels and a gradient. Rows are created from the registries; the
// tool prints them and its test checks them.
//
// Value types, not thread-safe; stateless functions.
#ifndef WEFT_TOOLS_OPS_OP_TABLE_H_
#define WEFT_TOOLS_OPS_OP_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "libs/gradients/registry/gradient_registry.h"
#include "libs/graph/op_def.h"
#include "libs/kernels/kernel_registry.h"

namespace weft::tools {

// How much the shape function infers.
enum class ShapeStatus {
  kInferred,
  kUnknown,    // nothing: shapes::Unknown
  kNoOutputs,  // there is nothing to know
};

enum class KernelStatus {
  kYes,
  kExecutor,  // the executor runs the op itself
  kMissing,
};

enum class GradientStatus {
  kYes,
  kNone,     // by nature
  kRuntime,  // the runtime makes the op, after gradients were taken
  kMissing,
};

// All kernels of an op on devices of one type.
struct KernelColumn {
  KernelStatus status = KernelStatus::kMissing;
  // Maps attr names to types that some kernel supports and the op allows, in
  // the order of their numbers; attrs that kernels do not constrain are
  // omitted.
  std::map<std::string, std::vector<DataType>> types;
};

struct OpRow {
  std::string name;
  std::string signature;  // "values: N * T, axis: Tidx -> output: T"
  std::string summary;    // one line
  bool is_stateful = false;
  ShapeStatus shape = ShapeStatus::kInferred;
  KernelColumn cpu;
  // Kernels of NVIDIA GPUs (libs/kernels/cuda). In a build without CUDA: only
  // kernels without GPU code. A missing kernel is not an error.
  KernelColumn gpu;
  GradientStatus gradient = GradientStatus::kMissing;
};

// Returns one row for each op of `ops`, sorted by name.
std::vector<OpRow> OpTable(const OpRegistry& ops, const KernelRegistry& kernels,
                           const GradientRegistry& gradients);

// Returns the table of all registries of Weft.
std::vector<OpRow> StandardOpTable();

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OP_TABLE_H_
