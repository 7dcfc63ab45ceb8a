// SimulateSaves simulates saves during training. Two clients, the first of
// which saves, train on a simulated cluster of a coordinator, two parameter
// servers, two workers and a checkpoint writer. Tasks, clients, connections and
// the writer's disk fail as chosen by the seed.
//
// The disk is checked periodically. The newest checkpoint must be complete and
// not older than the last reported one. It must not contain a partially updated
// variable or, with SaveConsistency::kStep, a partial step. Then faults end.
// Saves must succeed and leave only checkpoints on the disk, and nothing on any
// task.
//
// When the writer's process is killed, its machine may lose power, too. Then
// some or all unsynced data is lost.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct SaveSimulationResult {
  // The violations that were found. Empty on success.
  std::vector<std::string> violations;
  std::vector<std::string> faults;  // injected faults, for people to read
  uint64_t trace = 0;
  int num_saved = 0;
  int num_failed = 0;  // number of saves that failed
  int num_looks = 0;   // number of checks of a checkpoint on the disk
};

// Runs the simulation for one seed. Odd seeds save between steps
// (SaveConsistency::kStep).
SaveSimulationResult SimulateSaves(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_
