// What is known of a variable's shape and type while a graph is built, for the
// shape functions of ops on variables of either family.
#ifndef WEFT_LIBS_OPS_STATE_VARIABLE_SHAPES_H_
#define WEFT_LIBS_OPS_STATE_VARIABLE_SHAPES_H_

#include "libs/graph/inference_context.h"

namespace weft {

// The declared shape of the variable behind input `i`, which is a reference or
// a resource handle; unknown where the handle's maker can't be seen.
PartialShape DeclaredShape(const InferenceContext& c, int i);

// The declared type of the variable behind handle `i`; DT_INVALID where it
// can't be seen.
DataType DeclaredType(const InferenceContext& c, int i);

// INVALID_ARGUMENT when the variable behind handle `i` is declared with another
// type than attr `attr`.
absl::Status CheckDeclaredType(const InferenceContext& c, int i,
                               absl::string_view attr);

// The shape that both agree on, or an error that names the inputs.
absl::StatusOr<PartialShape> MergeInputShapes(const PartialShape& a,
                                              int input_a,
                                              const PartialShape& b,
                                              int input_b);

// `indices` (input 1) name rows of the variable at input 0, `updates` (input 2)
// hold one value for each of their elements, or one scalar for all.
absl::Status CheckScatterShapes(InferenceContext& c);

// a followed by the sizes of b from `begin` on; unknown if either is.
PartialShape ConcatenateShapes(const PartialShape& a, const PartialShape& b,
                               int begin);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STATE_VARIABLE_SHAPES_H_
