// recovery measures how long a training takes to recover from the loss of a ps.
// It runs 2 ps and a worker with the settings of the local cluster, each as a
// separate process, and a program that trains. One ps is killed with kill -9
// and restarted, and later suspended and resumed. The metrics are the time
// until a step of the program fails, and the time until it trains again. There
// are no checkpoints, so the variables of the ps are reinitialized.
#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/child_process.h"
#include "benchmarks/common/loopback_cluster.h"
#include "benchmarks/common/report.h"
#include "benchmarks/common/service_processes.h"
#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/command_line.h"
#include "libs/base/scheduler/scheduler.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, victim, 1, "Which ps; 0 has the global step.");
ABSL_FLAG(double, delay, 1.0, "Seconds from kill to restart.");
ABSL_FLAG(int, kill_at, 535, "Global step.");
ABSL_FLAG(std::string, client_of, "", "Be the client of this target.");

namespace weft::benchmarks {
namespace {

// The timeout that tools/local_cluster sets.
constexpr absl::Duration kPeerTimeout = absl::Milliseconds(2500);

// A client that trains until it is killed, and continues after each failure.
class Trainer {
 public:
  explicit Trainer(std::string target) : target_(std::move(target)) {
    InputList squares;
    step_ = train::GetOrCreateGlobalStep(root_.WithDevice("/job:ps/task:0"));
    for (int i = 0; i < 4; ++i) {
      const Scope ps = root_.WithDevice(absl::StrCat("/job:ps/task:", i % 2));
      ops::Variable w(ps.WithName(absl::StrCat("w", i)),
                      ops::Fill(ps, {256, 256}, 0.5f));
      squares.push_back(ops::Sum(root_, ops::Square(root_, w), {0, 1}));
    }
    train_ = train::GradientDescent(1e-3f).Minimize(
        root_, ops::AddN(root_, squares), {.global_step = step_});
    Check(root_.status());
  }

  // Trains. Prints lines "generation step time" regularly, and "error time
  // text" after failures.
  [[noreturn]] void Run() {
    Restore();
    for (int i = 0;; ++i) {
      auto at = session_->Run({}, {step_}, {train_});
      if (!at.ok()) {
        Fail(at.status());
        Restore();
        i = 0;
      } else if (i % 10 == 0) {
        std::printf("%d %d %.9f\n", generation_,
                    static_cast<int>((*at)[0].scalar<int64_t>()), Now());
        std::fflush(stdout);
      }
    }
  }

 private:
  void Fail(const absl::Status& status) {
    std::printf("error %.9f %s\n", Now(), status.ToString().c_str());
    std::fflush(stdout);
  }

  // Creates a session and initializes all variables.
  void Restore() {
    ++generation_;
    absl::Status status;
    do {
      auto session =
          Session::Connect(target_, root_, {.peer_timeout = kPeerTimeout});
      status = session.status();
      if (!status.ok()) continue;
      session_ = *std::move(session);
      status = session_->Run(ops::GlobalVariablesInitializer(root_));
    } while (!status.ok());
  }

  const std::string target_;
  Scope root_ = Scope::Root();
  ops::Variable step_;
  Operation train_;
  std::unique_ptr<Session> session_;
  int generation_ = 0;
};

class Cluster {
 public:
  Cluster() : spec_(LoopbackCluster({{"ps", 2}, {"worker", 1}})) {
    for (int i = 0; i < 2; ++i) ps_.push_back(Start("ps", i));
    worker_ = Start("worker", 0);
    for (auto& ps : ps_) WaitUntilListening(*ps);
    WaitUntilListening(*worker_);
  }

  std::string target() const { return TargetOf(spec_, "worker", 0); }
  void Kill(int ps, int signal) { ::kill(ps_[ps]->pid(), signal); }
  // Starts ps task `ps` again. REQUIRES: the task was killed.
  void Restart(int ps) {
    ps_[ps].reset();
    ps_[ps] = Start("ps", ps);
    WaitUntilListening(*ps_[ps]);
  }

