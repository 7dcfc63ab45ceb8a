#include "libs/train/saved_model/saved_model_builder.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/fs/path.h"
#include "libs/graph/import/producer_defaults.h"
#include "libs/ops/state/variable.h"
#include "libs/train/saved_model/saved_model.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/saved_model.pb.h"

namespace weft::train {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

// Returns the path that the constant `asset` holds.
absl::StatusOr<std::string> PathOf(const Output& asset) {
  const Node* node = asset ? asset.node() : nullptr;
  const Tensor* value = node != nullptr && node->type() == "Const"
                            ? node->attr<Tensor>("value")
                            : nullptr;
  if (value != nullptr && value->dtype() == DT_STRING &&
      value->num_elements() == 1) {
    return value->flat<std::string>()[0];
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Asset path tensor must be a constant of one string, but ",
                   asset ? asset.name() : "a null one", " is not."));
}

absl::Status CheckSignatures(const SavedModelGraph& graph) {
  if (graph.tags.empty()) {
    return absl::InvalidArgumentError(
        "a graph of a SavedModel needs a tag, as \"serve\"");
  }
  for (const auto& [name, signature] : graph.signature_def_map) {
    if (name != saved_model::kInitOpSignatureKey) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "SignatureDefs may not be named '", name, "'; that is taken."));
  }
  return absl::OkStatus();
}

absl::Status AddMainOp(const Operation& main_op, tf::MetaGraphDef& message) {
  if (!main_op) return absl::OkStatus();
  for (const auto key :
       {saved_model::kMainOpKey, saved_model::kLegacyInitOpKey}) {
    if (!message.collection_def().contains(std::string(key))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Graph already contains one or more main ops under the collection ",
        key, "."));
  }
  (*message.mutable_collection_def())[std::string(saved_model::kMainOpKey)]
      .mutable_node_list()
      ->add_value(main_op.name());
  return absl::OkStatus();
}

std::string TextOf(const tf::SavedModel& model) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(model, &text);
  return text;
}

// Returns a new saver of all variables, which is added to the graph. Returns
// null if `graph` has a saver, or there are no variables.
absl::StatusOr<std::unique_ptr<Saver>> OwnSaver(const Scope& scope,
                                                const SavedModelGraph& graph) {
  RETURN_IF_ERROR(scope.status());
  std::unique_ptr<Saver> saver;
  if (graph.saver != nullptr || ops::GlobalVariables(scope).empty()) {
    return saver;
  }
  SaverOptions sharded;
  sharded.sharded = true;
  saver = std::make_unique<Saver>(scope.ReenterScope(""), std::move(sharded));
  RETURN_IF_ERROR(scope.status());
  return saver;
}

// Checks that the index file exists at the path at which this program sees it.
// A Saver that writes neither state file nor graph does not check that.
absl::Status CheckVariablesExist(FileSystem& files, const std::string& prefix) {
  const std::string index = checkpoint::IndexFilename(prefix);
  const absl::Status found = files.FileExists(index);
  if (!absl::IsNotFound(found)) return found;
  return absl::FailedPreconditionError(absl::StrCat(
      "The variables were written, but this program does not find ", index,
      ": the task that wrote it uses another disk, checkpoint writer or object "
      "store with that name. Export to a path at which this program and all "
      "tasks find the same files."));
}

absl::StatusOr<bool> AreEqual(FileSystem& files, const std::string& a,
                              const std::string& b) {
  ASSIGN_OR_RETURN(const uint64_t size_a, files.GetFileSize(a));
  ASSIGN_OR_RETURN(const uint64_t size_b, files.GetFileSize(b));
  if (size_a != size_b) return false;
  ASSIGN_OR_RETURN(const std::string content_a, files.ReadFile(a));
  ASSIGN_OR_RETURN(const std::string content_b, files.ReadFile(b));
  return content_a == content_b;
}

}  // namespace

absl::Status CopyFile(FileSystem& files, const std::string& from,
                      const std::string& to) {
  ASSIGN_OR_RETURN(const auto source, files.NewRandomAccessFile(from));
  ASSIGN_OR_RETURN(const auto target, files.NewWritableFile(to));
  std::string buffer(kCopyBytes, '\0');
  for (uint64_t offset = 0;; offset += buffer.size()) {
    ASSIGN_OR_RETURN(const size_t read,
                     source->Read(offset, buffer.size(), buffer.data()));
    RETURN_IF_ERROR(target->Append(absl::string_view(buffer.data(), read)));
    if (read < buffer.size()) break;
  }
  RETURN_IF_ERROR(target->Sync());
  RETURN_IF_ERROR(target->Close());
  const absl::string_view directory = Dirname(to);
  return files.SyncDirectory(directory.empty() ? "." : directory);
}

SavedModelBuilder::SavedModelBuilder(FileSystem& files, std::string export_dir)
    : files_(files), export_dir_(std::move(export_dir)) {}

absl::StatusOr<std::unique_ptr<SavedModelBuilder>> SavedModelBuilder::Create(
    FileSystem& files, const std::string& export_dir) {
  const auto names = files.ListDirectory(export_dir);
  if (names.ok() && !names->empty()) {
    return absl::AlreadyExistsError(absl::StrCat(
        "Export directory ", export_dir,
        " already exists, and isn't empty. Please choose a different export "
        "directory, or delete all the contents of the specified directory."));
  }
  RETURN_IF_ERROR(files.CreateDirectories(export_dir));
  return std::unique_ptr<SavedModelBuilder>(
      new SavedModelBuilder(files, export_dir));
}

