// SavedModelBuilder: writes a SavedModel (saved_model.h); TensorFlow's
// tf.saved_model.Builder of version 1.
//
//   auto builder = SavedModelBuilder::Create(files, "/models/line");
//   (*builder)->AddMetaGraphAndVariables(
//       session, root,
//       {.tags = {"serve"},
//        .signature_def_map = {{"serving_default", signature}}});
//   (*builder)->Save();
//
// The file saved_model.pb, without which nobody takes the directory for a
// SavedModel, is written at the end, atomically.
//
// Threads: one at a time; adding to the graph as the scope's. All block.
#ifndef WEFT_LIBS_TRAIN_SAVED_MODEL_BUILDER_H_
#define WEFT_LIBS_TRAIN_SAVED_MODEL_BUILDER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/meta_graph.h"
#include "libs/train/saved_model_files.h"
#include "libs/train/saver.h"
#include "libs/train/signature_def.h"

namespace weft::train {

// A graph as it is to be served.
struct SavedModelGraph {
  std::vector<std::string> tags;
  std::map<std::string, SignatureDef> signature_def_map;
  // String constants of the graph, each the path of a file that it reads: these
  // are copied to assets/, and fed where they lie when the model is loaded.
  std::vector<Output> assets;
  // Run after the variables are restored. Null: none.
  Operation main_op;
  bool clear_devices = false;
  // Attrs that hold their op's default are left out, for older readers.
  bool strip_default_attrs = false;
  // What saves the variables; outlives the call. Null: one of all of them,
  // which is added to the graph; none where there are no variables.
  Saver* saver = nullptr;
};

class SavedModelBuilder {
 public:
  // Makes the directory. ALREADY_EXISTS where it is there and holds something.
  // `files` outlives the builder.
  static absl::StatusOr<std::unique_ptr<SavedModelBuilder>> Create(
      FileSystem& files, const std::string& export_dir);

  // The first graph, once, with what the session's variables hold; the session
  // has to find the directory by the same path. INVALID_ARGUMENT for an asset
  // that is no string constant, NOT_FOUND for one whose file is gone,
  // FAILED_PRECONDITION out of turn.
  absl::Status AddMetaGraphAndVariables(Session& session, const Scope& scope,
                                        const SavedModelGraph& graph);
  // Further graphs, of the same variables.
  absl::Status AddMetaGraph(const Scope& scope, const SavedModelGraph& graph);

  // The path of what it wrote, saved_model.pb or, as text, saved_model.pbtxt.
  absl::StatusOr<std::string> Save(bool as_text = false);

 private:
  SavedModelBuilder(FileSystem& files, std::string export_dir);

  absl::StatusOr<std::vector<Asset>> CopyAssets(
      const std::vector<Output>& assets);
  absl::StatusOr<std::string> CopyAsset(const std::string& path);
  absl::Status AddGraph(const Scope& scope, const SavedModelGraph& graph,
                        const Saver* saver);

  FileSystem& files_;
  const std::string export_dir_;
  bool has_variables_ = false;
  // Of assets/, by their names there: where they came from.
  std::map<std::string, std::string> assets_;
  std::vector<MetaGraph> graphs_;
};

// Copies a file, which is durable then. `from` and `to` may be of different
// kinds (a disk, s3://).
absl::Status CopyFile(FileSystem& files, const std::string& from,
                      const std::string& to);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVED_MODEL_BUILDER_H_
