// Helpers of builders that add several nodes: conversion of arguments to
// tensors of a type, and shape checks.
//
//   Output x = ops::AsTensor(inner, input, DT_FLOAT, "x");   // a number: Const
//   Output sum = ops::SumAll(inner, x);
//
// Errors stick to the scope; outputs are then null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_MATH_TYPED_INPUTS_H_
#define WEFT_LIBS_OPS_MATH_TYPED_INPUTS_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::ops {

// Returns an output unchanged, or a Const named `name` for a value; a C++
// number or list gets type `dtype`. INVALID_ARGUMENT, naming `name`, for a null
// output.
Output AsTensor(const Scope& scope, const Input& input, DataType dtype,
                absl::string_view name);

// Like AsTensor, but casts tensors of other types to `dtype`. Nodes are named
// as those of tf.cast: "Cast", or "Cast/x" for a number.
Output CastTo(const Scope& scope, const Input& input, DataType dtype,
              absl::string_view what);

// Casts `x` unless it already has this type. Null for a null `x`.
Output InType(const Scope& scope, const Output& x, DataType dtype);

// A vector of int32, the type of shapes and axes.
Tensor Ints(std::initializer_list<int32_t> values);

// All dimensions of `x`, to reduce it to a scalar.
Output AllAxes(const Scope& scope, const Output& x);
// The sum of all elements.
Output SumAll(const Scope& scope, const Output& x);

// Returns false, with the error "Shapes A and B are incompatible" in the scope,
// if the shapes can never be equal or one is null.
bool CheckSameShape(const Scope& scope, const Output& a, const Output& b);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_MATH_TYPED_INPUTS_H_
