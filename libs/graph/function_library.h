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
// graph_def.h imports and exports them; function_proto.h converts a Graph to
// one. Semantics are TensorFlow's (function.proto, function.cc).
//
// Threads: both are immutable, and shared by all graphs derived from one
// another.
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
  // "arg" or "arg:1" (for a list argument), "node:output_arg:1", and last
  // "^node". Without a number all tensors of the argument are meant.
  std::vector<std::string> inputs;
  std::string device;
  AttrMap attrs;  // may contain AttrPlaceholder, also inside function values
};

struct FunctionDef {
  // The function as an op: the inputs and outputs of a node that calls it. Its
  // shapes are unknown.
  OpDef signature;
  // Producers first, except NextIterations that close a loop.
  std::vector<FunctionNode> nodes;
  // The source of each output argument of the signature, as an input of a node.
  std::vector<std::string> results;
  // Names of nodes that run in each call, whichever results are needed.
  // Functions of old graphs do not list them; then they are all stateful nodes.
  std::vector<std::string> control_results;
  bool has_control_results = false;
  AttrMap attrs;  // of the function itself: "_noinline"
  // The original TensorFlow message: used for export and comparison.
  std::string serialized;

  const std::string& name() const { return signature.name; }
};

using FunctionPtr = std::shared_ptr<const FunctionDef>;

class FunctionLibrary {
 public:
  FunctionLibrary() = default;

  // Returns null if there is none. The result lives as long as any library that
  // contains it.
  const FunctionDef* Find(absl::string_view name) const;
  // The name of the function that computes the gradient of `name`; empty if it
  // has none.
  absl::string_view FindGradient(absl::string_view name) const;

  // In the order in which they were added.
  absl::Span<const FunctionPtr> functions() const { return functions_; }
  // Maps each function to its gradient function.
  const std::map<std::string, std::string, std::less<>>& gradients() const {
    return gradients_;
  }
  int size() const { return static_cast<int>(functions_.size()); }
  bool empty() const { return functions_.empty() && gradients_.empty(); }

  // Returns a library with the functions of both. A function in both must be
  // identical, else INVALID_ARGUMENT with its name; likewise gradients.
  absl::StatusOr<std::shared_ptr<const FunctionLibrary>> With(
      absl::Span<const FunctionPtr> functions,
      const std::map<std::string, std::string, std::less<>>& gradients = {})
      const;

  // The functions of this library that can be called via `names`.
  std::shared_ptr<const FunctionLibrary> ReachableFrom(
      absl::Span<const std::string> names) const;

  // A hash of the text of the function and of all that it may call, including
  // their gradients: equal if two graphs have the same function under that
  // name. For comparing shared resources of replicas; 0 if there is no such
  // function.
  uint64_t Fingerprint(absl::string_view name) const;

 private:
  std::vector<FunctionPtr> functions_;
  FlatHashMap<std::string, FunctionPtr> by_name_;
  std::map<std::string, std::string, std::less<>> gradients_;
};

// The functions that the value names, including those in the attrs of its
// calls.
void AddFunctionNames(const AttrValue& value, std::vector<std::string>& names);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_LIBRARY_H_
