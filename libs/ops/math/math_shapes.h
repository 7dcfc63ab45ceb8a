// Shape functions of the math family. They infer what is known of the outputs
// while the graph is built; the kernels check the rest.
#ifndef WEFT_LIBS_OPS_MATH_MATH_SHAPES_H_
#define WEFT_LIBS_OPS_MATH_MATH_SHAPES_H_

#include "absl/status/status.h"
#include "libs/graph/inference_context.h"

namespace weft::math_shapes {

// Equal and NotEqual: broadcasting, unless `incompatible_shape_error` is false
// and the shapes may turn out not to agree.
absl::Status Equality(InferenceContext& c);
// All inputs and the output have one shape.
absl::Status AllSame(InferenceContext& c);
// Input 1 holds the reduced axes, which are removed, or become 1 with attr
// `keep_dims`.
absl::Status Reduction(InferenceContext& c);
// Input 1 holds the axis that is removed.
absl::Status ArgReduction(InferenceContext& c);
// Input 0 unchanged; input 1 is a scalar axis.
absl::Status Scan(InferenceContext& c);
absl::Status MatMul(InferenceContext& c);
// Batch dimensions of both inputs are the same.
absl::Status BatchMatMul(InferenceContext& c);
// Batch dimensions of the inputs broadcast.
absl::Status BatchMatMulV2(InferenceContext& c);
// Attr `equation` says which dimensions are multiplied and summed over.
absl::Status Einsum(InferenceContext& c);
absl::Status Select(InferenceContext& c);
absl::Status SelectV2(InferenceContext& c);
absl::Status Range(InferenceContext& c);
absl::Status LinSpace(InferenceContext& c);
absl::Status BroadcastArgs(InferenceContext& c);
absl::Status BroadcastGradientArgs(InferenceContext& c);
// Inputs 1 and 2 are scalars or have the shape of input 0.
absl::Status ClipByValue(InferenceContext& c);
absl::Status Bincount(InferenceContext& c);
absl::Status DenseBincount(InferenceContext& c);
absl::Status Cross(InferenceContext& c);

}  // namespace weft::math_shapes

#endif  // WEFT_LIBS_OPS_MATH_MATH_SHAPES_H_
