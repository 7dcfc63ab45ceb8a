// FunctionDef is a function of a graph's library: a graph with arguments and
// results, called by nodes. FunctionLibrary holds all functions of a graph.
//
//   const FunctionDef* axpy = graph.functions().Find("axpy");
//   // AddFunctionBody is in libs/graph/functions/function_body.h.
//   ASSIGN_OR_RETURN(FunctionBody body,
//                    AddFunctionBody(*axpy, call_attrs, {.prefix = "call",
//                                    .args = {x, y}}, graph));
//   body.results[0] ...  // The nodes "call/..." have been added.
//
// graph_def.h imports and exports libraries; function_proto.h converts a Graph
// to a FunctionDef. Semantics are TensorFlow's (function.proto, function.cc).
//
// Threads: both types are immutable, and graphs that are derived from one
// another share them.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_LIBRARY_H_
#define WEFT_LIBS_GRAPH_FUNCTION_LIBRARY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/attr_value.h"
#include "libs/graph/op_def.h"

namespace weft {

// One node of a function's body.
struct FunctionNode {
  std::string name;
  std::string op;  // or the name of a function
  // An input is "arg" or "arg:1" for an argument of the function ("arg:1" is a
  // tensor of a list argument), "node:output_arg:1" for an output of a node, or
  // "^node" for a control input. Control inputs come last. Without a number,
  // all tensors of the argument are meant.
  std::vector<std::string> inputs;
  std::string device;
  AttrMap attrs;  // may contain AttrPlaceholder, also inside function values
};

struct FunctionDef {
  // The function's signature in the form of an op: the inputs and outputs of a
  // node that calls the function. Shapes are unknown.
  OpDef signature;
  // The nodes of the body, producers first. Only a NextIteration, which closes
  // a loop, comes after the Merge that consumes it.
  std::vector<FunctionNode> nodes;
  // For each output argument of the signature the tensor that it returns, in
  // the notation of FunctionNode::inputs.
  std::vector<std::string> results;
  // Names of nodes that run in each call, whichever results are needed.
  // Functions of old graphs do not list these nodes. In that case all stateful
  // nodes run in each call.
  std::vector<std::string> control_results;
  bool has_control_results = false;
  AttrMap attrs;  // of the function itself: "_noinline"
  // The serialized TensorFlow message of this function, for export and
  // comparison.
  std::string serialized;

  const std::string& name() const { return signature.name; }
};

using FunctionPtr = std::shared_ptr<const FunctionDef>;

class FunctionLibrary {
 public:
  FunctionLibrary() = default;

  // Returns the function with that name, or null if the library does not have
  // it. The function lives as long as any library that contains it.
  const FunctionDef* Find(absl::string_view name) const;
  // Returns the name of the function that computes the gradient of function
  // `name`, or "" if the library has no such gradient function.
  absl::string_view FindGradient(absl::string_view name) const;

  // Returns the functions in the order in which they were added.
  absl::Span<const FunctionPtr> functions() const { return functions_; }
  // Maps each function to its gradient function.
  const std::map<std::string, std::string, std::less<>>& gradients() const {
    return gradients_;
  }
  int size() const { return static_cast<int>(functions_.size()); }
  bool empty() const { return functions_.empty() && gradients_.empty(); }

  // Returns a library with the functions and gradients of both libraries. A
  // function with the same name in both must be identical, else
  // INVALID_ARGUMENT names it. The same holds for the gradient of a function.
  absl::StatusOr<std::shared_ptr<const FunctionLibrary>> With(
      absl::Span<const FunctionPtr> functions,
      const std::map<std::string, std::string, std::less<>>& gradients = {})
      const;

  // Returns a library with those functions of this library that can be called,
  // directly or indirectly, by `names`.
  std::shared_ptr<const FunctionLibrary> ReachableFrom(
      absl::Span<const std::string> names) const;

  // Returns a hash of the text of function `name` and of all functions that it
  // may call, including their gradients. Two graphs that have the same function
  // under that name return the same hash, so replicas can compare the functions
  // of shared resources. Returns 0 if the library does not have the function.
  uint64_t Fingerprint(absl::string_view name) const;

 private:
  std::vector<FunctionPtr> functions_;
  FlatHashMap<std::string, FunctionPtr> by_name_;
  std::map<std::string, std::string, std::less<>> gradients_;
};

// Appends the names of the functions that the value names, including those in
// the attrs of its calls.
void AddFunctionNames(const AttrValue& value, std::vector<std::string>& names);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_LIBRARY_H_
