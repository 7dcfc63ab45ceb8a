// Cond and Case: of several pieces of graph one runs, as tf.cond and tf.case
// build them of Switch and Merge.
//
//   std::vector<Output> y = ops::Cond(
//       root, ops::Less(root, a, b),
//       [&](const Scope& s) { return std::vector{ops::Mul(s, x, 2.0f)}; },
//       [&](const Scope& s) { return std::vector{ops::Neg(s, x)}; });
//
// A branch adds its nodes to the scope that it is given; what it uses of
// outside comes in by itself. What is made outside runs whichever branch is
// taken.
//
// Errors stick to the scope, and the result is empty. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_CONTROL_COND_H_
#define WEFT_LIBS_OPS_CONTROL_COND_H_

#include <functional>
#include <utility>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

using BranchFunction = std::function<std::vector<Output>(const Scope& scope)>;

// The values of `true_fn` where the scalar `pred` is true, else those of
// `false_fn`. Named by the scope, "cond" otherwise. INVALID_ARGUMENT, naming
// the cond, unless both give the same number of values (at least one) of the
// same types.
std::vector<Output> Cond(const Scope& scope, const Input& pred,
                         const BranchFunction& true_fn,
                         const BranchFunction& false_fn);

struct CaseOptions {
  // The step fails where more than one pred is true.
  bool exclusive = false;
};
// The values of the first function whose pred is true, of `default_fn` where
// none is; without one (null) the step fails there. Named by the scope, "case"
// otherwise.
std::vector<Output> Case(
    const Scope& scope,
    const std::vector<std::pair<Input, BranchFunction>>& pred_fn_pairs,
    const BranchFunction& default_fn = nullptr,
    const CaseOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_COND_H_
