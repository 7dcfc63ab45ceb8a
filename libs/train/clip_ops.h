// Clipping: gradients, and other tensors, kept within bounds. Functions, node
// names and formulas are those of tf.clip_by_value and its neighbours.
//
//   auto gradients = optimizer.ComputeGradients(scope, loss);
//   for (auto& item : gradients) {
//     if (item.gradient.IsNone()) continue;
//     item.gradient = train::ClipByNorm(scope, item.gradient, 5.0f);
//   }
//   Operation train = optimizer.ApplyGradients(scope, gradients);
//
// A bound is a number or any output. Of a sparse gradient the rows are clipped.
// Errors stick to the scope; what is returned is null then. Threads: as the
// scope's.
#ifndef WEFT_LIBS_TRAIN_CLIP_OPS_H_
#define WEFT_LIBS_TRAIN_CLIP_OPS_H_

#include <vector>

#include "libs/gradients/gradients.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Each element, between the bounds; these broadcast to `t`, not beyond it.
Output ClipByValue(const Scope& scope, const Output& t,
                   const Input& clip_value_min, const Input& clip_value_max);
Gradient ClipByValue(const Scope& scope, const Gradient& t,
                     const Input& clip_value_min, const Input& clip_value_max);

// `t` scaled down so that its L2 norm along `axes` (empty: all of them) is at
// most `clip_norm`: t * clip_norm / max(norm, clip_norm).
Output ClipByNorm(const Scope& scope, const Output& t, const Input& clip_norm,
                  const std::vector<int32_t>& axes = {});
Gradient ClipByNorm(const Scope& scope, const Gradient& t,
                    const Input& clip_norm,
                    const std::vector<int32_t>& axes = {});

// The same for the average norm, the L2 norm of all of `t` divided by how many
// elements it has: t * clip_norm / max(average norm, clip_norm).
Output ClipByAverageNorm(const Scope& scope, const Output& t,
                         const Input& clip_norm);

// The L2 norm of all together, sqrt(sum of squares of all elements); those that
// are None do not count. INVALID_ARGUMENT when there is none.
Output GlobalNorm(const Scope& scope, const std::vector<Gradient>& t_list);

struct ClippedByGlobalNorm {
  std::vector<Gradient> list;  // one for each, None where it was
  Output global_norm;          // before clipping
};
// All scaled by one factor, clip_norm / max(global_norm, clip_norm), so that
// their global norm is at most `clip_norm`. Where it is no finite number, all
// elements become NaN. `use_norm`: the global norm, where it is known already.
ClippedByGlobalNorm ClipByGlobalNorm(const Scope& scope,
                                     const std::vector<Gradient>& t_list,
                                     const Input& clip_norm,
                                     const Output& use_norm = Output());

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_CLIP_OPS_H_
