#include "examples/fashion_mnist_replica.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/fashion_mnist_batches.h"
#include "examples/initialize_or_wait.h"
#include "examples/progress.h"

namespace weft::examples {
namespace {

// The graph that all replicas build alike but for the device of the worker.
struct Replica {
  Scope root = Scope::Root();
  std::string device;  // the worker's task
  Model model;
  ops::Variable global_step;
  ops::Variable num_finished;  // trainers that are done
  Operation finish;
  std::shared_ptr<train::Saver> saver;  // the chief's; null: nothing is saved
};

Replica BuildReplica(const ReplicaOptions& options) {
  Replica replica;
  const TfConfig& task = options.task;
  replica.device =
      absl::StrCat("/job:", task.job_name, "/task:", task.task_index);
  const Scope scope = replica.root.WithDeviceFunction(ReplicaDeviceSetter(
      {.worker_device = replica.device, .cluster = task.cluster}));
  ModelOptions model = options.model;
  model.global_step = train::GetOrCreateGlobalStep(scope);
  replica.global_step = model.global_step;
  replica.model = BuildModel(scope, model);
  replica.num_finished =
      ops::Variable(scope.WithName("num_finished"), Tensor::Scalar(int64_t{0}),
                    {.trainable = false});
  replica.finish = ops::AssignAdd(scope, replica.num_finished, 1);
  if (task.IsChief() && !options.checkpoints.empty()) {
    train::SaverOptions saver;
    saver.sharded = true;
    replica.saver = std::make_shared<train::Saver>(scope, std::move(saver));
  }
  return replica;
}

BatchOptions BatchOptionsOf(const ReplicaOptions& options) {
  const int index = options.task.trainer_index();
  return {.batch_size = options.batch_size,
          .seed = options.seed + static_cast<uint64_t>(index),
          .part = index,
          .parts = options.task.num_trainers()};
}

// Saves when `step` is in another multiple of save_every than `last`, and says
// where the first time.
absl::Status SaveFrom(Session& session, const Replica& replica,
                      const ReplicaOptions& options, int64_t step,
                      int64_t& last) {
  if (replica.saver == nullptr) return absl::OkStatus();
  const bool is_due = step / options.save_every > last / options.save_every;
  if (!is_due && step < options.steps) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::string path,
      replica.saver->Save(session, absl::StrCat(options.checkpoints, "/model"),
                          {.global_step = step}));
  if (last == 0 || step >= options.steps) {
    std::printf("\nsaved %s%s\n", path.c_str(),
                last == 0 ? absl::StrCat(", and so on every ",
                                         options.save_every, " steps")
                                .c_str()
                          : "");
    std::fflush(stdout);
  }
  last = step;
  return absl::OkStatus();
}

absl::Status TrainSteps(Process& process, Session& session,
                        const Replica& replica, const ReplicaOptions& options,
                        const ImageSet& training) {
  Batches batches(training, BatchOptionsOf(options));
  const Model& model = replica.model;
  ASSIGN_OR_RETURN(
      auto step,
      session.MakeCallable({model.images, model.labels},
                           {model.loss, replica.global_step}, {model.train}));
  Progress progress(process.clock(), stdout, options.steps, options.batch_size);
  int64_t own_steps = 0, common_step = 0, last_saved = 0;
  while (common_step < options.steps) {
    const ImageSet batch = batches.Next();
    ASSIGN_OR_RETURN(std::vector<Tensor> result,
                     step->Run({batch.images, batch.labels}));
    common_step = result[1].scalar<int64_t>();
    progress.CommonStep(++own_steps, common_step, result[0].scalar<float>());
    RETURN_IF_ERROR(
        SaveFrom(session, replica, options, common_step, last_saved));
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

// So that the chief has the last word. A trainer that died is not waited for
// longer than a minute.
absl::Status WaitForOthers(Session& session, const Replica& replica,
                           int num_others) {
  const absl::Status status = Poll(
      session, absl::Milliseconds(20), absl::Minutes(1),
      [&]() -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(Tensor finished, session.Run(replica.num_finished));
        return finished.scalar<int64_t>() >= num_others;
      });
  if (!absl::IsDeadlineExceeded(status)) return status;
  std::fprintf(stderr, "Not all workers have finished; going on.\n");
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
  // Replicas need the ps tasks and no other worker, so they wait for none.
  ASSIGN_OR_RETURN(
      auto session,
      Session::Connect(server.target(), replica.root,
                       {.device_filters = {"/job:ps", replica.device},
                        .process = &process}));
  const bool is_chief = options.task.IsChief();
  RETURN_IF_ERROR(InitializeOrWait(*session, replica.root, is_chief));
  RETURN_IF_ERROR(TrainSteps(process, *session, replica, options, training));
  float accuracy = 0;
  if (is_chief) {
    RETURN_IF_ERROR(
        WaitForOthers(*session, replica, options.task.num_trainers() - 1));
    ASSIGN_OR_RETURN(accuracy, Accuracy(*session, replica.model, test));
  } else {
    RETURN_IF_ERROR(session->Run(replica.finish));
  }
  RETURN_IF_ERROR(session->Close());
  return accuracy;
}

}  // namespace weft::examples
