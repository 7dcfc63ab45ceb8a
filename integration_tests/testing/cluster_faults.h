// ClusterFaults: disturbs a simulated cluster and its clients as a seed says:
// tasks crash, stop or stand still, and start again or go on, clients die,
// connections are cut or fall silent, in one direction or both, messages are
// late, threads are interrupted and come back late. A connection that is silent
// for as long as the bus's heartbeats wait is lost, as over sockets.
//
// Threads: of the one that advances time; the network calls OnMessage.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_CLUSTER_FAULTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "integration_tests/testing/test_cluster.h"
#include "integration_tests/testing/trainer.h"
#include "libs/base/random.h"
#include "libs/base/simulated_scheduler.h"

namespace weft {

class ClusterFaults {
 public:
  // `cluster` outlives it.
  ClusterFaults(TestCluster& cluster, uint64_t seed);
  ~ClusterFaults();

  // To be disturbed too, and told; they outlive what Rage does.
  void AddTrainer(Trainer& trainer) { trainers_.push_back(&trainer); }
  int life_of(const std::string& task) { return lives_[task]; }

  // Lets time pass, and disturbs. Afterwards all tasks run, and nothing is
  // disturbed any more.
  void Rage();

  // For people: what was done.
  const std::vector<std::string>& log() const { return log_; }

 private:
  using Task = std::pair<std::string, int>;

  bus::Verdict OnMessage(const bus::MessageInfo& message);
  void DoSomething();
  void CrashTask(const Task& task);
  void StopTask(const Task& task);
  void StartAgain(const Task& task);
  void HoldTask(const Task& task);
  void ResetMaster();
  void KillClient(Trainer& trainer);
  void CutConnections();
  void Silence();
  absl::Duration Drain();
  void Cut(const std::string& a, const std::string& b);

  std::vector<std::string> Names() const;  // of all wires
  void TellLoss(const std::string& wire);
  void Advance(absl::Duration duration) {
    cluster_.scheduler().AdvanceBy(duration);
  }
  uint64_t Chance(uint64_t bound) { return random_->Next() % bound; }
  absl::Duration UpTo(int milliseconds) {
    return absl::Milliseconds(1 + Chance(milliseconds));
  }
  void Log(const std::string& what);

  TestCluster& cluster_;
  const std::unique_ptr<Random> random_;
  std::vector<Task> tasks_;
  std::vector<Trainer*> trainers_;
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
