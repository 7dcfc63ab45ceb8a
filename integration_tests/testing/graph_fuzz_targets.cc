#include "integration_tests/testing/graph_fuzz_targets.h"

#include <memory>
#include <string>

#include "integration_tests/testing/small_graph.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/base/text_proto.h"
#include "libs/graph/graph.h"
#include "libs/graph/graph_def.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

// What was understood is written, and understood the same.
void CheckExport(const Graph& graph) {
  const std::string bytes = ExportGraphDef(graph);
  Graph again(graph.registry());
  RequireForFuzz(ImportGraphDef(bytes, again).ok());
  RequireForFuzz(ExportGraphDef(again) == bytes);
}

void FuzzParsed(const tf::GraphDef& def) {
  const std::unique_ptr<SmallGraph> graph = SmallGraph::Of(def);
  if (graph == nullptr) return;
  CheckExport(graph->graph());
  GraphSession(*graph).RunAll(graph->Specs());
}

}  // namespace

void FuzzGraphDef(absl::string_view bytes) {
  tf::GraphDef def;
  if (def.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    FuzzParsed(def);
  }
}

void FuzzGraphText(absl::string_view text) {
  tf::GraphDef def;
  if (ParseTextProto(text, def, {.allow_unknown_fields = true}).ok()) {
    FuzzParsed(def);
  }
}

}  // namespace weft
