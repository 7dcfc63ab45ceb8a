// A parameter server dies in the middle of a training, and the training goes
// on: this program starts three of them as processes of their own, kills one
// without warning at --kill_at, starts it again, and trains to the end from the
// newest checkpoint.
//
//   recovery --dir=/tmp/model
//
// A lost task shows as UNAVAILABLE or ABORTED; a new session then finds the
// variables of the new process without values, and the checkpoint gives them
// theirs. (With --job_name the program is one of its parameter servers.)
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "examples/saved_training.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/command_line.h"
#include "libs/base/scheduler.h"
#include "libs/bus/zmq/free_port.h"

ABSL_FLAG(std::string, dir, "", "Where the checkpoints go");
ABSL_FLAG(int64_t, steps, 1000, "The global step at which to end");
ABSL_FLAG(int64_t, save_every, 100, "Steps from one checkpoint to the next");
ABSL_FLAG(int64_t, kill_at, 450, "After which step a parameter server dies");
ABSL_FLAG(std::string, cluster, "", "Of the parameter servers it starts");
ABSL_FLAG(std::string, job_name, "", "Of the parameter servers it starts");
ABSL_FLAG(int, task_index, 0, "Of the parameter servers it starts");

namespace weft::examples {
namespace {

constexpr int kParameterServers = 3;
constexpr int kVictim = 1;

// This program again, as a parameter server; it ends when this one does.
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

  // kill -9.
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

bool IsLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

// Tries again while the process that was started is not there yet.
absl::Status TrainUntilThere(SavedTraining& training,
                             const std::string& target) {
  const SystemClock clock;
  const std::unique_ptr<Scheduler> scheduler = NewThreadScheduler(clock);
  const absl::Time deadline = clock.Now() + absl::Minutes(1);
  while (true) {
    const absl::Status status = training.Train(target);
    const absl::Time now = clock.Now();
    if (!IsLoss(status) || now > deadline) return status;
    // Nobody sets it: this is a sleep.
    scheduler->NewEvent()->WaitUntil(now + absl::Milliseconds(100));
  }
}

absl::Status TrainThroughALoss() {
  ASSIGN_OR_RETURN(const ClusterSpec cluster, FreeCluster());
  ParameterServer servers[kParameterServers];
  for (int i = 0; i < kParameterServers; ++i) {
    RETURN_IF_ERROR(servers[i].Start(cluster, i));
  }
  ASSIGN_OR_RETURN(auto worker,
                   Server::Create(cluster, {.job_name = "worker"}));
  bool is_killed = false;
  SavedTraining training({.folder = absl::GetFlag(FLAGS_dir),
                          .steps = absl::GetFlag(FLAGS_steps),
                          .save_every = absl::GetFlag(FLAGS_save_every),
                          .after_step = [&](int64_t step) {
                            if (is_killed ||
                                step < absl::GetFlag(FLAGS_kill_at))
                              return;
                            is_killed = true;
                            servers[kVictim].Kill();
                            std::printf("killed ps:%d after step %lld\n",
                                        kVictim, static_cast<long long>(step));
                          }});
  absl::Status status = training.Train(worker->target());
  if (is_killed && IsLoss(status)) {
    std::printf("%s\n", std::string(status.message()).c_str());
    RETURN_IF_ERROR(servers[kVictim].Start(cluster, kVictim));
    std::printf("started ps:%d again\n", kVictim);
    std::fflush(stdout);
    status = TrainUntilThere(training, worker->target());
  }
  RETURN_IF_ERROR(status);
  return worker->Stop();
}

absl::Status Main() {
  if (!absl::GetFlag(FLAGS_job_name).empty()) return BeParameterServer();
  if (absl::GetFlag(FLAGS_dir).empty()) {
    return absl::InvalidArgumentError("--dir is missing");
  }
  if (absl::GetFlag(FLAGS_save_every) < 1) {
    return absl::InvalidArgumentError("--save_every is at least 1");
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
