// ProvenShapes: what is sure of the shapes in a graph at run time.
//
// Inferred shapes may be wrong: a variable may hold another shape than its node
// declares, since another session's graph assigned it. What follows from
// constants alone, through nodes that check what they are given, is sure.
#ifndef WEFT_LIBS_PASSES_PROVEN_SHAPES_H_
#define WEFT_LIBS_PASSES_PROVEN_SHAPES_H_

#include <optional>
#include <vector>

#include "libs/graph/graph.h"
#include "libs/passes/graph_rewrite.h"

namespace weft {

// Not synchronised. The rewrite outlives it.
class ProvenShapes {
 public:
  explicit ProvenShapes(const GraphRewrite& rewrite);

  // Whole shapes only.
  std::optional<TensorShape> ShapeOf(const OutputTensor& output) const;
  std::optional<int> RankOf(const OutputTensor& output) const;

 private:
  const GraphRewrite& rewrite_;
  std::vector<bool> sure_;  // by node id
};

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_PROVEN_SHAPES_H_