absl::Status SavedModelBuilder::AddMetaGraphAndVariables(
    Session& session, const Scope& scope, const SavedModelGraph& graph) {
  if (has_variables_) {
    return absl::FailedPreconditionError(
        "Graph state including variables and assets has already been saved. "
        "Please invoke AddMetaGraph() instead.");
  }
  ASSIGN_OR_RETURN(const auto own_saver, OwnSaver(scope, graph));
  Saver* const saver = graph.saver != nullptr ? graph.saver : own_saver.get();
  const std::string variables =
      JoinPath(export_dir_, saved_model::kVariablesDirectory);
  RETURN_IF_ERROR(files_.CreateDirectories(variables));
  if (saver != nullptr) {
    SaveOptions only_variables;
    only_variables.write_state = false;
    only_variables.write_meta_graph = false;
    ASSIGN_OR_RETURN(
        const std::string prefix,
        saver->Save(session,
                    JoinPath(variables, saved_model::kVariablesFilename),
                    only_variables));
    RETURN_IF_ERROR(CheckVariablesExist(files_, prefix));
  }
  RETURN_IF_ERROR(AddGraph(scope, graph, saver));
  has_variables_ = true;
  return absl::OkStatus();
}

absl::Status SavedModelBuilder::AddMetaGraph(const Scope& scope,
                                             const SavedModelGraph& graph) {
  if (!has_variables_) {
    return absl::FailedPreconditionError(
        "Graph state including variables and assets has not been saved yet. "
        "Please invoke AddMetaGraphAndVariables() first.");
  }
  ASSIGN_OR_RETURN(const auto own_saver, OwnSaver(scope, graph));
  return AddGraph(scope, graph,
                  graph.saver != nullptr ? graph.saver : own_saver.get());
}

absl::Status SavedModelBuilder::AddGraph(const Scope& scope,
                                         const SavedModelGraph& graph,
                                         const Saver* saver) {
  RETURN_IF_ERROR(CheckSignatures(graph));
  ExportMetaGraphOptions options;
  options.clear_devices = graph.clear_devices;
  if (saver != nullptr) options.saver_def = saver->def();
  ASSIGN_OR_RETURN(const MetaGraph exported, ExportMetaGraph(scope, options));
  tf::MetaGraphDef message = exported.message();
  auto& info = *message.mutable_meta_info_def();
  for (const std::string& tag : graph.tags) info.add_tags(tag);
  if (graph.strip_default_attrs) {
    StripDefaultAttrs(info.stripped_op_list(), *message.mutable_graph_def());
    info.set_stripped_default_attrs(true);
  }
  for (const auto& [name, signature] : graph.signature_def_map) {
    WriteSignatureDef(signature, &(*message.mutable_signature_def())[name]);
  }
  RETURN_IF_ERROR(AddMainOp(graph.main_op, message));
  ASSIGN_OR_RETURN(const auto assets, CopyAssets(graph.assets));
  WriteAssetFileDefs(assets, &message);
  graphs_.emplace_back(std::move(message));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Asset>> SavedModelBuilder::CopyAssets(
    const std::vector<Output>& assets) {
  std::vector<Asset> copied;
  for (const Output& asset : assets) {
    ASSIGN_OR_RETURN(const std::string path, PathOf(asset));
    ASSIGN_OR_RETURN(const std::string filename, CopyAsset(path));
    copied.push_back({asset.name(), filename});
  }
  return copied;
}

// Files with the same name and contents are stored once. Files with the same
// name but different contents get a number.
absl::StatusOr<std::string> SavedModelBuilder::CopyAsset(
    const std::string& path) {
  const std::string name(Basename(path));
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an asset must be the path of a file, but '", path,
                     "' does not name a file"));
  }
  std::string filename = name;
  for (int i = 1; assets_.contains(filename); ++i) {
    const std::string& other = assets_.at(filename);
    if (other == path) return filename;
    ASSIGN_OR_RETURN(const bool are_equal, AreEqual(files_, path, other));
    if (are_equal) return filename;
    filename = absl::StrCat(name, "_", i);
  }
  const std::string directory =
      JoinPath(export_dir_, saved_model::kAssetsDirectory);
  RETURN_IF_ERROR(files_.CreateDirectories(directory));
  RETURN_IF_ERROR(Annotate(
      CopyFile(files_, path, JoinPath(directory, filename)), "an asset"));
  assets_[filename] = path;
  return filename;
}

absl::StatusOr<std::string> SavedModelBuilder::Save(bool as_text) {
  tf::SavedModel model;
  model.set_saved_model_schema_version(saved_model::kSchemaVersion);
  for (const MetaGraph& graph : graphs_) {
    *model.add_meta_graphs() = graph.message();
  }
  if (model.ByteSizeLong() > std::numeric_limits<int>::max()) {
    return absl::ResourceExhaustedError(
        "the graphs exceed the limit of a SavedModel, 2 GiB: keep large "
        "constants out of them");
  }
  const std::string path =
      JoinPath(export_dir_, as_text ? saved_model::kFilenamePbtxt
                                    : saved_model::kFilenamePb);
  RETURN_IF_ERROR(files_.WriteFileAtomically(
      path, as_text ? TextOf(model) : model.SerializeAsString()));
  return path;
}

}  // namespace weft::train
