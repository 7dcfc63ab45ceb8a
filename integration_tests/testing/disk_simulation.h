// DiskSimulation is the base of simulations of programs that save: a simulated
// cluster of a coordinator, parameter servers, workers and a checkpoint writer;
// faults of tasks, programs and the writer's disk; a periodic check of that
// disk; and, when the programs have ended, a check of what they left on the
// tasks.
//
// Threads: Look is called on a thread of the simulation; all other methods on
// the thread that advances time.
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
  int num_servers = 0;            // tasks of job "ps"
  int num_clients = 0;            // programs, and tasks of job "worker"
  std::string folder;             // of the checkpoints, at the writer
  bool has_small_chunks = false;  // several chunks per variable
};

class DiskSimulation {
 public:
  explicit DiskSimulation(const DiskSimulationOptions& options);
  virtual ~DiskSimulation() = default;
  DiskSimulation(const DiskSimulation&) = delete;
  DiskSimulation& operator=(const DiskSimulation&) = delete;

 protected:
  // Checks the newest checkpoint, which may change during the check. Called
  // every 300 ms after Disturb.
  virtual void Look() = 0;
  virtual bool HaveAllEnded() const = 0;
  // Called once a second until the programs have ended, to help them end.
  virtual void ResumeUntilEnd() {}

  // Owns a program and injects faults into it. The program outlives the
  // cluster.
  template <typename Client>
  Client* Keep(std::unique_ptr<Client> client) {
    Client* const kept = client.get();
    faults_.AddClient(*kept);
    clients_.push_back(std::move(client));
    return kept;
  }
  // Injects faults in `num_rounds` rounds (ClusterFaults::InjectFaults), with
  // pauses of up to the given time. All programs must have been started. Look
  // is called from here on.
  void Disturb(int num_rounds, int between_milliseconds);
  // Waits until the programs have ended, and checks what is left. If a program
  // never ends, the process exits and prints the seed.
  void End();

  // The path of the newest checkpoint; empty if there is none.
  std::string Newest();
  void Violate(const std::string& what) { violations_.push_back(what); }
  void Advance(absl::Duration time) { cluster_.scheduler().AdvanceBy(time); }
  absl::Time Now() { return cluster_.scheduler().clock().Now(); }

  TestCluster& cluster() { return cluster_; }
  ClusterFaults& faults() { return faults_; }
  // Disk of the writer; all other tasks must have no files.
  MemoryFileSystem& disk() { return disk_.files(); }
  MemoryFileSystem& others_disk() { return others_disk_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  TestCluster::Options ClusterOptions();
  // Calls Look until End stops it; runs on the blocking pool.
  void WatchDisk();
  [[noreturn]] void Abort();
  void CheckForgotten(const std::string& job, int num_tasks);

  const DiskSimulationOptions options_;
  std::vector<std::string> violations_;
  bool is_over_ = false;     // stops WatchDisk
  bool is_watched_ = false;  // WatchDisk runs: End waits for it
  WritersDisk disk_;
  MemoryFileSystem others_disk_;
  std::vector<std::unique_ptr<DisturbedClient>> clients_;
  TestCluster cluster_;
  ClusterFaults faults_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_DISK_SIMULATION_H_
