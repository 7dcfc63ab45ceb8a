// Recovers from the loss of a parameter server. This program starts three
// parameter servers as separate processes, kills one of them without warning at
// step --kill_at, restarts it, and trains to the end from the newest
// checkpoint.
//
//   recovery --dir=/tmp/model
//
// The training loop contains no recovery code: a MonitoredTrainingSession
// replaces a lost session and restores the variables. If the program is started
// again, it continues from the last checkpoint. (With --job_name the program
// runs as one of its parameter servers.)
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "libs/api/weft.h"
#include "libs/base/command_line.h"
#include "libs/base/monotone_clock.h"
#include "libs/bus/zmq/free_port.h"

ABSL_FLAG(std::string, dir, "", "Where the checkpoints go");
ABSL_FLAG(int64_t, steps, 1000, "The global step at which to end");
ABSL_FLAG(int64_t, save_every, 100, "Steps from one checkpoint to the next");
ABSL_FLAG(int64_t, kill_at, 450,
          "Step after which a parameter server is killed");
ABSL_FLAG(std::string, cluster, "", "Of the parameter servers it starts");
ABSL_FLAG(std::string, job_name, "", "Of the parameter servers it starts");
ABSL_FLAG(int, task_index, 0, "Of the parameter servers it starts");

namespace weft::examples {
namespace {

constexpr int kParameterServers = 3;
constexpr int kVictim = 1;

// Runs this program as a parameter server, which ends with this process.
class ParameterServer {
 public:
  ParameterServer() = default;
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;
  ~ParameterServer() { Kill(); }

  absl::Status Start(const ClusterSpec& cluster, int task_index) {
    std::vector<std::string> arguments = {
        "recovery", "--job_name=ps", absl::StrCat("--task_index=", task_index),
        absl::StrCat("--cluster=", cluster.ToString())};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int failure = posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr,
                                    argv.data(), environ);
    if (failure == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(failure, "a parameter server did not start");
  }

  // Kills the server like `kill -9`.
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

absl::Status BeParameterServer() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ASSIGN_OR_RETURN(ClusterSpec cluster,
                   ClusterSpec::Parse(absl::GetFlag(FLAGS_cluster)));
  ASSIGN_OR_RETURN(
      auto server,
      Server::Create(cluster, {.job_name = absl::GetFlag(FLAGS_job_name),
                               .task_index = absl::GetFlag(FLAGS_task_index)}));
  return server->Join();
}

absl::StatusOr<ClusterSpec> FreeCluster() {
  ClusterSpec cluster;
  for (int i = 0; i <= kParameterServers; ++i) {
    ASSIGN_OR_RETURN(const uint16_t port, bus::FreePort());
    const bool is_ps = i < kParameterServers;
    RETURN_IF_ERROR(cluster.AddTask(is_ps ? "ps" : "worker", is_ps ? i : 0,
                                    absl::StrCat("localhost:", port)));
  }
  return cluster;
}

struct Model {
  Scope root = Scope::Root();
  Output step;  // the global step after the training step
  Operation train;
};

// Builds a model with 784 weights and a bias for each of 100 outputs. All
// labels are 1. The variables are on all three parameter servers.
Model BuildModel() {
  Model model;
  const Scope scope = model.root.WithDeviceFunction(
      ReplicaDeviceSetter({.ps_tasks = kParameterServers}));
  const ops::Variable global_step = train::GetOrCreateGlobalStep(scope);
  const ops::Variable weights = ops::GetVariable(scope, "weights", {784, 100});
  const ops::Variable biases = ops::GetVariable(scope, "biases", {100});
  const Output x =
      ops::RandomUniform(scope, ops::Const(scope, {16, 784}), DT_FLOAT);
  const Output y = ops::Add(scope, ops::MatMul(scope, x, weights), biases);
  const Output loss =
      ops::Mean(scope, ops::Square(scope, ops::Sub(scope, y, 1.0f)),
                ops::Const(scope, {0, 1}));
  model.train = train::GradientDescent(1e-2f).Minimize(
      scope, loss, {.global_step = global_step});
  model.step = global_step.Read(scope.WithControlDependencies({model.train}));
  return model;
}

// Kills the server like `kill -9` and starts a new process, which has no
// variables.
absl::Status ReplaceVictim(const ClusterSpec& cluster, ParameterServer& victim,
                           int64_t step) {
  victim.Kill();
  std::printf("killed ps:%d after step %lld\n", kVictim,
              static_cast<long long>(step));
  RETURN_IF_ERROR(victim.Start(cluster, kVictim));
  std::printf("started ps:%d again\n", kVictim);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status TrainThroughALoss() {
  ASSIGN_OR_RETURN(const ClusterSpec cluster, FreeCluster());
  ParameterServer servers[kParameterServers];
  for (int i = 0; i < kParameterServers; ++i) {
    RETURN_IF_ERROR(servers[i].Start(cluster, i));
  }
  ASSIGN_OR_RETURN(auto worker,
                   Server::Create(cluster, {.job_name = "worker"}));
  const Model model = BuildModel();
  ASSIGN_OR_RETURN(
      auto session,
      train::MonitoredTrainingSession(
          model.root,
          {.master = worker->target(),
           .checkpoint_dir = absl::GetFlag(FLAGS_dir),
           .hooks = {train::StopAtStep(absl::GetFlag(FLAGS_steps))},
           .save_checkpoint_steps = absl::GetFlag(FLAGS_save_every)}));
  const MonotoneClock clock;
  std::optional<absl::Time> started_again;
  for (bool is_on = false; !session->ShouldStop();) {
    ASSIGN_OR_RETURN(const Tensor value, session->Run(model.step));
    const auto step = value.scalar<int64_t>();
    if (started_again.has_value() && !is_on) {
      is_on = true;
      std::printf("on at step %lld after %.2f s (goal: 2)\n",
                  static_cast<long long>(step),
                  absl::ToDoubleSeconds(clock.Now() - *started_again));
    }
    if (step == absl::GetFlag(FLAGS_kill_at) && !started_again.has_value()) {
      RETURN_IF_ERROR(ReplaceVictim(cluster, servers[kVictim], step));
      started_again = clock.Now();
    }
  }
  RETURN_IF_ERROR(session->Close());
  return worker->Stop();
}

absl::Status Main() {
  if (!absl::GetFlag(FLAGS_job_name).empty()) return BeParameterServer();
  if (absl::GetFlag(FLAGS_dir).empty()) {
    return absl::InvalidArgumentError("--dir must be given");
  }
  if (absl::GetFlag(FLAGS_save_every) < 1) {
    return absl::InvalidArgumentError("--save_every must be at least 1");
  }
  return TrainThroughALoss();
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  weft::ParseFlags(argc, argv, "A training that outlives a parameter server.");
  const absl::Status status = weft::examples::Main();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
