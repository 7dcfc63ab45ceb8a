#include "integration_tests/testing/save_simulation.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/disk_simulation.h"
#include "integration_tests/testing/saving_client.h"
#include "libs/checkpoint/checkpoint_state.h"

namespace weft {
namespace {

constexpr char kFolder[] = "job";
// Time to recover after the last fault.
constexpr absl::Duration kRecovery = absl::Minutes(5);
// Between the rounds of faults, saves have time to succeed.
constexpr int kFaultRounds = 3;
constexpr int kBetweenRoundsMilliseconds = 8000;

class SaveSimulation : public DiskSimulation {
 public:
  explicit SaveSimulation(uint64_t seed)
      : DiskSimulation({.seed = seed,
                        .num_servers = kNumSavingServers,
                        .num_clients = kNumSavingClients,
                        .folder = kFolder,
                        .has_small_chunks = seed % 4 < 2}),
        seed_(seed) {
    for (int i = 0; i < kNumSavingClients; ++i) {
      clients_.push_back(Keep(std::make_unique<SavingClient>(
          SavingClientOptions{.cluster = &cluster(),
                              .book = &book_,
                              .index = i,
                              .seed = seed * 7919 + 2 + i,
                              .consistency = consistency()})));
    }
  }

  SaveSimulationResult Run() {
    for (SavingClient* client : clients_) client->Start();
    Disturb(kFaultRounds, kBetweenRoundsMilliseconds);
    for (SavingClient* client : clients_) client->CalmDown();
    if (Reach(SavingClient::Rest::kSaved)) CheckFolder();
    for (SavingClient* client : clients_) client->GiveUp();
    End();
    Collect();
    return std::move(result_);
  }

 private:
  train::SaveConsistency consistency() const {
    return seed_ % 2 == 1 ? train::SaveConsistency::kStep
                          : train::SaveConsistency::kVariable;
  }

  void Look() override {
    const int64_t told = book_.last_reported;
    const std::string newest = Newest();
    if (newest.empty()) {
      if (told > 0) Violate("the checkpoint has disappeared");
      return;
    }
    const int64_t number = SaveBook::NumberOf(newest);
    if (number < told || number > book_.last_begun) {
      Violate(absl::StrCat("the newest is ", newest, "; reported: ", told,
                           ", begun: ", book_.last_begun));
    }
    // Before a save has ended, it is unknown whether its checkpoint is exact.
    const bool is_exact =
        book_.is_exact[number] && book_.last_reported >= number;
    const auto values = ReadSaved(disk(), newest);
    if (Newest() != newest) return;
    ++result_.num_looks;
    if (!values.ok()) {
      return Violate(
          absl::StrCat(newest, " is damaged: ", values.status().ToString()));
    }
    const std::string torn = DescribeTornValues(
        *values, consistency() == train::SaveConsistency::kStep);
    if (is_exact && !torn.empty()) {
      Violate(absl::StrCat("in ", newest, " ", torn));
    }
  }

  bool Reach(SavingClient::Rest rest) {
    const absl::Time deadline = Now() + kRecovery;
    while (!AreAll(rest) && Now() < deadline) Advance(absl::Seconds(1));
    if (AreAll(rest)) return true;
    Violate("saves do not recover");
    return false;
  }

  bool AreAll(SavingClient::Rest rest) const {
    for (const SavingClient* client : clients_) {
      if (client->rest() != rest) return false;
    }
    return true;
  }

  bool HaveAllEnded() const override {
    return AreAll(SavingClient::Rest::kEnded);
  }

  void ResumeUntilEnd() override {
    for (SavingClient* client : clients_) {
      if (client->rest() == SavingClient::Rest::kSaved) client->Resume();
    }
  }

  // Checks the files in the folder. A file must be the checkpoint state, belong
  // to a checkpoint that was kept or was committed but never reported, or be
  // the marker, which records failed saves for a while.
  void CheckFolder() {
    const auto names = disk().ListDirectory(kFolder);
    if (!names.ok()) return Violate(names.status().ToString());
    const std::set<std::string> all(names->begin(), names->end());
    for (const std::string& name : all) {
      if (name == checkpoint::kStateFilename) continue;
      if (absl::EndsWith(name, ".saving")) continue;
      const std::string prefix = name.substr(0, name.find('.'));
      const bool is_temporary = absl::StrContains(name, "temp");
      if (!is_temporary && all.count(prefix + ".index") > 0) continue;
      Violate(absl::StrCat(name, " is left behind by a failed save"));
    }
    if (!others_disk().ListDirectory("/")->empty() ||
        !others_disk().ListDirectory(".")->empty()) {
      Violate("a process wrote to a disk other than the writer's");
    }
  }

  void Collect() {
    for (const SavingClient* client : clients_) {
      for (const std::string& violation : client->violations()) {
        Violate(violation);
      }
      result_.num_saved += client->num_saves();
      result_.num_failed += client->num_failed_saves();
    }
    result_.violations = violations();
    result_.faults = faults().log();
    result_.trace = cluster().scheduler().trace_hash();
  }

  const uint64_t seed_;
  SaveSimulationResult result_;
  SaveBook book_;
  std::vector<SavingClient*> clients_;
};

}  // namespace

SaveSimulationResult SimulateSaves(uint64_t seed) {
  return SaveSimulation(seed).Run();
}

}  // namespace weft
