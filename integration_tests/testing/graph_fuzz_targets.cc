#include "integration_tests/testing/graph_fuzz_targets.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/small_graph.h"
#include "libs/base/status.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/base/text_proto.h"
#include "libs/graph/functions/function_body.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/function_proto.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

// Checks that an imported graph can be exported and imported again.
void CheckExport(const Graph& graph) {
  const std::string bytes = ExportGraphDef(graph).value();
  Graph again(graph.registry());
  RequireForFuzz(ImportGraphDef(bytes, again).ok());
  RequireForFuzz(ExportGraphDef(again).value() == bytes);
}

void FuzzParsed(const tf::GraphDef& def) {
  const std::unique_ptr<SmallGraph> graph = SmallGraph::Of(def);
  if (graph == nullptr) return;
  CheckExport(graph->graph());
  GraphSession(*graph).RunAll(graph->Specs());
}

// Adds a Placeholder of unknown shape for each argument.
absl::StatusOr<std::vector<OutputTensor>> Placeholders(
    const DataTypeVector& types, Graph& graph) {
  std::vector<OutputTensor> result;
  for (const DataType type : types) {
    ASSIGN_OR_RETURN(
        const Node* node,
        graph.AddNode({.name = absl::StrCat("argument_", result.size()),
                       .op = "Placeholder",
                       .attrs = {{"dtype", type}}}));
    result.push_back({node, 0});
  }
  return result;
}

absl::Status CallFunction(const FunctionPtr& function, Graph& graph) {
  RETURN_IF_ERROR(graph.AddFunctions({function}));
  ASSIGN_OR_RETURN(const FunctionTypes types, TypesOfCall(*function, {}));
  ASSIGN_OR_RETURN(const std::vector<OutputTensor> args,
                   Placeholders(types.args, graph));
  ASSIGN_OR_RETURN(
      const FunctionBody plain,
      AddFunctionBody(*function, {}, {.prefix = "plain", .args = args}, graph));
  FunctionExpander expander(graph, {.max_nodes = 4000});
  RETURN_IF_ERROR(
      expander.AddFunction("expanded", {function->name(), nullptr}, args)
          .status());
  FunctionEnds ends{.args = args,
                    .results = plain.results,
                    .control_results = plain.control_results};
  const auto again = FunctionFromGraph("again", graph, ends);
  return again.status();
}

}  // namespace

void FuzzGraphDef(absl::string_view bytes) {
  tf::GraphDef def;
  if (def.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    FuzzParsed(def);
  }
}

void FuzzFunctionDef(absl::string_view bytes) {
  constexpr int kMaxNodes = 64;
  tf::GraphDef def;
  tf::FunctionDef& proto = *def.mutable_library()->add_function();
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      proto.node_def_size() > kMaxNodes) {
    return;
  }
  // The import applies the limits for untrusted graphs.
  Graph graph(StandardOps());
  if (!ImportGraphDef(def.SerializeAsString(), graph).ok()) return;
  CheckExport(graph);
  const FunctionPtr function = graph.functions().functions()[0];
  Graph called(graph.registry());
  // The function may be invalid. Then CallFunction must return an error.
  (void)CallFunction(function, called);
}

void FuzzGraphText(absl::string_view text) {
  tf::GraphDef def;
  if (ParseTextProto(text, def, {.allow_unknown_fields = true}).ok()) {
    FuzzParsed(def);
  }
}

}  // namespace weft
