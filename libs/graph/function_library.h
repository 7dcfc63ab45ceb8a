// FunctionDef: a function of a graph's library: a graph with arguments and
// results, that nodes call. FunctionLibrary: all that a graph has.
//
//   const FunctionDef* axpy = graph.functions().Find("axpy");
//   ASSIGN_OR_RETURN(FunctionBody body,             //
//   libs/graph/function_body.h
//                    AddFunctionBody(*axpy, call_attrs, {.prefix = "call",
//                                    .args = {x, y}}, graph));
//   body.results[0] ...                             // nodes "call/..." are
//   there
//
// Where they come from and go to is graph_def.h; function_proto.h makes one of
// a Graph. Semantics are TensorFlow's (function.proto, function.cc).
//
// Threads: both are immutable, and shared by all graphs made from one another.
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
  // "arg" or "arg:1" (of an argument that is a list), "node:output_arg:1", and
  // last "^node". Without a number all tensors of the argument are meant.
  std::vector<std::string> inputs;
  std::string device;
  AttrMap attrs;  // may hold AttrPlaceholder, also inside those that are calls
};

struct FunctionDef {
  // The function as an op: what a node that calls it takes and gives. Its
  // shapes are not known.
  OpDef signature;
  // Producers first, but for NextIterations that close a loop.
  std::vector<FunctionNode> nodes;
  // What each output argument of the signature gives, as an input of a node.
  std::vector<std::string> results;
  // Names of nodes that run in each call, whichever results are wanted.
  // Functions of old graphs don't say, and then it is all that are stateful.
  std::vector<std::string> control_results;
  bool has_control_results = false;
  AttrMap attrs;  // of the function itself: "_noinline"
  // TensorFlow's message as it came: what is exported, and compared.
  std::string serialized;

  const std::string& name() const { return signature.name; }
};

using FunctionPtr = std::shared_ptr<const FunctionDef>;

class FunctionLibrary {
 public:
  FunctionLibrary() = default;

  // Null when there is none. What is returned lives as long as any library that
  // has it.
  const FunctionDef* Find(absl::string_view name) const;
  // The name of the function that computes the gradient of `name`; empty when
  // it was given none.
  absl::string_view FindGradient(absl::string_view name) const;

  // In the order in which they were added.
  absl::Span<const FunctionPtr> functions() const { return functions_; }
  // From function to the one that is its gradient.
  const std::map<std::string, std::string, std::less<>>& gradients() const {
    return gradients_;
  }
  int size() const { return static_cast<int>(functions_.size()); }
  bool empty() const { return functions_.empty() && gradients_.empty(); }

  // A library with those of both. A function that both have must be the same,
  // else INVALID_ARGUMENT with its name; likewise gradients.
  absl::StatusOr<std::shared_ptr<const FunctionLibrary>> With(
      absl::Span<const FunctionPtr> functions,
      const std::map<std::string, std::string, std::less<>>& gradients = {})
      const;

  // Those of this library that can be called by way of `names`.
  std::shared_ptr<const FunctionLibrary> ReachableFrom(
      absl::Span<const std::string> names) const;

  // Of the text of the function and of all that it may call, gradients of their
  // own included: equal where two graphs have the same under that name. For
  // comparing what replicas share; 0 when there is no such function.
  uint64_t Fingerprint(absl::string_view name) const;

 private:
  std::vector<FunctionPtr> functions_;
  FlatHashMap<std::string, FunctionPtr> by_name_;
  std::map<std::string, std::string, std::less<>> gradients_;
};

// The functions that the value names, those of its calls' attrs too.
void AddFunctionNames(const AttrValue& value, std::vector<std::string>& names);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_LIBRARY_H_
