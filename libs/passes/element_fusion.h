// FuseElements: what is done to elements one by one becomes one node, which
// takes each block of them through all of it while it is in the cache:
//
//   MatMul, and BiasAdd, activations or their gradients of it
//                                          -> _FusedMatMul
//   Conv2D, DepthwiseConv2dNative likewise -> _FusedConv2D, ...
//   element-wise nodes of which one takes what the others give, of one type
//                                          -> _FusedElementwise
//
// The names of the first two, and of their attrs fused_ops and num_args, are
// TensorFlow's. A node that is fused, but for the last, is taken by nobody
// else, and waited for by nobody. Values are the same to the last bit: the
// kernels' own loops make them. So are errors, with the name of the node that
// would have failed: where shapes differ the kernels run one by one. Shapes
// that are known to meet by broadcasting are left to the nodes, which have a
// loop for that.
//
// The price: all of it waits for the last of what it takes. A product whose
// bias comes late comes late itself, and one whose bias never comes, since a
// branch is not taken, is not made, nor does it fail.
#ifndef WEFT_LIBS_PASSES_ELEMENT_FUSION_H_
#define WEFT_LIBS_PASSES_ELEMENT_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: what runs after it asks for no shapes. Those of new nodes are
// unknown, and so are all that come of them.
void FuseElements(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_ELEMENT_FUSION_H_
