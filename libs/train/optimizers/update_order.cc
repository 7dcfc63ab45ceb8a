#include "libs/train/optimizers/update_order.h"

#include <string>

namespace weft::train {
namespace {

bool IsControlFlow(const Node& node) {
  const std::string& type = node.type();
  return type == "Switch" || type == "RefSwitch" || type == "Enter" ||
         type == "RefEnter";
}

// Returns whether `node` outputs the whole value of its first input.
bool ReadsWhole(const Node& node) {
  return node.type() == "ReadVariableOp" ||
         (node.type() == "Identity" &&
          IsRefType(node.input(0).node->output_type(node.input(0).index)));
}

}  // namespace

UpdateOrder::UpdateOrder(const Graph& graph,
                         const std::vector<Gradient>& gradients)
    : graph_(graph) {
  const std::vector<bool> needed = NeededFor(gradients);
  for (size_t id = 0; id < needed.size(); ++id) {
    if (!needed[id]) continue;
    const Node& node = *graph.node(static_cast<int>(id));
    if (IsControlFlow(node)) {
      readers_.clear();
      return;
    }
    for (const OutputTensor& input : node.inputs()) {
      const Node* read = input.node;
      if (read == nullptr || read->num_inputs() == 0 || !ReadsWhole(*read)) {
        continue;
      }
      readers_[read->input(0).node].push_back(&node);
    }
  }
}

std::vector<bool> UpdateOrder::NeededFor(
    const std::vector<Gradient>& gradients) const {
  std::vector<bool> needed(graph_.num_nodes());
  std::vector<const Node*> pending;
  const auto visit = [&](const Node* node) {
    if (node == nullptr || needed[node->id()]) return;
    needed[node->id()] = true;
    pending.push_back(node);
  };
  for (const Gradient& gradient : gradients) {
    for (const Output& output :
         {gradient.dense, gradient.values, gradient.indices}) {
      visit(output.node());
    }
  }
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    for (const OutputTensor& input : node->inputs()) visit(input.node);
    for (const Node* input : node->control_inputs()) visit(input);
  }
  return needed;
}

std::vector<Operation> UpdateOrder::ReadersBefore(
    const ops::Variable& variable, const Gradient& gradient) const {
  const Node* maker = variable.handle().node();
  const auto found = readers_.find(maker);
  if (found == readers_.end()) return {};
  const std::vector<bool> waited_for = NeededFor({gradient});
  std::vector<Operation> result;
  const Node* last = nullptr;
  for (const Node* reader : found->second) {
    // A node that reads twice occurs twice in a row.
    if (reader == last || waited_for[reader->id()] ||
        reader->requested_device() != maker->requested_device()) {
      continue;
    }
    last = reader;
    result.emplace_back(reader);
  }
  return result;
}

}  // namespace weft::train
