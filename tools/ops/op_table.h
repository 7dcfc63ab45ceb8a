// The table of all ops: what each takes and gives, and what there is of it: a
// shape function, kernels, a gradient. One row an op, made from the registries
// themselves; the tool prints these rows and the loop test checks them.
//
// Values, not synchronised; functions without state.
#ifndef WEFT_TOOLS_OPS_OP_TABLE_H_
#define WEFT_TOOLS_OPS_OP_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "libs/gradients/gradient_registry.h"
#include "libs/graph/op_def.h"
#include "libs/kernels/kernel_registry.h"

namespace weft::tools {

// What is known of results before they are there.
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

// The kernels of an op on devices of one type, together.
struct KernelColumn {
  KernelStatus status = KernelStatus::kMissing;
  // Attr name -> the types that some kernel takes and the op allows, in the
  // order of their numbers; attrs that a kernel does not ask about are left
  // out.
  std::map<std::string, std::vector<DataType>> types;
};

struct OpRow {
  std::string name;
  std::string signature;  // "values: N * T, axis: Tidx -> output: T"
  std::string summary;    // one line
  bool is_stateful = false;
  ShapeStatus shape = ShapeStatus::kInferred;
  KernelColumn cpu;
  // Of NVIDIA's GPUs (libs/kernels/cuda). In a program that was built without
  // CUDA: what needs no code of the GPU's. Missing is no mistake.
  KernelColumn gpu;
  GradientStatus gradient = GradientStatus::kMissing;
};

// One row for each op of `ops`, sorted by name.
std::vector<OpRow> OpTable(const OpRegistry& ops, const KernelRegistry& kernels,
                           const GradientRegistry& gradients);

// Of everything Weft has.
std::vector<OpRow> StandardOpTable();

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OP_TABLE_H_
