// MonitoredClient is a program that trains by MonitoredTrainingSession in a
// simulated cluster. It is restarted after it was killed, was asked to stop, or
// has ended with an error. The first of two clients is the chief. Violations
// are:
//
// - an error from which training should recover by itself, an error without an
//   explanation, or any error long after the last fault; a hung call;
// - a session of the chief that begins before a reported checkpoint;
// - a training that ends before the last step, or exceeds it by more steps than
//   were running; a last checkpoint of another step.
//
// With an input, each step adds a value from a queue of the client's worker,
// which a QueueRunner fills. A thread of the Coordinator reads the global step
// during a session. The second client begins when the first one has taken some
// steps (GlobalStepWaiterHook), and the first one reports the last step by a
// FinalOpsHook.
//
// Asynchronous training may count a step twice, because a failed step may have
// taken effect. Synchronous training must not, and no checkpoint may contain a
// partial update (CheckWeights).
//
// Threads: the same as for Trainer.
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

inline constexpr int kNumMonitoredServers = 2;  // number of tasks of job "ps"
// also the number of tasks of job "worker"
inline constexpr int kNumMonitoredClients = 2;
inline constexpr char kMonitoredFolder[] = "job";  // folder of the checkpoints

enum class MonitoredTraining {
  kAsynchronous,
  // Synchronous training. An update combines the gradients of both replicas.
  kBothReplicas,
  // like kBothReplicas, but requires a gradient from each replica
  kNumberedReplicas,
  kWithBackup,  // synchronous; an update needs only the first gradient
};

inline bool IsSynchronous(MonitoredTraining training) {
  return training != MonitoredTraining::kAsynchronous;
}

// The graph of the program. Each step counts: it adds 1 to w on each server,
// and then to the global step. In synchronous training, half of the elements of
// w count steps, and the others are the squares of the counts. The gradient of
// a square depends on the step, so a gradient of another step is detected.
struct MonitoredProgram {
  // `input_container` is the container of the queue. If it is empty, there is
  // no queue.
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

// Checks the weights of one server in a checkpoint of global step `step`.
// Returns DATA_LOSS if they contain a partial update, or, in synchronous
// training, an update that was omitted, applied twice, or computed for another
// step.
absl::Status CheckWeights(MonitoredTraining training, const Tensor& weights,
                          int64_t step);

// StepBook tracks the steps that a training may have reached, as reported by
// all clients.
class StepBook {
 public:
  // `num_pending` is the number of steps that may follow from successful runs.
  StepBook(int64_t last_step, int64_t num_pending)
      : last_step_(last_step), num_pending_(num_pending) {}

  void Begin(int client, absl::Time now);
  // Notes that a step of the client has succeeded and that the client is about
  // to read the global step.
  void Look(int client, absl::Time now);
  // Notes that the client has read `step`. The global step had this value at
  // some time since Look.
  void End(int client, int64_t step);

  // Return the last step of training, and the furthest step that it may have
  // reached.
  int64_t last_step() const { return last_step_; }
  int64_t furthest_step() const {
    return last_step_ - 1 + num_pending_ + num_late_;
  }

 private:
  const int64_t last_step_;
  const int64_t num_pending_;
  bool is_open_[kNumMonitoredClients] = {};
  // The state when each client called Look. Other clients may take steps
  // between its read and its result.
  struct {
    absl::Time time;
    int64_t num_ended = 0;
  } looks_[kNumMonitoredClients];
  int64_t num_ended_ = 0;
  // times of failed steps that may still take effect
  std::deque<absl::Time> failed_;
  // Steps that may have been taken since the last missing step.
  int64_t num_late_ = kNumMonitoredClients;
};

// MonitoringBook is the state that all programs and the disk check share.
struct MonitoringBook {
  // In synchronous training, the gradients of one step make one update. The
  // runs that computed them need not wait for the update while there are
  // tokens.
  MonitoringBook(int64_t last_step, MonitoredTraining training)
      : steps(last_step, IsSynchronous(training) ? 1 : 0) {}
  StepBook steps;
  // step of the last checkpoint that was reported as saved
  int64_t last_reported = -1;
  bool chief_has_ended = false;
};

struct MonitoredClientOptions {
  // All objects that the pointers refer to must outlive the client.
  TestCluster* cluster = nullptr;
  MonitoringBook* book = nullptr;
  MonitoredTraining training = MonitoredTraining::kAsynchronous;
  int index = 0;  // index of the client and its worker; 0 is the chief
  uint64_t seed = 1;
  bool save_asynchronously = false;
  // the training, which must be asynchronous, reads an input queue
  bool has_input = false;
  // Timeout of all calls to the cluster. It is infinite, as in most programs,
  // or so long that the program ends when it expires.
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
  // Tells the client that no more faults will be injected.
  void CalmDown();
  // Tells the client that its program need not reach the end of training.
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
  // Runs one process of the program from its start to its end.
  void RunProgram();
  train::MonitoredTrainingSessionOptions SessionOptions();
  // Returns the hook for synchronous training, or null in asynchronous
  // training.
  std::shared_ptr<train::SessionRunHook> SyncReplicas();
  std::shared_ptr<train::SessionRunHook> CheckpointSaver(
      const std::shared_ptr<train::SessionRunHook>& sync_replicas);
  std::string InputContainer() const;
  absl::Status Train(train::MonitoredSession& session);
  void CheckFinalOps();
  // Returns whether the program need not be restarted after its end.
  bool IsOver() const;
  void TrainingEnded();
  void ProgramFailed(const absl::Status& status);
  // Returns a description of the violation that `status` represents, or "" if
  // the error is allowed.
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
  const std::string folder_;  // folder of the checkpoints, on the writer's disk
  const std::unique_ptr<Random> random_;
  const std::unique_ptr<Logger> logger_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<MonitoredProgram> program_;
  // set in a chief with an input
  std::shared_ptr<train::FinalOpsHook> final_ops_;
  int64_t seen_step_ = -1;  // the last step seen by this program
  bool is_dying_ = false;
  bool is_terminated_ = false;
  // the program has notified the other programs of the end of training
  bool is_last_ = false;
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
