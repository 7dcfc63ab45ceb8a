// WhileLoop: a piece of graph that runs again and again, as tf.while_loop
// builds it of Enter, Merge, Switch, NextIteration and Exit.
//
//   std::vector<Output> last = ops::WhileLoop(
//       root, {0, x},
//       [&](const Scope& s, const std::vector<Output>& v) {
//         return ops::Less(s, v[0], n);
//       },
//       [&](const Scope& s, const std::vector<Output>& v) {
//         return std::vector{ops::Add(s, v[0], 1), ops::Mul(s, v[1], w)};
//       });
//
// What the functions use of outside comes in by itself and is the same in all
// iterations. Gradients run through the loop (libs/gradients); what they need
// of each iteration is kept only by steps that compute them.
// docs/user/control_flow.md has the whole of it.
//
// Errors stick to the scope, and the result is empty. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_CONTROL_WHILE_LOOP_H_
#define WEFT_LIBS_OPS_CONTROL_WHILE_LOOP_H_

#include <functional>
#include <optional>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// Given the loop variables, whether another iteration is to come: a bool
// scalar.
using LoopCondition =
    std::function<Output(const Scope& scope, const std::vector<Output>& vars)>;
// Given the loop variables, those of the next iteration.
using LoopBody = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& vars)>;

struct WhileLoopOptions {
  // For each loop variable, what of its shape is the same in all iterations.
  // Empty: the whole shape that it begins with.
  std::vector<PartialShape> shape_invariants;
  // So many iterations may run at a time, where their data allows.
  int parallel_iterations = 10;
  // No more than these, an int32 scalar, whatever the condition says.
  std::optional<Input> maximum_iterations;
};

// The loop variables after the last iteration: `loop_vars` themselves where
// there was none. Named by the scope, "while" otherwise.
// INVALID_ARGUMENT, naming the loop, where the body gives another number of
// values or other types, or shapes that are not invariant.
std::vector<Output> WhileLoop(const Scope& scope, const InputList& loop_vars,
                              const LoopCondition& cond, const LoopBody& body,
                              const WhileLoopOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_WHILE_LOOP_H_
