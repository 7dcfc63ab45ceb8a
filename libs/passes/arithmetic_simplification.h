// SimplifyArithmetic removes operations without effect, if that is certain:
// each bit of the result, its type and shape, and every error stay the same.
#ifndef WEFT_LIBS_PASSES_ARITHMETIC_SIMPLIFICATION_H_
#define WEFT_LIBS_PASSES_ARITHMETIC_SIMPLIFICATION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// x - 0, x + -0 (x + 0 if x is an integer: -0 + 0 is 0), x * 1, x / 1; x and
// true, x or false; --x, not not x, conj conj x; a Cast or Bitcast to the
// input's type; AddN of one input; one or two Transposes that leave all axes in
// place; a Reshape to the existing shape. Of two consecutive Reshapes the first
// is bypassed.
//
// Neutral elements are scalar constants, so that they broadcast nothing. It
// must be known that a removed node could not have failed: a shape counts as
// known if it follows from constants, not if a placeholder or a variable
// declares it.
void SimplifyArithmetic(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_ARITHMETIC_SIMPLIFICATION_H_
