#include "integration_tests/testing/training_simulation.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/trainer.h"
#include "integration_tests/testing/training_program.h"
#include "libs/base/clock.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {
namespace {

constexpr absl::Duration kLease = absl::Seconds(10);
// Time to recover after the last fault.
constexpr absl::Duration kRecovery = absl::Minutes(3);
// Time that clients get to end if they have not recovered from faults.
constexpr absl::Duration kGivingUp = absl::Minutes(30);
// Each connection has a control channel and a bulk channel.
constexpr int kChannelsPerConnection = 2;

TestCluster::Options ClusterOptions(const TrainingSimulationOptions& options) {
  TestCluster::Options cluster = {
      .kind = ClusterKind::kSimulated,
      .jobs = {{"coordinator", 1},
               {"ps", kNumServers},
               {"worker", kNumTrainers}},
      .seed = options.seed,
      .pools = SmallPools(options.seed),
      .fake_gpus = options.on_gpus ? 1 : 0,
      .lease = kLease,
      .placement_timeout = absl::Seconds(15),
      .heartbeat_interval = absl::Seconds(1),
      .heartbeat_timeout = absl::Seconds(5),
      .log_waits_after = ServerOptions().log_waits_after};
  // The quotas are many times what two clients need, so that only leaks exhaust
  // them.
  cluster.quotas.max_unclaimed_bytes_per_session = 32 << 10;
  cluster.quotas.max_fed_bytes_per_session = 4 << 10;
  cluster.transport.max_held_bytes_per_peer = 256 << 10;
  cluster.transport.max_requests_per_peer = 100;
  if (options.seed % 2 == 0) {
    // The weights are sent in chunks, one at a time.
    cluster.transport.inline_bytes = kNumWeights * sizeof(float);
    cluster.transport.medium_bytes = 0;
    cluster.transport.chunk_bytes = cluster.transport.inline_bytes / 4;
    cluster.transport.credit_bytes = cluster.transport.chunk_bytes;
  }
  if (options.plant) options.plant(cluster);
  return cluster;
}

class TrainingSimulation {
 public:
  explicit TrainingSimulation(const TrainingSimulationOptions& options)
      : seed_(options.seed),
        cluster_(ClusterOptions(options)),
        faults_(cluster_, options.seed * 7919 + 1) {
    for (int i = 0; i < kNumTrainers; ++i) {
      trainers_.push_back(std::make_unique<Trainer>(
          TrainerOptions{.cluster = &cluster_,
                         .tokens = &tokens_,
                         .index = i,
                         .seed = seed_ * 7919 + 2 + i,
                         .on_gpus = options.on_gpus,
                         .life_of = [this](const std::string& task) {
                           return faults_.life_of(task);
                         }}));
      faults_.AddClient(*trainers_.back());
    }
  }

  TrainingSimulationResult Run() {
    for (auto& trainer : trainers_) trainer->Start();
    faults_.InjectFaults();
    for (auto& trainer : trainers_) trainer->CalmDown();
    if (Reach(Trainer::Rest::kTrained)) {
      CheckAtRest();
      CheckReleasing();
    }
    for (auto& trainer : trainers_) trainer->GiveUp();
    End();
    Collect();
    return std::move(result_);
  }

 private:
  bool Reach(Trainer::Rest rest) {
    const absl::Time deadline = Now() + kRecovery;
    while (!AreAll(rest) && Now() < deadline) {
      cluster_.scheduler().AdvanceBy(absl::Seconds(1));
    }
    if (AreAll(rest)) return true;
    Violate("the training does not end");
    return false;
  }

  bool AreAll(Trainer::Rest rest) const {
    for (const auto& trainer : trainers_) {
      if (trainer->rest() != rest) return false;
    }
    return true;
  }

  void Resume() {
    for (auto& trainer : trainers_) {
      if (trainer->rest() != Trainer::Rest::kNone) trainer->Resume();
    }
  }

  // Checks that the tasks have only the sessions of the two clients.
  void CheckAtRest() {
    // All effects of earlier faults end within this time.
    cluster_.scheduler().AdvanceBy(2 * kLease);
    CheckNoSteps();
    for (int p = 0; p < kNumServers; ++p) CheckSessions("ps", p, kNumTrainers);
    for (int i = 0; i < kNumTrainers; ++i) CheckSessions("worker", i, 1);
  }

  void CheckReleasing() {
    const int before = NumRegistrations();
    Resume();
    if (!Reach(Trainer::Rest::kReleased)) return;
    cluster_.scheduler().AdvanceBy(absl::Seconds(5));
    const int after = NumRegistrations();
    if (after == before) return;
    Violate(absl::StrCat(after - before,
                         " registrations of released callables are left"));
  }

