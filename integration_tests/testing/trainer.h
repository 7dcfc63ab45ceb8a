// Trainer is one client of a simulated training, with the retry loop of a user.
// It records its actions and checks all results against this record. Violations
// are:
//
// - an error without a remedy, or that names no task;
// - a count below the acknowledged updates, or above the attempted ones, unless
//   its server has restarted since initialization;
// - a count that changes after the error of its step was returned;
// - a value of another step; a duplicate token;
// - a step that fails long after the last fault;
// - a step that hangs until its deadline, instead of reporting the loss.
//
// Threads: runs as a closure of a simulated scheduler. The other methods must
// be called on the thread that advances time.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_TRAINER_H_
#define WEFT_INTEGRATION_TESTS_TESTING_TRAINER_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/test_cluster.h"
#include "integration_tests/testing/training_program.h"
#include "libs/api/weft.h"
#include "libs/base/random.h"

namespace weft {

// TokenBook records the tokens that were enqueued and dequeued. Several
// trainers share it.
struct TokenBook {
  std::set<float> sent;
  std::set<float> received;
};

struct TrainerOptions {
  // All objects that the pointers refer to must outlive the trainer.
  TestCluster* cluster = nullptr;
  TokenBook* tokens = nullptr;
  int index = 0;  // index of the client and of the worker to which it connects
  uint64_t seed = 1;
  bool on_gpus = false;  // passed to TrainingProgram
  // Returns a number that changes whenever the task starts or ends.
  std::function<int(const std::string& task)> life_of;
};

class Trainer : public DisturbedClient {
 public:
  explicit Trainer(const TrainerOptions& options);
  ~Trainer() override;

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

  // Tells the trainer that no more faults will be injected. The trainer
  // continues until it has shown that steps succeed, and then pauses. After
  // Resume it creates and releases callables, and pauses. After another Resume
  // it ends its session, and pauses.
  void CalmDown();
  // Tells the trainer that it need not succeed any more.
  void GiveUp() { gives_up_ = true; }
  enum class Rest { kNone, kTrained, kReleased, kEnded };
  Rest rest() const { return rest_; }
  // Ends a pause.
  void Resume();

  const std::vector<std::string>& violations() const { return violations_; }
  int num_succeeded() const { return num_succeeded_; }
  int num_failed() const { return num_failed_; }

 private:
  // The known bounds of one count.
  struct Count {
    // The life of the server when the trainer last attempted to initialize the
    // count.
    int life = -1;
    bool is_initialised = false;  // an initialization was acknowledged
    float acknowledged = 0;
    float attempted = 0;
  };
  struct Attempt {
    float id = 0;
    bool is_poisoned = false;
    bool has_long_timeout = false;  // the timeout exceeds the time of any fault
    int losses = 0;
    int lives[kNumServers];
  };
  using Counts = std::vector<std::optional<float>>;

  void Run();
  void Train();
  void ReleaseCallables();
  void RestAs(Rest rest);
  void PauseFor(absl::Duration duration);
  void Pause();

  bool Connect();
  void Begin(bool is_poisoned, Attempt* attempt);
  void TryStep();
  absl::Duration DrawTimeout();
  absl::StatusOr<std::vector<Tensor>> RunStep(const Attempt& attempt);
  void CheckValues(const Attempt& attempt, const std::vector<Tensor>& values);
  void Failed(const Attempt& attempt, const absl::Status& status);
  void TryToken();
  // Initializes the counts that are not initialized.
  void Initialise();
  bool InitialiseOn(int p);
  bool IsMissing(const ops::Variable& variable);
  void CheckError(const absl::Status& status, bool is_poisoned);
  void GiveUpSessionIfLost(const absl::Status& status);

  // Returns the counts, read directly from the servers without using the
  // network.
  Counts Peek() const;
  // Checks that a failed step had no effects after its error was returned.
  void CheckNoLateEffects(const Attempt& attempt, const Counts& counts);
  std::string Server(int p) const { return TaskName("ps", p); }
  // Returns whether the trainer also dequeues tokens and lets steps fail.
  bool IsDisturbed() const;
  // Returns whether the last fault was long ago.
  bool IsCalm() const;
  absl::Time Now() const { return cluster_.scheduler().clock().Now(); }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }
  void Violate(const std::string& what);

  const TrainerOptions options_;
  TestCluster& cluster_;
  const std::string name_;
  const std::string target_;
  const std::unique_ptr<Random> random_;
  const TrainingProgram program_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Session> session_;
  Count counts_[kNumServers];
  int next_id_ = 1;
  int losses_ = 0;
  bool is_dying_ = false;
  bool is_anyone_stuck_ = false;
  absl::Time calm_since_ = absl::InfiniteFuture();
  int calm_successes_ = 0;
  bool gives_up_ = false;
  // Until this time, a step with an unknown result may still run.
  absl::Time unconfirmed_until_ = absl::InfinitePast();
  Rest rest_ = Rest::kNone;
  std::unique_ptr<Event> resume_;
  int num_succeeded_ = 0;
  int num_failed_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TRAINER_H_
