// Trains a classifier of Fashion-MNIST. It runs in a session in this process
// or, if TF_CONFIG names a task of a cluster, as that task:
//
//   fashion_mnist
//   tools/local_cluster --ps=2 --workers=2 -- bazel-bin/examples/fashion_mnist
//   fashion_mnist --device=gpu    # computes on the first GPU
//   fashion_mnist --device=auto   # computes on a GPU if there is one
//
// The last line of the output is "test accuracy 0.8712". In a cluster, only the
// chief prints it.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "examples/fashion_mnist_batches.h"
#include "examples/fashion_mnist_data.h"
#include "examples/fashion_mnist_model.h"
#include "examples/fashion_mnist_replica.h"
#include "examples/progress.h"
#include "libs/api/training.h"
#include "libs/base/async/stop_signals.h"
#include "libs/base/command_line.h"
#include "libs/base/monotone_clock.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/fs/local_file_system.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/server/metrics_flag.h"

ABSL_FLAG(std::string, data_dir, "/usr/share/datasets/fashion-mnist",
          "Directory of the dataset-fashion-mnist package's files.");
ABSL_FLAG(int, epochs, 15, "How often each image is seen.");
ABSL_FLAG(int, batch_size, 64, "Images in a step.");
ABSL_FLAG(int, hidden, 128, "Units of the hidden layer.");
ABSL_FLAG(float, learning_rate, 0.05f, "Learning rate of gradient descent.");
ABSL_FLAG(uint64_t, seed, 1, "Seed of the weights and of the order of images.");
ABSL_FLAG(std::string, device, "cpu",
          "Where a trainer computes: cpu, gpu for the first that "
          "CUDA_VISIBLE_DEVICES shows, or auto for that where there is one. "
          "Parameter servers stay on their CPUs.");
ABSL_FLAG(std::string, checkpoints, "",
          "As a task of a cluster: the directory to save to; empty: "
          "fashion_mnist at the cluster's checkpoint writer, if it has one.");
ABSL_FLAG(
    double, save_secs, 3,
    "Seconds from one checkpoint to the next; --save_every overrides it.");
ABSL_FLAG(int64_t, save_every, 0,
          "Steps from one checkpoint to the next; 0: save by --save_secs.");
ABSL_FLAG(bool, insecure, false,
          "As a task of a cluster: listen beyond this machine although anyone "
          "who reaches the port may run graphs and read variables.");

namespace weft::examples {
namespace {

struct Data {
  ImageSet training, test;
};

absl::StatusOr<Data> ReadData() {
  LocalFileSystem files;
  const std::string directory = absl::GetFlag(FLAGS_data_dir);
  Data data;
  ASSIGN_OR_RETURN(data.training, ReadFashionMnist(files, directory, "train"));
  ASSIGN_OR_RETURN(data.test, ReadFashionMnist(files, directory, "t10k"));
  return data;
}

absl::Status CheckSaveFlags() {
  if (absl::GetFlag(FLAGS_save_every) < 0 ||
      !(absl::GetFlag(FLAGS_save_secs) > 0)) {
    return absl::InvalidArgumentError(
        "--save_every must be at least 0 and --save_secs more than 0.");
  }
  return absl::OkStatus();
}

absl::Status CheckFlags(const ImageSet& training) {
  const int batch_size = absl::GetFlag(FLAGS_batch_size);
  if (absl::GetFlag(FLAGS_epochs) < 1 || absl::GetFlag(FLAGS_hidden) < 1 ||
      batch_size < 1 || batch_size > training.labels.num_elements()) {
    return absl::InvalidArgumentError(
        "--epochs, --hidden and --batch_size must be at least 1, and "
        "--batch_size at most the number of training images.");
  }
  return CheckSaveFlags();
}

bool IsOnGpu() { return absl::GetFlag(FLAGS_device) == "gpu"; }

// Replaces "auto" in the flag by "cpu" or "gpu".
absl::Status ChooseDevice() {
  const std::string device = absl::GetFlag(FLAGS_device);
  if (device == "auto") {
    absl::SetFlag(&FLAGS_device, CudaDeviceCount().ok() ? "gpu" : "cpu");
  } else if (device != "cpu" && device != "gpu") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device is \"", device, "\"; there are cpu, gpu and auto."));
  }
  if (IsOnGpu()) std::printf("computes on a GPU\n");
  return absl::OkStatus();
}

ProcessOptions ProcessOptionsOfFlags() {
  ProcessOptions options;
  if (IsOnGpu()) options.gpu_platform = std::make_shared<CudaPlatform>();
  return options;
}

ModelOptions ModelOptionsOfFlags() {
  return {.hidden_units = absl::GetFlag(FLAGS_hidden),
          .learning_rate = absl::GetFlag(FLAGS_learning_rate),
          .seed = static_cast<int64_t>(absl::GetFlag(FLAGS_seed))};
}

