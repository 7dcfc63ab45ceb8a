// TestCluster: real servers for tests, all in this program: in one Process
// without sockets, in a Process each over loopback sockets, or in a Process
// each over the in-memory wire under a seeded scheduler.
//
// The client has a Process of its own but for kOneProcess.
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
#include "libs/base/simulated_scheduler.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process.h"

namespace weft {

enum class ClusterKind { kOneProcess, kSockets, kSimulated };
inline constexpr ClusterKind kAllClusterKinds[] = {
    ClusterKind::kOneProcess, ClusterKind::kSockets, ClusterKind::kSimulated};
// "OneProcess": for the names of tests.
std::string ClusterKindName(ClusterKind kind);

// What a process can hold, and its machine with what that has; as
// ProcessOptions says.
struct ProcessMemory {
  int64_t bound = std::numeric_limits<int64_t>::max();
  MachineMemory machine;
};

// Pools of few threads, so that a simulation exhausts them; how many, the seed
// says.
SimulatedPools SmallPools(uint64_t seed);

class TestCluster {
 public:
  struct Options {
    ClusterKind kind = ClusterKind::kOneProcess;
    std::map<std::string, int> jobs = {{"ps", 1}, {"worker", 1}};
    uint64_t seed = 1;     // of kSimulated
    SimulatedPools pools;  // of kSimulated: of each task's process
    int host_gpus = 0;
    // Of each task, with memory of their own, which the host plays; their
    // arenas are small (FakeDevice).
    int fake_gpus = 0;
    // Whose these are instead, where it is given.
    std::shared_ptr<const GpuPlatform> gpu_platform;
    absl::Duration lease = absl::Minutes(1);
    absl::Duration patience = absl::Minutes(1);
    // Infinite: what a test simulates has no other messages than its own.
    absl::Duration heartbeat_interval = absl::InfiniteDuration();
    absl::Duration heartbeat_timeout = absl::InfiniteDuration();
    absl::Duration log_waits_after = absl::InfiniteDuration();
    Logger* logger = nullptr;         // of the servers; null: nothing is logged
    bus::TransportOptions transport;  // of kSimulated: of all processes
    Quotas quotas;
    bool metrics = false;  // but for kSimulated: each at a port of its own
    // What a process of that name ("client", or the task's) has for a disk,
    // which outlives the cluster. Null: the machine's.
    std::function<FileSystem*(const std::string& name)> file_system;
    // What a process of that name has of functions of its program. May be null.
    std::function<ClientFunctions(const std::string& name)> client_functions;
    // What a process of that name has of memory. Null: what the machine has.
    std::function<ProcessMemory(const std::string& name)> memory;
    // Of kSimulated: puts a wire of the test's in front of a process's own one.
    // May be null.
    std::function<std::unique_ptr<bus::Wire>(
        const std::string& name, Scheduler&, std::unique_ptr<bus::Wire> wire)>
        wrap_wire;
    // Of kSimulated: false plants a bug: a task that starts again is taken for
    // what it was.
    bool new_incarnations = true;
  };
  // Starts all servers; aborts the program where that fails.
  explicit TestCluster(const Options& options);
  ~TestCluster();

  const ClusterSpec& spec() const { return spec_; }
  Server& server(const std::string& job, int index);
  const std::string& target(const std::string& job, int index);
  // What the server lives in.
  Process& process(const std::string& job, int index);
  // For Session::Connect: the client's process, and bounds that end a test that
  // hangs.
  SessionOptions session_options();

  // Stops the server, at once unless steps may go on for `drain`; Start begins
  // another one in its place, in another process.
  void Stop(const std::string& job, int index,
            absl::Duration drain = absl::ZeroDuration());
  void Start(const std::string& job, int index);
  // Of kSimulated: the server's process is killed, and gone at once: it stands
  // still wherever it was, what it had sent is lost, and all its connections
  // are. What is left of it is taken down with the cluster.
  void Crash(const std::string& job, int index);
  // Of kSimulated: the threads of the server's pools, or the one that reads its
  // connections, stand still until they go on.
  SimulatedScheduler::Part& pools(const std::string& job, int index);
  SimulatedScheduler::Part& reader(const std::string& job, int index);
  const SimulatedPools& pool_sizes() const { return options_.pools; }
  // Null while the server is stopped, or where it has no devices. Whoever holds
  // it keeps the server from its end.
  std::shared_ptr<TaskRuntime> runtime(const std::string& job, int index);

  // Of kSimulated. Wires are called "/job:ps/replica:0/task:0" and "client";
  // NewProcess makes more, for other clients, which the cluster outlives.
  std::unique_ptr<Process> NewProcess(const std::string& name);
  SimulatedScheduler& scheduler() { return *simulated_; }
  bus::MemoryNetwork& network() { return *network_; }

 private:
  // A server and what it lives in, where that is not the client's process.
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
  // Null: the task's GPUs, if any, have the CPU's memory.
  std::shared_ptr<const GpuPlatform> Gpus() const;
  ClientFunctions FunctionsOf(const std::string& name) const {
    return options_.client_functions ? options_.client_functions(name)
                                     : ClientFunctions();
  }
  // What any process of that name has.
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
  // Out of the table, once nobody holds it.
  std::shared_ptr<Member> Take(const std::string& job, int index);
  void BuryTheDead();

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

// What a task still holds of sessions and their steps, though nobody has any
// more: "/job:ps/replica:0/task:0 still has 1 sessions, ..."; empty: nothing.
std::string WhatIsLeft(TestCluster& cluster, const std::string& job, int index);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TEST_CLUSTER_H_
