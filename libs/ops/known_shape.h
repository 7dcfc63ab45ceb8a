// What is known of shapes: of two together, of one against another.
#ifndef WEFT_LIBS_OPS_KNOWN_SHAPE_H_
#define WEFT_LIBS_OPS_KNOWN_SHAPE_H_

#include "libs/tensor/shape.h"

namespace weft {

// What is the same in both; an unknown rank in one makes all unknown.
PartialShape CommonShape(const PartialShape& a, const PartialShape& b);

// Whether all that `invariant` says of a shape is known of `shape`.
bool KeepsInvariant(const PartialShape& shape, const PartialShape& invariant);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_KNOWN_SHAPE_H_
