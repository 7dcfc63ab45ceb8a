#include "libs/passes/identity_removal.h"

#include <vector>

#include "libs/passes/node_kinds.h"

namespace weft {
namespace {

bool MayRemoveControl(const GraphRewrite& rewrite, const Node& node) {
  if (node.type() != "NoOp") return false;
  if (rewrite.IsEnd(node) || rewrite.IsPinned(node)) return false;
  const std::vector<const Node*> controls = rewrite.ControlInputs(node);
  if (controls.empty()) return true;
  return controls.size() == 1 && !IsControlFlow(*controls[0]) &&
         controls[0]->assigned_device() == node.assigned_device();
}

}  // namespace

void RemoveIdentities(GraphRewrite& rewrite) {
  for (const Node* node : rewrite.graph().nodes()) {
    if (MayRemoveControl(rewrite, *node)) {
      rewrite.RemoveControl(*node);
    } else if (IsIdentity(*node) && rewrite.IsPure(*node)) {
      const OutputTensor input = rewrite.Input(*node, 0);
      if (rewrite.MayBypass(*node, input)) rewrite.Bypass(*node, input);
    }
  }
}

}  // namespace weft
