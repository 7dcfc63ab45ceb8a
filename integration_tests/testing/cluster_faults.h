// ClusterFaults: disturbs a simulated cluster and its clients as a seed says:
// tasks crash, stop or stand still, and start again or go on, kernels and
// client functions hold all threads of a task's pools, clients die, connections
// are cut or fall silent, in one direction or both, messages are late, threads
// are interrupted and come back late. A connection that is silent for as long
// as the bus's heartbeats wait is lost, as over sockets.
//
// Threads: of the one that advances time; the network calls OnMessage.
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
#include "libs/base/simulated_scheduler.h"

namespace weft {

// A client of the cluster, which is disturbed too.
class DisturbedClient {
 public:
  virtual ~DisturbedClient() = default;

  virtual const std::string& name() const = 0;  // of its wire
  // The task that it connects to, and its target.
  virtual std::string worker() const = 0;
  virtual const std::string& target() const = 0;

  // A connection of its process was cut.
  virtual void OnConnectionLost() = 0;
  // A task stands still, or goes on again. One that is taken for dead meanwhile
  // does afterwards what it was asked before.
  virtual void OnStuck(bool is_stuck) = 0;
  // The client's process ends and another one takes its place; the caller has
  // cut it off. `reborn` tells when it may be heard again.
  virtual void Die() = 0;
  virtual bool reborn() const = 0;
};

class ClusterFaults {
 public:
  using Task = std::pair<std::string, int>;

  // `cluster` outlives it.
  ClusterFaults(TestCluster& cluster, uint64_t seed);
  ~ClusterFaults();

  // To be disturbed too, and told; they outlive what Rage does.
  void AddClient(DisturbedClient& client) { clients_.push_back(&client); }
  // One of these is done half of the times.
  void AddFault(std::function<void()> fault) {
    own_faults_.push_back(std::move(fault));
  }
  // Called when a task's process is gone, before there is another.
  void set_on_crash(std::function<void(const std::string& task)> on_crash) {
    on_crash_ = std::move(on_crash);
  }
  int life_of(const std::string& task) { return lives_[task]; }

  // Lets time pass, and disturbs. Afterwards all tasks run, and nothing is
  // disturbed any more.
  void Rage();

  // What it also does by itself, for the faults that are added.
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

  // For people: what was done.
  const std::vector<std::string>& log() const { return log_; }

 private:
  bus::Verdict OnMessage(const bus::MessageInfo& message);
  void DoSomething();
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
  void TellLoss(const std::string& wire);

  TestCluster& cluster_;
  const std::unique_ptr<Random> random_;
  std::vector<Task> tasks_;
  std::vector<DisturbedClient*> clients_;
  std::vector<std::function<void()>> own_faults_;
  std::function<void(const std::string& task)> on_crash_;
  std::map<std::string, int> lives_;
  std::vector<std::unique_ptr<Process>> resetting_;  // of clients
  bool is_raging_ = false;
  // Of 10000 messages.
  uint64_t late_messages_ = 0;
  uint64_t cut_messages_ = 0;
  SimulatedYields yields_;
  std::vector<std::string> log_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_
