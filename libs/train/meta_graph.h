// MetaGraph: a graph with what a program needs to go on with it: its
// collections and its saver; TensorFlow's MetaGraphDef, which a Saver writes
// beside each checkpoint as PREFIX.meta.
//
//   auto meta = ReadMetaGraph(files, "/job/model.ckpt-7.meta");
//   auto saver = ImportMetaGraph(root, *meta);
//   (*saver)->Restore(session, "/job/model.ckpt-7");
//
// In collections of variables (collection::kGlobalVariables and its like) are
// VariableDefs, in others names of values ("x:0") and operations ("train").
// What is not understood here (queue runners, contexts of cond and while,
// numbers, bytes) is kept and goes out as it came in.
//
// Format: schemas/tf/meta_graph.proto, in bytes or as text.
#ifndef WEFT_LIBS_TRAIN_META_GRAPH_H_
#define WEFT_LIBS_TRAIN_META_GRAPH_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"

namespace weft {

namespace tf {
class MetaGraphDef;
}  // namespace tf

namespace train {

// How a program saves, by the names of its nodes; TensorFlow's SaverDef.
struct SaverDef {
  std::string filename_tensor_name;  // "save/Const:0"
  std::string save_tensor_name;      // "save/control_dependency:0"
  std::string restore_op_name;       // "save/restore_all"
  int max_to_keep = 5;
  bool sharded = false;
  float keep_checkpoint_every_n_hours = 10000;
  // The graph's nodes write TensorFlow's format V1 (SaveSlices), as those of
  // SaverDef.V1 and SaverDef.LEGACY do.
  bool writes_v1 = false;
};

// A value, which may be copied at no cost; its message never changes.
class MetaGraph {
 public:
  MetaGraph();
  explicit MetaGraph(tf::MetaGraphDef message);
  // A message that others may share, as part of a larger one.
  explicit MetaGraph(std::shared_ptr<const tf::MetaGraphDef> message);

  // INVALID_ARGUMENT where it is neither bytes nor text of a MetaGraphDef,
  // RESOURCE_EXHAUSTED where there is no memory for it.
  static absl::StatusOr<MetaGraph> Parse(absl::string_view content);
  // Equal MetaGraphs give equal bytes, with all fields that were parsed.
  std::string Serialize() const;

  // None where the graph was exported without. UNIMPLEMENTED for a saver of a
  // format newer than V2, INVALID_ARGUMENT for one that lacks names.
  absl::StatusOr<std::optional<SaverDef>> saver_def() const;
  // Sorted.
  std::vector<std::string> CollectionNames() const;
  std::vector<std::string> tags() const;
  // For .cc files that hold protobuf messages.
  const tf::MetaGraphDef& message() const { return *message_; }

 private:
  static absl::StatusOr<MetaGraph> ParseSized(absl::string_view content);

  std::shared_ptr<const tf::MetaGraphDef> message_;
};

// "PREFIX.meta"
std::string MetaGraphFilename(absl::string_view checkpoint);

// Errors name the file. Both block.
absl::StatusOr<MetaGraph> ReadMetaGraph(FileSystem& files,
                                        absl::string_view path);
// Readers find the old file or the whole of the new.
absl::Status WriteMetaGraph(FileSystem& files, absl::string_view path,
                            const MetaGraph& meta_graph);

struct ExportMetaGraphOptions {
  std::optional<SaverDef> saver_def;
  // None: all there are. Those that the graph has not are left out.
  std::optional<std::vector<std::string>> collections;
  bool clear_devices = false;
  // What the export begins with; may be null. All that is neither graph, saver
  // nor collection goes out as it is there: signatures, assets, tags, fields
  // unknown here. Outlives the call.
  const MetaGraph* from = nullptr;
};

// The scope's whole graph. INVALID_ARGUMENT for a collection that holds things
// of different kinds, RESOURCE_EXHAUSTED beyond 2 GiB, and the scope's error.
absl::StatusOr<MetaGraph> ExportMetaGraph(
    const Scope& scope, const ExportMetaGraphOptions& options = {});

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_META_GRAPH_H_
