// SavingClient is one of two clients that train the same variables, on two
// parameter servers, in a simulation of saves. The first client is the chief:
// it starts or restores the training, saves every few steps, and restores
// whenever a step of either client has failed. The other client only takes
// steps. Violations are:
//
// - a checkpoint, or a restored variable, with a partial update, or with the
//   update of a variable but not of its slot; with SaveConsistency::kStep, a
//   partial step;
// - a checkpoint returned by a Save if later the newest checkpoint is older;
// - an error without a remedy; an error of a save, or a step, long after the
//   last fault; a hung save.
//
// A failed step may have taken effect partially. If its master is lost, a step
// may also take effect later, even after a save. Until the chief has restored
// variables that such a step can no longer reach, checkpoints are inexact: they
// may contain partial steps.
//
// Threads: the same as for Trainer.
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

inline constexpr int kNumSavingServers = 2;  // number of tasks of job "ps"
// also the number of tasks of job "worker"
inline constexpr int kNumSavingClients = 2;
inline constexpr int kNumKept = 2;  // number of checkpoints that are kept

// The graph of both clients. A step updates each element on each server by w -=
// m += 1, and then increments the global step.
struct SavedProgram {
  SavedProgram(const std::string& writer, train::SaverOptions options);

  const std::string folder;  // folder of the checkpoints, on the writer's disk
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
// Returns a description of inconsistent values, or "" if all are consistent.
// With `steps`, partial steps are inconsistent, too.
std::string DescribeTornValues(const SavedValues& values, bool steps);
// Reads a complete checkpoint and verifies its checksums.
absl::StatusOr<SavedValues> ReadSaved(FileSystem& disk,
                                      const std::string& prefix);

// SaveBook is the state that both clients and the disk check share.
struct SaveBook {
  // Number of the last checkpoint that was begun. Checkpoints are numbered in
  // the order of their beginning.
  int64_t last_begun = 0;
  // number of the last checkpoint that Save has returned
  int64_t last_reported = 0;
  std::map<int64_t, bool> is_exact;
  // Whether clients may take steps. False from a failed step until the chief
  // has restored the variables.
  bool may_train = false;
  int num_training = 0;  // number of running steps of the other client
  // The chief is saving. Meanwhile the other client runs steps without pauses,
  // because a save takes hardly any simulated time.
  bool is_saving = false;
  bool is_exact_now = false;
  // Until this time, failed steps may still take effect.
  absl::Time unconfirmed_until = absl::InfinitePast();

  // Returns the number of a checkpoint, for example 7 for "model-7".
  static int64_t NumberOf(const std::string& prefix);
};

struct SavingClientOptions {
  // All objects that the pointers refer to must outlive the client.
  TestCluster* cluster = nullptr;
  SaveBook* book = nullptr;
  int index = 0;  // index of the client and its worker; 0 is the chief
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
  // Tells the client that no more faults will be injected. Both clients
  // continue until the chief has shown that saves succeed, and then pause.
  void CalmDown();
  // Tells the client that it need not succeed any more.
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
  // Takes one step. Returns whether the step succeeded.
  bool TakeStep();
  void StepFailed(const absl::Status& status, int losses);
  void TrainAsWorker();
  // The following two functions are called by the chief only.
  void TrainAndSave();
  bool RestoreOrInitialize();
  bool Restore(const std::string& newest);
  bool Initialize();
  // Returns a description of inconsistent values in the cluster, "" if all are
  // consistent, or nullopt if they cannot be read.
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
  const std::string writer_;  // target of the checkpoint writer
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
