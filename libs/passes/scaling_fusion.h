// FuseScaling: a tensor that is multiplied by numbers, one of which was
// broadcast to its shape, is read and written once:
//
//   Mul of a BroadcastTo of one constant number, and the Mul by another one
//   before it                                  -> _MulInTurn
//
// The gradient of each loss that is a sum or mean of squares ends like this.
// The shapes need not be known to agree: the kernel checks. The outputs are the
// same to the last bit, and so are errors, except for the op's name in them.
#ifndef WEFT_LIBS_PASSES_SCALING_FUSION_H_
#define WEFT_LIBS_PASSES_SCALING_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only fusions run after it.
void FuseScaling(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_SCALING_FUSION_H_
