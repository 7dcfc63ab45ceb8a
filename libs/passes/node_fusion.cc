#include "libs/passes/node_fusion.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace weft {

NodeFusion::NodeFusion(GraphRewrite& rewrite)
    : rewrite_(rewrite),
      uses_(rewrite.graph().num_nodes()),
      is_waited_for_(rewrite.graph().num_nodes(), false) {
  for (const Node* node : rewrite.graph().nodes()) NoteUses(*node);
}

void NodeFusion::NoteUses(const Node& node) {
  if (rewrite_.IsGone(node)) return;
  for (int i = 0; i < rewrite_.NumInputs(node); ++i) {
    const OutputTensor from = rewrite_.Input(node, i);
    if (from.node == nullptr) continue;
    uses_[from.node->id()].push_back({&node, from.index});
  }
  for (const Node* control : rewrite_.ControlInputs(node)) {
    is_waited_for_[control->id()] = true;
  }
}

bool NodeFusion::IsFree(const Node& node) const {
  return !rewrite_.IsGone(node) && rewrite_.IsPure(node) &&
         !rewrite_.IsPinned(node) && !rewrite_.IsReplaced(node) &&
         rewrite_.NumInputs(node) == node.num_inputs() &&
         (node.num_outputs() == 0 ||
          rewrite_.ConstantValue({&node, 0}) == nullptr) &&
         rewrite_.ControlInputs(node).empty();
}

bool NodeFusion::MayGo(const Node& node, const Node& instead) const {
  return IsFree(node) && !IsEndOrAwaited(node) && node.id() > instead.id() &&
         node.assigned_device() == instead.assigned_device();
}

const Node* NodeFusion::Producer(const Node& node, int input,
                                 absl::string_view op, int index) const {
  const OutputTensor from = rewrite_.Input(node, input);
  if (from.node == nullptr || from.index != index) return nullptr;
  if (from.node->type() != op || !IsFree(*from.node)) return nullptr;
  return from.node->assigned_device() == node.assigned_device() ? from.node
                                                                : nullptr;
}

const Node* NodeFusion::NumberOfRows(const Node& node, int input,
                                     const OutputTensor& data) const {
  const Node* number = Producer(node, input, "StridedSlice");
  if (number == nullptr || !AreIntegers(Constant(*number, 1), {0}) ||
      !AreIntegers(Constant(*number, 2), {1}) ||
      !AreIntegers(Constant(*number, 3), {1}) ||
      AttrOr<int64_t>(*number, "shrink_axis_mask", 0) != 1) {
    return nullptr;
  }
  const Node* shape = Producer(*number, 0, "Shape");
  return shape != nullptr && IsInput(*shape, 0, data) ? number : nullptr;
}

bool AreIntegers(const Tensor* constant, const std::vector<int64_t>& wanted) {
  if (constant == nullptr || constant->rank() != 1) return false;
  if (constant->dtype() == DT_INT32) {
    return absl::c_equal(constant->flat<int32_t>(), wanted);
  }
  return constant->dtype() == DT_INT64 &&
         absl::c_equal(constant->flat<int64_t>(), wanted);
}

bool IsZero(const Tensor* constant) {
  if (constant == nullptr || constant->rank() != 0) return false;
  switch (constant->dtype()) {
    case DT_INT32:
      return constant->scalar<int32_t>() == 0;
    case DT_INT64:
      return constant->scalar<int64_t>() == 0;
    case DT_FLOAT:
      return constant->scalar<float>() == 0;
    case DT_DOUBLE:
      return constant->scalar<double>() == 0;
    default:
      return false;
  }
}

std::optional<int64_t> IntegerOf(const Tensor* constant) {
  if (constant == nullptr || constant->rank() != 0) return std::nullopt;
  if (constant->dtype() == DT_INT32) return constant->scalar<int32_t>();
  if (constant->dtype() == DT_INT64) return constant->scalar<int64_t>();
  return std::nullopt;
}

bool IsOnCpu(const Node& node) {
  return absl::StrContains(node.assigned_device(), "/device:CPU:");
}

}  // namespace weft