  void End() {
    const absl::Time deadline = Now() + kGivingUp;
    while (!AreAll(Trainer::Rest::kEnded)) {
      if (Now() > deadline) Abort();
      Resume();
      cluster_.scheduler().AdvanceBy(absl::Seconds(1));
    }
    cluster_.scheduler().AdvanceBy(3 * kLease);
    CheckNoSteps();
    for (int p = 0; p < kNumServers; ++p) CheckForgotten("ps", p);
    for (int i = 0; i < kNumTrainers; ++i) CheckForgotten("worker", i);
    CheckCoordinator();
    CheckConnections();
  }

  // Ends this process, because a client that never returns cannot be destroyed.
  [[noreturn]] void Abort() {
    std::fprintf(stderr, "Seed %llu hangs\n",
                 static_cast<unsigned long long>(seed_));
    std::abort();
  }

  void CheckNoSteps() {
    for (const auto& [job, tasks] : cluster_.spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        const auto runtime = cluster_.runtime(job, index);
        if (runtime == nullptr) continue;
        const StepTable::Size size = runtime->steps();
        if (size.running + size.waiting + size.aborted + size.waiting_bytes ==
            0) {
          continue;
        }
        Violate(absl::StrCat(TaskName(job, index), " still has ", size.running,
                             " steps that run, ", size.waiting,
                             " that wait, with ", size.waiting_bytes,
                             " bytes, and remembers ", size.aborted,
                             " aborts"));
      }
    }
  }

  void CheckSessions(const std::string& job, int index, int expected) {
    const int sessions = cluster_.runtime(job, index)->num_sessions();
    if (sessions == expected) return;
    Violate(absl::StrCat(TaskName(job, index), " has ", sessions,
                         " sessions instead of ", expected));
  }

  void CheckForgotten(const std::string& job, int index) {
    CheckSessions(job, index, 0);
    const auto runtime = cluster_.runtime(job, index);
    if (runtime->num_registrations() + runtime->steps().masters == 0) return;
    Violate(absl::StrCat(TaskName(job, index), " still has ",
                         runtime->num_registrations(), " registrations and ",
                         runtime->steps().masters, " masters"));
  }

  int NumRegistrations() {
    int count = 0;
    for (int p = 0; p < kNumServers; ++p) {
      count += cluster_.runtime("ps", p)->num_registrations();
    }
    for (int i = 0; i < kNumTrainers; ++i) {
      count += cluster_.runtime("worker", i)->num_registrations();
    }
    return count;
  }

  void CheckCoordinator() {
    const auto coordinator = cluster_.process("coordinator", 0)
                                 .local_tasks()
                                 .FindCoordinator(cluster_.spec().ToString());
    if (coordinator == nullptr) return Violate("the coordinator has stopped");
    absl::StatusOr<protocol::ClusterStatus> status;
    coordinator->GetCluster({}, absl::InfiniteFuture(),
                            [&](absl::StatusOr<protocol::ClusterStatus> given) {
                              status = std::move(given);
                            });
    for (const protocol::TaskStatus& task : status->tasks) {
      if (task.state == protocol::TaskState::kAlive && task.num_sessions == 0) {
        continue;
      }
      Violate(absl::StrCat(
          "the coordinator considers ", task.task, " to be ",
          task.state == protocol::TaskState::kAlive ? "alive" : "gone",
          ", with ", task.num_sessions, " sessions"));
    }
  }

  // Checks that each task has connected to each other task at most once.
  void CheckConnections() {
    std::vector<std::string> names;
    for (const auto& [job, tasks] : cluster_.spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        names.push_back(TaskName(job, index));
      }
    }
    for (const std::string& from : names) {
      for (const std::string& to : names) {
        const int count = cluster_.network().num_connections(from, to);
        // One connection, to the coordinator or to a task with devices, has
        // this many channels.
        if (count <= kChannelsPerConnection) continue;
        Violate(absl::StrCat(count, " connections from ", from, " to ", to));
      }
    }
  }

  void Collect() {
    for (const auto& trainer : trainers_) {
      for (const std::string& violation : trainer->violations()) {
        Violate(violation);
      }
      result_.num_succeeded += trainer->num_succeeded();
      result_.num_failed += trainer->num_failed();
    }
    result_.faults = faults_.log();
    result_.trace = cluster_.scheduler().trace_hash();
  }

  void Violate(const std::string& what) { result_.violations.push_back(what); }
  absl::Time Now() { return cluster_.scheduler().clock().Now(); }

  const uint64_t seed_;
  TrainingSimulationResult result_;
  TokenBook tokens_;
  std::vector<std::unique_ptr<Trainer>> trainers_;
  TestCluster cluster_;
  ClusterFaults faults_;
};

}  // namespace

TrainingSimulationResult SimulateTraining(
    const TrainingSimulationOptions& options) {
  return TrainingSimulation(options).Run();
}

}  // namespace weft
