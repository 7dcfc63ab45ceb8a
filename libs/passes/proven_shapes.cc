#include "libs/passes/proven_shapes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"

namespace weft {
namespace {

// Returns the rank that the results of the op always have; -1 if it is not
// fixed.
int FixedRank(absl::string_view op) {
  if (op == "ReaderRead" || op == "ReaderReadV2") return 0;
  if (op == "ReaderReadUpTo" || op == "ReaderReadUpToV2") return 1;
  if (op == "MatMul") return 2;
  if (op == "Conv2D" || op == "MaxPool" || op == "AvgPool") return 4;
  return -1;
}

// Ops whose result has as many dimensions as their second input has elements.
bool GivesRank(absl::string_view op) {
  return op == "Reshape" || op == "Transpose" || op == "BroadcastTo";
}

}  // namespace

ProvenShapes::ProvenShapes(const GraphRewrite& rewrite)
    : rewrite_(rewrite), sure_(rewrite.graph().num_nodes(), false) {
  for (const Node* node : rewrite.graph().nodes()) {
    // Nothing is known about an _Arg.
    sure_[node->id()] =
        node->type() == "_Arg" ||
        (rewrite.IsPure(*node) &&
         absl::c_all_of(node->inputs(), [&](const OutputTensor& input) {
           return sure_[input.node->id()];
         }));
  }
}

std::optional<TensorShape> ProvenShapes::ShapeOf(
    const OutputTensor& output) const {
  const Node& node = *output.node;
  const PartialShape& shape = node.output_shape(output.index);
  if (!sure_[node.id()] || !shape.IsFullyDefined()) return std::nullopt;
  return shape.ToShape();
}

std::optional<int> ProvenShapes::RankOf(const OutputTensor& output) const {
  const Node& node = *output.node;
  if (FixedRank(node.type()) >= 0) return FixedRank(node.type());
  if (GivesRank(node.type())) {
    const Tensor* sizes = rewrite_.ConstantValue(rewrite_.Input(node, 1));
    if (sizes != nullptr) return static_cast<int>(sizes->num_elements());
  }
  const PartialShape& shape = node.output_shape(output.index);
  if (!sure_[node.id()] || !shape.has_rank()) return std::nullopt;
  return shape.rank();
}

}  // namespace weft
