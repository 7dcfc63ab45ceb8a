// Functions that clip gradients and other tensors. Names, node names and
// formulas are those of tf.clip_by_value and the related functions.
//
//   auto gradients = optimizer.ComputeGradients(scope, loss);
//   for (auto& item : gradients) {
//     if (item.gradient.IsNone()) continue;
//     item.gradient = train::ClipByNorm(scope, item.gradient, 5.0f);
//   }
//   Operation train = optimizer.ApplyGradients(scope, gradients);
//
// A bound is a number or an output. For a sparse gradient, its rows are
// clipped. Errors stick to the scope; results are null then. The functions are
// as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_CLIP_OPS_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_CLIP_OPS_H_

#include <vector>

#include "libs/gradients/gradients.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Limits each element to the bounds. The bounds are broadcast to `t`, but must
// not enlarge it.
Output ClipByValue(const Scope& scope, const Output& t,
                   const Input& clip_value_min, const Input& clip_value_max);
Gradient ClipByValue(const Scope& scope, const Gradient& t,
                     const Input& clip_value_min, const Input& clip_value_max);

// Scales `t` down so that its L2 norm along `axes` (empty: all of them) is at
// most `clip_norm`: t * clip_norm / max(norm, clip_norm).
Output ClipByNorm(const Scope& scope, const Output& t, const Input& clip_norm,
                  const std::vector<int32_t>& axes = {});
Gradient ClipByNorm(const Scope& scope, const Gradient& t,
                    const Input& clip_norm,
                    const std::vector<int32_t>& axes = {});

// Scales `t` down by its average norm, the L2 norm of `t` divided by its number
// of elements: t * clip_norm / max(average norm, clip_norm).
Output ClipByAverageNorm(const Scope& scope, const Output& t,
                         const Input& clip_norm);

// Returns the L2 norm of all gradients together: sqrt(sum of squares of all
// elements). Gradients that are None do not count. INVALID_ARGUMENT if all
// gradients are None.
Output GlobalNorm(const Scope& scope, const std::vector<Gradient>& t_list);

struct ClippedByGlobalNorm {
  std::vector<Gradient> list;  // one per gradient; None stays None
  Output global_norm;          // before clipping
};
// Scales all gradients by one factor, clip_norm / max(global_norm, clip_norm),
// so that their global norm is at most `clip_norm`. If the norm is not finite,
// all elements become NaN. `use_norm`: the global norm, if already known.
ClippedByGlobalNorm ClipByGlobalNorm(const Scope& scope,
                                     const std::vector<Gradient>& t_list,
                                     const Input& clip_norm,
                                     const Output& use_norm = Output());

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_CLIP_OPS_H_
