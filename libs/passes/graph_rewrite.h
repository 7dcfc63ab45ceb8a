// GraphRewrite records the planned changes of a graph's nodes. Passes record
// them one after the other, each seeing the earlier changes; at the end one new
// graph is built.
//
// Not synchronized. The graph must outlive it.
#ifndef WEFT_LIBS_PASSES_GRAPH_REWRITE_H_
#define WEFT_LIBS_PASSES_GRAPH_REWRITE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/graph.h"

namespace weft {

class GraphRewrite {
 public:
  // `graph` must be pruned and placed, so that its nodes without consumers are
  // the ends for which a step runs.
  explicit GraphRewrite(const Graph& graph);

  const Graph& graph() const { return graph_; }

  // The changes recorded so far. All nodes are the old graph's.

  bool IsPure(const Node& node) const { return pure_[node.id()]; }
  // Returns whether the node will be removed, because its consumers take
  // another node's outputs.
  bool IsGone(const Node& node) const { return gone_[node.id()]; }
  // Returns whether the node becomes a node of another op.
  bool IsReplaced(const Node& node) const { return replaced_.contains(&node); }
  bool IsEnd(const Node& node) const { return !uses_[node.id()].any; }
  // Returns whether the node must stay, because it is next to control flow,
  // whose meaning depends on its edges, or because an error text would name it.
  bool IsPinned(const Node& node) const { return uses_[node.id()].pinned; }
  // Returns the current source of an output's value.
  OutputTensor Resolve(OutputTensor output) const;
  // Return the current inputs of the node.
  int NumInputs(const Node& node) const;
  OutputTensor Input(const Node& node, int i) const;
  // Returns the control inputs of the node, in order of id. Constants without
  // control inputs are left out, because they are always available.
  std::vector<const Node*> ControlInputs(const Node& node) const;

  // Returns the value of the output if it is an original or new constant;
  // otherwise null.
  const Tensor* ConstantValue(const OutputTensor& output) const;
  // Like ConstantValue, for a constant without control inputs.
  const Tensor* FreeConstantValue(const OutputTensor& output) const;

  // Returns whether a node on the same device that does not consume the output
  // yet may consume it.
  bool MayBeTaken(const OutputTensor& output) const;
  // Returns whether consumers of the node's only output may take `to` instead,
  // without any observable difference, if `to` has the same value whenever the
  // node has one.
  bool MayBypass(const Node& node, const OutputTensor& to) const;

  // Recording changes.

  // Makes consumers of the node's only output take `to` instead. REQUIRES:
  // MayBypass.
  void Bypass(const Node& node, const OutputTensor& to);
  // Makes consumers of `node` take the same outputs of `other`, an older node.
  void Merge(const Node& node, const Node& other);
  // Removes a node that has no outputs: nodes with a control input from it get
  // its only control input instead, or none.
  void RemoveControl(const Node& node);
  // Replaces the node by a constant for each of its outputs.
  void Fold(const Node& node, std::vector<Tensor> outputs);
  void SetInput(const Node& node, int i, const OutputTensor& to);
  // Replaces the node by one of another op, with the same outputs, device and
  // name, and `more_controls` as additional control inputs. REQUIRES: no other
  // change of it, before or later.
  struct Replacement {
    std::string op;
    std::vector<OutputTensor> inputs;
    std::vector<const Node*> more_controls;
    AttrMap attrs;
  };
  void Replace(const Node& node, Replacement replacement);
  // Consumers of `from` take `to` instead, an output of a node that was
  // replaced and comes before them. REQUIRES: the value is the same; only
  // fusions run after this pass.
  void TakeInstead(const OutputTensor& from, const OutputTensor& to);
  // Removes the node. REQUIRES: it has no consumers or control outputs now.
  void Remove(const Node& node);

  // Returns the new graph, without nodes that are no longer needed: of the
  // nodes without consumers only the old ends and those that are not pure are
  // kept. Fails if a node is refused, which newly known shapes may cause.
  absl::StatusOr<std::unique_ptr<Graph>> Build() const;

 private:
  class Builder;

  struct Uses {
    bool any = false;
    bool pinned = false;
  };
  struct Constants {
    std::vector<Tensor> values;
    std::vector<const Node*> controls;
  };

  void MoveUses(const Node& from, const Node& to);
  const Node* ResolveControl(const Node* node) const;

  const Graph& graph_;
  std::vector<Uses> uses_;  // by node id
  std::vector<bool> pure_;  // by node id
  std::vector<bool> gone_;  // by node id
  std::vector<bool> free_;  // by node id: a constant without control inputs
  // By node id: the forwarded value of a reference. Its consumers may read the
  // variable itself (libs/executor/late_reads.h).
  std::vector<bool> reads_variable_;
  FlatHashMap<OutputTensor, OutputTensor> outputs_;
  FlatHashMap<const Node*, const Node*> controls_;  // null: nothing
  FlatHashMap<const Node*, Constants> folded_;
  FlatHashMap<const Node*, Replacement> replaced_;
  FlatHashMap<std::pair<const Node*, int>, OutputTensor> inputs_;
};

// The elements of a constant int32 or int64 vector; none for anything else, and
// if `constant` is null.
std::optional<std::vector<int64_t>> IntegersIn(const Tensor* constant);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_GRAPH_REWRITE_H_
