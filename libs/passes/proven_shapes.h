// ProvenShapes are the shapes in a graph that are certain at run time.
//
// Inferred shapes may be wrong: a variable may have another shape than its node
// declares, because another session's graph assigned it. Shapes that follow
// from constants alone, through nodes that check their inputs, are certain.
#ifndef WEFT_LIBS_PASSES_PROVEN_SHAPES_H_
#define WEFT_LIBS_PASSES_PROVEN_SHAPES_H_

#include <optional>
#include <vector>

#include "libs/graph/graph.h"
#include "libs/passes/graph_rewrite.h"

namespace weft {

// Not synchronized. The rewrite must outlive it.
class ProvenShapes {
 public:
  explicit ProvenShapes(const GraphRewrite& rewrite);

  // Fully defined shapes only.
  std::optional<TensorShape> ShapeOf(const OutputTensor& output) const;
  std::optional<int> RankOf(const OutputTensor& output) const;

 private:
  const GraphRewrite& rewrite_;
  std::vector<bool> sure_;  // by node id
};

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_PROVEN_SHAPES_H_
