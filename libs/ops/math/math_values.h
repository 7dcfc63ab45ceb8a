// Value functions of math ops on small integer tensors, evaluated while the
// graph is built, for shape functions and gradients that compute with shapes.
// Invalid arguments and non-integer types have no value.
#ifndef WEFT_LIBS_OPS_MATH_MATH_VALUES_H_
#define WEFT_LIBS_OPS_MATH_MATH_VALUES_H_

#include <optional>

#include "libs/graph/inference_context.h"

namespace weft::math_values {

std::optional<Tensor> Add(InferenceContext& c);
std::optional<Tensor> Sub(InferenceContext& c);
std::optional<Tensor> Mul(InferenceContext& c);
std::optional<Tensor> FloorDiv(InferenceContext& c);
std::optional<Tensor> TruncateDiv(InferenceContext& c);
std::optional<Tensor> FloorMod(InferenceContext& c);
std::optional<Tensor> Maximum(InferenceContext& c);
std::optional<Tensor> Minimum(InferenceContext& c);
std::optional<Tensor> Neg(InferenceContext& c);
// Over all axes.
std::optional<Tensor> Prod(InferenceContext& c);
std::optional<Tensor> Sum(InferenceContext& c);
std::optional<Tensor> Max(InferenceContext& c);
std::optional<Tensor> Range(InferenceContext& c);
// Between integer types.
std::optional<Tensor> Cast(InferenceContext& c);
std::optional<Tensor> BroadcastArgs(InferenceContext& c);

}  // namespace weft::math_values

#endif  // WEFT_LIBS_OPS_MATH_MATH_VALUES_H_
