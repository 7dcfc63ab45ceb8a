// ImportMetaGraph: a graph of another program, with its collections and its
// saver, into a scope's; TensorFlow's tf.train.import_meta_graph.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_IMPORT_META_GRAPH_H_
#define WEFT_LIBS_TRAIN_IMPORT_META_GRAPH_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "libs/base/clock.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/train/meta_graph.h"
#include "libs/train/saver.h"

namespace weft::train {

struct ImportMetaGraphOptions {
  // Put before every name, made unique as a name scope; "a/" enters one that is
  // there. Resource variables keep their shared names, as in TensorFlow: two
  // imports of one graph share them.
  std::string import_scope;
  // What inputs get instead of a tensor of the graph, by its name, "x:0".
  std::map<std::string, Output> input_map;
  bool clear_devices = false;
  // The saver's.
  FileSystem* file_system = nullptr;
  const Clock* clock = nullptr;
};

// The saver that the graph was exported with; where it was without, one of all
// variables, which is built, and whose errors stick to the scope; null where
// there is none of either.
//
// What is in collections is added to the scope's: variables, values and
// operations. Collections that are not understood are kept for the next export;
// with an import scope, names in queue runners, savers and contexts of cond and
// while get it, too, and others stay as they are. Attrs that the writer's ops
// have and ours have not, with their defaults, are left out.
//
// INVALID_ARGUMENT where the message contradicts itself or the graph: a name
// that no node has, one variable described twice, a collection of another kind
// than the scope's; UNIMPLEMENTED for a saver of a format newer than V2; else
// the errors of ImportGraphDef. A refused graph leaves no node and no
// collection behind.
absl::StatusOr<std::unique_ptr<Saver>> ImportMetaGraph(
    const Scope& scope, const MetaGraph& meta_graph,
    const ImportMetaGraphOptions& options = {});

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_IMPORT_META_GRAPH_H_
