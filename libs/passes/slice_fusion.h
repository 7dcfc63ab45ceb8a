// FuseSlices: if a Slice is the only consumer of a matrix product, only the
// sliced part is computed:
//
//   MatMul, Slice                                        -> _SlicedMatMul
//
// The gradient of a layer with concatenated inputs, one of which is trained,
// ends like this: an embedding next to numbers. The outputs are the same to the
// last bit, except for the choice between two NaNs, and errors are those of the
// nodes. Values of reference variables, and values that enter a loop, are
// multiplied at their original place.
#ifndef WEFT_LIBS_PASSES_SLICE_FUSION_H_
#define WEFT_LIBS_PASSES_SLICE_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only fusions run after it.
void FuseSlices(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_SLICE_FUSION_H_
