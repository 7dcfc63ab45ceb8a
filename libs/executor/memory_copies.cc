#include "libs/executor/memory_copies.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"

namespace weft {
namespace {

class CopyInserter {
 public:
  CopyInserter(const Graph& partition, const std::vector<bool>& is_const,
               const PlanOptions& options)
      : partition_(partition),
        is_const_(is_const),
        options_(options),
        result_(std::make_unique<Graph>(partition.registry(),
                                        partition.shared_functions())),
        new_nodes_(partition.num_nodes(), nullptr) {}

  absl::StatusOr<std::unique_ptr<Graph>> Run() {
    for (const Node* node : partition_.nodes()) RETURN_IF_ERROR(Add(*node));
    for (const BackEdge& edge : back_edges_) RETURN_IF_ERROR(Close(edge));
    return std::move(result_);
  }

 private:
  struct BackEdge {
    const Node* node;  // of the partition
    int input;
  };

  absl::Status Add(const Node& node) {
    NodeSpec spec{.name = node.name(),
                  .op = node.type(),
                  .attrs = node.attrs(),
                  .device = node.requested_device()};
    for (int i = 0; i < node.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(spec.inputs.emplace_back(), InputFor(node, i));
    }
    for (const Node* control : node.control_inputs()) {
      spec.control_inputs.push_back(new_nodes_[control->id()]);
    }
    ASSIGN_OR_RETURN(const Node* added, result_->AddNode(std::move(spec)));
    result_->set_assigned_device(added, node.assigned_device());
    new_nodes_[node.id()] = added;
    return absl::OkStatus();
  }

  // Returns the new source of an input. Null for a back edge, which is closed
  // once all nodes exist.
  absl::StatusOr<OutputTensor> InputFor(const Node& node, int i) {
    const OutputTensor& input = node.input(i);
    if (input.node == nullptr || new_nodes_[input.node->id()] == nullptr) {
      if (input.node != nullptr) back_edges_.push_back({&node, i});
      return OutputTensor{};
    }
    const OutputTensor same = {new_nodes_[input.node->id()], input.index};
    if (is_const_[input.node->id()] || IsRefType(node.input_type(i))) {
      return same;
    }
    ASSIGN_OR_RETURN(const bool from_host,
                     MakesOnHost(*input.node, input.index, options_));
    ASSIGN_OR_RETURN(const bool to_host, TakesOnHost(node, i, options_));
    if (from_host == to_host) return same;
    return CopyOf(input, same, to_host);
  }

  absl::StatusOr<OutputTensor> CopyOf(const OutputTensor& output,
                                      const OutputTensor& same, bool to_host) {
    const Node*& copy = copies_[output];
    if (copy == nullptr) {
      NodeSpec spec{
          .name = NewName(
              absl::StrCat(output.node->name(), "/_copy_", output.index)),
          .op = to_host ? "_CopyToHost" : "_CopyToDevice",
          .inputs = {same},
          .attrs = {
              {"T", RemoveRefType(output.node->output_type(output.index))}}};
      ASSIGN_OR_RETURN(Node * added, result_->AddNode(std::move(spec)));
      result_->set_assigned_device(added, output.node->assigned_device());
      copy = added;
    }
    return OutputTensor{copy, 0};
  }

  std::string NewName(std::string name) const {
    while (partition_.FindNode(name) || result_->FindNode(name)) name += '_';
    return name;
  }

  // Closes a back edge. The NextIteration and its Merge have the same type, so
  // their values are in the same memory and need no copy.
  absl::Status Close(const BackEdge& edge) {
    const OutputTensor& from = edge.node->input(edge.input);
    ASSIGN_OR_RETURN(const bool from_host,
                     MakesOnHost(*from.node, from.index, options_));
    ASSIGN_OR_RETURN(const bool to_host,
                     TakesOnHost(*edge.node, edge.input, options_));
    if (from_host != to_host) {
      return absl::InternalError(
          absl::StrCat("node ", edge.node->name(), " takes ", TensorName(from),
                       " around a loop in another memory"));
    }
    return result_->SetBackEdge(new_nodes_[edge.node->id()], edge.input,
                                {new_nodes_[from.node->id()], from.index});
  }

  const Graph& partition_;
  const std::vector<bool>& is_const_;
  const PlanOptions& options_;
  std::unique_ptr<Graph> result_;
  std::vector<const Node*> new_nodes_;  // by id in the partition
  std::vector<BackEdge> back_edges_;
  FlatHashMap<OutputTensor, const Node*> copies_;
};

}  // namespace

absl::StatusOr<bool> TakesOnHost(const Node& node, int i,
                                 const PlanOptions& options) {
  ASSIGN_OR_RETURN(const KernelRegistry::Registration* kernel,
                   options.kernels->Find(node, options.device->device_type()));
  return KernelRegistry::InputOnHost(kernel->def, node, i);
}

absl::StatusOr<bool> MakesOnHost(const Node& node, int i,
                                 const PlanOptions& options) {
  ASSIGN_OR_RETURN(const KernelRegistry::Registration* kernel,
                   options.kernels->Find(node, options.device->device_type()));
  return KernelRegistry::OutputOnHost(kernel->def, node, i);
}

absl::StatusOr<std::unique_ptr<Graph>> WithMemoryCopies(
    const Graph& partition, const std::vector<bool>& is_const,
    const PlanOptions& options) {
  return CopyInserter(partition, is_const, options).Run();
}

}  // namespace weft
