// SimulateMonitoredTraining lets a chief and a worker train by
// MonitoredTrainingSession on a simulated cluster of a coordinator, two
// parameter servers, two workers and a checkpoint writer, while tasks,
// programs, connections and the writer's disk fail as chosen by the seed, and
// programs are asked to stop. The disk is checked periodically: the newest
// checkpoint is complete, and not older than the last reported one; in
// synchronous training its weights match its global step. Then faults end:
// training must reach its end, at the right step, and leave nothing on any
// task.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct MonitoredSimulationResult {
  // Empty on success.
  std::vector<std::string> violations;
  // Injected faults and log lines, to be read by people.
  std::vector<std::string> faults;
  uint64_t trace = 0;
  int num_programs = 0;  // started by both clients
  int num_sessions = 0;
  int64_t num_steps = 0;
  int num_looks = 0;  // checks of a checkpoint on the disk
};

// Odd seeds save asynchronously; half of all seeds have timeouts for all calls;
// two of eight have an input.
MonitoredSimulationResult SimulateMonitoredTraining(uint64_t seed);
// SimulateMonitoredTraining with synchronous replicas: both, numbered or not,
// or one with a backup, as chosen by the seed.
MonitoredSimulationResult SimulateSynchronousTraining(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_
