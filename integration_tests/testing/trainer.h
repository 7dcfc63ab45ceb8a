// Trainer: one client of a simulated training, with the retry loop that a user
// writes, and a book of what it did, against which it holds everything that it
// sees. What must not be is a violation:
//
// - an error that does not tell what to do, or that names no task;
// - a count below the updates that were acknowledged, or above those that were
//   tried, unless its server has started again since it was initialised;
// - a count that changes after the error of its step was returned;
// - a value of another step; a token that comes twice;
// - a step that fails though nothing was disturbed for long;
// - a step that hangs until its deadline, instead of being told what was lost.
//
// Threads: runs as a closure of a simulated scheduler; the other methods are
// for the thread that advances time.
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

// What several trainers know of each other: the tokens that were put in and
// taken out of their queue.
struct TokenBook {
  std::set<float> sent;
  std::set<float> received;
};

struct TrainerOptions {
  TestCluster* cluster = nullptr;  // outlives the trainer; so do the others
  TokenBook* tokens = nullptr;
  int index = 0;  // of the client, and of the worker it connects to
  uint64_t seed = 1;
  bool on_gpus = false;  // TrainingProgram
  // Changes when a task starts or ends.
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

  // Nothing is disturbed any more. The trainer goes on until it has shown that
  // steps succeed, then it rests; so it does after having made callables and
  // released them, and after having ended its session.
  void CalmDown();
  // It need not succeed any more.
  void GiveUp() { gives_up_ = true; }
  enum class Rest { kNone, kTrained, kReleased, kEnded };
  Rest rest() const { return rest_; }
  // Goes on from a rest.
  void GoOn();

  const std::vector<std::string>& violations() const { return violations_; }
  int num_succeeded() const { return num_succeeded_; }
  int num_failed() const { return num_failed_; }

 private:
  // What is known of a count.
  struct Count {
    // Of the server when it was initialised, or when that was tried last.
    int life = -1;
    bool is_initialised = false;  // that was acknowledged
    float acknowledged = 0;
    float attempted = 0;
  };
  struct Attempt {
    float id = 0;
    bool is_poisoned = false;
    bool is_patient = false;  // it has time for all that may disturb it
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
  absl::Duration Impatience();
  absl::StatusOr<std::vector<Tensor>> RunStep(const Attempt& attempt);
  void CheckValues(const Attempt& attempt, const std::vector<Tensor>& values);
  void Failed(const Attempt& attempt, const absl::Status& status);
  void TryToken();
  // Initialises what is not.
  void Initialise();
  bool InitialiseOn(int p);
  bool IsMissing(const ops::Variable& variable);
  void CheckError(const absl::Status& status, bool is_poisoned);
  void GiveUpSessionIfLost(const absl::Status& status);

  // The counts as they are on the servers, seen past the network.
  Counts Peek() const;
  // Nothing of a step that has failed may land any more.
  void CheckNothingLands(const Attempt& attempt, const Counts& counts);
  std::string Server(int p) const { return TaskName("ps", p); }
  // Meanwhile it also takes tokens and has steps fail.
  bool IsDisturbed() const;
  // Nothing was disturbed for long.
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
  // Until then a step may still run that it does not know the end of.
  absl::Time doubtful_until_ = absl::InfinitePast();
  Rest rest_ = Rest::kNone;
  std::unique_ptr<Event> go_on_;
  int num_succeeded_ = 0;
  int num_failed_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TRAINER_H_
