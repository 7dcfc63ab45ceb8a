#include "libs/train/saved_model/saved_model.h"

#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "libs/base/exceptions.h"
#include "libs/base/keys_of.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/fs/path.h"
#include "libs/train/saved_model/saved_model_files.h"
#include "libs/train/saving/import_meta_graph.h"
#include "schemas/tf/meta_graph.pb.h"

namespace weft::train {
namespace {

using FeedNames = std::vector<std::pair<std::string, Tensor>>;

std::string NamesOf(const std::map<std::string, SignatureDef>& signatures) {
  return signatures.empty() ? "none" : KeysOf(signatures);
}

// Returns the name of the node that must run before serving; empty if the graph
// has no such node.
absl::StatusOr<std::string> InitOpOf(const tf::MetaGraphDef& message) {
  const std::string key(saved_model::kInitOpSignatureKey);
  const auto signature = message.signature_def().find(key);
  if (signature != message.signature_def().end()) {
    const auto& outputs = signature->second.outputs();
    const auto output = outputs.find(key);
    return output == outputs.end() ? std::string() : output->second.name();
  }
  for (const auto collection :
       {saved_model::kMainOpKey, saved_model::kLegacyInitOpKey}) {
    const auto found = message.collection_def().find(std::string(collection));
    if (found == message.collection_def().end()) continue;
    const auto& nodes = found->second.node_list().value();
    if (nodes.size() == 1) return nodes[0];
    return absl::InvalidArgumentError(
        absl::StrCat("Expected exactly one main op in the collection ",
                     collection, ", found ", nodes.size(), "."));
  }
  return std::string();
}

// Returns feeds that replace the asset paths in the graph by the current paths.
absl::StatusOr<FeedNames> FeedsOfAssets(FileSystem& files,
                                        const std::string& export_dir,
                                        const tf::MetaGraphDef& message) {
  ASSIGN_OR_RETURN(const auto assets, ReadAssetFileDefs(message));
  FeedNames feeds;
  for (const Asset& asset : assets) {
    const std::string path = JoinPath(
        JoinPath(export_dir, saved_model::kAssetsDirectory), asset.filename);
    const absl::Status exists = files.FileExists(path);
    if (!exists.ok()) {
      return Annotate(exists, "an asset of the SavedModel is missing");
    }
    feeds.emplace_back(asset.tensor_name, Tensor::Scalar(path));
  }
  return feeds;
}

// Returns the graph without its collections and savers, which are only needed
// to continue training.
MetaGraph WhatRuns(const MetaGraph& graph) {
  tf::MetaGraphDef message = graph.message();
  message.clear_collection_def();
  message.clear_saver_def();
  return MetaGraph(std::move(message));
}

absl::Status RestoreVariables(Session& session, FileSystem& files,
                              const std::string& export_dir,
                              const SaverDef& saver) {
  const std::string prefix =
      JoinPath(JoinPath(export_dir, saved_model::kVariablesDirectory),
               saved_model::kVariablesFilename);
  const absl::Status exists =
      files.FileExists(checkpoint::IndexFilename(prefix));
  if (!exists.ok()) {
    return Annotate(exists,
                    "Unsuccessful TensorSliceReader constructor: the "
                    "SavedModel's variables are missing; copy all of its "
                    "directory");
  }
  return session
      .RunNamed({{saver.filename_tensor_name, Tensor::Scalar(prefix)}}, {},
                {saver.restore_op_name})
      .status();
}

absl::Status Initialize(Session& session, FileSystem& files,
                        const std::string& export_dir, const MetaGraph& graph) {
  ASSIGN_OR_RETURN(const auto saver, graph.saver_def());
  if (saver) {
    RETURN_IF_ERROR(RestoreVariables(session, files, export_dir, *saver));
  }
  ASSIGN_OR_RETURN(const std::string init_op, InitOpOf(graph.message()));
  if (init_op.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FeedNames feeds,
                   FeedsOfAssets(files, export_dir, graph.message()));
  const std::string node = init_op.substr(0, init_op.find(':'));
  return session.RunNamed(feeds, {}, {node}).status();
}

absl::Status CheckInput(const std::string& name, const TensorInfo& info,
                        const Tensor& value) {
  if (!value.IsInitialized() || value.dtype() != info.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", name, "' is of type ", DataTypeName(info.dtype),
                     ", but a value of ",
                     value.IsInitialized()
                         ? absl::StrCat("type ", DataTypeName(value.dtype()))
                         : "none",
                     " was given"));
  }
  if (info.shape.IsCompatibleWith(value.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input '", name, "' has shape ", info.shape.ToString(),
      ", but a value of shape ", value.shape().ToString(), " was given"));
}

