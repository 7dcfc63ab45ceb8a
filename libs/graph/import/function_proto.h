// Conversion of FunctionDef to and from TensorFlow's message of the same name.
//
// Functions without state.
#ifndef WEFT_LIBS_GRAPH_IMPORT_FUNCTION_PROTO_H_
#define WEFT_LIBS_GRAPH_IMPORT_FUNCTION_PROTO_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph.h"

namespace weft {

namespace tf {
class FunctionDef;
class FunctionDefLibrary;
class OpDef;
}  // namespace tf

// Converts a message to a FunctionDef. INVALID_ARGUMENT, with the function's
// name, if the function is invalid. Ops and attrs that `registry` does not know
// are detected only when the function is called, because libraries contain many
// functions that are never called. `is_built_here` exempts the function from
// the rules of the graph's version (version_rules.h).
absl::StatusOr<FunctionPtr> FunctionFromProto(const tf::FunctionDef& proto,
                                              const OpRegistry& registry,
                                              bool is_built_here = false);

struct FunctionEnds {
  std::vector<OutputTensor> args;
  std::vector<OutputTensor> results;
  std::vector<const Node*> control_results;
};

// Converts all of `body`, a graph made for this purpose, to a function `name`,
// for Graph::AddFunctions. Its arguments are the outputs of nodes such as
// Placeholder and _Arg, which do not become nodes of the function. The
// arguments are named arg_0, ... and the results result_0, ... The result does
// not contain functions that the body calls.
absl::StatusOr<FunctionPtr> FunctionFromGraph(const std::string& name,
                                              const Graph& body,
                                              const FunctionEnds& ends);

// Appends the functions of the library from number `first` on, and the
// gradients, to `proto`.
void ExportFunctions(const FunctionLibrary& library, int first,
                     tf::FunctionDefLibrary* proto);

// Adds all functions of the message to the graph or, on error, none.
absl::Status ImportFunctions(const tf::FunctionDefLibrary& proto, Graph& graph);

// Converts the message to an OpDef. The shape function of the result infers
// nothing.
absl::StatusOr<OpDef> OpDefFromProto(const tf::OpDef& proto);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_FUNCTION_PROTO_H_