absl::Status Train(Session& session, const Model& model,
                   const ImageSet& training) {
  const int batch_size = absl::GetFlag(FLAGS_batch_size);
  Batches batches(
      training, {.batch_size = batch_size, .seed = absl::GetFlag(FLAGS_seed)});
  ASSIGN_OR_RETURN(auto step,
                   session.MakeCallable({model.images, model.labels},
                                        {model.loss}, {model.train}));
  const int64_t num_steps =
      int64_t{absl::GetFlag(FLAGS_epochs)} * batches.batches_per_epoch();
  const MonotoneClock clock;
  Progress progress(clock, stdout, num_steps, batch_size);
  for (int64_t i = 1; i <= num_steps; ++i) {
    const ImageSet batch = batches.Next();
    ASSIGN_OR_RETURN(std::vector<Tensor> loss,
                     step->Run({batch.images, batch.labels}));
    progress.Step(batches.epoch(), i, loss[0].scalar<float>());
  }
  progress.Finish();
  std::printf("%lld steps in %.1f s: %.0f steps/s, %.0f examples/s\n",
              static_cast<long long>(num_steps),
              absl::ToDoubleSeconds(progress.elapsed()),
              progress.StepsPerSecond(num_steps),
              progress.StepsPerSecond(num_steps) * batch_size);
  return absl::OkStatus();
}

absl::StatusOr<float> TrainAlone(const Data& data) {
  const Scope root = Scope::Root().WithDevice(IsOnGpu() ? "/gpu:0" : "/cpu:0");
  const Model model = BuildModel(root, ModelOptionsOfFlags());
  Process process(ProcessOptionsOfFlags());
  SessionOptions options = {.process = &process};
  if (IsOnGpu()) options.device_count["GPU"] = 1;
  // Ops without a GPU kernel run on the CPU.
  options.allow_soft_placement = IsOnGpu();
  ASSIGN_OR_RETURN(auto session, Session::Connect("", root, options));
  RETURN_IF_ERROR(session->Run(ops::GlobalVariablesInitializer(root)));
  RETURN_IF_ERROR(Train(*session, model, data.training));
  return Accuracy(*session, model, data.test);
}

absl::Status TrainOnCluster(Process& process, const Server& server,
                            const TfConfig& task, const StopSignals& signals) {
  ASSIGN_OR_RETURN(const Data data, ReadData());
  RETURN_IF_ERROR(CheckFlags(data.training));
  const int batch_size = absl::GetFlag(FLAGS_batch_size);
  const int64_t steps_per_epoch =
      data.training.labels.num_elements() / batch_size;
  const ReplicaOptions options = {
      .task = task,
      .model = ModelOptionsOfFlags(),
      .batch_size = batch_size,
      .steps = absl::GetFlag(FLAGS_epochs) * steps_per_epoch,
      .seed = absl::GetFlag(FLAGS_seed),
      .on_gpu = IsOnGpu(),
      .checkpoints = absl::GetFlag(FLAGS_checkpoints).empty()
                         ? DefaultCheckpoints(task.cluster)
                         : absl::GetFlag(FLAGS_checkpoints),
      .save_secs = absl::GetFlag(FLAGS_save_secs),
      .save_every = absl::GetFlag(FLAGS_save_every),
      .stop_requested = [&signals] { return signals.HasCome(); }};
  RETURN_IF_ERROR(CheckReplica(options, data.training));
  ASSIGN_OR_RETURN(
      const float accuracy,
      TrainAsReplica(process, server, options, data.training, data.test));
  if (task.IsChief()) std::printf("test accuracy %.4f\n", accuracy);
  return absl::OkStatus();
}

// Runs a task of a cluster. `signals` is null if this task does not train.
absl::Status RunTask(const TfConfig& task, const StopSignals* signals) {
  Process process(task.IsTrainer() ? ProcessOptionsOfFlags()
                                   : ProcessOptions());
  ASSIGN_OR_RETURN(
      auto server,
      Server::Create(task.cluster, {.job_name = task.job_name,
                                    .task_index = task.task_index,
                                    .insecure = absl::GetFlag(FLAGS_insecure),
                                    .metrics_port = MetricsPortFromFlags(),
                                    .gpus = task.IsTrainer() && IsOnGpu(),
                                    .process = &process}));
  if (!task.IsTrainer()) return server->Join();
  RETURN_IF_ERROR(TrainOnCluster(process, *server, task, *signals));
  return server->Stop();
}

absl::Status Main() {
  ASSIGN_OR_RETURN(const auto task, TfConfig::FromEnvironment());
  // A task that trains on a cluster saves before it exits after a signal. The
  // object must be created before the GPU driver starts threads.
  std::optional<StopSignals> signals;
  if (task && task->IsTrainer()) signals.emplace();
  if (!task || task->IsTrainer()) RETURN_IF_ERROR(ChooseDevice());
  if (task) return RunTask(*task, signals ? &*signals : nullptr);
  ASSIGN_OR_RETURN(const Data data, ReadData());
  RETURN_IF_ERROR(CheckFlags(data.training));
  ASSIGN_OR_RETURN(const float accuracy, TrainAlone(data));
  std::printf("test accuracy %.4f\n", accuracy);
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(
      argc, argv,
      "Trains a classifier of Fashion-MNIST and prints its test accuracy.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
