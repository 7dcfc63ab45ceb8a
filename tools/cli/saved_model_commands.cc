#include "tools/cli/saved_model_commands.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/train/saved_model/saved_model.h"
#include "schemas/tf/meta_graph.pb.h"
#include "tools/cli/example_features.h"
#include "tools/cli/json_text.h"
#include "tools/cli/serving_json.h"
#include "tools/cli/table.h"
#include "tools/cli/tensor_json.h"

namespace weft::tools {
namespace {

using train::MetaGraph;
using train::SavedModel;
using train::SignatureDef;
using train::TensorInfo;
namespace saved_model = train::saved_model;

using Signatures = std::map<std::string, SignatureDef>;

absl::StatusOr<bool> IsSavedModel(FileSystem& files, const std::string& path) {
  for (const auto name :
       {saved_model::kFilenamePb, saved_model::kFilenamePbtxt}) {
    const absl::Status exists = files.FileExists(JoinPath(path, name));
    if (exists.ok()) return true;
    if (!absl::IsNotFound(exists)) return exists;
  }
  return false;
}

absl::StatusOr<Signatures> SignaturesOf(const MetaGraph& graph) {
  ASSIGN_OR_RETURN(Signatures signatures,
                   train::ReadSignatureDefs(graph.message()));
  signatures.erase(std::string(saved_model::kInitOpSignatureKey));
  return signatures;
}

std::string TensorOf(const TensorInfo& info) {
  if (info.coo_sparse)
    return absl::StrCat(info.coo_sparse->values, " (sparse)");
  return info.name.empty() ? "(of several)" : info.name;
}

Json ShapeJson(const PartialShape& shape) {
  if (!shape.has_rank()) return nullptr;
  return std::vector<int64_t>(shape.dims().begin(), shape.dims().end());
}

Json InfosJson(const std::map<std::string, TensorInfo>& infos) {
  Json json = Json::object();
  for (const auto& [name, info] : infos) {
    json[name] = {{"dtype", DataTypeName(info.dtype)},
                  {"shape", ShapeJson(info.shape)},
                  {"tensor", TensorOf(info)}};
  }
  return json;
}

// Returns the features of the Examples that the signature parses. Returns none
// unless the only input of the signature is parsed.
ExampleFeatures FeaturesOf(const MetaGraph& graph,
                           const SignatureDef& signature) {
  if (signature.inputs.size() != 1) return {};
  const TensorInfo& input = signature.inputs.begin()->second;
  if (input.dtype != DT_STRING || input.name.empty()) return {};
  return FeaturesParsedFrom(graph.message().graph_def(), input.name);
}

Json FeaturesJson(const ExampleFeatures& features) {
  Json json = Json::object();
  for (const auto& [key, feature] : features) {
    Json& entry = json[key] = {{"dtype", DataTypeName(feature.dtype)}};
    if (!feature.shape) continue;
    entry["shape"] = ShapeJson(*feature.shape);
    if (feature.default_value) {
      entry["default"] = TensorToJson(*feature.default_value);
    }
  }
  return json;
}

Json GraphJson(const MetaGraph& graph, const Signatures& signatures) {
  Json json = {{"tags", graph.tags()}, {"signatures", Json::object()}};
  for (const auto& [name, signature] : signatures) {
    json["signatures"][name] = {{"method_name", signature.method_name},
                                {"inputs", InfosJson(signature.inputs)},
                                {"outputs", InfosJson(signature.outputs)}};
    const ExampleFeatures features = FeaturesOf(graph, signature);
    if (features.empty()) continue;
    json["signatures"][name]["features"] = FeaturesJson(features);
  }
  return json;
}

void AddRows(absl::string_view which,
             const std::map<std::string, TensorInfo>& infos, Table& table) {
  for (const auto& [name, info] : infos) {
    table.AddRow({std::string(which), name, DataTypeName(info.dtype),
                  info.shape.ToString(), TensorOf(info)});
  }
}

std::string FeaturesText(const ExampleFeatures& features) {
  if (features.empty()) return "";
  Table table({{"feature"}, {"dtype"}, {"values in each Example"}});
  for (const auto& [key, feature] : features) {
    table.AddRow({key, DataTypeName(feature.dtype), DescribeValues(feature)});
  }
  return absl::StrCat("The input is serialized Examples:\n", table.ToString());
}

std::string GraphText(const MetaGraph& graph, const Signatures& signatures) {
  std::string text = absl::StrCat(
      "tags: ", Printable(absl::StrJoin(graph.tags(), ", ")), "\n");
  for (const auto& [name, signature] : signatures) {
    Table table({{""}, {"name"}, {"dtype"}, {"shape"}, {"tensor"}});
    AddRows("input", signature.inputs, table);
    AddRows("output", signature.outputs, table);
    absl::StrAppend(&text, "\n", Printable(name), ": ",
                    Printable(signature.method_name), "\n", table.ToString(),
                    FeaturesText(FeaturesOf(graph, signature)));
  }
  return text;
}

// Returns the tags of the only graph, or else the tags for serving.
std::vector<std::string> DefaultTags(const std::vector<MetaGraph>& graphs) {
  if (graphs.size() == 1) return graphs[0].tags();
  return train::SavedModelOptions().tags;
}

absl::StatusOr<std::string> SignatureName(const Invocation& invocation,
                                          const ServingRequest& request) {
  const std::string& flag = invocation.signature;
  const std::string& asked = request.signature_name;
  if (!flag.empty() && !asked.empty() && flag != asked) {
    return absl::InvalidArgumentError(
        absl::StrCat("--signature=", flag, ", but the request's ",
                     "\"signature_name\" is \"", asked, "\""));
  }
  if (!flag.empty()) return flag;
  return asked.empty() ? std::string(train::kDefaultServingSignatureDefKey)
                       : asked;
}

}  // namespace

absl::StatusOr<std::string> FindSavedModel(FileSystem& files,
                                           const std::string& path) {
  ASSIGN_OR_RETURN(const bool is_one, IsSavedModel(files, path));
  if (is_one) return path;
  const auto names = files.ListDirectory(path);
  std::optional<std::pair<uint64_t, std::string>> newest;
  for (const std::string& name :
       names.ok() ? *names : std::vector<std::string>()) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(name, &number)) continue;
    const std::string inner = JoinPath(path, name);
    if (newest && newest->first >= number) continue;
    if (IsSavedModel(files, inner).value_or(false)) newest = {number, inner};
  }
  if (newest) return newest->second;
  return absl::NotFoundError(absl::StrCat(
      "SavedModel file does not exist at: ", path,
      "/{saved_model.pbtxt|saved_model.pb}, nor in a directory below it that "
      "is named by a number"));
}

