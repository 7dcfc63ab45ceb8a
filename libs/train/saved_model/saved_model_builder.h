// SavedModelBuilder writes a SavedModel (saved_model.h), like TensorFlow's
// tf.saved_model.Builder of version 1.
//
//   auto builder = SavedModelBuilder::Create(files, "/models/line");
//   (*builder)->AddMetaGraphAndVariables(
//       session, root,
//       {.tags = {"serve"},
//        .signature_def_map = {{"serving_default", signature}}});
//   (*builder)->Save();
//
// The file saved_model.pb, which makes the directory a SavedModel, is written
// last and atomically.
//
// Threads: only one call at a time is allowed. Adding to the graph is as
// thread-safe as the scope. All calls block.
#ifndef WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_BUILDER_H_
#define WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_BUILDER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/saved_model/saved_model_files.h"
#include "libs/train/saved_model/signature_def.h"
#include "libs/train/saving/meta_graph.h"
#include "libs/train/saving/saver.h"

namespace weft::train {

// SavedModelGraph describes a graph for serving.
struct SavedModelGraph {
  std::vector<std::string> tags;
  std::map<std::string, SignatureDef> signature_def_map;
  // String constants of the graph, each the path of a file that it reads. The
  // files are copied to assets/, and the constants are fed with the copies'
  // paths when the model is loaded.
  std::vector<Output> assets;
  // Operation to run after the variables are restored. Null: none.
  Operation main_op;
  bool clear_devices = false;
  // If true, drops attrs that have the default value of their op, so that older
  // readers can load the model.
  bool strip_default_attrs = false;
  // Saver of the variables; must outlive the call. Null: a saver of all
  // variables is added to the graph, unless there are no variables.
  Saver* saver = nullptr;
};

class SavedModelBuilder {
 public:
  // Creates the directory and its builder. ALREADY_EXISTS if the directory
  // exists and is not empty. `files` must outlive the builder.
  static absl::StatusOr<std::unique_ptr<SavedModelBuilder>> Create(
      FileSystem& files, const std::string& export_dir);

  // Adds the first graph, with the values of the session's variables. Must be
  // called once, before AddMetaGraph. The session must reach the directory by
  // the same path. INVALID_ARGUMENT for an asset that is not a string constant,
  // NOT_FOUND for a missing asset file, FAILED_PRECONDITION for a call out of
  // order.
  absl::Status AddMetaGraphAndVariables(Session& session, const Scope& scope,
                                        const SavedModelGraph& graph);
  // Adds another graph, which uses the same variables.
  absl::Status AddMetaGraph(const Scope& scope, const SavedModelGraph& graph);

  // Writes the graphs, and returns the path of the file: saved_model.pb or, as
  // text, saved_model.pbtxt.
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
  // Source paths of assets, by their names in assets/.
  std::map<std::string, std::string> assets_;
  std::vector<MetaGraph> graphs_;
};

// Copies a file. The copy is durable when the call returns. `from` and `to` may
// be on different kinds of file systems (a disk, s3://).
absl::Status CopyFile(FileSystem& files, const std::string& from,
                      const std::string& to);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_BUILDER_H_
