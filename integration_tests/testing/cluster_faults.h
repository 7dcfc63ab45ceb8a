// ClusterFaults injects faults, chosen by a seed, into a simulated cluster and
// its clients: tasks crash, stop or hang, and restart or resume; kernels and
// client functions occupy all threads of a task's pools; clients die;
// connections are cut or fall silent, in one direction or both; messages are
// late; threads are preempted for long. A connection that is silent for the
// bus's heartbeat timeout is lost, as over sockets.
//
// Threads: the thread that advances time; the network calls OnMessage.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "integration_tests/testing/test_cluster.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"

namespace weft {

// A client of the cluster, which gets faults, too.
class DisturbedClient {
 public:
  virtual ~DisturbedClient() = default;

  virtual const std::string& name() const = 0;  // of its wire
  // The task that it connects to, and its target.
  virtual std::string worker() const = 0;
  virtual const std::string& target() const = 0;

  // Called when a connection of its process was cut.
  virtual void OnConnectionLost() = 0;
  // Called when a task hangs or resumes. A hung task that is considered dead
  // meanwhile still executes earlier requests when it resumes.
  virtual void OnStuck(bool is_stuck) = 0;
  // The client's process ends and is replaced; the caller has disconnected it.
  // `reborn` is called when it may communicate again.
  virtual void Die() = 0;
  virtual bool reborn() const = 0;
};

class ClusterFaults {
 public:
  using Task = std::pair<std::string, int>;

  // `cluster` must outlive it.
  ClusterFaults(TestCluster& cluster, uint64_t seed);
  ~ClusterFaults();

  // Adds a client to disturb and notify; it must outlive the effects of
  // InjectFaults.
  void AddClient(DisturbedClient& client) { clients_.push_back(&client); }
  // Adds a fault; half of all injected faults are added ones.
  void AddFault(std::function<void()> fault) {
    own_faults_.push_back(std::move(fault));
  }
  // Called when a task's process has ended, before it is replaced.
  void set_on_crash(std::function<void(const std::string& task)> on_crash) {
    on_crash_ = std::move(on_crash);
  }
  int life_of(const std::string& task) { return lives_[task]; }

  // Injects a random number of faults, with pauses. Afterwards all tasks run,
  // and no fault is active.
  void InjectFaults();

  // For added faults; InjectFaults calls it, too.
  void CrashTask(const Task& task);
  void Advance(absl::Duration duration) {
    cluster_.scheduler().AdvanceBy(duration);
  }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }
  absl::Duration UpTo(int milliseconds) {
    return absl::Milliseconds(1 + Chance(milliseconds));
  }
  Random& random() { return *random_; }
  void Log(const std::string& what);

  // Log of the injected faults.
  const std::vector<std::string>& log() const { return log_; }

 private:
  bus::HookResult OnMessage(const bus::MessageInfo& message);
  void InjectFault();
  void StopTask(const Task& task);
  void StartAgain(const Task& task);
  void HoldTask(const Task& task);
  void ExhaustPools(const Task& task);
  void ResetMaster();
  void KillClient(DisturbedClient& client);
  void CutConnections();
  void Silence();
  absl::Duration Drain();
  void Cut(const std::string& a, const std::string& b);

  std::vector<std::string> Names() const;  // of all wires
  void NotifyLoss(const std::string& wire);

  TestCluster& cluster_;
  const std::unique_ptr<Random> random_;
  std::vector<Task> tasks_;
  std::vector<DisturbedClient*> clients_;
  std::vector<std::function<void()>> own_faults_;
  std::function<void(const std::string& task)> on_crash_;
  std::map<std::string, int> lives_;
  std::vector<std::unique_ptr<Process>> resetting_;  // of clients
  bool is_injecting_ = false;
  // Late messages per 10000.
  uint64_t late_messages_ = 0;
  uint64_t cut_messages_ = 0;
  SimulatedYields yields_;
  std::vector<std::string> log_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_
