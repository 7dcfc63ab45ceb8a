#include "libs/ops/control_flow_context.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/graph/frame_analysis.h"

namespace weft {

absl::Status ControlFlowContext::AddOp(NodeSpec& spec) {
  bool is_tied = false;  // runs when the inside does
  for (OutputTensor& input : spec.inputs) {
    if (input.node == nullptr) continue;  // rejected when it is added
    const Output value = AddValue(Output(input));
    if (!value) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", TensorName(input), "' has no value in this context"));
    }
    input = value.output_tensor();
    is_tied = is_tied || IsTiedBy(*input.node);
  }
  std::vector<const Node*> controls;
  for (const Node* control : spec.control_inputs) {
    const Node* inside = AddControl(control);
    if (inside == nullptr) continue;
    controls.push_back(inside);
    is_tied = is_tied || IsTiedBy(*inside);
  }
  // Constants are valid everywhere; computations on constants alone are not.
  const bool is_free = spec.op == "Const" && controls.empty();
  if (!is_tied && !is_free) controls.push_back(pivot());
  spec.control_inputs = std::move(controls);
  return absl::OkStatus();
}

// Loop invariants exist in one iteration more than the body runs in.
bool ControlFlowContext::IsTiedBy(const Node& node) const {
  return !IsFreeConstant(node) && !IsConstantEnter(node);
}

bool ControlFlowContext::IsPassedUnchanged(const Output& value) {
  const DataType dtype = RemoveRefType(value.dtype());
  return IsFreeConstant(*value.node()) && !IsFloatingType(dtype) &&
         !IsComplexType(dtype);
}

}  // namespace weft
