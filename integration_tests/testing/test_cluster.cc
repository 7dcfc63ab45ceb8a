#include "integration_tests/testing/test_cluster.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/bus/free_port.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/cluster/device_name.h"

namespace weft {
namespace {

constexpr int kFirstSimulatedPort = 1000;
constexpr int kAttempts = 5;

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

TestCluster::TestCluster(const Options& options) : options_(options) {
  if (options.kind == ClusterKind::kSimulated) {
    simulated_ = std::make_unique<SimulatedScheduler>(
        clock_, SimulatedSchedulerOptions{.seed = options.seed});
    network_ = std::make_unique<bus::MemoryNetwork>(*simulated_);
  }
  client_ = NewProcess("client");
  absl::Status started = StartAll();
  // Another program may be quicker to take a port.
  for (int i = 0; i < kAttempts && absl::IsAlreadyExists(started); ++i) {
    StopAll();
    started = StartAll();
  }
  OrDie(started);
}

TestCluster::~TestCluster() {
  StopAll();
  client_.reset();
  processes_.clear();
}

absl::Status TestCluster::StartAll() {
  spec_ = {};
  int next_port = kFirstSimulatedPort;
  for (const auto& [job, num_tasks] : options_.jobs) {
    for (int i = 0; i < num_tasks; ++i) {
      int port = 0;
      if (options_.kind == ClusterKind::kSockets) {
        ASSIGN_OR_RETURN(port, bus::FreePort());
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
  for (auto& [task, server] : servers_) {
    OrDie(server->Stop(absl::ZeroDuration()));
  }
  servers_.clear();
}

std::unique_ptr<Process> TestCluster::NewProcess(const std::string& name) {
  if (options_.kind != ClusterKind::kSimulated) {
    return std::make_unique<Process>(ProcessOptions{.compute_threads = 2});
  }
  return std::make_unique<Process>(
      nullptr, NewSeededRandom(RandomSeedFor(name)), *simulated_,
      [this, name](Scheduler&) {
        std::unique_ptr<bus::Wire> wire = bus::NewMemoryWire(*network_, name);
        if (!options_.wrap_wire) return wire;
        return options_.wrap_wire(name, *simulated_, std::move(wire));
      });
}

// Another one for each process of a name: it draws the task's incarnation.
uint64_t TestCluster::RandomSeedFor(const std::string& name) {
  const uint64_t starts = starts_[name]++;
  return (options_.seed * 1000003 + std::hash<std::string>()(name)) * 1009 +
         (options_.new_incarnations ? starts : 0);
}

Process& TestCluster::ProcessOf(const std::string& task) {
  if (options_.kind == ClusterKind::kOneProcess) return *client_;
  std::unique_ptr<Process>& process = processes_[task];
  if (process == nullptr) process = NewProcess(task);
  return *process;
}

void TestCluster::Start(const std::string& job, int index) {
  OrDie(StartTask(job, index));
}

absl::Status TestCluster::StartTask(const std::string& job, int index) {
  const std::string task = TaskName(job, index);
  ASSIGN_OR_RETURN(
      servers_[task],
      Server::Create(spec_,
                     {.job_name = job,
                      .task_index = index,
                      .host_gpus = options_.host_gpus,
                      .process = &ProcessOf(task),
                      .lease = options_.lease,
                      .patience = options_.patience,
                      .heartbeat_interval = options_.heartbeat_interval,
                      .heartbeat_timeout = options_.heartbeat_timeout,
                      .log_waits_after = options_.log_waits_after,
                      .logger = options_.logger ? options_.logger : &logger_}));
  return absl::OkStatus();
}

// Out of the tables first: it takes time, and others look there meanwhile.
void TestCluster::Stop(const std::string& job, int index,
                       absl::Duration drain) {
  const auto process = processes_.extract(TaskName(job, index));
  auto server = servers_.extract(TaskName(job, index));
  OrDie(server.mapped()->Stop(drain));
}

void TestCluster::Crash(const std::string& job, int index) {
  const std::string task = TaskName(job, index);
  std::vector<std::string> others;
  for (const auto& [other, start] : starts_) {
    if (other != task) others.push_back(other);
  }
  for (const std::string& other : others) {
    network_->Partition(task, other);
    network_->Cut(task, other);
  }
  Stop(job, index);
  for (const std::string& other : others) network_->Heal(task, other);
}

TaskRuntime* TestCluster::runtime(const std::string& job, int index) {
  auto it = servers_.find(TaskName(job, index));
  if (it == servers_.end() || it->second == nullptr) return nullptr;
  if (!HasDevices(job)) return nullptr;
  return &it->second->runtime();
}

Server& TestCluster::server(const std::string& job, int index) {
  return *servers_.at(TaskName(job, index));
}

const std::string& TestCluster::target(const std::string& job, int index) {
  return server(job, index).target();
}

Process& TestCluster::process(const std::string& job, int index) {
  return ProcessOf(TaskName(job, index));
}

SessionOptions TestCluster::session_options() {
  return {.operation_timeout = absl::Minutes(1),
          .connect_timeout = absl::Seconds(30),
          .process = client_.get()};
}

}  // namespace weft