absl::Status WrongSparse(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("sparse input '", name, "' ", what));
}

// Checks the types and ranks of the three parts of a sparse value, and that
// they match each other.
absl::Status CheckParts(const std::string& name, const TensorInfo& info,
                        const SparseTensorValue& value) {
  const auto is = [](const Tensor& part, DataType dtype, int rank) {
    return part.IsInitialized() && part.dtype() == dtype && part.rank() == rank;
  };
  if (!is(value.values, info.dtype, 1)) {
    return WrongSparse(name, absl::StrCat("takes values that are a vector of ",
                                          DataTypeName(info.dtype)));
  }
  if (!is(value.indices, DT_INT64, 2) || !is(value.dense_shape, DT_INT64, 1)) {
    return WrongSparse(name,
                       "takes indices that are a matrix of int64, and a "
                       "dense_shape that is a vector of int64");
  }
  const int64_t rank = value.dense_shape.dim(0);
  if (value.indices.dim(0) == value.values.dim(0) &&
      value.indices.dim(1) == rank) {
    return absl::OkStatus();
  }
  return WrongSparse(
      name, absl::StrCat("has ", value.values.dim(0), " values and ", rank,
                         " dimensions, but indices of shape ",
                         value.indices.shape().ToString()));
}

absl::Status CheckDenseShape(const std::string& name, const TensorInfo& info,
                             absl::Span<const int64_t> dims) {
  bool fits = !info.shape.has_rank() ||
              static_cast<size_t>(info.shape.rank()) == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const int64_t known =
        info.shape.has_rank() ? info.shape.dim(static_cast<int>(i)) : -1;
    fits = dims[i] >= 0 && (known == -1 || known == dims[i]);
  }
  if (fits) return absl::OkStatus();
  return WrongSparse(name,
                     absl::StrCat("has shape ", info.shape.ToString(),
                                  ", but a value of dense_shape [",
                                  absl::StrJoin(dims, ","), "] was given"));
}

absl::Status CheckSparse(const std::string& name, const TensorInfo& info,
                         const SparseTensorValue& value) {
  RETURN_IF_ERROR(CheckParts(name, info, value));
  const auto dims = value.dense_shape.flat<int64_t>();
  RETURN_IF_ERROR(CheckDenseShape(name, info, dims));
  const auto indices = value.indices.flat<int64_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t dim = dims[i % dims.size()];
    if (indices[i] >= 0 && indices[i] < dim) continue;
    return WrongSparse(
        name, absl::StrCat("has index ", indices[i], " in row ",
                           i / dims.size(), " of its indices, but dimension ",
                           i % dims.size(), " has size ", dim));
  }
  return absl::OkStatus();
}

absl::Status NotDense(const std::string& name) {
  return absl::UnimplementedError(absl::StrCat(
      "tensor '", name,
      "' of the signature is a composite tensor; only dense tensors, and "
      "sparse tensors as inputs, are supported"));
}

absl::Status AddFeeds(const std::string& name, const TensorInfo& info,
                      const SignatureInput& value, FeedNames& feeds) {
  const auto* const dense = std::get_if<Tensor>(&value);
  if (info.coo_sparse) {
    if (dense != nullptr) {
      return WrongSparse(name,
                         "was given a dense value; give indices, values and "
                         "dense_shape");
    }
    const auto& sparse = std::get<SparseTensorValue>(value);
    RETURN_IF_ERROR(CheckSparse(name, info, sparse));
    feeds.emplace_back(info.coo_sparse->indices, sparse.indices);
    feeds.emplace_back(info.coo_sparse->values, sparse.values);
    feeds.emplace_back(info.coo_sparse->dense_shape, sparse.dense_shape);
    return absl::OkStatus();
  }
  if (info.name.empty()) return NotDense(name);
  if (dense == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", name, "' is dense, but a sparse value was given"));
  }
  RETURN_IF_ERROR(CheckInput(name, info, *dense));
  feeds.emplace_back(info.name, *dense);
  return absl::OkStatus();
}

absl::StatusOr<FeedNames> FeedsOf(const SignatureDef& signature,
                                  const SignatureInputs& inputs) {
  for (const auto& [name, value] : inputs) {
    if (signature.inputs.contains(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no input '", name,
                     "'; there are: ", KeysOf(signature.inputs)));
  }
  FeedNames feeds;
  for (const auto& [name, info] : signature.inputs) {
    const auto value = inputs.find(name);
    if (value == inputs.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", name,
          "' is missing; the inputs are: ", KeysOf(signature.inputs)));
    }
    RETURN_IF_ERROR(AddFeeds(name, info, value->second, feeds));
  }
  return feeds;
}

