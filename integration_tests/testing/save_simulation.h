// SimulateSaves lets two clients train, the first of which saves, on a
// simulated cluster of a coordinator, two parameter servers, two workers and a
// checkpoint writer, while tasks, clients, connections and the writer's disk
// fail as chosen by the seed. The disk is checked periodically: the newest
// checkpoint is complete, is not older than the last reported one, and contains
// no partially updated variable, nor, with SaveConsistency::kStep, a partial
// step. Then faults end, and saves must succeed and leave only checkpoints on
// the disk, and nothing on any task.
//
// When the writer's process is killed, its machine may lose power, too: then
// some or all unsynced data is lost.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct SaveSimulationResult {
  // Empty on success.
  std::vector<std::string> violations;
  std::vector<std::string> faults;  // injected faults, to be read by people
  uint64_t trace = 0;
  int num_saved = 0;
  int num_failed = 0;  // saves
  int num_looks = 0;   // checks of a checkpoint on the disk
};

// Odd seeds save between steps (SaveConsistency::kStep).
SaveSimulationResult SimulateSaves(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_
