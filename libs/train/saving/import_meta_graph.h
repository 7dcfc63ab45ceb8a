// ImportMetaGraph imports a graph of another program, with its collections and
// its saver, into the graph of a scope, like TensorFlow's
// tf.train.import_meta_graph.
//
// The function is as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_SAVING_IMPORT_META_GRAPH_H_
#define WEFT_LIBS_TRAIN_SAVING_IMPORT_META_GRAPH_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/train/saving/meta_graph.h"
#include "libs/train/saving/saver.h"

namespace weft::train {

struct ImportMetaGraphOptions {
  // Prefix of every imported name. Like a name scope, it is made unique, and
  // "a/" reopens an existing scope. Resource variables keep their shared names,
  // as in TensorFlow, so two imports of one graph share the variables.
  std::string import_scope;
  // Replacements for tensors of the imported graph, by tensor name ("x:0").
  std::map<std::string, Output> input_map;
  bool clear_devices = false;
  // File system of the returned saver.
  FileSystem* file_system = nullptr;
  const Clock* clock = nullptr;
};

// Returns the saver that the graph was exported with. If it was exported
// without one, returns a new saver of all variables, whose errors stick to the
// scope, or null if the graph has no variables.
//
// Variables, values and operations in collections are added to the collections
// of the scope. Collections of unknown kind are kept for the next export. The
// import scope is also added to names in queue runners, savers, and contexts of
// cond and while. Attrs that this program's ops do not know are dropped if they
// have the default of the writer's op.
//
// INVALID_ARGUMENT if the message contradicts itself or the graph: a name
// without a node, a variable described in two ways, or a collection whose kind
// differs from the scope's. UNIMPLEMENTED for a saver of a format newer than
// V2. Otherwise the errors of ImportGraphDef. A rejected graph leaves no node
// and no collection behind.
absl::StatusOr<std::unique_ptr<Saver>> ImportMetaGraph(
    const Scope& scope, const MetaGraph& meta_graph,
    const ImportMetaGraphOptions& options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_IMPORT_META_GRAPH_H_
