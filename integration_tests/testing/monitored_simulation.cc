#include "integration_tests/testing/monitored_simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/monitored_client.h"
#include "integration_tests/testing/test_cluster.h"
#include "integration_tests/testing/writers_disk.h"
#include "libs/base/clock.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

constexpr absl::Duration kLease = absl::Seconds(10);
// For what was disturbed to recover, and for the end of what recovered not.
constexpr absl::Duration kRecovery = absl::Minutes(10);
constexpr absl::Duration kGivingUp = absl::Minutes(30);
// Training ends in one of them, or after all.
constexpr int kRages = 2;
constexpr int kBetweenRagesMilliseconds = 8000;
constexpr int64_t kFewestSteps = 20;
constexpr uint64_t kMoreSteps = 100;
constexpr absl::Duration kOperationTimeout = absl::Seconds(20);
// From one look at the disk to the next.
constexpr absl::Duration kLookEvery = absl::Milliseconds(300);

// Of a prefix "model.ckpt-7".
int64_t StepOf(const std::string& prefix) {
  int64_t step = -1;
  (void)absl::SimpleAtoi(prefix.substr(prefix.rfind('-') + 1), &step);
  return step;
}

// Reads all of a checkpoint, and checks its sums; what is wrong with it.
absl::Status Verify(FileSystem& disk, const std::string& prefix) {
  ASSIGN_OR_RETURN(const auto reader,
                   checkpoint::BundleReader::Open(disk, prefix));
  for (int p = 0; p < kNumMonitoredServers; ++p) {
    const std::string name = absl::StrCat("w_", p);
    ASSIGN_OR_RETURN(const Tensor weights, reader->Read(name, HeapAllocator()));
    const auto values = weights.flat<float>();
    if (std::count(values.begin(), values.end(), values[0]) !=
        static_cast<int64_t>(values.size())) {
      return absl::DataLossError("an update is half in " + name);
    }
  }
  ASSIGN_OR_RETURN(const Tensor step,
                   reader->Read("global_step", HeapAllocator()));
  if (step.scalar<int64_t>() >= StepOf(prefix)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("its global step is ", step.scalar<int64_t>()));
}

class MonitoredSimulation {
 public:
  explicit MonitoredSimulation(uint64_t seed)
      : seed_(seed),
        cluster_(ClusterOptions()),
        faults_(cluster_, seed * 7919 + 1),
        book_(kFewestSteps + static_cast<int64_t>(faults_.Chance(kMoreSteps))) {
    for (int i = 0; i < kNumMonitoredClients; ++i) AddClient(i);
    disk_.AddFaults(faults_);
    faults_.AddFault([this] { AskOneToLeave(); });
  }

  MonitoredSimulationResult Run() {
    for (auto& client : clients_) client->Start();
    cluster_.scheduler().Schedule(Pool::kBlocking, [this] { WatchTheDisk(); });
    for (int i = 0; i < kRages; ++i) {
      Advance(faults_.UpTo(kBetweenRagesMilliseconds));
      faults_.Rage();
    }
    for (auto& client : clients_) client->CalmDown();
    const absl::Time deadline = Now() + kRecovery;
    while (!HaveAllEnded() && Now() < deadline) Advance(absl::Seconds(1));
    if (!HaveAllEnded()) Violate("training does not come to its end");
    for (auto& client : clients_) client->GiveUp();
    End();
    Collect();
    return std::move(result_);
  }

 private:
  TestCluster::Options ClusterOptions() {
    TestCluster::Options options = {
        .kind = ClusterKind::kSimulated,
        .jobs = {{"coordinator", 1},
                 {"ps", kNumMonitoredServers},
                 {"worker", kNumMonitoredClients},
                 {kCheckpointWriter, 1}},
        .seed = seed_,
        .lease = kLease,
        .patience = absl::Seconds(15),
        .heartbeat_interval = absl::Seconds(1),
        .heartbeat_timeout = absl::Seconds(5),
        .log_waits_after = ServerOptions().log_waits_after};
    options.file_system = [this](const std::string& name) -> FileSystem* {
      if (name == TaskName(kCheckpointWriter, 0)) return disk_.ForNewProcess();
      return &others_disk_;
    };
    if (seed_ % 8 < 4) {
      options.transport.inline_bytes = 400;
      options.transport.chunk_bytes = 300;
      options.transport.credit_bytes = 600;
    }
    return options;
  }

