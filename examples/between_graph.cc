// Between-graph replication: this program is started once for each task of the
// cluster. Parameter servers just join; each worker builds the same graph and
// runs its steps.
//
//   CLUSTER='{"ps": ["localhost:2222"], "worker": ["localhost:2223",
//            "localhost:2224"]}'
//   between_graph --cluster="$CLUSTER" --job_name=ps &
//   between_graph --cluster="$CLUSTER" --job_name=worker --task_index=0 &
//   between_graph --cluster="$CLUSTER" --job_name=worker --task_index=1
//
// Without --cluster, TF_CONFIG names the task. A worker ends when all workers
// together have taken --steps steps, and prints the line that they have fitted
// to points of y = 2 x - 1. If all tasks get --sync, each step combines one
// gradient from each worker.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/server/metrics_flag.h"

ABSL_FLAG(std::string, cluster, "",
          "The tasks of the cluster, as JSON: {\"ps\": [\"host:port\"], "
          "\"worker\": [\"host:port\"]}; else TF_CONFIG says it");
ABSL_FLAG(std::string, job_name, "worker", "The job this task belongs to");
ABSL_FLAG(int, task_index, 0, "Which task of the job this is");
ABSL_FLAG(int64_t, steps, 500, "Steps of all workers together");
ABSL_FLAG(bool, sync, false,
          "One gradient of each worker makes one update together; else each "
          "worker makes its own");
ABSL_FLAG(bool, insecure, false,
          "Listen beyond this machine although anyone who reaches the port may "
          "run graphs and read variables");

namespace weft::examples {
namespace {

absl::StatusOr<TfConfig> ThisTask() {
  const std::string cluster = absl::GetFlag(FLAGS_cluster);
  if (!cluster.empty()) {
    ASSIGN_OR_RETURN(ClusterSpec spec, ClusterSpec::Parse(cluster));
    return TfConfig{std::move(spec), absl::GetFlag(FLAGS_job_name),
                    absl::GetFlag(FLAGS_task_index)};
  }
  ASSIGN_OR_RETURN(auto config, TfConfig::FromEnvironment());
  if (config) return *std::move(config);
  return absl::InvalidArgumentError(
      "No task is given: use --cluster, --job_name and --task_index, or set "
      "TF_CONFIG.");
}

struct Model {
  ops::Variable slope, offset, global_step;
  Operation train;
  train::HookList hooks;  // must be passed to the training session
};

// Builds a linear model and its training data, points of y = 2 x - 1.
Model BuildModel(const Scope& scope, const TfConfig& task) {
  Model model;
  model.slope = ops::Variable(scope.WithName("slope"), 0.0f);
  model.offset = ops::Variable(scope.WithName("offset"), 0.0f);
  model.global_step = train::GetOrCreateGlobalStep(scope);
  auto x = ops::Const(scope, {0.0f, 1.0f, 2.0f, 3.0f, 4.0f});
  auto y = ops::Const(scope, {-1.0f, 1.0f, 3.0f, 5.0f, 7.0f});
  auto predicted =
      ops::Add(scope, ops::Mul(scope, model.slope, x), model.offset);
  auto error = ops::Square(scope, ops::Sub(scope, predicted, y));
  auto loss = ops::Mean(scope, error, 0);
  train::GradientDescent optimizer(0.05f);
  if (!absl::GetFlag(FLAGS_sync)) {
    model.train =
        optimizer.Minimize(scope, loss, {.global_step = model.global_step});
    return model;
  }
  // Each worker needs a replica number. Otherwise a fast worker could
  // contribute all gradients of an update.
  train::SyncReplicasOptimizer sync(
      optimizer, {.replicas_to_aggregate = task.num_trainers(),
                  .replica_index = task.trainer_index()});
  model.train = sync.Minimize(scope, loss, {.global_step = model.global_step});
  model.hooks = {sync.MakeSessionRunHook(task.IsChief())};
  return model;
}

absl::Status Work(const TfConfig& task, const Server& server) {
  const std::string device =
      absl::StrCat("/job:", task.job_name, "/task:", task.task_index);
  Scope root = Scope::Root();
  const Model model =
      BuildModel(root.WithDeviceFunction(ReplicaDeviceSetter(
                     {.worker_device = device, .cluster = task.cluster})),
                 task);
  auto line = std::make_shared<train::FinalOpsHook>(train::SessionRunArgs{
      .fetches = {model.slope, model.offset, model.global_step}});
  train::HookList hooks = model.hooks;
  hooks.push_back(train::StopAtStep(absl::GetFlag(FLAGS_steps)));
  hooks.push_back(line);
  // The chief initializes the variables, and other workers wait for it. This
  // worker does not need the other workers, so it does not wait for them to
  // start.
  ASSIGN_OR_RETURN(auto session,
                   train::MonitoredTrainingSession(
                       root, {.master = server.target(),
                              .is_chief = task.IsChief(),
                              .hooks = hooks,
                              .config = {.device_filters = {"/job:ps", device}},
                              // `weft shutdown` requests the server to stop.
                              .stop_requested = [&] {
                                return server.is_stop_requested();
                              }}));
  int64_t mine = 0;
  for (; !session->ShouldStop(); ++mine) {
    RETURN_IF_ERROR(session->Run(model.train));
  }
  RETURN_IF_ERROR(session->Close());
  const std::vector<Tensor>& values = line->final_ops_values();
  std::printf("y = %.2f x %+.2f after %lld steps, %lld of them here\n",
              values[0].scalar<float>(), values[1].scalar<float>(),
              static_cast<long long>(values[2].scalar<int64_t>()),
              static_cast<long long>(mine));
  return absl::OkStatus();
}

absl::Status Main() {
  ASSIGN_OR_RETURN(const TfConfig task, ThisTask());
  ASSIGN_OR_RETURN(
      auto server,
      Server::Create(task.cluster, {.job_name = task.job_name,
                                    .task_index = task.task_index,
                                    .insecure = absl::GetFlag(FLAGS_insecure),
                                    .metrics_port = MetricsPortFromFlags()}));
  if (!task.IsTrainer()) return server->Join();
  if (task.cluster.num_tasks("ps") == 0) {
    return absl::InvalidArgumentError(
        "The cluster has no job \"ps\", so the workers would share nothing.");
  }
  RETURN_IF_ERROR(Work(task, *server));
  return server->Stop();
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "One task of a between-graph replicated model.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
