// MonitoredClient is a program that trains by MonitoredTrainingSession in a
// simulated cluster, and is restarted after it was killed, was asked to stop,
// or has ended with an error. The first of two clients is the chief. Violations
// are:
//
// - an error from which training should recover by itself, an error without an
//   explanation, or any error long after the last fault; a hung call;
// - a session of the chief that begins before a reported checkpoint;
// - a training that ends before the last step, or exceeds it by more steps than
//   were running; a last checkpoint of another step.
//
// With an input, the value added by a step comes from a queue of the client's
// worker that a QueueRunner fills, a thread of the Coordinator reads the global
// step during a session, the second client begins when the first has taken some
// steps (GlobalStepWaiterHook), and the first reports the last step by a
// FinalOpsHook.
//
// Asynchronous training may count a step twice, because a failed step may have
// taken effect. Synchronous training may not, and no checkpoint contains a
// partial update (CheckWeights).
//
// Threads: as Trainer's.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MONITORED_CLIENT_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MONITORED_CLIENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"

namespace weft {

inline constexpr int kNumMonitoredServers = 2;     // tasks of job "ps"
inline constexpr int kNumMonitoredClients = 2;     // and tasks of job "worker"
inline constexpr char kMonitoredFolder[] = "job";  // of the checkpoints

enum class MonitoredTraining {
  kAsynchronous,
  // Synchronous; an update combines the gradients of both replicas.
  kBothReplicas,
  kNumberedReplicas,  // as above, with one gradient from each replica
  kWithBackup,        // synchronous; the first gradient suffices
};

inline bool IsSynchronous(MonitoredTraining training) {
  return training != MonitoredTraining::kAsynchronous;
}

// Counts steps: w += 1 on each server, then the global step += 1. In
// synchronous training, half of the elements count steps, and the others are
// their squares: a gradient of the latter identifies its step.
struct MonitoredProgram {
  // `input_container`: container of the queue; empty: no queue.
  MonitoredProgram(MonitoredTraining training, int client,
                   const std::string& input_container,
                   train::SaverOptions options);

  Scope root = Scope::Root();
  ops::Variable global_step;
  ops::Variable weights[kNumMonitoredServers];
  train::GradientDescent optimizer{1.0f};
  std::optional<train::SyncReplicasOptimizer> sync;
  Operation train;
  std::shared_ptr<train::Scaffold> scaffold;
};

// Checks a server's weights in a checkpoint of that global step: DATA_LOSS if
// they contain a partial update, or, in synchronous training, an update that
// was omitted, applied twice, or computed for another step.
absl::Status CheckWeights(MonitoredTraining training, const Tensor& weights,
                          int64_t step);

// StepBook tracks the steps that a training may have reached, as reported by
// all clients.
class StepBook {
 public:
  // `num_pending`: number of steps that may follow from successful runs.
  StepBook(int64_t last_step, int64_t num_pending)
      : last_step_(last_step), num_pending_(num_pending) {}

  void Begin(int client, absl::Time now);
  // The client's step has succeeded, and it is about to read the global step.
  void Look(int client, absl::Time now);
  // The global step was `step` at some time since Look.
  void End(int client, int64_t step);

  // The last step of training, and the furthest that it may have reached.
  int64_t last_step() const { return last_step_; }
  int64_t furthest_step() const {
    return last_step_ - 1 + num_pending_ + num_late_;
  }

