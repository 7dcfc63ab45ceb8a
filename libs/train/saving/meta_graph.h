// MetaGraph is a graph with its collections and its saver, so that another
// program can continue with that graph. It is TensorFlow's MetaGraphDef. A
// Saver writes it beside each checkpoint as PREFIX.meta.
//
//   auto meta = ReadMetaGraph(files, "/job/model.ckpt-7.meta");
//   auto saver = ImportMetaGraph(root, *meta);
//   (*saver)->Restore(session, "/job/model.ckpt-7");
//
// Collections of variables (collection::kGlobalVariables and the like) hold
// VariableDefs; other collections hold names of values ("x:0") and operations
// ("train"). Other contents (queue runners, contexts of cond and while,
// numbers, bytes) are kept and exported unchanged.
//
// Format: schemas/tf/meta_graph.proto, in bytes or as text.
#ifndef WEFT_LIBS_TRAIN_SAVING_META_GRAPH_H_
#define WEFT_LIBS_TRAIN_SAVING_META_GRAPH_H_

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

// SaverDef describes how a program saves, by the names of its nodes, like
// TensorFlow's SaverDef.
struct SaverDef {
  std::string filename_tensor_name;  // "save/Const:0"
  std::string save_tensor_name;      // "save/control_dependency:0"
  std::string restore_op_name;       // "save/restore_all"
  int max_to_keep = 5;
  bool sharded = false;
  float keep_checkpoint_every_n_hours = 10000;
  // Whether the nodes write TensorFlow's format V1 (SaveSlices), as in a
  // SaverDef with version V1 or LEGACY.
  bool writes_v1 = false;
};

// MetaGraph is an immutable value that is cheap to copy.
class MetaGraph {
 public:
  MetaGraph();
  explicit MetaGraph(tf::MetaGraphDef message);
  // `message` may share memory as a part of a larger message.
  explicit MetaGraph(std::shared_ptr<const tf::MetaGraphDef> message);

  // Returns the parsed MetaGraph. INVALID_ARGUMENT if `content` is neither a
  // serialized nor a text MetaGraphDef; RESOURCE_EXHAUSTED if there is not
  // enough memory.
  static absl::StatusOr<MetaGraph> Parse(absl::string_view content);
  // Returns the bytes of the message, which include all unknown fields that
  // were parsed. Equal MetaGraphs give equal bytes.
  std::string Serialize() const;

  // Returns the saver; null if the graph was exported without a saver.
  // UNIMPLEMENTED for a format newer than V2, INVALID_ARGUMENT for a saver that
  // lacks names.
  absl::StatusOr<std::optional<SaverDef>> saver_def() const;
  // Returns the names of all collections, sorted.
  std::vector<std::string> CollectionNames() const;
  std::vector<std::string> tags() const;
  // For .cc files that hold protobuf messages.
  const tf::MetaGraphDef& message() const { return *message_; }

 private:
  static absl::StatusOr<MetaGraph> ParseSized(absl::string_view content);

  std::shared_ptr<const tf::MetaGraphDef> message_;
};

// Returns "PREFIX.meta", where PREFIX is `checkpoint`.
std::string MetaGraphFilename(absl::string_view checkpoint);

// Reads a file, and blocks on I/O. Errors name the file.
absl::StatusOr<MetaGraph> ReadMetaGraph(FileSystem& files,
                                        absl::string_view path);
// Writes a file, and blocks on I/O. An existing file is replaced atomically.
absl::Status WriteMetaGraph(FileSystem& files, absl::string_view path,
                            const MetaGraph& meta_graph);

struct ExportMetaGraphOptions {
  std::optional<SaverDef> saver_def;
  // Names of collections to export; null: all collections. Names that the graph
  // does not have are ignored.
  std::optional<std::vector<std::string>> collections;
  bool clear_devices = false;
  // Message to start from; may be null. Everything except graph, saver and
  // collections is copied from it: signatures, assets, tags, unknown fields.
  // Must outlive the call.
  const MetaGraph* from = nullptr;
};

// Exports the whole graph of the scope. INVALID_ARGUMENT for a collection of
// mixed kinds, RESOURCE_EXHAUSTED for more than 2 GiB, or the error of the
// scope.
absl::StatusOr<MetaGraph> ExportMetaGraph(
    const Scope& scope, const ExportMetaGraphOptions& options = {});

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVING_META_GRAPH_H_
