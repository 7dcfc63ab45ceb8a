// SimplifyArithmetic: drops what changes nothing, where it is sure to change
// nothing: each bit of the result, its type and shape, and every error stay.
#ifndef WEFT_LIBS_PASSES_ARITHMETIC_SIMPLIFICATION_H_
#define WEFT_LIBS_PASSES_ARITHMETIC_SIMPLIFICATION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// x - 0, x + -0 (x + 0 where x is an integer: -0 + 0 is 0), x * 1, x / 1;
// x and true, x or false; --x, not not x, conj conj x; a Cast or Bitcast to the
// type that it takes; AddN of one; a Transpose or two that leave all axes where
// they are; a Reshape to the shape that there is. Of a Reshape of a Reshape the
// first is passed over.
//
// Neutral elements are scalar constants, so that they broadcast nothing. What a
// node that is dropped could have refused must be known not to be: a shape
// counts as known when it follows from constants, not when a placeholder or a
// variable declares it.
void SimplifyArithmetic(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_ARITHMETIC_SIMPLIFICATION_H_
