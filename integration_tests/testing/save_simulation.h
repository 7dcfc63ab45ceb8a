// SimulateSaves: two clients train, and the first of them saves, on a simulated
// cluster of a coordinator, two parameter servers, two workers and a checkpoint
// writer, while tasks, clients, connections and the writer's disk fail as the
// seed says. All the while somebody looks at the disk: the newest checkpoint is
// whole, is none older than the last that was told, and has no variable, nor,
// if that was asked for, a step half in it. Then all is left in peace, and
// saves succeed, leave nothing but checkpoints behind, and nothing on any task.
//
// When the writer's process is killed its machine may lose its power as well:
// then what was not synced is gone, or some of it.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct SaveSimulationResult {
  // Empty where all is well.
  std::vector<std::string> violations;
  std::vector<std::string> faults;  // what was done to it, for people
  uint64_t trace = 0;
  int num_saved = 0;
  int num_failed = 0;  // saves
  int num_looks = 0;   // at a checkpoint on the disk
};

// Odd seeds save between steps (SaveConsistency::kStep).
SaveSimulationResult SimulateSaves(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SAVE_SIMULATION_H_
