#include "integration_tests/testing/test_cluster.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/bus/zmq/free_port.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/cluster/device_name.h"
#include "libs/runtime/testing/fake_gpu_platform.h"

namespace weft {
namespace {

constexpr int kFirstSimulatedPort = 1000;
constexpr int kAttempts = 5;
constexpr int64_t kFakeGpuBytes = 4 << 20;
// A MemoryWire delivers messages on the compute pool of its reader. One thread
// per channel is like over sockets: a blocked reader blocks all connections of
// its channel.
constexpr SimulatedPools kReaders = {.compute = 2};

void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "TestCluster: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

std::string ClusterKindName(ClusterKind kind) {
  switch (kind) {
    case ClusterKind::kOneProcess:
      return "OneProcess";
    case ClusterKind::kSockets:
      return "Sockets";
    case ClusterKind::kSimulated:
      break;
  }
  return "Simulated";
}

SimulatedPools SmallPools(uint64_t seed) {
  const auto drawn = [&seed](int least, int choices) {
    const int size = least + static_cast<int>(seed % choices);
    seed /= choices;
    return size;
  };
  SimulatedPools pools;
  pools.compute = drawn(1, 3);
  pools.blocking = drawn(2, 3);
  pools.graph = drawn(1, 2);
  pools.control = drawn(1, 2);
  return pools;
}

TestCluster::TestCluster(const Options& options) : options_(options) {
  if (options.kind == ClusterKind::kSimulated) {
    simulated_ = std::make_unique<SimulatedScheduler>(
        clock_, SimulatedSchedulerOptions{.seed = options.seed});
    network_ = std::make_unique<bus::MemoryNetwork>(*simulated_);
  }
  client_ = NewProcess("client");
  absl::Status started = StartAll();
  // If another program has taken a port meanwhile, other ports are tried.
  for (int i = 0; i < kAttempts && absl::IsAlreadyExists(started); ++i) {
    StopAll();
    started = StartAll();
  }
  OrDie(started);
}

TestCluster::~TestCluster() {
  if (simulated_ != nullptr) simulated_->set_yields({});
  ReapDead();
  StopAll();
  client_.reset();
  members_.clear();
}

void TestCluster::ReapDead() {
  for (auto& [task, member] : dead_) {
    member->pools->Resume();
    member->reader->Resume();
  }
  for (auto& [task, member] : dead_) network_->Reap(task);
  for (auto& [task, member] : dead_) {
    OrDie(member->server->Stop(absl::ZeroDuration()));
    member->server.reset();
    member->process.reset();
  }
  dead_.clear();
}

absl::Status TestCluster::StartAll() {
  spec_ = {};
  int next_port = kFirstSimulatedPort;
  // ports drawn so far, because a port counts as free until its server listens
  std::set<int> drawn;
  for (const auto& [job, num_tasks] : options_.jobs) {
    for (int i = 0; i < num_tasks; ++i) {
      int port = 0;
      if (options_.kind == ClusterKind::kSockets) {
        do {
          ASSIGN_OR_RETURN(port, bus::FreePort());
        } while (!drawn.insert(port).second);
      }
      if (options_.kind == ClusterKind::kSimulated) port = next_port++;
      RETURN_IF_ERROR(spec_.AddTask(job, i, absl::StrCat("localhost:", port)));
    }
  }
  for (const auto& [job, num_tasks] : options_.jobs) {
    for (int i = 0; i < num_tasks; ++i) RETURN_IF_ERROR(StartTask(job, i));
  }
  return absl::OkStatus();
}

void TestCluster::StopAll() {
  for (auto& [task, member] : members_) {
    if (member->server == nullptr) continue;
    OrDie(member->server->Stop(absl::ZeroDuration()));
  }
  for (auto& [task, member] : members_) member->server.reset();
}

std::unique_ptr<Process> TestCluster::NewProcess(const std::string& name) {
  if (options_.kind != ClusterKind::kSimulated) {
    ProcessOptions process = ProcessOptionsOf(name);
    process.compute_threads = 2;
    return std::make_unique<Process>(process);
  }
  return NewSimulatedProcess(name, *NewPart(), *NewPart(kReaders));
}

ProcessOptions TestCluster::ProcessOptionsOf(const std::string& name) const {
  ProcessOptions process = {.file_system = DiskOf(name),
                            .client_functions = FunctionsOf(name),
                            .gpu_platform = Gpus()};
  if (!options_.memory) return process;
  process.memory_bound = [memory = options_.memory, name] {
    return memory(name).bound;
  };
  process.machine_memory = [memory = options_.memory, name] {
    return memory(name).machine;
  };
  return process;
}

SimulatedScheduler::Part* TestCluster::NewPart(const SimulatedPools& pools) {
  return parts_.emplace_back(simulated_->NewPart(pools)).get();
}

std::unique_ptr<Process> TestCluster::NewSimulatedProcess(
    const std::string& name, SimulatedScheduler::Part& pools,
    SimulatedScheduler::Part& reader) {
  ProcessOptions process = ProcessOptionsOf(name);
  process.transport = options_.transport;
  return std::make_unique<Process>(
      nullptr, NewSeededRandom(RandomSeedFor(name)), pools,
      [this, name, &reader](Scheduler&) {
        std::unique_ptr<bus::Wire> wire =
            bus::NewMemoryWire(*network_, name, &reader);
        if (!options_.wrap_wire) return wire;
        return options_.wrap_wire(name, reader, std::move(wire));
      },
      process);
}

std::shared_ptr<const GpuPlatform> TestCluster::Gpus() const {
  if (options_.gpu_platform != nullptr) return options_.gpu_platform;
  if (options_.fake_gpus == 0) return nullptr;
  return std::make_shared<FakeGpuPlatform>(nullptr, kFakeGpuBytes);
}

// Returns a seed that differs for each process with the same name, because the
// incarnation of a task is drawn from its seed.
uint64_t TestCluster::RandomSeedFor(const std::string& name) {
  const uint64_t starts = starts_[name]++;
  return (options_.seed * 1000003 + std::hash<std::string>()(name)) * 1009 +
         (options_.new_incarnations ? starts : 0);
}

void TestCluster::Start(const std::string& job, int index) {
  OrDie(StartTask(job, index));
}

absl::Status TestCluster::StartTask(const std::string& job, int index) {
  const std::string task = TaskName(job, index);
  const auto found = members_.find(task);
  auto member =
      found != members_.end() ? found->second : std::make_shared<Member>();
  if (options_.kind == ClusterKind::kSimulated) {
    member->pools = NewPart(options_.pools);
    member->reader = NewPart(kReaders);
    member->process =
        NewSimulatedProcess(task, *member->pools, *member->reader);
  } else if (options_.kind == ClusterKind::kSockets &&
             member->process == nullptr) {
    member->process = NewProcess(task);
  }
  ASSIGN_OR_RETURN(
      member->server,
      Server::Create(
          spec_, {.job_name = job,
                  .task_index = index,
                  .metrics_port =
                      options_.metrics ? std::optional<int>(0) : std::nullopt,
                  .gpus = HasDevices(job) ? options_.fake_gpus : 0,
                  .host_gpus = options_.host_gpus,
                  .process = member->process != nullptr ? member->process.get()
                                                        : client_.get(),
                  .lease = options_.lease,
                  .placement_timeout = options_.placement_timeout,
                  .heartbeat_interval = options_.heartbeat_interval,
                  .heartbeat_timeout = options_.heartbeat_timeout,
                  .log_waits_after = options_.log_waits_after,
                  .quotas = options_.quotas,
                  .logger = options_.logger ? options_.logger : &logger_}));
  members_.insert_or_assign(task, std::move(member));
  return absl::OkStatus();
}

std::shared_ptr<TestCluster::Member> TestCluster::Take(const std::string& job,
                                                       int index) {
  std::shared_ptr<Member> taken =
      std::move(members_.extract(TaskName(job, index)).mapped());
  while (taken.use_count() > 1 && simulated_ != nullptr) {
    simulated_->AdvanceBy(absl::Milliseconds(1));
  }
  return taken;
}

// Removes the server from the tables before it stops, because stopping takes
// time and other threads use the tables.
void TestCluster::Stop(const std::string& job, int index,
                       absl::Duration drain) {
  const std::shared_ptr<Member> stopped = Take(job, index);
  OrDie(stopped->server->Stop(drain));
  stopped->server.reset();
}

void TestCluster::Crash(const std::string& job, int index) {
  const std::string task = TaskName(job, index);
  const std::shared_ptr<Member> killed = Take(job, index);
  killed->pools->Stop();
  killed->reader->Stop();
  network_->Kill(task);
  dead_.emplace_back(task, killed);
}

std::shared_ptr<TaskRuntime> TestCluster::runtime(const std::string& job,
                                                  int index) {
  auto it = members_.find(TaskName(job, index));
  if (it == members_.end() || it->second->server == nullptr) return nullptr;
  if (!HasDevices(job)) return nullptr;
  return {it->second, &it->second->server->runtime()};
}

TestCluster::Member& TestCluster::member(const std::string& job, int index) {
  return *members_.at(TaskName(job, index));
}

SimulatedScheduler::Part& TestCluster::pools(const std::string& job,
                                             int index) {
  return *member(job, index).pools;
}

SimulatedScheduler::Part& TestCluster::reader(const std::string& job,
                                              int index) {
  return *member(job, index).reader;
}

Server& TestCluster::server(const std::string& job, int index) {
  return *member(job, index).server;
}

const std::string& TestCluster::target(const std::string& job, int index) {
  return server(job, index).target();
}

Process& TestCluster::process(const std::string& job, int index) {
  Member& found = member(job, index);
  return found.process != nullptr ? *found.process : *client_;
}

SessionOptions TestCluster::session_options() {
  return {.operation_timeout = absl::Minutes(1),
          .connect_timeout = absl::Seconds(30),
          .log_waits_after = absl::InfiniteDuration(),
          .process = client_.get()};
}

std::string DescribeLeaks(TestCluster& cluster, const std::string& job,
                          int index) {
  const auto runtime = cluster.runtime(job, index);
  const StepTable::Size steps = runtime->steps();
  if (runtime->num_sessions() + runtime->num_registrations() + steps.masters +
          steps.running + steps.waiting + steps.aborted ==
      0) {
    return "";
  }
  return absl::StrCat(TaskName(job, index), " still has ",
                      runtime->num_sessions(), " sessions, ",
                      runtime->num_registrations(), " registrations, ",
                      steps.masters, " masters, ", steps.running,
                      " steps that run and ", steps.waiting, " that wait");
}

}  // namespace weft
