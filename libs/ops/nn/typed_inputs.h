// Tensors of the type that is wanted, from the arguments of a builder that
// makes several nodes; and what such builders say of shapes.
//
//   Output x = ops::AsTensor(inner, input, DT_FLOAT, "x");   // a number: Const
//   Output sum = ops::SumAll(inner, x);
//
// Errors stick to the scope; outputs are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_NN_TYPED_INPUTS_H_
#define WEFT_LIBS_OPS_NN_TYPED_INPUTS_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::ops {

// The output as it is; a value as a Const called `name`, a C++ number or list
// in `dtype`. INVALID_ARGUMENT, naming `name`, for a null output.
Output AsTensor(const Scope& scope, const Input& input, DataType dtype,
                absl::string_view name);

// The same in `dtype`: tensors of another type are cast. Nodes are named as
// those of tf.cast: "Cast", or "Cast/x" for a number.
Output CastTo(const Scope& scope, const Input& input, DataType dtype,
              absl::string_view what);

// `x` as it is where it has this type, else cast. Null for a null `x`.
Output InType(const Scope& scope, const Output& x, DataType dtype);

// A vector of int32, as shapes and axes are given.
Tensor Ints(std::initializer_list<int32_t> values);

// All dimensions of `x`, to reduce it to a scalar.
Output AllAxes(const Scope& scope, const Output& x);
// The sum of all elements.
Output SumAll(const Scope& scope, const Output& x);

// False, with the error "Shapes A and B are incompatible" in the scope, when
// the two can never have the same shape, or one is null.
bool CheckSameShape(const Scope& scope, const Output& a, const Output& b);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_NN_TYPED_INPUTS_H_
