// SimulateTraining: two clients train on a simulated cluster of a coordinator,
// two parameter servers and two workers while tasks, clients and connections
// fail as the seed says; then all is left in peace, and everything has to be as
// it should: steps succeed, and no task holds anything that nobody needs.
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
  // Each task has one with memory of its own (FakeDevice), and most of the
  // program runs there.
  bool on_gpus = false;
  // Plants a bug; may be null.
  std::function<void(TestCluster::Options& cluster)> plant;
};

struct TrainingSimulationResult {
  // Empty where all is well. A run that hangs is one.
  std::vector<std::string> violations;
  std::vector<std::string> faults;  // what was done to it, for people
  uint64_t trace = 0;
  int num_succeeded = 0;  // steps
  int num_failed = 0;
};

TrainingSimulationResult SimulateTraining(
    const TrainingSimulationOptions& options);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TRAINING_SIMULATION_H_
