// FuseElements fuses elementwise operations into one node, which applies all of
// them to each block of elements while it is in the cache:
//
//   MatMul, and BiasAdd, activations or their gradients of it
//                                          -> _FusedMatMul
//   Conv2D, DepthwiseConv2dNative likewise -> _FusedConv2D, ...
//   element-wise nodes of which one takes what the others give, of one type
//                                          -> _FusedElementwise
//
// The names of the first two, and of their attrs fused_ops and num_args, are
// TensorFlow's. A fused node, except the last, has no other consumers and no
// control outputs. Values are the same to the last bit: they are computed by
// the kernels' own loops. So are errors, with the name of the node that would
// have failed: if shapes differ the kernels run one by one. Shapes that are
// known to broadcast are left to the nodes, which have a loop for that.
//
// The price: the fused node waits for all of its inputs. A product with a late
// bias becomes late itself, and one whose bias never arrives, because a branch
// is not taken, is not computed and cannot fail.
#ifndef WEFT_LIBS_PASSES_ELEMENT_FUSION_H_
#define WEFT_LIBS_PASSES_ELEMENT_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: later passes need no shapes. Those of new nodes, and of everything
// computed from them, are unknown.
void FuseElements(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_ELEMENT_FUSION_H_
