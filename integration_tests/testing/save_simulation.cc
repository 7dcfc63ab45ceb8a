#include "integration_tests/testing/save_simulation.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/saving_client.h"
#include "integration_tests/testing/test_cluster.h"
#include "integration_tests/testing/writers_disk.h"
#include "libs/base/clock.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/memory_file_system.h"

namespace weft {
namespace {

constexpr char kFolder[] = "job";
constexpr absl::Duration kLease = absl::Seconds(10);
// For what was disturbed to recover, and for the end of what recovered not.
constexpr absl::Duration kRecovery = absl::Minutes(5);
constexpr absl::Duration kGivingUp = absl::Minutes(30);
// Between them saves have time to succeed.
constexpr int kRages = 3;
constexpr int kBetweenRagesMilliseconds = 8000;
// From one look at the disk to the next.
constexpr absl::Duration kLookEvery = absl::Milliseconds(300);

class SaveSimulation {
 public:
  explicit SaveSimulation(uint64_t seed)
      : seed_(seed),
        cluster_(ClusterOptions()),
        faults_(cluster_, seed * 7919 + 1) {
    for (int i = 0; i < kNumSavingClients; ++i) {
      clients_.push_back(std::make_unique<SavingClient>(
          SavingClientOptions{.cluster = &cluster_,
                              .book = &book_,
                              .index = i,
                              .seed = seed * 7919 + 2 + i,
                              .consistency = consistency()}));
      faults_.AddClient(*clients_.back());
    }
    disk_.AddFaults(faults_);
  }

  SaveSimulationResult Run() {
    for (auto& client : clients_) client->Start();
    cluster_.scheduler().Schedule(Pool::kBlocking, [this] { WatchTheDisk(); });
    for (int i = 0; i < kRages; ++i) {
      Advance(faults_.UpTo(kBetweenRagesMilliseconds));
      faults_.Rage();
    }
    for (auto& client : clients_) client->CalmDown();
    if (Reach(SavingClient::Rest::kSaved)) CheckFolder();
    for (auto& client : clients_) client->GiveUp();
    End();
    Collect();
    return std::move(result_);
  }

 private:
  train::SaveConsistency consistency() const {
    return seed_ % 2 == 1 ? train::SaveConsistency::kStep
                          : train::SaveConsistency::kVariable;
  }

  TestCluster::Options ClusterOptions() {
    TestCluster::Options options = {
        .kind = ClusterKind::kSimulated,
        .jobs = {{"coordinator", 1},
                 {"ps", kNumSavingServers},
                 {"worker", kNumSavingClients},
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
    if (seed_ % 4 < 2) {
      options.transport.inline_bytes = 400;
      options.transport.chunk_bytes = 300;
      options.transport.credit_bytes = 600;
    }
    return options;
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
      if (told > 0) Violate("there is no checkpoint any more");
      return;
    }
    const int64_t number = SaveBook::NumberOf(newest);
    if (number < told || number > book_.last_begun) {
      Violate(absl::StrCat("the newest is ", newest, "; told: ", told,
                           ", begun: ", book_.last_begun));
    }
    // That of its save is known when that has ended.
    const bool is_exact = book_.is_exact[number] && book_.last_told >= number;
    const auto values = ReadSaved(disk_.files(), newest);
    if (Newest() != newest) return;
    ++result_.num_looks;
    if (!values.ok()) {
      return Violate(
          absl::StrCat(newest, " is damaged: ", values.status().ToString()));
    }
    const std::string torn =
        WhatIsTorn(*values, consistency() == train::SaveConsistency::kStep);
    if (is_exact && !torn.empty()) {
      Violate(absl::StrCat("in ", newest, " ", torn));
    }
  }

  // Empty: there is none.
  std::string Newest() {
    const auto state = checkpoint::ReadCheckpointState(disk_.files(), kFolder);
    if (state.ok()) return state->model_checkpoint_path;
    if (!absl::IsNotFound(state.status())) {
      Violate(absl::StrCat("no state: ", state.status().ToString()));
    }
    return "";
  }

  bool Reach(SavingClient::Rest rest) {
    const absl::Time deadline = Now() + kRecovery;
    while (!AreAll(rest) && Now() < deadline) Advance(absl::Seconds(1));
    if (AreAll(rest)) return true;
    Violate("saves do not succeed again");
    return false;
  }

  bool AreAll(SavingClient::Rest rest) const {
    for (const auto& client : clients_) {
      if (client->rest() != rest) return false;
    }
    return true;
  }

  // Each file is the state, or of a checkpoint that is kept, or was committed
  // and never told of; or the marker, which remembers failed saves for a while.
  void CheckFolder() {
    const auto names = disk_.files().ListDirectory(kFolder);
    if (!names.ok()) return Violate(names.status().ToString());
    const std::set<std::string> all(names->begin(), names->end());
    for (const std::string& name : all) {
      if (name == checkpoint::kStateFilename) continue;
      if (absl::EndsWith(name, ".saving")) continue;
      const std::string prefix = name.substr(0, name.find('.'));
      const bool is_temporary = absl::StrContains(name, "temp");
      if (!is_temporary && all.count(prefix + ".index") > 0) continue;
      Violate(absl::StrCat(name, " is left of a save that failed"));
    }
    if (!others_disk_.ListDirectory("/")->empty() ||
        !others_disk_.ListDirectory(".")->empty()) {
      Violate("somebody wrote to a disk that is not the writer's");
    }
  }

  void End() {
    const absl::Time deadline = Now() + kGivingUp;
    while (!AreAll(SavingClient::Rest::kEnded)) {
      if (Now() > deadline) Abort();
      for (auto& client : clients_) {
        if (client->rest() == SavingClient::Rest::kSaved) client->GoOn();
      }
      Advance(absl::Seconds(1));
    }
    Advance(3 * kLease);
    is_over_ = true;
    while (is_watched_) Advance(absl::Seconds(1));
    for (int p = 0; p < kNumSavingServers; ++p) CheckForgotten("ps", p);
    for (int i = 0; i < kNumSavingClients; ++i) CheckForgotten("worker", i);
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
      result_.num_saved += client->num_saves();
      result_.num_failed += client->num_failed_saves();
    }
    result_.faults = faults_.log();
    result_.trace = cluster_.scheduler().trace_hash();
  }

  void Violate(const std::string& what) { result_.violations.push_back(what); }
  void Advance(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }
  absl::Time Now() { return cluster_.scheduler().clock().Now(); }

  const uint64_t seed_;
  SaveSimulationResult result_;
  SaveBook book_;
  bool is_over_ = false;
  bool is_watched_ = true;
  WritersDisk disk_;
  MemoryFileSystem others_disk_;
  std::vector<std::unique_ptr<SavingClient>> clients_;
  TestCluster cluster_;
  ClusterFaults faults_;
};

}  // namespace

SaveSimulationResult SimulateSaves(uint64_t seed) {
  return SaveSimulation(seed).Run();
}

}  // namespace weft
