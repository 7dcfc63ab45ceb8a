// GraphRewrite: what is to become of the nodes of a graph. Passes note it here,
// one after the other, each seeing what those before it noted; one new graph is
// made of it at the end.
//
// Not synchronised. The graph outlives it.
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
  // `graph` is pruned and placed: nodes that nobody consumes are its ends.
  explicit GraphRewrite(const Graph& graph);

  const Graph& graph() const { return graph_; }

  // What has been noted so far. All nodes are the old graph's.

  bool IsPure(const Node& node) const { return pure_[node.id()]; }
  // Its consumers take another's outputs: it will not be there.
  bool IsGone(const Node& node) const { return gone_[node.id()]; }
  // It becomes a node of another op.
  bool IsReplaced(const Node& node) const { return replaced_.contains(&node); }
  bool IsEnd(const Node& node) const { return !uses_[node.id()].any; }
  // Something depends on just this node being there: control flow, whose
  // meaning lies in its edges, or an error text that would name it.
  bool IsPinned(const Node& node) const { return uses_[node.id()].pinned; }
  // Where the value of an output comes from now.
  OutputTensor Resolve(OutputTensor output) const;
  // What the node's inputs are now.
  int NumInputs(const Node& node) const;
  OutputTensor Input(const Node& node, int i) const;
  // What the node waits for besides its inputs, in order of id. Constants that
  // wait for nothing are there from the start, and left out.
  std::vector<const Node*> ControlInputs(const Node& node) const;

  // The value of an output that is constant, of old or by now; else null.
  const Tensor* ConstantValue(const OutputTensor& output) const;
  // The same for one that waits for nothing.
  const Tensor* FreeConstantValue(const OutputTensor& output) const;

  // Whether a node on the same device may take the output which did not so far.
  bool MayBeTaken(const OutputTensor& output) const;
  // Whether consumers of the node's only output may take `to` instead: nobody
  // can tell the difference, if `to` has the same value whenever the node has
  // one.
  bool MayBypass(const Node& node, const OutputTensor& to) const;

  // Notes.

  // REQUIRES: MayBypass.
  void Bypass(const Node& node, const OutputTensor& to);
  // Consumers of `node` take the same outputs of `other`, an older node.
  void Merge(const Node& node, const Node& other);
  // Who waits for the node, which has no outputs, waits for its only control
  // input instead, or for nothing.
  void RemoveControl(const Node& node);
  // The node becomes a constant for each of its outputs.
  void Fold(const Node& node, std::vector<Tensor> outputs);
  void SetInput(const Node& node, int i, const OutputTensor& to);
  // The node becomes one of another op, with the same outputs, on its device
  // and by its name, and waits for `more_controls` as well. REQUIRES: no other
  // note about it, now or later.
  struct Replacement {
    std::string op;
    std::vector<OutputTensor> inputs;
    std::vector<const Node*> more_controls;
    AttrMap attrs;
  };
  void Replace(const Node& node, Replacement replacement);
  // Consumers of `from` take `to` instead, an output of a node that was
  // replaced and stands before them. REQUIRES: the value is the same; only
  // fusions run after this pass.
  void TakeInstead(const OutputTensor& from, const OutputTensor& to);
  // The node will not be there. REQUIRES: nobody takes or waits for it now.
  void Remove(const Node& node);

  // The new graph, without what is no longer needed: of the nodes that nobody
  // consumes any more only the old ends and those that are not pure are kept.
  // Fails where a node is refused, which shapes known by now may bring about.
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
  std::vector<bool> free_;  // by node id: a constant that waits for nothing
  // By node id: the value of a reference, handed on. Its consumers may read the
  // variable itself (libs/executor/late_reads.h).
  std::vector<bool> reads_variable_;
  FlatHashMap<OutputTensor, OutputTensor> outputs_;
  FlatHashMap<const Node*, const Node*> controls_;  // null: nothing
  FlatHashMap<const Node*, Constants> folded_;
  FlatHashMap<const Node*, Replacement> replaced_;
  FlatHashMap<std::pair<const Node*, int>, OutputTensor> inputs_;
};

// The elements of a constant vector of int32 or int64; none of anything else,
// and where `constant` is null.
std::optional<std::vector<int64_t>> IntegersIn(const Tensor* constant);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_GRAPH_REWRITE_H_
