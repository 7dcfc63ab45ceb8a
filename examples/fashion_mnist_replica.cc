#include "examples/fashion_mnist_replica.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "examples/fashion_mnist_batches.h"
#include "examples/progress.h"
#include "libs/checkpoint/checkpoint_state.h"

namespace weft::examples {
namespace {

// Interval in seconds between log lines with global_step/sec.
constexpr double kLogSecs = 1;

// The graph that each replica builds. Replicas differ only in the worker's
// device.
struct Replica {
  Scope root = Scope::Root();
  std::string device;  // device of the worker task
  Model model;
  ops::Variable global_step;
};

Replica BuildReplica(const ReplicaOptions& options) {
  Replica replica;
  const TfConfig& task = options.task;
  replica.device =
      absl::StrCat("/job:", task.job_name, "/task:", task.task_index);
  const Scope scope = replica.root.WithDeviceFunction(ReplicaDeviceSetter(
      {.worker_device =
           absl::StrCat(replica.device, options.on_gpu ? "/gpu:0" : "/cpu:0"),
       .cluster = task.cluster}));
  ModelOptions model = options.model;
  model.global_step = train::GetOrCreateGlobalStep(scope);
  replica.global_step = model.global_step;
  replica.model = BuildModel(scope, model);
  // Summaries of the batches that the chief trains on, for TensorBoard.
  ops::ScalarSummary(scope, "loss", replica.model.loss);
  ops::ScalarSummary(scope, "accuracy", replica.model.accuracy);
  return replica;
}

// Returns the step of the newest checkpoint, such as "FOLDER/model.ckpt-7", or
// nullopt if there is no checkpoint.
std::optional<int64_t> SavedStep(Session& session, const std::string& folder) {
  FileSystem* const files = session.file_system();
  if (folder.empty() || files == nullptr) return std::nullopt;
  const auto newest = checkpoint::LatestCheckpoint(*files, folder);
  int64_t step = 0;
  if (!newest.ok() || !newest->has_value() ||
      !absl::SimpleAtoi((*newest)->substr((*newest)->rfind('-') + 1), &step)) {
    return std::nullopt;
  }
  return step;
}

// A hook that ends training at the next multiple of `steps` after the restored
// checkpoint. This is the same step for all replicas, whenever they start.
// Without checkpoints, the multiple follows the first step of the session.
class StopAtMultiple : public train::SessionRunHook {
 public:
  StopAtMultiple(ops::Variable global_step, int64_t steps, std::string folder)
      : global_step_(std::move(global_step)),
        steps_(steps),
        folder_(std::move(folder)) {}

  // Sets the last step. If the other replicas are already beyond it when a
  // replica restarts, this replica ends, too, and does not start a second
  // training.
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator&) override {
    // If this session replaces a lost one, the last step does not change.
    if (last_step_ > 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor step, session.Run(global_step_));
    const auto now = step.scalar<int64_t>();
    const int64_t begin = SavedStep(session, folder_).value_or(now);
    last_step_ = (std::min(begin, now) / steps_ + 1) * steps_;
    return absl::OkStatus();
  }
  absl::StatusOr<train::SessionRunArgs> BeforeRun(
      train::SessionRunContext&) override {
    return train::SessionRunArgs{.fetches = {global_step_}};
  }
  absl::Status AfterRun(train::SessionRunContext& context,
                        const train::SessionRunValues& values) override {
    if (values.results[0].scalar<int64_t>() >= last_step_) {
      context.RequestStop();
    }
    return absl::OkStatus();
  }
  int64_t last_step() const { return last_step_; }

