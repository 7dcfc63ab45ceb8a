// SimulateMonitoredTraining simulates training by MonitoredTrainingSession. A
// chief and a worker train on a simulated cluster of a coordinator, two
// parameter servers, two workers and a checkpoint writer. Tasks, programs,
// connections and the writer's disk fail as chosen by the seed, and programs
// are asked to stop. The disk is checked periodically: the newest checkpoint
// must be complete and not older than the last reported one. In synchronous
// training its weights must match its global step. Then faults end. Training
// must reach its end, at the right step, and leave nothing on any task.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct MonitoredSimulationResult {
  // The violations that were found. Empty on success.
  std::vector<std::string> violations;
  // Injected faults and log lines, for people to read.
  std::vector<std::string> faults;
  uint64_t trace = 0;
  int num_programs = 0;  // programs started by both clients
  int num_sessions = 0;
  int64_t num_steps = 0;
  int num_looks = 0;  // number of checks of a checkpoint on the disk
};

// Simulates asynchronous training. Odd seeds save asynchronously, half of all
// seeds have timeouts for all calls, and two of eight seeds have an input.
MonitoredSimulationResult SimulateMonitoredTraining(uint64_t seed);
// Simulates synchronous training, otherwise like SimulateMonitoredTraining. The
// seed chooses whether an update needs both replicas, numbered or not, or
// whether one replica is a backup.
MonitoredSimulationResult SimulateSynchronousTraining(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MONITORED_SIMULATION_H_