 private:
  std::unique_ptr<ChildProcess> Start(const std::string& job, int index) {
    return std::make_unique<ChildProcess>(std::vector<std::string>{
        ServiceProgram(job), absl::StrCat("--cluster=", spec_.ToString()),
        absl::StrCat("--task_index=", index), "--drain=0",
        absl::StrCat("--peer_timeout=", absl::FormatDuration(kPeerTimeout))});
  }
  static void WaitUntilListening(ChildProcess& process) {
    process.lines().ReadUntil("Started server with target");
  }

  const ClusterSpec spec_;
  std::vector<std::unique_ptr<ChildProcess>> ps_;
  std::unique_ptr<ChildProcess> worker_;
};

// The latest report of the trainer.
struct Progress {
  int generation = 0;
  int step = 0;
  double when = 0;
};

Progress ReadProgress(Lines& lines) {
  Progress progress;
  std::string line;
  do {
    line = lines.Read();
  } while (std::sscanf(line.c_str(), "%d %d %lf", &progress.generation,
                       &progress.step, &progress.when) != 3);
  return progress;
}

// Reads lines until a failure names the task. Returns the time of the failure.
double ReadError(Lines& lines, const std::string& task) {
  while (true) {
    const std::string line = lines.Read();
    double when = 0;
    if (std::sscanf(line.c_str(), "error %lf", &when) != 1) continue;
    if (!absl::StrContains(line, task)) Check(absl::InternalError(line));
    return when;
  }
}

Progress ReadUntilGeneration(Lines& lines, int generation) {
  Progress progress;
  do {
    progress = ReadProgress(lines);
  } while (progress.generation < generation);
  return progress;
}

void Sleep(double seconds) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.compute_threads = 1});
  // Sleeps, because the event is never set.
  scheduler->NewEvent()->WaitUntil(clock.Now() + absl::Seconds(seconds));
}

void Main() {
  Report report("recovery");
  const int victim = absl::GetFlag(FLAGS_victim);
  report.Param("victim", victim);
  report.Param("delay", absl::GetFlag(FLAGS_delay));
  report.Param("kill_at", absl::GetFlag(FLAGS_kill_at));
  const std::string task = absl::StrCat("/job:ps/replica:0/task:", victim);
  Cluster cluster;
  ChildProcess trainer(
      {"/proc/self/exe", absl::StrCat("--client_of=", cluster.target())});
  Lines& lines = trainer.lines();
  Progress at;
  while (at.step < absl::GetFlag(FLAGS_kill_at)) at = ReadProgress(lines);

  const double killed = Now();
  cluster.Kill(victim, SIGKILL);
  report.Value("kill_to_error", ReadError(lines, task) - killed, "s", "<= 1");
  Sleep(killed + absl::GetFlag(FLAGS_delay) - Now());
  const double restarted = Now();
  cluster.Restart(victim);
  const double listening = Now();
  at = ReadUntilGeneration(lines, 2);
  report.Value("kill_to_first_step", at.when - killed, "s");
  report.Value("restart_to_listening", listening - restarted, "s");
  report.Value("listening_to_first_step", at.when - listening, "s");

  for (int i = 0; i < 5; ++i) at = ReadProgress(lines);
  const double stopped = Now();
  cluster.Kill(victim, SIGSTOP);
  report.Value("stop_to_error", ReadError(lines, task) - stopped, "s", "<= 3");
  const double resumed = Now();
  cluster.Kill(victim, SIGCONT);
  at = ReadUntilGeneration(lines, 3);
  report.Value("resume_to_first_step", at.when - resumed, "s");
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(
      argc, argv,
      "From the death of a ps to the error, and to training again.");
  const std::string target = absl::GetFlag(FLAGS_client_of);
  if (target.empty()) {
    weft::benchmarks::Main();
  } else {
    weft::benchmarks::Trainer(target).Run();
  }
}
