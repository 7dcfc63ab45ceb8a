// Function is a callable subgraph in the graph's function library, as created
// by tf.function tracing and tf.Defun.
//
//   ops::Function axpy(root, "axpy", {DT_FLOAT, DT_FLOAT},
//       [&](const Scope& s, const std::vector<Output>& v) {
//         return std::vector{ops::Add(s, ops::Mul(s, a, v[0]), v[1])};
//       });
//   Output y = axpy(root, {x, 1.0f})[0];
//
// The body adds nodes to a graph of its own. Outer values that it uses are
// captured: they become additional last arguments, which each call receives
// (captured_inputs). A resource variable is captured by its handle and read
// once in each call; a reference variable is captured by its value. Variables
// created by the body exist outside, as in TensorFlow. Side effects on state
// happen in each call, in the order of the control dependencies.
//
// Gradients flow through calls (libs/gradients). docs/design/functions.md
// describes functions in detail. Errors stick to the scope in which the
// function is built; results are then null, or empty if their number is
// unknown. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_CONTROL_FUNCTION_H_
#define WEFT_LIBS_OPS_CONTROL_FUNCTION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// An argument or result of a function: a type, and a partially known shape.
struct FunctionArg {
  FunctionArg(DataType type) : dtype(type) {}  // NOLINT: a list of types
  FunctionArg(DataType type, PartialShape known)
      : dtype(type), shape(std::move(known)) {}

  DataType dtype;
  PartialShape shape = PartialShape::UnknownRank();
};

// A FunctionBody gets a scope that adds to the body, and the arguments. It
// returns the results.
using FunctionBody = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& args)>;

class Function {
 public:
  Function() = default;  // null
  // Builds a function. It is called `name`, or "name_1", ... if the graph
  // already has that name. INVALID_ARGUMENT, naming the function, if the body
  // returns a null result or uses a value of another graph.
  Function(const Scope& scope, absl::string_view name,
           const std::vector<FunctionArg>& args, const FunctionBody& body);

  explicit operator bool() const { return made_ != nullptr; }

  // The remaining methods must not be called for a null function, unless stated
  // otherwise.
  const std::string& name() const;
  // Returns the function as the value of an attr of type `func`. The name in it
  // is empty for a null function.
  NameAttrList attr() const;
  // The arguments without the captured ones.
  const std::vector<FunctionArg>& args() const;
  // The types and shapes of the results.
  const std::vector<FunctionArg>& results() const;
  DataTypeVector result_types() const;
  // The values passed to each call after its arguments. They belong to the
  // graph in which the function was built. Empty for a null function.
  std::vector<Output> captured_inputs() const;
  // The nodes of that graph after which each call runs. Empty for a null
  // function.
  std::vector<Operation> captured_controls() const;
  // Returns whether the function holds, reads or changes state.
  bool is_stateful() const;

  // Returns the results of a call: a PartitionedCall, or a
  // StatefulPartitionedCall for a stateful function. INVALID_ARGUMENT, naming
  // the function, if `args` have another number, type or shape.
  std::vector<Output> operator()(const Scope& scope,
                                 const InputList& args) const;
  // Returns the call as an operation, for functions without results.
  Operation Call(const Scope& scope, const InputList& args) const;

  // The state shared by all copies; for internal use.
  struct Made;
  explicit Function(std::shared_ptr<const Made> made)
      : made_(std::move(made)) {}

 private:
  std::shared_ptr<const Made> made_;
};

// Returns the results of one of two functions without arguments, as one node:
// If, or StatelessIf if neither is stateful. Cond (cond.h) builds an equivalent
// graph from Switch and Merge. The scope names the node. INVALID_ARGUMENT
// unless both return results of the same number and types.
std::vector<Output> If(
    const Scope& scope, const Input& cond,
    const std::function<std::vector<Output>(const Scope&)>& then_branch,
    const std::function<std::vector<Output>(const Scope&)>& else_branch);

// Returns the results of function number `branch_index`, an int32 scalar, or of
// the last one if the index is out of range. Adds one node: Case, or
// StatelessCase.
std::vector<Output> SwitchCase(
    const Scope& scope, const Input& branch_index,
    const std::vector<std::function<std::vector<Output>(const Scope&)>>&
        branches);

struct WhileOptions {
  // For each loop variable, the part of its shape that is the same in all
  // iterations. Empty: its whole initial shape.
  std::vector<PartialShape> shape_invariants;
  int parallel_iterations = 10;
};
// Returns the loop variables after the last iteration, as one node: While, or
// StatelessWhile. WhileLoop (while_loop.h) builds an equivalent loop from
// Enter, Exit and NextIteration. The scope names the node. INVALID_ARGUMENT,
// naming the loop, if the body returns another number of values or other types
// or shapes, or if `cond` does not return a bool scalar.
std::vector<Output> While(
    const Scope& scope, const InputList& loop_vars,
    const std::function<Output(const Scope&, const std::vector<Output>&)>& cond,
    const FunctionBody& body, const WhileOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_FUNCTION_H_
