// SavedModel is a model for serving in TensorFlow's format: a directory with
// graphs, their signatures, values of variables, and files that tables are read
// from.
//
//   auto model = SavedModel::Load("/models/census/1700000000");
//   auto outputs = (*model)->Run("serving_default", {{"x", x}});
//
//   saved_model.pb           graphs with tags and signatures (or .pbtxt)
//   variables/variables.*    a checkpoint
//   assets/                  files that the graph reads
//
// SavedModelBuilder (saved_model_builder.h), TensorFlow's Estimators and Keras
// write SavedModels. See docs/user/saved_models.md.
//
// Errors name the directory. Functions block.
#ifndef WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_H_
#define WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/tensor/tensor.h"
#include "libs/train/saved_model/signature_def.h"
#include "libs/train/saving/meta_graph.h"

namespace weft::train {

// TensorFlow's file names and collection keys.
namespace saved_model {
inline constexpr absl::string_view kServing = "serve";  // a tag
inline constexpr absl::string_view kFilenamePb = "saved_model.pb";
inline constexpr absl::string_view kFilenamePbtxt = "saved_model.pbtxt";
inline constexpr absl::string_view kVariablesDirectory = "variables";
inline constexpr absl::string_view kVariablesFilename = "variables";
inline constexpr absl::string_view kAssetsDirectory = "assets";
inline constexpr absl::string_view kAssetsKey = "saved_model_assets";
inline constexpr absl::string_view kMainOpKey = "saved_model_main_op";
inline constexpr absl::string_view kLegacyInitOpKey = "legacy_init_op";
inline constexpr absl::string_view kInitOpSignatureKey =
    "__saved_model_init_op";
inline constexpr int kSchemaVersion = 1;
}  // namespace saved_model

// Returns all graphs of a directory. NOT_FOUND if it holds no SavedModel,
// INVALID_ARGUMENT if the file is invalid or truncated.
absl::StatusOr<std::vector<MetaGraph>> ReadSavedModel(
    FileSystem& files, const std::string& export_dir);
// Returns the graph with exactly these tags, in any order. The error NOT_FOUND
// lists the available tag sets.
absl::StatusOr<MetaGraph> FindMetaGraph(const std::vector<MetaGraph>& graphs,
                                        const std::vector<std::string>& tags);

struct SavedModelOptions {
  std::vector<std::string> tags = {std::string(saved_model::kServing)};
  bool clear_devices = false;  // drops the devices that nodes request
  // Target of the session. Empty: a session in this process, with its own
  // variables.
  std::string target;
  // Options of the session. isolate_session_state is always treated as true.
  SessionOptions session;
  std::function<absl::StatusOr<std::unique_ptr<Session>>(
      const std::string& target, const Scope& scope,
      const SessionOptions& options)>
      session_factory = Session::Connect;
  // File system for reading the directory; must outlive the call. Null: the
  // file system of the session's process, which also supports zmq://, s3:// and
  // gs://.
  FileSystem* file_system = nullptr;
};

// SavedModel holds a restored graph in a session. Any thread may call Run.
class SavedModel {
 public:
  // Loads the model. Besides the errors of ReadSavedModel and FindMetaGraph:
  // NOT_FOUND if variables or assets are missing, or initialization needs an op
  // that is not registered.
  static absl::StatusOr<std::unique_ptr<SavedModel>> Load(
      const std::string& export_dir, const SavedModelOptions& options = {});

  // Returns all signatures, except the signature that names the graph's
  // initialization op.
  const std::map<std::string, SignatureDef>& signatures() const {
    return signatures_;
  }
  // Returns a signature. The error NOT_FOUND lists the available signatures.
  absl::StatusOr<const SignatureDef*> FindSignature(
      const std::string& name) const;
  Session& session() { return *session_; }
  const Scope& scope() const { return scope_; }

  // Returns the outputs of a signature, by their names. INVALID_ARGUMENT, which
  // names the input, for an input that is missing, unknown, of another type or
  // shape, or dense instead of sparse or vice versa. UNIMPLEMENTED for a
  // signature with a sparse output or with another composite tensor.
  absl::StatusOr<std::map<std::string, Tensor>> Run(
      const std::string& signature_name, const SignatureInputs& inputs,
      const RunOptions& options = {});

 private:
  SavedModel(Scope scope, std::map<std::string, SignatureDef> signatures,
             std::unique_ptr<Session> session);

  const Scope scope_;
  const std::map<std::string, SignatureDef> signatures_;
  const std::unique_ptr<Session> session_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVED_MODEL_SAVED_MODEL_H_
