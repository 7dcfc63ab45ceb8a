// DiskSimulation is the base class of simulations of programs that save. It
// consists of a simulated cluster (a coordinator, parameter servers, workers
// and a checkpoint writer), faults of the tasks, programs and the writer's
// disk, and a periodic check of that disk. When the programs have ended, it
// checks what they left on the tasks.
//
// Threads: Look is called on a thread of the simulation. All other methods must
// be called on the thread that advances time.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_DISK_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_DISK_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "integration_tests/testing/cluster_faults.h"
#include "integration_tests/testing/test_cluster.h"
#include "integration_tests/testing/writers_disk.h"
#include "libs/fs/memory_file_system.h"

namespace weft {

struct DiskSimulationOptions {
  uint64_t seed = 1;
  int num_servers = 0;  // number of tasks of job "ps"
  int num_clients = 0;  // number of programs, and of tasks of job "worker"
  std::string folder;   // folder of the checkpoints, on the writer's disk
  bool has_small_chunks = false;  // variables are saved in several chunks
};

class DiskSimulation {
 public:
  explicit DiskSimulation(const DiskSimulationOptions& options);
  virtual ~DiskSimulation() = default;
  DiskSimulation(const DiskSimulation&) = delete;
  DiskSimulation& operator=(const DiskSimulation&) = delete;

 protected:
  // Checks the newest checkpoint, which may change during the check. Called
  // every 300 ms, starting with Disturb.
  virtual void Look() = 0;
  virtual bool HaveAllEnded() const = 0;
  // Called once a second until the programs have ended. May help them to end.
  virtual void ResumeUntilEnd() {}

  // Takes ownership of a program and injects faults into it. The program
  // outlives the cluster.
  template <typename Client>
  Client* Keep(std::unique_ptr<Client> client) {
    Client* const kept = client.get();
    faults_.AddClient(*kept);
    clients_.push_back(std::move(client));
    return kept;
  }
  // Injects faults in `num_rounds` rounds (ClusterFaults::InjectFaults), with
  // pauses of at most `between_milliseconds`. All programs must have been
  // started. Starts the periodic calls of Look.
  void Disturb(int num_rounds, int between_milliseconds);
  // Waits until the programs have ended, and checks what they left behind. If a
  // program never ends, the process exits and prints the seed.
  void End();

  // Returns the path of the newest checkpoint, or "" if there is no checkpoint.
  std::string Newest();
  void Violate(const std::string& what) { violations_.push_back(what); }
  void Advance(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }
  absl::Time Now() { return cluster_.scheduler().clock().Now(); }

  TestCluster& cluster() { return cluster_; }
  ClusterFaults& faults() { return faults_; }
  // The disk of the writer. All other tasks must have no files.
  MemoryFileSystem& disk() { return disk_.files(); }
  MemoryFileSystem& others_disk() { return others_disk_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  TestCluster::Options ClusterOptions();
  // Calls Look until End stops it. Runs on the blocking pool.
  void WatchDisk();
  [[noreturn]] void Abort();
  void CheckForgotten(const std::string& job, int num_tasks);

  const DiskSimulationOptions options_;
  std::vector<std::string> violations_;
  bool is_over_ = false;     // tells WatchDisk to stop
  bool is_watched_ = false;  // WatchDisk is running; End waits for its end
  WritersDisk disk_;
  MemoryFileSystem others_disk_;
  std::vector<std::unique_ptr<DisturbedClient>> clients_;
  TestCluster cluster_;
  ClusterFaults faults_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_DISK_SIMULATION_H_
