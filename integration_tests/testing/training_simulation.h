// SimulateTraining simulates a training with faults. Two clients train on a
// simulated cluster of a coordinator, two parameter servers and two workers,
// while tasks, clients and connections fail as chosen by the seed. Then faults
// end. Steps must succeed, and no task may hold unused resources.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_TRAINING_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_TRAINING_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "integration_tests/testing/test_cluster.h"

namespace weft {

struct TrainingSimulationOptions {
  uint64_t seed = 1;
  // Gives each task a GPU with its own memory (FakeDevice), which runs most of
  // the program.
  bool on_gpus = false;
  // Injects a bug into the cluster. May be null.
  std::function<void(TestCluster::Options& cluster)> plant;
};

struct TrainingSimulationResult {
  // The violations that were found, such as a hung run. Empty on success.
  std::vector<std::string> violations;
  std::vector<std::string> faults;  // injected faults, for people to read
  uint64_t trace = 0;
  int num_succeeded = 0;  // number of successful steps
  int num_failed = 0;
};

TrainingSimulationResult SimulateTraining(
    const TrainingSimulationOptions& options);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TRAINING_SIMULATION_H_
