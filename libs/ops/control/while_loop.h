// WhileLoop builds a loop from Enter, Merge, Switch, NextIteration and Exit,
// like tf.while_loop.
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
// Outer values that the functions use enter automatically and are the same in
// all iterations. Gradients flow through the loop (libs/gradients); only steps
// that compute gradients keep values of each iteration.
// docs/user/control_flow.md describes loops in detail.
//
// Errors stick to the scope, and the result is then empty.
// Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_CONTROL_WHILE_LOOP_H_
#define WEFT_LIBS_OPS_CONTROL_WHILE_LOOP_H_

#include <functional>
#include <optional>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// A LoopCondition gets the loop variables and returns a bool scalar, which is
// true if another iteration follows.
using LoopCondition =
    std::function<Output(const Scope& scope, const std::vector<Output>& vars)>;
// A LoopBody gets the loop variables and returns their values for the next
// iteration.
using LoopBody = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& vars)>;

struct WhileLoopOptions {
  // For each loop variable, the part of its shape that is the same in all
  // iterations. Empty: its whole initial shape.
  std::vector<PartialShape> shape_invariants;
  // The maximum number of iterations that run concurrently, if their data
  // allows.
  int parallel_iterations = 10;
  // The maximum number of iterations, an int32 scalar, whatever the condition
  // returns.
  std::optional<Input> maximum_iterations;
};

// Returns the loop variables after the last iteration, or `loop_vars` if there
// was none. The name is the scope's, or "while". INVALID_ARGUMENT, naming the
// loop, if the body returns another number of values, other types, or shapes
// that do not match the invariants.
std::vector<Output> WhileLoop(const Scope& scope, const InputList& loop_vars,
                              const LoopCondition& cond, const LoopBody& body,
                              const WhileLoopOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_WHILE_LOOP_H_
