#include "libs/estimator/estimator.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/estimator/estimator_impl.h"
#include "libs/fs/path.h"
#include "libs/graph/import/graph_def.h"
#include "libs/tensor/buffer.h"
#include "libs/train/saving/meta_graph.h"

namespace weft::estimator {
namespace {

absl::Status CheckArguments(const ModelFn& model_fn,
                            const EstimatorOptions& options,
                            const RunConfig& config) {
  if (!model_fn) {
    return absl::InvalidArgumentError(
        "model_fn must be provided to Estimator.");
  }
  if (options.model_dir.empty() && config.model_dir.empty() &&
      (!config.master.empty() || config.task_type == "evaluator")) {
    return absl::InvalidArgumentError(
        "An Estimator in a cluster needs a model_dir, its own or the "
        "RunConfig's, that all tasks share.");
  }
  if (!options.model_dir.empty() && !config.model_dir.empty() &&
      options.model_dir != config.model_dir) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`model_dir` are set both in constructor and `RunConfig`, but with "
        "different values: ",
        options.model_dir, " and ", config.model_dir, ". Leave one out."));
  }
  return config.Check();
}

std::string ModelDirOf(const EstimatorOptions& options,
                       const RunConfig& config) {
  if (!options.model_dir.empty()) return options.model_dir;
  if (!config.model_dir.empty()) return config.model_dir;
  const char* folder = std::getenv("TMPDIR");
  return JoinPath(
      folder != nullptr && *folder != '\0' ? folder : "/tmp",
      absl::StrCat("weft_estimator_", absl::Hex(NewSystemRandom()->NextId())));
}

}  // namespace

Estimator::Impl::Impl(ModelFn model, EstimatorOptions given, RunConfig run)
    : model_fn(std::move(model)),
      options(std::move(given)),
      config(std::move(run)),
      model_dir(ModelDirOf(options, config)),
      status(CheckArguments(model_fn, options, config)),
      logger(options.logger),
      scheduler(options.scheduler) {
  if (!status.ok() || !options.model_dir.empty() || !config.model_dir.empty()) {
    return;
  }
  logger->Warning(
      absl::StrCat("Using temporary folder as model directory: ", model_dir));
}

absl::StatusOr<std::optional<std::string>> Estimator::Impl::LatestCheckpoint() {
  return checkpoint::LatestCheckpoint(files(), model_dir);
}

absl::StatusOr<std::optional<std::string>>
Estimator::Impl::FindLatestCheckpoint() {
  return checkpoint::FindLatestCheckpoint(files(), model_dir);
}

absl::StatusOr<std::unique_ptr<checkpoint::CheckpointReader>>
Estimator::Impl::OpenLatestCheckpoint() {
  ASSIGN_OR_RETURN(const auto latest, FindLatestCheckpoint());
  if (latest) return checkpoint::CheckpointReader::Open(files(), *latest);
  return absl::NotFoundError(absl::StrCat("There is no checkpoint in '",
                                          model_dir, "'; train first."));
}

absl::StatusOr<std::string> Estimator::Impl::CheckpointToUse(
    const std::string& path, absl::string_view to_do) {
  if (!path.empty()) return path;
  ASSIGN_OR_RETURN(const auto latest, FindLatestCheckpoint());
  if (latest) return *latest;
  logger->Info(
      absl::StrCat("Could not find trained model in model_dir: ", model_dir,
                   ", running initialization to ", to_do, "."));
  return std::string();
}

absl::StatusOr<summary::FileWriter*> Estimator::Impl::EvalWriter(
    const std::string& directory, const Scope& graph) {
  auto& writer = eval_writers_[directory];
  if (writer != nullptr) return writer.get();
  ASSIGN_OR_RETURN(auto made, summary::FileWriter::Create(
                                  files(), *scheduler.operator->(), directory));
  ASSIGN_OR_RETURN(const std::string graph_def, ExportGraphDef(graph.graph()));
  RETURN_IF_ERROR(made->AddGraph(graph_def));
  ASSIGN_OR_RETURN(const auto meta_graph, train::ExportMetaGraph(graph));
  RETURN_IF_ERROR(made->AddMetaGraph(meta_graph.Serialize()));
  writer = std::move(made);
  return writer.get();
}

train::SessionCreatorOptions Estimator::Impl::CreatorOptions() const {
  train::SessionCreatorOptions creator;
  creator.session_factory = options.session_factory;
  creator.scheduler = options.scheduler;
  creator.logger = options.logger;
  return creator;
}

train::MonitoredSessionOptions Estimator::Impl::SessionOptionsWith(
    train::HookList hooks) const {
  train::MonitoredSessionOptions session;
  session.hooks = std::move(hooks);
  session.scheduler = options.scheduler;
  session.logger = options.logger;
  return session;
}

Estimator::Estimator(ModelFn model_fn, EstimatorOptions options,
                     RunConfig config)
    : impl_(std::make_shared<Impl>(std::move(model_fn), std::move(options),
                                   std::move(config))) {}

const absl::Status& Estimator::status() const { return impl_->status; }
const std::string& Estimator::model_dir() const { return impl_->model_dir; }
const RunConfig& Estimator::config() const { return impl_->config; }

Estimator::Environment Estimator::environment() const {
  return {impl_->files(), *impl_->scheduler.operator->(), *impl_->logger};
}

std::string Estimator::eval_dir(const std::string& name) const {
  return JoinPath(impl_->model_dir,
                  name.empty() ? "eval" : absl::StrCat("eval_", name));
}

absl::StatusOr<std::optional<std::string>> Estimator::LatestCheckpoint() const {
  RETURN_IF_ERROR(impl_->status);
  return impl_->LatestCheckpoint();
}

absl::StatusOr<std::vector<std::string>> Estimator::GetVariableNames() const {
  RETURN_IF_ERROR(impl_->status);
  ASSIGN_OR_RETURN(auto reader, impl_->OpenLatestCheckpoint());
  ASSIGN_OR_RETURN(const auto tensors, reader->ListTensors());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

absl::StatusOr<Tensor> Estimator::GetVariableValue(
    const std::string& name) const {
  RETURN_IF_ERROR(impl_->status);
  ASSIGN_OR_RETURN(auto reader, impl_->OpenLatestCheckpoint());
  return reader->Read(name, HeapAllocator());
}

}  // namespace weft::estimator
