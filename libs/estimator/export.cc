// Implements Estimator::ExportSavedModel.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "libs/base/status.h"
#include "libs/estimator/continuous_evaluation.h"
#include "libs/estimator/estimator.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/estimator/export_signatures.h"
#include "libs/fs/path.h"
#include "libs/ops/resource/lookup_ops.h"
#include "libs/train/saved_model/saved_model.h"
#include "libs/train/saved_model/saved_model_builder.h"
#include "libs/train/saved_model/saved_model_files.h"
#include "libs/train/sessions/scaffold.h"

namespace weft::estimator {
namespace {

constexpr int kMaxDirectoryAttempts = 10;
constexpr char kAssetsExtra[] = "assets.extra";
constexpr char kTemporary[] = "temp-";
// The largest version number with ten digits.
constexpr int64_t kLastVersion = 9'999'999'999;
// Upper bound of the duration of an export. Older temporary directories are
// leftovers.
constexpr int64_t kMaxExportSeconds = int64_t{24} * 60 * 60;

// Returns whether a directory is renamed file by file, as remote directories
// are. In such a directory saved_model.pb, which makes it a SavedModel, must be
// written last, and only once.
bool RenamesDirectories(const std::string& path) {
  const absl::string_view scheme = SchemeAndHost(path);
  return scheme.empty() || absl::StartsWith(scheme, "zmq://");
}

// ExportDirectory is the temporary and the final location of an export.
struct ExportDirectory {
  std::string temporary;
  std::string path;
};

// Returns the version of a new export: the current time, or a number larger
// than all existing versions. Servers take the largest number as the newest
// version, and the clock may have been set back.
int64_t NextVersion(const std::vector<std::string>& names, absl::Time now) {
  int64_t next = absl::ToUnixSeconds(now);
  for (const std::string& name : names) {
    const std::optional<int64_t> version = ExportVersion(name);
    if (version && *version != kLastVersion) {
      next = std::max(next, *version + 1);
    }
  }
  return next;
}

// Deletes temporary directories of exports that were killed long ago, because
// each may hold a whole model. The next export retries failed deletions.
void DeleteLeftOnes(FileSystem& files, const std::string& base,
                    const std::vector<std::string>& names, absl::Time now) {
  for (const std::string& name : names) {
    absl::string_view number = name;
    if (!absl::ConsumePrefix(&number, kTemporary)) continue;
    const std::optional<int64_t> begun = ExportVersion(number);
    if (begun && *begun < absl::ToUnixSeconds(now) - kMaxExportSeconds) {
      files.DeleteRecursively(JoinPath(base, name)).IgnoreError();
    }
  }
}

// Creates the temporary directory, named after the current second, or after the
// next second that is free.
absl::StatusOr<ExportDirectory> MakeDirectory(FileSystem& files,
                                              const std::string& base,
                                              absl::Time now) {
  RETURN_IF_ERROR(files.CreateDirectories(base));
  ASSIGN_OR_RETURN(const auto names, files.ListDirectory(base));
  const int64_t seconds = NextVersion(names, now);
  DeleteLeftOnes(files, base, names, now);
  for (int i = 0; i < kMaxDirectoryAttempts; ++i) {
    ExportDirectory directory;
    directory.path = JoinPath(base, absl::StrCat(seconds + i));
    directory.temporary =
        RenamesDirectories(base)
            ? JoinPath(base, absl::StrCat(kTemporary, seconds + i))
            : directory.path;
    if (files.FileExists(directory.path).ok()) continue;
    const absl::Status made = files.CreateDirectory(directory.temporary);
    if (made.ok()) return directory;
    if (!absl::IsAlreadyExists(made)) return made;
  }
  return absl::UnavailableError(
      absl::StrCat("Failed to obtain a unique export directory name in ", base,
                   " after ", kMaxDirectoryAttempts, " attempts."));
}

absl::Status CheckReceiver(const ServingInputReceiver& receiver) {
  if (receiver.features.empty() || receiver.receiver_tensors.empty()) {
    return absl::InvalidArgumentError(
        "serving_input_receiver_fn: features and receiver_tensors must be "
        "defined.");
  }
  for (const auto& [name, tensor] : receiver.receiver_tensors) {
    if (tensor) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "serving_input_receiver_fn: receiver tensor '", name, "' is null."));
  }
  return absl::OkStatus();
}

absl::Status CheckExtraName(const std::string& name) {
  if (train::IsPathWithin(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "assets_extra: '", name, "' is not a path within ", kAssetsExtra, "."));
}

