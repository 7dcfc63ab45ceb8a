// ClusterFaults injects faults into a simulated cluster and its clients. A seed
// chooses the faults: tasks crash, stop or hang, and restart or resume; kernels
// and client functions occupy all threads of a task's pools; clients die;
// connections are cut or lose messages silently, in one direction or both;
// messages are late; threads are preempted for a long time. As over sockets, a
// connection is lost when it has been silent for the heartbeat timeout of the
// bus.
//
// Threads: all methods are called on the thread that advances time. The network
// calls OnMessage.
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

// A client of the cluster that also suffers faults.
class DisturbedClient {
 public:
  virtual ~DisturbedClient() = default;

  // name of the client on the network
  virtual const std::string& name() const = 0;
  // The task to which the client connects, and the session target of this task.
  virtual std::string worker() const = 0;
  virtual const std::string& target() const = 0;

  // Called when a connection of the client's process was cut.
  virtual void OnConnectionLost() = 0;
  // Called when any task hangs or resumes. A resumed task executes its earlier
  // requests, even if it was considered dead meanwhile.
  virtual void OnStuck(bool is_stuck) = 0;
  // Ends and replaces the client's process, which the caller has disconnected.
  // `reborn` returns whether the new process may communicate.
  virtual void Die() = 0;
  virtual bool reborn() const = 0;
};

class ClusterFaults {
 public:
  using Task = std::pair<std::string, int>;

  // `cluster` must outlive this object.
  ClusterFaults(TestCluster& cluster, uint64_t seed);
  ~ClusterFaults();

  // Adds a client, which suffers faults and is notified of faults. It must
  // outlive the effects of InjectFaults.
  void AddClient(DisturbedClient& client) { clients_.push_back(&client); }
  // Adds a kind of fault. Half of all injected faults are of the added kinds.
  void AddFault(std::function<void()> fault) {
    own_faults_.push_back(std::move(fault));
  }
  // Sets a function that is called when a task's process has ended, before the
  // process is replaced.
  void set_on_crash(std::function<void(const std::string& task)> on_crash) {
    on_crash_ = std::move(on_crash);
  }
  int life_of(const std::string& task) { return lives_[task]; }

  // Injects a random number of faults, with pauses. When it returns, all tasks
  // run and all faults have ended.
  void InjectFaults();

  // Crashes a task and starts it again. InjectFaults calls this function, and
  // added faults may call it.
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

  // Returns the log of the injected faults.
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

  // names of all processes on the network
  std::vector<std::string> Names() const;
  void NotifyLoss(const std::string& wire);

  TestCluster& cluster_;
  const std::unique_ptr<Random> random_;
  std::vector<Task> tasks_;
  std::vector<DisturbedClient*> clients_;
  std::vector<std::function<void()>> own_faults_;
  std::function<void(const std::string& task)> on_crash_;
  std::map<std::string, int> lives_;
  // processes of the clients that reset containers
  std::vector<std::unique_ptr<Process>> resetting_;
  bool is_injecting_ = false;
  // Late messages per 10000 messages.
  uint64_t late_messages_ = 0;
  uint64_t cut_messages_ = 0;
  SimulatedYields yields_;
  std::vector<std::string> log_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_