  void AddClient(int index) {
    const std::string name = absl::StrCat("client", index);
    clients_.push_back(std::make_unique<MonitoredClient>(MonitoredClientOptions{
        .cluster = &cluster_,
        .book = &book_,
        .index = index,
        .seed = seed_ * 7919 + 2 + static_cast<uint64_t>(index),
        .save_asynchronously = seed_ % 2 == 1,
        .operation_timeout =
            seed_ % 4 < 2 ? absl::InfiniteDuration() : kOperationTimeout,
        .log = [this, name](const std::string& line) {
          faults_.Log(absl::StrCat("  ", name, ": ", line));
        }}));
    faults_.AddClient(*clients_.back());
  }

  void AskOneToLeave() {
    MonitoredClient& client = *clients_[faults_.Chance(clients_.size())];
    faults_.Log(absl::StrCat("SIGTERM for ", client.name()));
    client.Terminate();
  }

  void WatchTheDisk() {
    const auto pause = [&] {
      cluster_.scheduler().NewEvent()->WaitUntil(Now() + kLookEvery);
    };
    for (; !is_over_; pause()) Look();
    is_watched_ = false;
  }

  // At the newest checkpoint, which may change while that is read.
  void Look() {
    const int64_t told = book_.last_told;
    const std::string newest = Newest();
    if (newest.empty()) {
      if (told >= 0) Violate("there is no checkpoint any more");
      return;
    }
    if (StepOf(newest) < told) {
      Violate(absl::StrCat("the newest is ", newest, "; told: ", told));
    }
    const absl::Status status = Verify(disk_.files(), newest);
    if (Newest() != newest) return;
    ++result_.num_looks;
    if (status.ok()) return;
    Violate(absl::StrCat(newest, " is damaged: ", status.ToString()));
  }

  // Empty: there is none.
  std::string Newest() {
    const auto state =
        checkpoint::ReadCheckpointState(disk_.files(), kMonitoredFolder);
    if (state.ok()) return state->model_checkpoint_path;
    if (!absl::IsNotFound(state.status())) {
      Violate(absl::StrCat("no state: ", state.status().ToString()));
    }
    return "";
  }

  bool HaveAllEnded() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->has_ended(); });
  }

  void End() {
    const absl::Time deadline = Now() + kGivingUp;
    while (!HaveAllEnded()) {
      if (Now() > deadline) Abort();
      Advance(absl::Seconds(1));
    }
    Advance(3 * kLease);
    is_over_ = true;
    while (is_watched_) Advance(absl::Seconds(1));
    for (int p = 0; p < kNumMonitoredServers; ++p) CheckForgotten("ps", p);
    for (int i = 0; i < kNumMonitoredClients; ++i) CheckForgotten("worker", i);
  }

  // A client that never comes back can't be taken down.
  [[noreturn]] void Abort() {
    std::fprintf(stderr, "Seed %llu hangs for ever\n",
                 static_cast<unsigned long long>(seed_));
    for (const std::string& fault : faults_.log()) {
      std::fprintf(stderr, "  %s\n", fault.c_str());
    }
    std::abort();
  }

  void CheckForgotten(const std::string& job, int index) {
    const std::string left = WhatIsLeft(cluster_, job, index);
    if (!left.empty()) Violate(left);
  }

  void Collect() {
    for (const auto& client : clients_) {
      for (const std::string& violation : client->violations()) {
        Violate(violation);
      }
      result_.num_programs += client->num_programs();
      result_.num_sessions += client->num_sessions();
      result_.num_steps += client->num_steps();
    }
    result_.faults = faults_.log();
    result_.trace = cluster_.scheduler().trace_hash();
  }

  void Violate(const std::string& what) { result_.violations.push_back(what); }
  void Advance(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }
  absl::Time Now() { return cluster_.scheduler().clock().Now(); }

  const uint64_t seed_;
  MonitoredSimulationResult result_;
  bool is_over_ = false;
  bool is_watched_ = true;
  WritersDisk disk_;
  MemoryFileSystem others_disk_;
  std::vector<std::unique_ptr<MonitoredClient>> clients_;
  TestCluster cluster_;
  ClusterFaults faults_;
  MonitoringBook book_;
};

}  // namespace

MonitoredSimulationResult SimulateMonitoredTraining(uint64_t seed) {
  return MonitoredSimulation(seed).Run();
}

}  // namespace weft