absl::Status CopyExtras(FileSystem& files, const std::string& directory,
                        const std::map<std::string, std::string>& extras) {
  for (const auto& [name, source] : extras) {
    RETURN_IF_ERROR(CheckExtraName(name));
    const std::string target =
        JoinPath(JoinPath(directory, kAssetsExtra), name);
    RETURN_IF_ERROR(files.CreateDirectories(Dirname(target)));
    RETURN_IF_ERROR(
        Annotate(train::CopyFile(files, source, target), "assets_extra"));
  }
  return absl::OkStatus();
}

void LogSignatures(Logger& logger, const ExportSignatures& signatures) {
  const auto names = [](const auto& all) {
    return absl::StrJoin(all, ", ", [](std::string* out, const auto& one) {
      absl::StrAppend(out, "'", one.first, "'");
    });
  };
  logger.Info(absl::StrCat("Signatures INCLUDED in export: [",
                           names(signatures.included), "]"));
  for (const auto& [name, why] : signatures.excluded) {
    logger.Info(
        absl::StrCat("Signature EXCLUDED from export because it cannot "
                     "be served: '",
                     name, "' : ", why));
  }
  const std::string key(train::kDefaultServingSignatureDefKey);
  if (signatures.included.empty()) {
    logger.Warning("Export includes no signatures!");
  } else if (!signatures.included.contains(key)) {
    logger.Warning("Export includes no default signature!");
  }
}

// ServedModel is the graph of an export, with its saver and initializer.
struct ServedModel {
  BuiltModel built;
  ExportSignatures signatures;
  std::shared_ptr<train::Saver> saver;
  Operation local_init_op;
};

// Returns an input function that calls `receive` and stores the result in
// `receiver`, which must outlive the function.
InputFn ReceiveInto(ServingInputReceiver& receiver,
                    const ServingInputReceiverFn& receive) {
  return [&](const Scope& scope) -> absl::StatusOr<InputTensors> {
    ASSIGN_OR_RETURN(receiver, receive(scope));
    RETURN_IF_ERROR(Annotate(scope.status(), "serving_input_receiver_fn"));
    RETURN_IF_ERROR(CheckReceiver(receiver));
    InputTensors input;
    input.features = receiver.features;
    return input;
  };
}

// Uses the saver and initializer of the model's scaffold, or adds new ones.
void AddSaverAndInit(ServedModel& model) {
  const Scope& root = model.built.root;
  if (const auto& scaffold = model.built.spec.scaffold; scaffold != nullptr) {
    model.saver = scaffold->saver();
    model.local_init_op = scaffold->local_init_op();
  }
  if (!model.local_init_op) {
    model.local_init_op = train::Scaffold::DefaultLocalInitOp(root);
  }
  if (model.saver != nullptr) return;
  train::SaverOptions sharded;
  sharded.sharded = true;
  model.saver = std::make_shared<train::Saver>(root, std::move(sharded));
}

absl::StatusOr<ServedModel> BuildServedModel(
    const ModelFn& model_fn, const RunConfig& config,
    const ServingInputReceiverFn& receive) {
  ServingInputReceiver receiver;
  ASSIGN_OR_RETURN(BuiltModel built,
                   BuildModel(model_fn, config, Mode::kPredict,
                              ReceiveInto(receiver, receive)));
  ASSIGN_OR_RETURN(const ExportOutputs outputs, GetExportOutputs(built.spec));
  ServedModel model{std::move(built), BuildAllSignatureDefs(receiver, outputs),
                    nullptr, Operation()};
  AddSaverAndInit(model);
  RETURN_IF_ERROR(model.built.root.status());
  return model;
}

// Writes all files of the export to the temporary directory.
absl::Status WriteExport(FileSystem& files, Session& session,
                         const ServedModel& model, const std::string& directory,
                         const ExportSavedModelOptions& options) {
  ASSIGN_OR_RETURN(auto builder,
                   train::SavedModelBuilder::Create(files, directory));
  train::SavedModelGraph graph;
  graph.tags = {std::string(train::saved_model::kServing)};
  graph.signature_def_map = model.signatures.included;
  graph.assets = model.built.root.GetCollection(ops::kAssetFilepaths);
  graph.main_op = model.local_init_op;
  graph.strip_default_attrs = options.strip_default_attrs;
  graph.saver = model.saver.get();
  RETURN_IF_ERROR(
      builder->AddMetaGraphAndVariables(session, model.built.root, graph));
  RETURN_IF_ERROR(CopyExtras(files, directory, options.assets_extra));
  return builder->Save(options.as_text).status();
}

