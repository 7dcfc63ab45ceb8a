// Cond and Case build conditional graphs from Switch and Merge, like tf.cond
// and tf.case. Only the selected branch runs.
//
//   std::vector<Output> y = ops::Cond(
//       root, ops::Less(root, a, b),
//       [&](const Scope& s) { return std::vector{ops::Mul(s, x, 2.0f)}; },
//       [&](const Scope& s) { return std::vector{ops::Neg(s, x)}; });
//
// A branch adds its nodes to the scope that it gets. Outer values that it uses
// enter automatically. Nodes created outside run whichever branch is taken.
//
// Errors stick to the scope, and the result is then empty.
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_CONTROL_COND_H_
#define WEFT_LIBS_OPS_CONTROL_COND_H_

#include <functional>
#include <utility>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

using BranchFunction = std::function<std::vector<Output>(const Scope& scope)>;

// Returns the values of `true_fn` if the scalar `pred` is true, else those of
// `false_fn`. The name is the scope's, or "cond". INVALID_ARGUMENT, naming the
// cond, unless both return the same number of values (at least one) of the same
// types.
std::vector<Output> Cond(const Scope& scope, const Input& pred,
                         const BranchFunction& true_fn,
                         const BranchFunction& false_fn);

struct CaseOptions {
  // If true, the step fails if more than one pred is true.
  bool exclusive = false;
};
// Returns the values of the first function whose pred is true, or of
// `default_fn` if none is. Without `default_fn` (null) the step then fails. The
// name is the scope's, or "case".
std::vector<Output> Case(
    const Scope& scope,
    const std::vector<std::pair<Input, BranchFunction>>& pred_fn_pairs,
    const BranchFunction& default_fn = nullptr,
    const CaseOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_COND_H_
