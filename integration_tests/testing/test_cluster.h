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
// "OneProcess": used in test names.
std::string ClusterKindName(ClusterKind kind);

// Memory limits of a process and of its machine; see ProcessOptions.
struct ProcessMemory {
  int64_t bound = std::numeric_limits<int64_t>::max();
  MachineMemory machine;
};

// Returns pools with few threads, which a simulation exhausts; their sizes
// depend on the seed.
SimulatedPools SmallPools(uint64_t seed);

class TestCluster {
 public:
  struct Options {
    ClusterKind kind = ClusterKind::kOneProcess;
    std::map<std::string, int> jobs = {{"ps", 1}, {"worker", 1}};
    uint64_t seed = 1;     // of kSimulated
    SimulatedPools pools;  // of kSimulated: of each task's process
    int host_gpus = 0;
    // GPUs per task, emulated by the host with their own memory; their arenas
    // are small (FakeDevice).
    int fake_gpus = 0;
    // Overrides the platform of the GPUs.
    std::shared_ptr<const GpuPlatform> gpu_platform;
    absl::Duration lease = absl::Minutes(1);
    absl::Duration placement_timeout = absl::Minutes(1);
    // Infinite: a simulation has no heartbeats besides its own messages.
    absl::Duration heartbeat_interval = absl::InfiniteDuration();
    absl::Duration heartbeat_timeout = absl::InfiniteDuration();
    absl::Duration log_waits_after = absl::InfiniteDuration();
    Logger* logger = nullptr;         // of the servers; null: nothing is logged
    bus::TransportOptions transport;  // of kSimulated: of all processes
    Quotas quotas;
    bool metrics = false;  // except kSimulated; each task has its own port
    // Returns the file system of the process `name` ("client", or the task's),
    // which must outlive the cluster. Null: the local one.
    std::function<FileSystem*(const std::string& name)> file_system;
    // Returns the client functions of the process `name`. May be null.
    std::function<ClientFunctions(const std::string& name)> client_functions;
    // Returns the memory of the process `name`. Null: the machine's.
    std::function<ProcessMemory(const std::string& name)> memory;
    // kSimulated only: wraps the wire of a process. May be null.
    std::function<std::unique_ptr<bus::Wire>(
        const std::string& name, Scheduler&, std::unique_ptr<bus::Wire> wire)>
        wrap_wire;
    // kSimulated only: false injects a bug: a restarted task keeps its
    // incarnation.
    bool new_incarnations = true;
  };
  // Starts all servers; aborts the program on an error.
  explicit TestCluster(const Options& options);
  ~TestCluster();

  const ClusterSpec& spec() const { return spec_; }
  Server& server(const std::string& job, int index);
  const std::string& target(const std::string& job, int index);
  // The process of the server.
  Process& process(const std::string& job, int index);
  // Options for Session::Connect: the client's process, and timeouts that end a
  // hung test.
  SessionOptions session_options();

  // Stops the server, at once unless running steps may continue for `drain`;
  // Start begins another one in its place, in another process.
  void Stop(const std::string& job, int index,
            absl::Duration drain = absl::ZeroDuration());
  void Start(const std::string& job, int index);
  // kSimulated only: kills the server's process: its threads stop where they
  // are, unsent messages and all its connections are lost. The remains are
  // destroyed with the cluster.
  void Crash(const std::string& job, int index);
  // kSimulated only: the threads of the server's pools, or its connection
  // reader, which can be stopped and resumed.
  SimulatedScheduler::Part& pools(const std::string& job, int index);
  SimulatedScheduler::Part& reader(const std::string& job, int index);
  const SimulatedPools& pool_sizes() const { return options_.pools; }
  // Null while the server is stopped, or if it has no devices. A holder delays
  // the server's end.
  std::shared_ptr<TaskRuntime> runtime(const std::string& job, int index);

  // kSimulated only. Wires are named "/job:ps/replica:0/task:0" and "client";
  // NewProcess creates more, for other clients, which must end before the
  // cluster.
  std::unique_ptr<Process> NewProcess(const std::string& name);
  SimulatedScheduler& scheduler() { return *simulated_; }
  bus::MemoryNetwork& network() { return *network_; }

 private:
  // A server and its process, if that is not the client's.
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
  // Null: the task's GPUs, if any, use the CPU's memory.
  std::shared_ptr<const GpuPlatform> Gpus() const;
  ClientFunctions FunctionsOf(const std::string& name) const {
    return options_.client_functions ? options_.client_functions(name)
                                     : ClientFunctions();
  }
  // Common options of the process `name`.
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
  // Removes the member from the table, once it has no other holder.
  std::shared_ptr<Member> Take(const std::string& job, int index);
  void ReapDead();

  const Options options_;
  ClusterSpec spec_;
  ManualClock clock_;
  NullLogger logger_;
  Parts parts_;  // closures of the network may outlive their processes
  std::unique_ptr<SimulatedScheduler> simulated_;
  std::unique_ptr<bus::MemoryNetwork> network_;
  std::map<std::string, uint64_t> starts_;  // of simulated processes, by name
  std::unique_ptr<Process> client_;
  std::map<std::string, std::shared_ptr<Member>> members_;
  std::vector<std::pair<std::string, std::shared_ptr<Member>>> dead_;
};

// Describes leaked sessions and steps of a task: "/job:ps/replica:0/task:0
// still has 1 sessions, ..."; empty if there are none.
std::string DescribeLeaks(TestCluster& cluster, const std::string& job,
                          int index);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TEST_CLUSTER_H_
