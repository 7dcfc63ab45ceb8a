// SavingClient is one of two clients that train the same variables, on two
// parameter servers, in a simulation of saves. The first, the chief, starts or
// restores the training, saves every few steps, and restores whenever a step of
// either failed; the other only takes steps. Violations are:
//
// - a checkpoint, or a restored variable, with a partial update, or with the
//   update of a variable but not of its slot; with SaveConsistency::kStep a
//   partial step;
// - a checkpoint returned by a Save if later the newest one is older;
// - an error without a remedy; an error of a save, or a step, long after the
//   last fault; a hung save.
//
// A failed step may have taken effect partially, and one whose master is lost
// may do so later, with or without saves. From then on, until the chief has
// restored variables that such a step can no longer reach, checkpoints are
// inexact: they may contain partial steps.
//
// Threads: as Trainer's.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SAVING_CLIENT_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SAVING_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"

namespace weft {

inline constexpr int kNumSavingServers = 2;  // tasks of job "ps"
inline constexpr int kNumSavingClients = 2;  // and tasks of job "worker"
inline constexpr int kNumKept = 2;           // checkpoints

// For each element: w -= m += 1, on each server, then the global step += 1.
struct SavedProgram {
  SavedProgram(const std::string& writer, train::SaverOptions options);

  const std::string folder;  // of the checkpoints, at the writer
  Scope root = Scope::Root();
  ops::Variable global_step;
  ops::Variable weights[kNumSavingServers];
  ops::Variable slots[kNumSavingServers];
  Operation train, init;
  std::optional<train::Saver> saver;
};

// SavedValues holds the values of the variables, from a checkpoint or from the
// cluster.
struct SavedValues {
  Tensor weights[kNumSavingServers];
  Tensor slots[kNumSavingServers];
  Tensor global_step;
};
// Describes inconsistent values; empty if there are none. `steps`: partial
// steps are violations, too.
std::string DescribeTornValues(const SavedValues& values, bool steps);
// Reads a whole checkpoint, and verifies its checksums.
absl::StatusOr<SavedValues> ReadSaved(FileSystem& disk,
                                      const std::string& prefix);

// SaveBook is the knowledge shared by both clients and the disk check.
struct SaveBook {
  // Checkpoints are numbered in the order in which they began.
  int64_t last_begun = 0;
  int64_t last_reported = 0;  // a Save has returned it
  std::map<int64_t, bool> is_exact;
  // False after a failed step: no client takes steps until the chief has
  // restored.
  bool may_train = false;
  int num_training = 0;  // running steps of the other client
  // Meanwhile the other client runs steps back to back: hardly any time passes.
  bool is_saving = false;
  bool is_exact_now = false;
  // Until then failed steps may still take effect.
  absl::Time unconfirmed_until = absl::InfinitePast();

  // Number of a prefix "model-7".
  static int64_t NumberOf(const std::string& prefix);
};

struct SavingClientOptions {
  // Outlives the client, like the other objects.
  TestCluster* cluster = nullptr;
  SaveBook* book = nullptr;
  int index = 0;  // of the client, and of its worker; 0 is the chief
  uint64_t seed = 1;
  train::SaveConsistency consistency = train::SaveConsistency::kVariable;
};

class SavingClient : public DisturbedClient {
 public:
  explicit SavingClient(const SavingClientOptions& options);
  ~SavingClient() override;

  const std::string& name() const override { return name_; }
  std::string worker() const override {
    return TaskName("worker", options_.index);
  }
  const std::string& target() const override { return target_; }
  void OnConnectionLost() override { ++losses_; }
  void OnStuck(bool is_stuck) override;
  void Die() override { is_dying_ = true; }
  bool reborn() const override { return !is_dying_; }

  void Start();
  // No more faults are injected. Both clients continue until the chief has
  // shown that saves succeed; then they pause.
  void CalmDown();
  // The client need not succeed any more.
  void GiveUp() { gives_up_ = true; }
  enum class Rest { kNone, kSaved, kEnded };
  Rest rest() const { return rest_; }
  void Resume() { resume_->Set(); }

  const std::vector<std::string>& violations() const { return violations_; }
  int num_saves() const { return num_saves_; }
  int num_failed_saves() const { return num_failed_saves_; }

 private:
  bool is_chief() const { return options_.index == 0; }
  SaveBook& book() { return *options_.book; }

  void Run();
  void TakeTurn();
  void Restart();
  bool Connect();
  // Takes one step; returns whether it succeeded.
  bool TakeStep();
  void StepFailed(const absl::Status& status, int losses);
  void TrainAsWorker();
  // Chief only.
  void TrainAndSave();
  bool RestoreOrInitialize();
  bool Restore(const std::string& newest);
  bool Initialize();
  // Checks the values in the cluster; none if they cannot be read.
  std::optional<std::string> FindTornValues();
  void Save();
  void SaveFailed(const absl::Status& status);

  void CheckError(const absl::Status& status, const std::string& what);
  void GiveUpSessionIfLost(const absl::Status& status);
  void RestAs(Rest rest);
  void PauseFor(absl::Duration duration);
  void Pause();
  bool IsCalm() const;
  absl::Time Now() const { return cluster_.scheduler().clock().Now(); }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }
  void Violate(const std::string& what);

  const SavingClientOptions options_;
  TestCluster& cluster_;
  const std::string name_;
  const std::string target_;
  const std::string writer_;  // its target
  const std::unique_ptr<Random> random_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<SavedProgram> program_;
  std::unique_ptr<Session> session_;
  int losses_ = 0;
  bool is_dying_ = false;
  bool is_anyone_stuck_ = false;
  absl::Time calm_since_ = absl::InfiniteFuture();
  int calm_successes_ = 0;
  bool gives_up_ = false;
  Rest rest_ = Rest::kNone;
  std::unique_ptr<Event> resume_;
  int num_saves_ = 0;
  int num_failed_saves_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SAVING_CLIENT_H_