 private:
  const int64_t last_step_;
  const int64_t num_pending_;
  bool is_open_[kNumMonitoredClients] = {};
  // State when each client called Look: others may take steps between its read
  // and its result.
  struct {
    absl::Time time;
    int64_t num_ended = 0;
  } looks_[kNumMonitoredClients];
  int64_t num_ended_ = 0;
  std::deque<absl::Time> failed_;  // of failed steps that may still take effect
  // Steps that may have been taken since the last missing step.
  int64_t num_late_ = kNumMonitoredClients;
};

// MonitoringBook is the knowledge shared by all programs and the disk check.
struct MonitoringBook {
  // The gradients of one step make one update; the runs that gave them need not
  // wait for it while there are tokens.
  MonitoringBook(int64_t last_step, MonitoredTraining training)
      : steps(last_step, IsSynchronous(training) ? 1 : 0) {}
  StepBook steps;
  int64_t last_reported = -1;  // the step of the last checkpoint that was saved
  bool chief_has_ended = false;
};

struct MonitoredClientOptions {
  // Outlives the client, like the other objects.
  TestCluster* cluster = nullptr;
  MonitoringBook* book = nullptr;
  MonitoredTraining training = MonitoredTraining::kAsynchronous;
  int index = 0;  // of the client, and of its worker; 0 is the chief
  uint64_t seed = 1;
  bool save_asynchronously = false;
  bool has_input = false;  // of asynchronous training
  // Timeout of all calls to the cluster; infinite, as in most programs, or so
  // long that a timeout ends the program.
  absl::Duration operation_timeout = absl::InfiniteDuration();
  // Receives the program's log lines; may be null.
  std::function<void(const std::string& line)> log;
};

class MonitoredClient : public DisturbedClient {
 public:
  explicit MonitoredClient(const MonitoredClientOptions& options);
  ~MonitoredClient() override;

  const std::string& name() const override { return name_; }
  std::string worker() const override {
    return TaskName("worker", options_.index);
  }
  const std::string& target() const override { return target_; }
  void OnConnectionLost() override {}
  void OnStuck(bool) override {}
  void Die() override { is_dying_ = !has_ended(); }
  bool reborn() const override { return !is_dying_; }
  // Simulates SIGTERM: the program saves and exits, and is restarted.
  void Terminate() { is_terminated_ = true; }

  void Start();
  // No more faults are injected.
  void CalmDown();
  // The program need not reach its end any more.
  void GiveUp() { gives_up_ = true; }
  bool has_ended() const { return has_ended_; }

  const std::vector<std::string>& violations() const { return violations_; }
  int num_programs() const { return num_programs_; }
  int num_sessions() const { return num_sessions_; }
  int64_t num_steps() const { return num_steps_; }

 private:
  class Hook;
  class Listener;
  friend class Hook;
  friend class Listener;

  bool is_chief() const { return options_.index == 0; }
  MonitoringBook& book() { return *options_.book; }

  void Run();
  // Runs one process, from start to end.
  void RunProgram();
  train::MonitoredTrainingSessionOptions SessionOptions();
  // Null in asynchronous training.
  std::shared_ptr<train::SessionRunHook> SyncReplicas();
  std::shared_ptr<train::SessionRunHook> CheckpointSaver(
      const std::shared_ptr<train::SessionRunHook>& sync_replicas);
  std::string InputContainer() const;
  absl::Status Train(train::MonitoredSession& session);
  void CheckFinalOps();
  // Returns whether the program need not be restarted.
  bool IsOver() const;
  void TrainingEnded();
  void ProgramFailed(const absl::Status& status);
  // Describes the violation that such an error is; empty if it is allowed.
  std::string DescribeViolation(const absl::Status& status);
  bool WaitsForEndedChief(const absl::Status& status);

  bool MustLeave() const { return is_dying_ || is_terminated_ || gives_up_; }
  bool IsCalm() const;
  void Pause();
  absl::Time Now() const { return cluster_.scheduler().clock().Now(); }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }
  void Violate(const std::string& what);

  const MonitoredClientOptions options_;
  TestCluster& cluster_;
  const std::string name_;
  const std::string target_;
  const std::string folder_;  // of the checkpoints, at the writer
  const std::unique_ptr<Random> random_;
  const std::unique_ptr<Logger> logger_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<MonitoredProgram> program_;
  std::shared_ptr<train::FinalOpsHook> final_ops_;  // of a chief with input
  int64_t seen_step_ = -1;                          // last seen by this program
  bool is_dying_ = false;
  bool is_terminated_ = false;
  bool is_last_ = false;  // the program has notified the others of the end
  bool gives_up_ = false;
  bool has_ended_ = false;
  absl::Time calm_since_ = absl::InfiniteFuture();
  int num_programs_ = 0;
  int num_sessions_ = 0;
  int64_t num_steps_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MONITORED_CLIENT_H_