 private:
  const ops::Variable global_step_;
  const int64_t steps_;
  const std::string folder_;  // checkpoint directory; empty: no checkpoints
  int64_t last_step_ = 0;
};

BatchOptions BatchOptionsOf(const ReplicaOptions& options) {
  const int index = options.task.trainer_index();
  return {.batch_size = options.batch_size,
          .seed = options.seed + static_cast<uint64_t>(index),
          .part = index,
          .parts = options.task.num_trainers()};
}

// Configures when the chief saves and logs.
void SetIntervals(const ReplicaOptions& options,
                  train::MonitoredTrainingSessionOptions& session) {
  if (options.save_every > 0) {
    session.save_checkpoint_steps = options.save_every;
  } else {
    session.save_checkpoint_secs = options.save_secs;
  }
  session.log_step_count_secs = kLogSecs;
}

absl::Status TrainSteps(Process& process, train::MonitoredSession& session,
                        const Replica& replica, const ReplicaOptions& options,
                        int64_t last_step, const ImageSet& training) {
  Batches batches(training, BatchOptionsOf(options));
  const Model& model = replica.model;
  Progress progress(process.clock(), stdout, last_step, options.batch_size);
  int64_t own_steps = 0, common_step = 0;
  while (!session.ShouldStop()) {
    const ImageSet batch = batches.Next();
    ASSIGN_OR_RETURN(
        const std::vector<Tensor> result,
        session.Run(
            {{model.images, batch.images}, {model.labels, batch.labels}},
            {model.loss, replica.global_step}, {model.train}));
    common_step = result[1].scalar<int64_t>();
    progress.CommonStep(++own_steps, common_step, result[0].scalar<float>());
  }
  progress.Finish();
  std::printf(
      "%lld of the %lld steps in %.1f s: %.0f steps/s, %.0f "
      "examples/s here\n",
      static_cast<long long>(own_steps), static_cast<long long>(common_step),
      absl::ToDoubleSeconds(progress.elapsed()),
      progress.StepsPerSecond(own_steps),
      progress.StepsPerSecond(own_steps) * options.batch_size);
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace

std::string DefaultCheckpoints(const ClusterSpec& cluster) {
  const auto writer = cluster.TaskAddress("checkpoint_writer", 0);
  if (!writer.ok()) return "";
  return absl::StrCat("zmq://", *writer, "/fashion_mnist");
}

absl::Status CheckReplica(const ReplicaOptions& options,
                          const ImageSet& training) {
  if (options.task.cluster.num_tasks("ps") == 0) {
    return absl::InvalidArgumentError(
        "The cluster of TF_CONFIG has no job \"ps\", so the workers would "
        "share nothing.");
  }
  const int64_t part =
      training.labels.num_elements() / options.task.num_trainers();
  if (options.batch_size <= part) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--batch_size is ", options.batch_size, ", but each of ",
      options.task.num_trainers(), " workers has only ", part, " images."));
}

absl::StatusOr<float> TrainAsReplica(Process& process, const Server& server,
                                     const ReplicaOptions& options,
                                     const ImageSet& training,
                                     const ImageSet& test) {
  const Replica replica = BuildReplica(options);
  const auto stop = std::make_shared<StopAtMultiple>(
      replica.global_step, options.steps, options.checkpoints);
  const bool is_chief = options.task.IsChief();
  const auto accuracy = std::make_shared<train::FinalOpsHook>(
      train::SessionRunArgs{.fetches = {replica.model.accuracy},
                            .feeds = {{replica.model.images, test.images},
                                      {replica.model.labels, test.labels}}});
  // Replicas need only the ps tasks, so they do not wait for other workers.
  train::MonitoredTrainingSessionOptions session_options = {
      .master = server.target(),
      .is_chief = is_chief,
      .checkpoint_dir = options.checkpoints,
      .hooks = {stop},
      .chief_only_hooks = {accuracy},
      .config = {.allow_soft_placement = options.on_gpu,
                 .device_filters = {"/job:ps", replica.device},
                 .process = &process},
      .stop_requested = options.stop_requested};
  SetIntervals(options, session_options);
  ASSIGN_OR_RETURN(auto session, train::MonitoredTrainingSession(
                                     replica.root, std::move(session_options)));
  RETURN_IF_ERROR(TrainSteps(process, *session, replica, options,
                             stop->last_step(), training));
  RETURN_IF_ERROR(session->Close());
  if (!is_chief) return 0.0f;
  if (!options.checkpoints.empty()) {
    std::printf("saved to %s: a restart continues from there\n",
                options.checkpoints.c_str());
  }
  return accuracy->final_ops_values()[0].scalar<float>();
}

}  // namespace weft::examples
