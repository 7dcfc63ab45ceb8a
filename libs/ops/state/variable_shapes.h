// Declared shapes and types of variables, for the shape functions of ops on
// resource and reference variables.
#ifndef WEFT_LIBS_OPS_STATE_VARIABLE_SHAPES_H_
#define WEFT_LIBS_OPS_STATE_VARIABLE_SHAPES_H_

#include "libs/graph/inference_context.h"

namespace weft {

// The declared shape of the variable behind input `i`, a reference or a
// resource handle; unknown if the node that creates the handle is not visible.
PartialShape DeclaredShape(const InferenceContext& c, int i);

// The declared type of the variable behind handle `i`; DT_INVALID if it is not
// visible.
DataType DeclaredType(const InferenceContext& c, int i);

// Returns INVALID_ARGUMENT if the variable behind handle `i` is declared with
// another type than attr `attr`.
absl::Status CheckDeclaredType(const InferenceContext& c, int i,
                               absl::string_view attr);

// The merged shape of both inputs, or an error that names them.
absl::StatusOr<PartialShape> MergeInputShapes(const PartialShape& a,
                                              int input_a,
                                              const PartialShape& b,
                                              int input_b);

// `indices` (input 1) select rows of the variable at input 0; `updates` (input
// 2) has one value for each of their elements, or one scalar for all.
absl::Status CheckScatterShapes(InferenceContext& c);

// a followed by the sizes of b from `begin` on; unknown if either is unknown.
PartialShape ConcatenateShapes(const PartialShape& a, const PartialShape& b,
                               int begin);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STATE_VARIABLE_SHAPES_H_
