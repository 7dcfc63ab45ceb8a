// NodeFusion answers questions about a graph for passes that replace several
// nodes by one. Internal to this module.
//
// Not synchronized. The rewrite must outlive it.
#ifndef WEFT_LIBS_PASSES_NODE_FUSION_H_
#define WEFT_LIBS_PASSES_NODE_FUSION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/passes/graph_rewrite.h"

namespace weft {

class NodeFusion {
 public:
  // Looks up the consumers once, as of the changes recorded so far.
  explicit NodeFusion(GraphRewrite& rewrite);

 protected:
  struct Use {
    const Node* node;
    int output;  // the consumed one
  };
  absl::Span<const Use> UsesOf(const Node& node) const {
    return uses_[node.id()];
  }

  // Returns whether the node exists unchanged, and has no control inputs.
  bool IsFree(const Node& node) const;
  bool IsAwaited(const Node& node) const { return is_waited_for_[node.id()]; }
  // Returns whether the node must run for other reasons than its outputs.
  bool IsEndOrAwaited(const Node& node) const {
    return rewrite_.IsEnd(node) || IsAwaited(node);
  }
  // Returns whether its output may be replaced by another node's that comes
  // before it.
  bool MayGo(const Node& node, const Node& instead) const;

  // The node of op `op` whose output `index` is the input, on the same device;
  // otherwise null.
  const Node* Producer(const Node& node, int input, absl::string_view op,
                       int index = 0) const;
  const Tensor* Constant(const Node& node, int input) const {
    return rewrite_.FreeConstantValue(rewrite_.Input(node, input));
  }
  bool IsInput(const Node& node, int input, const OutputTensor& output) const {
    return rewrite_.Input(node, input) == output;
  }
  // Returns the node that computes the input, if it is the size of the first
  // dimension of `data`.
  const Node* NumberOfRows(const Node& node, int input,
                           const OutputTensor& data) const;

  GraphRewrite& rewrite_;

 private:
  void NoteUses(const Node& node);

  std::vector<std::vector<Use>> uses_;  // by node id
  std::vector<bool> is_waited_for_;     // by node id
};

// Returns whether a constant, which may be null, is that vector, or a scalar 0.
bool AreIntegers(const Tensor* constant, const std::vector<int64_t>& wanted);
bool IsZero(const Tensor* constant);
// Returns the integer in a constant scalar.
std::optional<int64_t> IntegerOf(const Tensor* constant);

// The device name is a full one.
bool IsOnCpu(const Node& node);

template <typename T>
T AttrOr(const Node& node, absl::string_view name, T otherwise) {
  const T* value = node.attr<T>(name);
  return value == nullptr ? otherwise : *value;
}

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_NODE_FUSION_H_
