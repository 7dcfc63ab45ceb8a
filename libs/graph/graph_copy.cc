#include "libs/graph/graph_copy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/unknown_op.h"

namespace weft {

const Node* GraphCopier::Find(const Node* node) const {
  auto it = copies_.find(node);
  return it == copies_.end() ? nullptr : it->second;
}

OutputTensor GraphCopier::Lookup(const OutputTensor& output) const {
  auto it = replaced_outputs_.find(output);
  if (it != replaced_outputs_.end()) return it->second;
  const Node* copy = Find(output.node);
  return copy == nullptr ? OutputTensor{} : OutputTensor{copy, output.index};
}

absl::StatusOr<const Node*> GraphCopier::Copy(const Node& node) {
  NodeSpec spec{.name = node.name(),
                .op = node.type(),
                .attrs = node.attrs(),
                .device = node.requested_device()};
  std::vector<std::pair<int, OutputTensor>> pending;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const OutputTensor from = node.input(i);
    const OutputTensor to = Lookup(from);
    if (to.node == nullptr && from.node->id() <= node.id()) {
      return absl::InternalError(absl::StrCat("copying node ", node.name(),
                                              ": its input ", TensorName(from),
                                              " is not in the new graph"));
    }
    if (to.node == nullptr) pending.emplace_back(i, from);
    spec.inputs.push_back(to);
  }
  for (const Node* control : node.control_inputs()) {
    auto it = replaced_controls_.find(control);
    const Node* to =
        it == replaced_controls_.end() ? Find(control) : it->second;
    if (to != nullptr) spec.control_inputs.push_back(to);
  }
  if (IsUnknown(node)) MarkAs(node, spec);
  ASSIGN_OR_RETURN(Node * copy, target_.AddNode(std::move(spec)));
  target_.set_assigned_device(copy, node.assigned_device());
  copies_[&node] = copy;
  for (const auto& [input, producer] : pending) {
    back_edges_.push_back({copy, input, producer});
  }
  return copy;
}

absl::Status GraphCopier::Finish() {
  for (const BackEdge& edge : back_edges_) {
    const OutputTensor from = Lookup(edge.producer);
    if (from.node == nullptr) {
      return absl::InternalError(
          absl::StrCat("copying node ", edge.consumer->name(), ": its input ",
                       TensorName(edge.producer), " is not in the new graph"));
    }
    RETURN_IF_ERROR(target_.SetBackEdge(edge.consumer, edge.input, from));
  }
  back_edges_.clear();
  return absl::OkStatus();
}

}  // namespace weft
