// TestCluster runs real servers for tests in this program: in one Process
// without sockets, in separate Processes over loopback sockets, or in separate
// Processes over the in-memory wire under a seeded scheduler.
//
// The client has its own Process, except with kOneProcess.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_TEST_CLUSTER_H_
#define WEFT_INTEGRATION_TESTS_TESTING_TEST_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"

namespace weft {

enum class ClusterKind { kOneProcess, kSockets, kSimulated };
inline constexpr ClusterKind kAllClusterKinds[] = {
    ClusterKind::kOneProcess, ClusterKind::kSockets, ClusterKind::kSimulated};
// Returns a name for use in test names, for example "OneProcess".
std::string ClusterKindName(ClusterKind kind);

// Memory limits of a process and of its machine. See ProcessOptions.
struct ProcessMemory {
  int64_t bound = std::numeric_limits<int64_t>::max();
  MachineMemory machine;
};

// Returns pools with few threads, so that a simulation can exhaust them. Their
// sizes depend on the seed.
SimulatedPools SmallPools(uint64_t seed);

class TestCluster {
 public:
  struct Options {
    ClusterKind kind = ClusterKind::kOneProcess;
    std::map<std::string, int> jobs = {{"ps", 1}, {"worker", 1}};
    uint64_t seed = 1;     // seed of kSimulated
    SimulatedPools pools;  // pool sizes of each task's process; kSimulated only
    int host_gpus = 0;
    // Number of GPUs per task. They are emulated on the host (FakeDevice) and
    // have their own memory with small arenas.
    int fake_gpus = 0;
    // Replaces the platform of the GPUs if not null.
    std::shared_ptr<const GpuPlatform> gpu_platform;
    absl::Duration lease = absl::Minutes(1);
    absl::Duration placement_timeout = absl::Minutes(1);
    // Infinite by default, so that a simulation has no other messages than its
    // own.
    absl::Duration heartbeat_interval = absl::InfiniteDuration();
    absl::Duration heartbeat_timeout = absl::InfiniteDuration();
    absl::Duration log_waits_after = absl::InfiniteDuration();
    Logger* logger = nullptr;  // logger of the servers; null: nothing is logged
    bus::TransportOptions transport;  // of all processes; kSimulated only
    Quotas quotas;
    // serves metrics, each task on its own port; not for kSimulated
    bool metrics = false;
    // Returns the file system of the process `name` ("client" or the name of a
    // task). The file system must outlive the cluster. Null means the local
    // file system.
    std::function<FileSystem*(const std::string& name)> file_system;
    // Returns the client functions of the process `name`. Null means no
    // functions.
    std::function<ClientFunctions(const std::string& name)> client_functions;
    // Returns the memory limits of the process `name`. Null means those of the
    // machine.
    std::function<ProcessMemory(const std::string& name)> memory;
    // Wraps the wire of a process. kSimulated only. May be null.
    std::function<std::unique_ptr<bus::Wire>(
        const std::string& name, Scheduler&, std::unique_ptr<bus::Wire> wire)>
        wrap_wire;
    // If false, injects a bug: a restarted task keeps its incarnation.
    // kSimulated only.
    bool new_incarnations = true;
  };
  // Starts all servers. An error aborts the program.
  explicit TestCluster(const Options& options);
  ~TestCluster();

  const ClusterSpec& spec() const { return spec_; }
  Server& server(const std::string& job, int index);
  const std::string& target(const std::string& job, int index);
  // Returns the process of the server.
  Process& process(const std::string& job, int index);
  // Returns options for Session::Connect with the client's process, and with
  // timeouts that end a hung test.
  SessionOptions session_options();

  // Stops the server. Running steps may continue for `drain`. Start starts
  // another server in its place, in another process.
  void Stop(const std::string& job, int index,
            absl::Duration drain = absl::ZeroDuration());
  void Start(const std::string& job, int index);
  // Kills the server's process: its threads stop where they are, and unsent
  // messages and all connections are lost. The remains are destroyed with the
  // cluster. kSimulated only.
  void Crash(const std::string& job, int index);
  // Return the threads of the server's pools and those of its connection
  // reader. Both can be stopped and resumed. kSimulated only.
  SimulatedScheduler::Part& pools(const std::string& job, int index);
  SimulatedScheduler::Part& reader(const std::string& job, int index);
  const SimulatedPools& pool_sizes() const { return options_.pools; }
  // Returns null while the server is stopped, or if it has no devices. The end
  // of the server waits until all holders have released the runtime.
  std::shared_ptr<TaskRuntime> runtime(const std::string& job, int index);

  // Creates the process of another client, which must be destroyed before the
  // cluster. `name` is the name of its wire. The names of other wires are
  // "/job:ps/replica:0/task:0", for example, and "client". kSimulated only.
  std::unique_ptr<Process> NewProcess(const std::string& name);
  SimulatedScheduler& scheduler() { return *simulated_; }
  bus::MemoryNetwork& network() { return *network_; }

 private:
  // A server and its process, unless the server runs in the client's process.
  struct Member {
    SimulatedScheduler::Part* pools = nullptr;
    SimulatedScheduler::Part* reader = nullptr;
    std::unique_ptr<Process> process;
    std::unique_ptr<Server> server;
  };
  using Parts = std::vector<std::unique_ptr<SimulatedScheduler::Part>>;

  FileSystem* DiskOf(const std::string& name) const {
    return options_.file_system ? options_.file_system(name) : nullptr;
  }
  // Returns the platform of the tasks' GPUs, or null if they use the memory of
  // the CPU or there are no GPUs.
  std::shared_ptr<const GpuPlatform> Gpus() const;
  ClientFunctions FunctionsOf(const std::string& name) const {
    return options_.client_functions ? options_.client_functions(name)
                                     : ClientFunctions();
  }
  // Returns the options that all processes share, for the process `name`.
  ProcessOptions ProcessOptionsOf(const std::string& name) const;
  absl::Status StartAll();
  void StopAll();
  absl::Status StartTask(const std::string& job, int index);
  uint64_t RandomSeedFor(const std::string& name);
  SimulatedScheduler::Part* NewPart(const SimulatedPools& pools = {});
  std::unique_ptr<Process> NewSimulatedProcess(
      const std::string& name, SimulatedScheduler::Part& pools,
      SimulatedScheduler::Part& reader);
  Member& member(const std::string& job, int index);
  // Removes the member from the table. Waits until it has no other holder.
  std::shared_ptr<Member> Take(const std::string& job, int index);
  void ReapDead();

  const Options options_;
  ClusterSpec spec_;
  ManualClock clock_;
  NullLogger logger_;
  // outlives the processes, because closures of the network may use it
  Parts parts_;
  std::unique_ptr<SimulatedScheduler> simulated_;
  std::unique_ptr<bus::MemoryNetwork> network_;
  // number of starts of each simulated process, by name
  std::map<std::string, uint64_t> starts_;
  std::unique_ptr<Process> client_;
  std::map<std::string, std::shared_ptr<Member>> members_;
  std::vector<std::pair<std::string, std::shared_ptr<Member>>> dead_;
};

// Describes the leaked sessions and steps of a task, for example
// "/job:ps/replica:0/task:0 still has 1 sessions, ...". Returns "" if there are
// no leaks.
std::string DescribeLeaks(TestCluster& cluster, const std::string& job,
                          int index);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TEST_CLUSTER_H_
