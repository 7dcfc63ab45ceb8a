#include "libs/passes/node_kinds.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace weft {
namespace {

constexpr absl::string_view kControlFlowOps[] = {
    "ControlTrigger", "Enter",    "Exit",          "LoopCond",
    "Merge",          "Switch",   "NextIteration", "RefEnter",
    "RefExit",        "RefMerge", "RefSwitch",     "RefNextIteration",
    "RefSelect",
};

constexpr absl::string_view kIdentityOps[] = {"Identity", "PreventGradient",
                                              "Snapshot", "StopGradient"};

// Not stateful by TensorFlow's registry, but not functions of their inputs
// either, or useful for more than their value.
constexpr absl::string_view kImpureOps[] = {
    "Abort",
    "Assert",
    "CheckNumerics",
    "GenerateVocabRemapping",
    "ImmutableConst",
    "MatchingFiles",
    "NoOp",
    "Placeholder",
    "PlaceholderV2",
    "PlaceholderWithDefault",
    "Print",
    "PrintV2",
    "PyFuncStateless",
    "ReadFile",
    "WriteFile",
};

bool HasOpOf(absl::Span<const absl::string_view> ops, const Node& node) {
  return absl::c_linear_search(ops, node.type());
}

// Values that refer to objects stored elsewhere.
bool IsHandle(DataType type) {
  return IsRefType(type) || type == DT_RESOURCE || type == DT_VARIANT;
}

// Older ops identify a TensorArray, a queue or a table by a string.
bool HasHandle(const std::vector<ArgDef>& args) {
  return absl::c_any_of(args, [](const ArgDef& arg) {
    return arg.name == "handle" || absl::EndsWith(arg.name, "_handle");
  });
}

bool CallsFunctions(const Node& node) {
  return absl::c_any_of(node.op().attrs, [](const AttrDef& attr) {
    return absl::StrContains(attr.type, "func");
  });
}

}  // namespace

bool IsControlFlow(const Node& node) { return HasOpOf(kControlFlowOps, node); }

bool IsIdentity(const Node& node) { return HasOpOf(kIdentityOps, node); }

bool IsPure(const Node& node) {
  if (node.op().is_stateful || IsControlFlow(node)) return false;
  if (HasOpOf(kImpureOps, node) || CallsFunctions(node)) return false;
  if (HasHandle(node.op().inputs) || HasHandle(node.op().outputs)) return false;
  if (absl::c_any_of(node.input_types(), IsHandle)) return false;
  if (absl::c_any_of(node.output_types(), IsHandle)) return false;
  return absl::c_none_of(node.inputs(), [](const OutputTensor& input) {
    return input.node == nullptr ||
           IsHandle(input.node->output_type(input.index));
  });
}

bool NamesItsInputs(const Node& node) { return node.type() == "EnsureShape"; }

}  // namespace weft
