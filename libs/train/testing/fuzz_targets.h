// Targets of the MetaGraphDef fuzzer and of the replay of its corpus.
#ifndef WEFT_LIBS_TRAIN_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_TRAIN_TESTING_FUZZ_TARGETS_H_

#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/ops/scope.h"
#include "libs/train/saving/import_meta_graph.h"
#include "libs/train/saving/meta_graph.h"

namespace weft::train {

// A rejected MetaGraph leaves no nodes; an imported one can be exported and
// imported again.
inline void FuzzMetaGraph(absl::string_view bytes) {
  const auto meta_graph = MetaGraph::Parse(bytes);
  if (!meta_graph.ok()) return;
  const Scope root = Scope::Root();
  if (!ImportMetaGraph(root, *meta_graph).ok()) {
    // Building a missing saver may fail on the scope.
    RequireForFuzz(!root.ok() || (root.graph().num_nodes() == 0 &&
                                  root.state().collections.empty() &&
                                  root.state().foreign_collections.empty()));
    return;
  }
  const auto out = ExportMetaGraph(root);
  if (!out.ok()) return;  // a collection that mixes variables and others
  const Scope again = Scope::Root();
  RequireForFuzz(ImportMetaGraph(again, *out).ok() || !again.ok());
  const Scope below = Scope::Root();
  (void)ImportMetaGraph(below, *out, {.import_scope = "below"});
}

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_TESTING_FUZZ_TARGETS_H_
