// Building blocks of neural networks: means and variances, normalization,
// dropout. The functions add several nodes each, with the names, formulas and
// defaults of tf.nn.
//
//   nn::MeanAndVariance m = nn::Moments(scope, x, {0});
//   Output y = nn::BatchNormalization(scope, x, m.mean, m.variance, beta,
//                                     gamma, 1e-3);
//   Output z = nn::Dropout(scope, y, 0.5);
//
// Errors stick to the scope; outputs are then null. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_NN_NN_H_
#define WEFT_LIBS_OPS_NN_NN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::nn {

struct MeanAndVariance {
  Output mean;
  Output variance;
};
struct MomentsOptions {
  bool keep_dims = false;
};
// Over `axes`: sum(x) / n and sum((x - mean) ^ 2) / n. half and bfloat16 values
// are summed as floats.
MeanAndVariance Moments(const Scope& scope, const Input& x,
                        const std::vector<int32_t>& axes,
                        const MomentsOptions& options = {});
// With weights w, which broadcast to x: sum(w * x) / sum(w) and sum(w * (x -
// mean) ^ 2) / sum(w), 0 if the weights are 0.
MeanAndVariance WeightedMoments(const Scope& scope, const Input& x,
                                const std::vector<int32_t>& axes,
                                const Input& frequency_weights,
                                const MomentsOptions& options = {});

// (x - mean) / sqrt(variance + variance_epsilon) * scale + offset. `offset` and
// `scale` may be null.
Output BatchNormalization(const Scope& scope, const Input& x, const Input& mean,
                          const Input& variance, const Input& offset,
                          const Input& scale, double variance_epsilon);

// x / sqrt(max(sum(x ^ 2), epsilon)), summed over `axes`.
Output L2Normalize(const Scope& scope, const Input& x,
                   const std::vector<int32_t>& axes, double epsilon = 1e-12);

struct DropoutOptions {
  // A shape that broadcasts to x; elements that share an entry are kept or
  // dropped together. Null: the shape of x.
  Input noise_shape = Output();
  std::optional<int64_t> seed;
};
// Keeps elements with probability keep_prob, in (0, 1], divided by it; the
// others become 0. With equal seeds, the same elements are kept as in
// TensorFlow.
Output Dropout(const Scope& scope, const Input& x, const Input& keep_prob,
               const DropoutOptions& options = {});

}  // namespace weft::nn

#endif  // WEFT_LIBS_OPS_NN_NN_H_
