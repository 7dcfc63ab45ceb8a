// FunctionDef to and from TensorFlow's message of that name.
//
// Functions without state.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_PROTO_H_
#define WEFT_LIBS_GRAPH_FUNCTION_PROTO_H_

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

// INVALID_ARGUMENT, with the function's name, for one that makes no sense by
// itself. Ops and attrs that `registry` does not know are found when it is
// called: libraries hold many functions that nobody calls here. `is_built_here`
// exempts the function from the rules of the graph's version (version_rules.h).
absl::StatusOr<FunctionPtr> FunctionFromProto(const tf::FunctionDef& proto,
                                              const OpRegistry& registry,
                                              bool is_built_here = false);

struct FunctionEnds {
  std::vector<OutputTensor> args;
  std::vector<OutputTensor> results;
  std::vector<const Node*> control_results;
};

// All of `body`, a graph made for it, as a function `name`, to be given to
// Graph::AddFunctions. Args are outputs of nodes that stand for them
// (Placeholder, _Arg) and that the function does not have; its arguments are
// called arg_0, ..., its results result_0, ... What the body calls is not
// added.
absl::StatusOr<FunctionPtr> FunctionFromGraph(const std::string& name,
                                              const Graph& body,
                                              const FunctionEnds& ends);

// The library as a graph's message has it, those from number `first` on.
void ExportFunctions(const FunctionLibrary& library, int first,
                     tf::FunctionDefLibrary* proto);

// The functions of the message are added to the graph; all or none.
absl::Status ImportFunctions(const tf::FunctionDefLibrary& proto, Graph& graph);

// A shape function is set that knows nothing.
absl::StatusOr<OpDef> OpDefFromProto(const tf::OpDef& proto);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_PROTO_H_