absl::StatusOr<std::vector<std::string>> FetchesOf(
    const SignatureDef& signature) {
  std::vector<std::string> fetches;
  for (const auto& [name, info] : signature.outputs) {
    if (info.name.empty()) return NotDense(name);
    fetches.push_back(info.name);
  }
  return fetches;
}

absl::StatusOr<MetaGraph> ReadGraph(FileSystem& files,
                                    const std::string& export_dir,
                                    const std::vector<std::string>& tags) {
  ASSIGN_OR_RETURN(const auto graphs, ReadSavedModel(files, export_dir));
  auto graph = FindMetaGraph(graphs, tags);
  if (!graph.ok()) return Annotate(graph.status(), export_dir);
  return graph;
}

}  // namespace

absl::StatusOr<MetaGraph> FindMetaGraph(const std::vector<MetaGraph>& graphs,
                                        const std::vector<std::string>& tags) {
  const std::set<std::string> wanted(tags.begin(), tags.end());
  std::vector<std::string> available;
  for (const MetaGraph& graph : graphs) {
    const auto has = graph.tags();
    if (std::set<std::string>(has.begin(), has.end()) == wanted) return graph;
    available.push_back(absl::StrCat("{'", absl::StrJoin(has, "', '"), "'}"));
  }
  return absl::NotFoundError(absl::StrCat(
      "MetaGraphDef associated with tags '", absl::StrJoin(tags, "', '"),
      "' could not be found in SavedModel, with available tags '[",
      absl::StrJoin(available, ", "),
      "]'. To inspect available tag-sets in the SavedModel, please use `weft "
      "saved_model show`."));
}

SavedModel::SavedModel(Scope scope,
                       std::map<std::string, SignatureDef> signatures,
                       std::unique_ptr<Session> session)
    : scope_(std::move(scope)),
      signatures_(std::move(signatures)),
      session_(std::move(session)) {}

absl::StatusOr<std::unique_ptr<SavedModel>> SavedModel::Load(
    const std::string& export_dir, const SavedModelOptions& options) {
  const Scope scope = Scope::Root();
  SessionOptions isolated = options.session;
  isolated.isolate_session_state = true;
  ASSIGN_OR_RETURN(auto session,
                   options.session_factory(options.target, scope, isolated));
  FileSystem* const files = options.file_system != nullptr
                                ? options.file_system
                                : session->file_system();
  if (files == nullptr) {
    return absl::FailedPreconditionError(
        "the session has no files; give SavedModelOptions::file_system");
  }
  ASSIGN_OR_RETURN(const MetaGraph graph,
                   ReadGraph(*files, export_dir, options.tags));
  const auto import = [&] {
    return ImportMetaGraph(scope, WhatRuns(graph),
                           {.clear_devices = options.clear_devices})
        .status();
  };
  const auto load = [&]() -> absl::Status {
    RETURN_IF_ERROR(CatchExceptions(import));
    return Initialize(*session, *files, export_dir, graph);
  };
  RETURN_IF_ERROR(Annotate(load(), export_dir));
  ASSIGN_OR_RETURN(auto signatures, CatchExceptions([&] {
                     return ReadSignatureDefs(graph.message());
                   }));
  signatures.erase(std::string(saved_model::kInitOpSignatureKey));
  return std::unique_ptr<SavedModel>(
      new SavedModel(scope, std::move(signatures), std::move(session)));
}

absl::StatusOr<const SignatureDef*> SavedModel::FindSignature(
    const std::string& name) const {
  const auto found = signatures_.find(name);
  if (found != signatures_.end()) return &found->second;
  return absl::NotFoundError(absl::StrCat(
      "there is no signature '", name, "'; there are: ", NamesOf(signatures_)));
}

absl::StatusOr<std::map<std::string, Tensor>> SavedModel::Run(
    const std::string& signature_name, const SignatureInputs& inputs,
    const RunOptions& options) {
  ASSIGN_OR_RETURN(const SignatureDef* signature,
                   FindSignature(signature_name));
  const auto run = [&]() -> absl::StatusOr<std::vector<Tensor>> {
    ASSIGN_OR_RETURN(const FeedNames feeds, FeedsOf(*signature, inputs));
    ASSIGN_OR_RETURN(const auto fetches, FetchesOf(*signature));
    return session_->RunNamed(feeds, fetches, {}, options);
  };
  const auto values = run();
  if (!values.ok()) {
    return Annotate(values.status(),
                    absl::StrCat("signature '", signature_name, "'"));
  }
  std::map<std::string, Tensor> outputs;
  size_t next = 0;
  for (const auto& [name, info] : signature->outputs) {
    outputs[name] = (*values)[next++];
  }
  return outputs;
}

}  // namespace weft::train
