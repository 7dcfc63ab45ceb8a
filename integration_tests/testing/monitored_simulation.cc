#include "integration_tests/testing/monitored_simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/disk_simulation.h"
#include "integration_tests/testing/monitored_client.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_reader.h"

namespace weft {
namespace {

// Time to recover after the last fault.
constexpr absl::Duration kRecovery = absl::Minutes(10);
// Training ends during one of these rounds of faults, or afterwards.
constexpr int kFaultRounds = 2;
constexpr int kBetweenRoundsMilliseconds = 8000;
constexpr int64_t kFewestSteps = 20;
constexpr uint64_t kMoreSteps = 100;
constexpr absl::Duration kOperationTimeout = absl::Seconds(20);

// Returns the step of a prefix like "model.ckpt-7".
int64_t StepOf(const std::string& prefix) {
  int64_t step = -1;
  (void)absl::SimpleAtoi(prefix.substr(prefix.rfind('-') + 1), &step);
  return step;
}

// Reads a complete checkpoint and verifies its checksums and weights. Returns
// the first error.
absl::Status Verify(FileSystem& disk, MonitoredTraining training,
                    const std::string& prefix) {
  ASSIGN_OR_RETURN(const auto reader,
                   checkpoint::BundleReader::Open(disk, prefix));
  ASSIGN_OR_RETURN(const Tensor global_step,
                   reader->Read("global_step", HeapAllocator()));
  const auto step = global_step.scalar<int64_t>();
  for (int p = 0; p < kNumMonitoredServers; ++p) {
    const std::string name = absl::StrCat("w_", p);
    ASSIGN_OR_RETURN(const Tensor weights, reader->Read(name, HeapAllocator()));
    RETURN_IF_ERROR(Annotate(CheckWeights(training, weights, step),
                             absl::StrCat(name, " of step ", step)));
  }
  if (step >= StepOf(prefix)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the global step in the checkpoint is ", step));
}

class MonitoredSimulation : public DiskSimulation {
 public:
  MonitoredSimulation(uint64_t seed, MonitoredTraining training)
      : DiskSimulation({.seed = seed,
                        .num_servers = kNumMonitoredServers,
                        .num_clients = kNumMonitoredClients,
                        .folder = kMonitoredFolder,
                        .has_small_chunks = seed % 8 < 4}),
        seed_(seed),
        training_(training),
        book_(kFewestSteps + static_cast<int64_t>(faults().Chance(kMoreSteps)),
              training) {
    for (int i = 0; i < kNumMonitoredClients; ++i) AddClient(i);
    faults().AddFault([this] { AskOneToLeave(); });
  }

  MonitoredSimulationResult Run() {
    for (MonitoredClient* client : clients_) client->Start();
    Disturb(kFaultRounds, kBetweenRoundsMilliseconds);
    for (MonitoredClient* client : clients_) client->CalmDown();
    const absl::Time deadline = Now() + kRecovery;
    while (!HaveAllEnded() && Now() < deadline) Advance(absl::Seconds(1));
    if (!HaveAllEnded()) Violate("training does not end");
    for (MonitoredClient* client : clients_) client->GiveUp();
    End();
    Collect();
    return std::move(result_);
  }

 private:
  void AddClient(int index) {
    const std::string name = absl::StrCat("client", index);
    clients_.push_back(
        Keep(std::make_unique<MonitoredClient>(MonitoredClientOptions{
            .cluster = &cluster(),
            .book = &book_,
            .training = training_,
            .index = index,
            .seed = seed_ * 7919 + 2 + static_cast<uint64_t>(index),
            .save_asynchronously = seed_ % 2 == 1,
            .has_input = training_ == MonitoredTraining::kAsynchronous &&
                         (seed_ % 8 == 1 || seed_ % 8 == 4),
            .operation_timeout =
                seed_ % 4 < 2 ? absl::InfiniteDuration() : kOperationTimeout,
            .log = [this, name](const std::string& line) {
              faults().Log(absl::StrCat("  ", name, ": ", line));
            }})));
  }

  void AskOneToLeave() {
    MonitoredClient& client = *clients_[faults().Chance(clients_.size())];
    faults().Log(absl::StrCat("SIGTERM to client ", client.name()));
    client.Terminate();
  }

  void Look() override {
    const int64_t told = book_.last_reported;
    const std::string newest = Newest();
    if (newest.empty()) {
      if (told >= 0) Violate("the checkpoint has disappeared");
      return;
    }
    if (StepOf(newest) < told) {
      Violate(absl::StrCat("the newest is ", newest, "; reported: ", told));
    }
    const absl::Status status = Verify(disk(), training_, newest);
    if (Newest() != newest) return;
    ++result_.num_looks;
    if (status.ok()) return;
    Violate(absl::StrCat(newest, " is damaged: ", status.ToString()));
  }

  bool HaveAllEnded() const override {
    return std::all_of(
        clients_.begin(), clients_.end(),
        [](const MonitoredClient* client) { return client->has_ended(); });
  }

  void Collect() {
    for (const MonitoredClient* client : clients_) {
      for (const std::string& violation : client->violations()) {
        Violate(violation);
      }
      result_.num_programs += client->num_programs();
      result_.num_sessions += client->num_sessions();
      result_.num_steps += client->num_steps();
    }
    result_.violations = violations();
    result_.faults = faults().log();
    result_.trace = cluster().scheduler().trace_hash();
  }

  const uint64_t seed_;
  const MonitoredTraining training_;
  MonitoredSimulationResult result_;
  MonitoringBook book_;
  std::vector<MonitoredClient*> clients_;
};

}  // namespace

MonitoredSimulationResult SimulateMonitoredTraining(uint64_t seed) {
  return MonitoredSimulation(seed, MonitoredTraining::kAsynchronous).Run();
}

MonitoredSimulationResult SimulateSynchronousTraining(uint64_t seed) {
  constexpr MonitoredTraining kKinds[] = {MonitoredTraining::kWithBackup,
                                          MonitoredTraining::kBothReplicas,
                                          MonitoredTraining::kNumberedReplicas};
  return MonitoredSimulation(seed, kKinds[seed % 3]).Run();
}

}  // namespace weft
