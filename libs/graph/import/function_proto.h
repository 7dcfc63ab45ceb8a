// FunctionDef to and from TensorFlow's message of the same name.
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

// INVALID_ARGUMENT, with the function's name, for an invalid function. Ops and
// attrs that `registry` does not know are detected when it is called: libraries
// contain many functions that are never called. `is_built_here` exempts the
// function from the rules of the graph's version (version_rules.h).
absl::StatusOr<FunctionPtr> FunctionFromProto(const tf::FunctionDef& proto,
                                              const OpRegistry& registry,
                                              bool is_built_here = false);

struct FunctionEnds {
  std::vector<OutputTensor> args;
  std::vector<OutputTensor> results;
  std::vector<const Node*> control_results;
};

// Converts all of `body`, a graph made for this purpose, to a function `name`,
// for Graph::AddFunctions. Args are outputs of nodes that represent them
// (Placeholder, _Arg) and that are not part of the function; its arguments are
// named arg_0, ..., its results result_0, ... Functions called by the body are
// not added.
absl::StatusOr<FunctionPtr> FunctionFromGraph(const std::string& name,
                                              const Graph& body,
                                              const FunctionEnds& ends);

// Exports the library to a graph's message, from number `first` on.
void ExportFunctions(const FunctionLibrary& library, int first,
                     tf::FunctionDefLibrary* proto);

// Adds the functions of the message to the graph; all or none.
absl::Status ImportFunctions(const tf::FunctionDefLibrary& proto, Graph& graph);

// The shape function of the result infers nothing.
absl::StatusOr<OpDef> OpDefFromProto(const tf::OpDef& proto);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_FUNCTION_PROTO_H_
