// NodeFusion: what passes that put one node in the place of several ask of a
// graph. Internal to this room.
//
// Not synchronised. The rewrite outlives it.
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
  // Who uses what is looked up here: it is what was noted so far.
  explicit NodeFusion(GraphRewrite& rewrite);

 protected:
  struct Use {
    const Node* node;
    int output;  // which is used
  };
  absl::Span<const Use> UsesOf(const Node& node) const {
    return uses_[node.id()];
  }

  // Whether the node is there, is what it was, and waits for nothing.
  bool IsFree(const Node& node) const;
  bool IsAwaited(const Node& node) const { return is_waited_for_[node.id()]; }
  // Whether somebody wants it to have run, not what it gives.
  bool IsEndOrAwaited(const Node& node) const {
    return rewrite_.IsEnd(node) || IsAwaited(node);
  }
  // What may become another output of a node that stands before it.
  bool MayGo(const Node& node, const Node& instead) const;

  // The node of op `op` whose output `index` is the input, on the same device;
  // else null.
  const Node* Producer(const Node& node, int input, absl::string_view op,
                       int index = 0) const;
  const Tensor* Constant(const Node& node, int input) const {
    return rewrite_.FreeConstantValue(rewrite_.Input(node, input));
  }
  bool IsInput(const Node& node, int input, const OutputTensor& output) const {
    return rewrite_.Input(node, input) == output;
  }
  // Whether the input is the size of the first dimension of `data`, and which
  // node tells it.
  const Node* NumberOfRows(const Node& node, int input,
                           const OutputTensor& data) const;

  GraphRewrite& rewrite_;

 private:
  void NoteUses(const Node& node);

  std::vector<std::vector<Use>> uses_;  // by node id
  std::vector<bool> is_waited_for_;     // by node id
};

// Of a constant, which may be null: whether it is such a vector, or a scalar 0.
bool AreIntegers(const Tensor* constant, const std::vector<int64_t>& wanted);
bool IsZero(const Tensor* constant);
// Of a scalar.
std::optional<int64_t> IntegerOf(const Tensor* constant);

// The name of the device is a full one.
bool IsOnCpu(const Node& node);

template <typename T>
T AttrOr(const Node& node, absl::string_view name, T otherwise) {
  const T* value = node.attr<T>(name);
  return value == nullptr ? otherwise : *value;
}

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_NODE_FUSION_H_
