// Function: a piece of graph in the graph's library, which nodes call: what
// tf.function's tracing and tf.Defun make.
//
//   ops::Function axpy(root, "axpy", {DT_FLOAT, DT_FLOAT},
//       [&](const Scope& s, const std::vector<Output>& v) {
//         return std::vector{ops::Add(s, ops::Mul(s, a, v[0]), v[1])};
//       });
//   Output y = axpy(root, {x, 1.0f})[0];
//
// The body adds nodes to a graph of its own. What it uses of outside is
// captured: it becomes an argument behind the others, which each call is given
// (captured_inputs). A variable by resource is captured by its handle and read
// in each call, once; one by reference by its value. Variables that the body
// makes exist outside, as TensorFlow's do. What the body does to state is done
// in each call, in the order that its control dependencies say.
//
// Gradients run through calls (libs/gradients). docs/design/functions.md has
// the whole of it. Errors stick to the scope that the function is made in; what
// it gives is null then, or empty where it is not known how much it would be.
// Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_CONTROL_FUNCTION_H_
#define WEFT_LIBS_OPS_CONTROL_FUNCTION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

// What a function takes: a type, and what is known of its shape.
struct FunctionArg {
  FunctionArg(DataType type) : dtype(type) {}  // NOLINT: a list of types
  FunctionArg(DataType type, PartialShape known)
      : dtype(type), shape(std::move(known)) {}

  DataType dtype;
  PartialShape shape = PartialShape::UnknownRank();
};

// Given a scope that adds to the body, and the arguments: the results.
using FunctionBody = std::function<std::vector<Output>(
    const Scope& scope, const std::vector<Output>& args)>;

class Function {
 public:
  Function() = default;  // null
  // Called `name`, or "name_1", ... where the graph has one of that name.
  // INVALID_ARGUMENT, naming the function, where the body gives a null result
  // or takes what is of another graph.
  Function(const Scope& scope, absl::string_view name,
           const std::vector<FunctionArg>& args, const FunctionBody& body);

  explicit operator bool() const { return made_ != nullptr; }

  // REQUIRES for the rest: not null, except where said.
  const std::string& name() const;
  // As the value of an attr of `func` type. A null function's names none.
  NameAttrList attr() const;
  // Without the captured ones.
  const std::vector<FunctionArg>& args() const;
  // Of the results.
  const std::vector<FunctionArg>& results() const;
  DataTypeVector result_types() const;
  // What each call is given behind its arguments: values of the graph that the
  // function was made in. Empty for a null function.
  std::vector<Output> captured_inputs() const;
  // Nodes of that graph that each call runs after. Empty for a null function.
  std::vector<Operation> captured_controls() const;
  // It holds, reads or changes state.
  bool is_stateful() const;

  // The results of a call, a PartitionedCall or, where it is stateful, a
  // StatefulPartitionedCall. INVALID_ARGUMENT, naming the function, where
  // `args` are of another number, type or shape.
  std::vector<Output> operator()(const Scope& scope,
                                 const InputList& args) const;
  // The call itself, to be run where it gives nothing.
  Operation Call(const Scope& scope, const InputList& args) const;

  // What all copies share; of internal use.
  struct Made;
  explicit Function(std::shared_ptr<const Made> made)
      : made_(std::move(made)) {}

 private:
  std::shared_ptr<const Made> made_;
};

// The results of one of two functions without arguments, as one node: If, or
// StatelessIf where neither is stateful. Cond (cond.h) builds the same of
// Switch and Merge. Named by the scope. INVALID_ARGUMENT unless both give as
// many results of the same types.
std::vector<Output> If(
    const Scope& scope, const Input& cond,
    const std::function<std::vector<Output>(const Scope&)>& then_branch,
    const std::function<std::vector<Output>(const Scope&)>& else_branch);

// The results of function number `branch_index`, an int32 scalar; of the last
// one where there is none of that number. One node: Case, or StatelessCase.
std::vector<Output> SwitchCase(
    const Scope& scope, const Input& branch_index,
    const std::vector<std::function<std::vector<Output>(const Scope&)>>&
        branches);

struct WhileOptions {
  // For each loop variable, what of its shape is the same in all iterations.
  // Empty: the whole shape that it begins with.
  std::vector<PartialShape> shape_invariants;
  int parallel_iterations = 10;
};
// The loop variables after the last iteration, as one node: While, or
// StatelessWhile. WhileLoop (while_loop.h) builds the same of frames. Named by
// the scope. INVALID_ARGUMENT, naming the loop, where the body gives another
// number of values or other types or shapes, or `cond` no bool scalar.
std::vector<Output> While(
    const Scope& scope, const InputList& loop_vars,
    const std::function<Output(const Scope&, const std::vector<Output>&)>& cond,
    const FunctionBody& body, const WhileOptions& options = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_FUNCTION_H_