absl::StatusOr<std::string> RunSavedModelShow(FileSystem& files,
                                              const std::string& path,
                                              Format format) {
  ASSIGN_OR_RETURN(const std::string directory, FindSavedModel(files, path));
  ASSIGN_OR_RETURN(const auto graphs, train::ReadSavedModel(files, directory));
  Json json = Json::array();
  std::vector<std::string> texts;
  for (const MetaGraph& graph : graphs) {
    ASSIGN_OR_RETURN(const Signatures signatures, SignaturesOf(graph));
    json.push_back(GraphJson(graph, signatures));
    texts.push_back(GraphText(graph, signatures));
  }
  return format == Format::kJson ? JsonText(json) : absl::StrJoin(texts, "\n");
}

absl::StatusOr<Prediction> RunPredict(Process& process, const std::string& path,
                                      const Invocation& invocation,
                                      const std::string& request) {
  ASSIGN_OR_RETURN(const ServingRequest asked, ParseServingRequest(request));
  ASSIGN_OR_RETURN(const std::string signature_name,
                   SignatureName(invocation, asked));
  FileSystem& files = process.file_system();
  ASSIGN_OR_RETURN(const std::string directory, FindSavedModel(files, path));
  ASSIGN_OR_RETURN(const auto graphs, train::ReadSavedModel(files, directory));
  train::SavedModelOptions options;
  options.tags = invocation.tags_given ? invocation.tags : DefaultTags(graphs);
  options.clear_devices = invocation.clear_devices;
  options.session.process = &process;
  options.session.allow_soft_placement = true;
  options.file_system = &files;
  ASSIGN_OR_RETURN(const auto model, SavedModel::Load(directory, options));
  ASSIGN_OR_RETURN(const SignatureDef* signature,
                   model->FindSignature(signature_name));
  ASSIGN_OR_RETURN(const MetaGraph graph,
                   train::FindMetaGraph(graphs, options.tags));
  const ExampleFeatures features = FeaturesOf(graph, *signature);
  ASSIGN_OR_RETURN(const auto inputs, InputsOf(asked, *signature, features));
  RunOptions run;
  if (invocation.timeout_given) run.timeout = invocation.timeout;
  std::vector<std::string> warnings = UnknownFeatures(asked, features);
  const auto outputs = model->Run(signature_name, inputs, run);
  if (!outputs.ok() && !warnings.empty()) {
    return Append(outputs.status(), absl::StrJoin(warnings, " "));
  }
  RETURN_IF_ERROR(outputs);
  ASSIGN_OR_RETURN(std::string text, ServingResponse(asked, *outputs));
  return Prediction{std::move(text), std::move(warnings)};
}

}  // namespace weft::tools
