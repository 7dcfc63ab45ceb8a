#include "libs/train/saved_model/saved_model_files.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/stubs/logging.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/fs/path.h"
#include "libs/train/saved_model/saved_model.h"
#include "schemas/tf/meta_graph.pb.h"
#include "schemas/tf/saved_model.pb.h"

namespace weft::train {
namespace {

// The name by which TensorFlow's programs know the message type.
constexpr char kAssetTypeUrl[] = "type.googleapis.com/tensorflow.AssetFileDef";

absl::Status CheckFilename(const std::string& filename) {
  if (IsPathWithin(filename)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "an asset's filename leads out of the SavedModel: '", filename, "'"));
}

absl::Status AddAsset(const tf::AssetFileDef& def, std::vector<Asset>& assets) {
  RETURN_IF_ERROR(CheckFilename(def.filename()));
  assets.push_back({def.tensor_info().name(), def.filename()});
  return absl::OkStatus();
}

absl::Status CannotParse(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("Cannot parse file '", path, "': ", why));
}

absl::Status ParseBinary(const std::string& path, const std::string& content,
                         tf::SavedModel& model) {
  const google::protobuf::LogSilencer silence;
  if (model.ParseFromString(content)) return absl::OkStatus();
  return CannotParse(path,
                     "Error parsing message with type 'SavedModel': the file "
                     "is damaged or cut short.");
}

absl::Status ParseText(const std::string& path, const std::string& content,
                       tf::SavedModel& model) {
  const absl::Status status =
      ParseTextProto(content, model, {.allow_unknown_fields = true});
  return status.ok() ? status : CannotParse(path, status.message());
}

// Returns the path of the SavedModel's file, and whether the file is text.
absl::StatusOr<std::pair<std::string, bool>> FindFile(
    FileSystem& files, const std::string& export_dir) {
  for (const auto name :
       {saved_model::kFilenamePb, saved_model::kFilenamePbtxt}) {
    const std::string path = JoinPath(export_dir, name);
    const absl::Status exists = files.FileExists(path);
    if (exists.ok()) {
      return std::make_pair(path, name == saved_model::kFilenamePbtxt);
    }
    if (!absl::IsNotFound(exists)) return exists;
  }
  return absl::NotFoundError(
      absl::StrCat("SavedModel file does not exist at: ", export_dir,
                   "/{saved_model.pbtxt|saved_model.pb}"));
}

absl::Status CheckSize(const std::string& path, uint64_t size) {
  if (size <= std::numeric_limits<int>::max()) return absl::OkStatus();
  return CannotParse(
      path, "the file is larger than 2 GiB, the limit for a SavedModel.");
}

// The graphs share an arena, because a protobuf map on the heap is corrupted if
// it cannot allocate memory to grow. Even its destructor then fails.
absl::StatusOr<std::vector<MetaGraph>> ReadGraphs(
    FileSystem& files, const std::string& export_dir) {
  ASSIGN_OR_RETURN(const auto file, FindFile(files, export_dir));
  const auto& [path, is_text] = file;
  ASSIGN_OR_RETURN(const uint64_t size, files.GetFileSize(path));
  RETURN_IF_ERROR(CheckSize(path, size));
  ASSIGN_OR_RETURN(const std::string content, files.ReadFile(path));
  const auto arena = std::make_shared<google::protobuf::Arena>();
  auto& model =
      *google::protobuf::Arena::CreateMessage<tf::SavedModel>(arena.get());
  RETURN_IF_ERROR(is_text ? ParseText(path, content, model)
                          : ParseBinary(path, content, model));
  if (model.saved_model_schema_version() > saved_model::kSchemaVersion) {
    return absl::UnimplementedError(absl::StrCat(
        path, ": a SavedModel of version ", model.saved_model_schema_version(),
        "; known is ", saved_model::kSchemaVersion));
  }
  std::vector<MetaGraph> graphs;
  for (const tf::MetaGraphDef& graph : model.meta_graphs()) {
    graphs.emplace_back(std::shared_ptr<const tf::MetaGraphDef>(arena, &graph));
  }
  return graphs;
}

}  // namespace

bool IsPathWithin(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return !path.empty() && path[0] != '/' && SchemeAndHost(path).empty() &&
         std::find(parts.begin(), parts.end(), "..") == parts.end();
}

absl::StatusOr<std::vector<Asset>> ReadAssetFileDefs(
    const tf::MetaGraphDef& message) {
  std::vector<Asset> assets;
  for (const auto& def : message.asset_file_def()) {
    RETURN_IF_ERROR(AddAsset(def, assets));
  }
  if (!assets.empty()) return assets;
  const auto found =
      message.collection_def().find(std::string(saved_model::kAssetsKey));
  if (found == message.collection_def().end()) return assets;
  for (const auto& any : found->second.any_list().value()) {
    tf::AssetFileDef def;
    if (any.type_url() != kAssetTypeUrl || !def.ParseFromString(any.value())) {
      return absl::InvalidArgumentError(
          absl::StrCat("collection '", saved_model::kAssetsKey,
                       "' contains an item that is not an AssetFileDef"));
    }
    RETURN_IF_ERROR(AddAsset(def, assets));
  }
  return assets;
}

void WriteAssetFileDefs(const std::vector<Asset>& assets,
                        tf::MetaGraphDef* message) {
  if (assets.empty()) return;
  auto& collection =
      (*message
            ->mutable_collection_def())[std::string(saved_model::kAssetsKey)];
  collection.Clear();
  for (const Asset& asset : assets) {
    tf::AssetFileDef def;
    def.mutable_tensor_info()->set_name(asset.tensor_name);
    def.set_filename(asset.filename);
    auto& any = *collection.mutable_any_list()->add_value();
    any.set_type_url(kAssetTypeUrl);
    any.set_value(def.SerializeAsString());
  }
}

absl::StatusOr<std::vector<MetaGraph>> ReadSavedModel(
    FileSystem& files, const std::string& export_dir) {
  auto graphs = CatchExceptions([&] { return ReadGraphs(files, export_dir); });
  if (!absl::IsResourceExhausted(graphs.status())) return graphs;
  return Annotate(graphs.status(), export_dir);
}

}  // namespace weft::train
