// FuseSlices: of a product of matrices that one Slice alone takes, what the
// Slice leaves is computed, and nothing else:
//
//   MatMul, Slice                                        -> _SlicedMatMul
//
// So ends the gradient of a layer whose inputs are joined, where one of them is
// trained: an embedding beside numbers. What the nodes give is the same to the
// last bit, but for which of two NaNs it is, and errors are those of the nodes.
// Values of reference variables, and what enters a loop, are multiplied where
// they were.
#ifndef WEFT_LIBS_PASSES_SLICE_FUSION_H_
#define WEFT_LIBS_PASSES_SLICE_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only fusions run after it.
void FuseSlices(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_SLICE_FUSION_H_