// Writes the export and gives it its final name. A failed export leaves no
// files.
absl::StatusOr<std::string> WriteAndRename(
    FileSystem& files, Session& session, const ServedModel& model,
    const std::string& base, absl::Time now,
    const ExportSavedModelOptions& options) {
  ASSIGN_OR_RETURN(const ExportDirectory directory,
                   MakeDirectory(files, base, now));
  absl::Cleanup forget = [&] {
    files.DeleteRecursively(directory.temporary).IgnoreError();
  };
  RETURN_IF_ERROR(
      WriteExport(files, session, model, directory.temporary, options));
  if (directory.temporary != directory.path) {
    RETURN_IF_ERROR(files.RenameFile(directory.temporary, directory.path));
  }
  std::move(forget).Cancel();
  RETURN_IF_ERROR(files.SyncDirectory(base));
  return directory.path;
}

absl::Status CheckCall(const std::string& export_dir_base,
                       const ServingInputReceiverFn& receive) {
  if (!receive) {
    return absl::InvalidArgumentError(
        "serving_input_receiver_fn must be defined.");
  }
  if (!export_dir_base.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("export_dir_base must be given.");
}

// Fails if the checkpoint is of step 0. An unreadable checkpoint passes,
// because restoring it will report the error.
absl::Status CheckThatItIsTrained(FileSystem& files,
                                  const std::string& checkpoint) {
  const auto progress = ReadProgress(files, checkpoint);
  if (!progress.ok() || progress->step > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "The checkpoint ", checkpoint,
      " is of step 0: the model is not trained, so it is not exported. Does "
      "the input of the training have elements? To export it all the same, set "
      "ExportSavedModelOptions::allow_untrained."));
}

absl::Status Restore(Session& session, train::Saver& saver,
                     const std::string& checkpoint, Logger& logger) {
  logger.Info(absl::StrCat("Restoring parameters from ", checkpoint));
  return Annotate(
      saver.Restore(session, checkpoint),
      absl::StrCat("Restoring from checkpoint ", checkpoint, " failed"));
}

}  // namespace

std::optional<int64_t> ExportVersion(absl::string_view name) {
  const auto is_digit = [](char c) { return absl::ascii_isdigit(c); };
  int64_t version = 0;
  if (name.size() != 10 || !absl::c_all_of(name, is_digit) ||
      !absl::SimpleAtoi(name, &version)) {
    return std::nullopt;
  }
  return version;
}

absl::StatusOr<std::string> Estimator::ExportSavedModel(
    const std::string& export_dir_base,
    const ServingInputReceiverFn& serving_input_receiver_fn,
    const ExportSavedModelOptions& options) {
  Impl& impl = *impl_;
  RETURN_IF_ERROR(impl.status);
  RETURN_IF_ERROR(CheckCall(export_dir_base, serving_input_receiver_fn));
  std::optional<std::string> checkpoint = options.checkpoint_path;
  if (checkpoint->empty()) {
    ASSIGN_OR_RETURN(checkpoint, impl.FindLatestCheckpoint());
  }
  if (!checkpoint) {
    return absl::NotFoundError(absl::StrCat("Couldn't find trained model at ",
                                            impl.model_dir, "; train first."));
  }
  if (!options.allow_untrained && !impl.options.warm_start_from) {
    RETURN_IF_ERROR(CheckThatItIsTrained(impl.files(), *checkpoint));
  }
  ASSIGN_OR_RETURN(
      const ServedModel model,
      BuildServedModel(impl.model_fn, impl.config, serving_input_receiver_fn));
  LogSignatures(*impl.logger, model.signatures);
  SessionOptions isolated = impl.config.session_config;
  isolated.isolate_session_state = true;
  ASSIGN_OR_RETURN(const auto session, impl.options.session_factory(
                                           "", model.built.root, isolated));
  RETURN_IF_ERROR(Restore(*session, *model.saver, *checkpoint, *impl.logger));
  FileSystem* const of_session = session->file_system();
  ASSIGN_OR_RETURN(
      std::string path,
      WriteAndRename(of_session != nullptr ? *of_session : impl.files(),
                     *session, model, export_dir_base,
                     impl.scheduler->clock().WallTime(), options));
  impl.logger->Info(absl::StrCat("SavedModel written to: ", path));
  return path;
}

}  // namespace weft::estimator
