// Functions that combine and compare partially known shapes.
#ifndef WEFT_LIBS_OPS_KNOWN_SHAPE_H_
#define WEFT_LIBS_OPS_KNOWN_SHAPE_H_

#include "libs/tensor/shape.h"

namespace weft {

// The dimensions that are equal in both; of unknown rank if the rank of either
// is unknown.
PartialShape CommonShape(const PartialShape& a, const PartialShape& b);

// Returns whether `shape` is at least as specific as `invariant`, and
// compatible with it.
bool KeepsInvariant(const PartialShape& shape, const PartialShape& invariant);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_KNOWN_SHAPE_H_
