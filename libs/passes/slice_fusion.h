// FuseSlices: of a product of matrices that one Slice alone takes, what the
// Slice leaves is computed, and nothing else:
//
//   MatMul, Slice                                        -> _SlicedMatMul
//
// So ends the gradient of a layer whose inputs are joined, where one of them is
// trained: an embedding beside numbers. What the nodes give is the same to the
// last bit, and errors are those of the nodes.
#ifndef WEFT_LIBS_PASSES_SLICE_FUSION_H_
#define WEFT_LIBS_PASSES_SLICE_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only fusions run after it.
void FuseSlices(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_SLICE_FUSION_H_
