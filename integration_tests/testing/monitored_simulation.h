// SimulateMonitoredTraining: a chief and a worker train by
// MonitoredTrainingSession on a simulated cluster of a coordinator, two
// parameter servers, two workers and a checkpoint writer, while tasks,
// programs, connections and the writer's disk fail as the seed says, and
// programs are asked to leave. All the while somebody looks at the disk: the
// newest checkpoint is whole, and none older than the last that was told; in
// synchronous training its weights are those of its global step. Then all is
// left in peace: training comes to its end, at the right step, and leaves
// nothing on any task.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct MonitoredSimulationResult {
  // Empty where all is well.
  std::vector<std::string> violations;
  std::vector<std::string> faults;  // what was done, and logged, for people
  uint64_t trace = 0;
  int num_programs = 0;  // that were started, of both clients
  int num_sessions = 0;
  int64_t num_steps = 0;
  int num_looks = 0;  // at a checkpoint on the disk
};

// Odd seeds save beside the runs; every other two have bounds for all calls;
// two of eight have an input.
MonitoredSimulationResult SimulateMonitoredTraining(uint64_t seed);
// The same of synchronous replicas: both, numbered or not, or one with a
// backup, as the seed says.
MonitoredSimulationResult SimulateSynchronousTraining(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_
