#include "integration_tests/testing/test_cluster.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/bus/free_port.h"

namespace weft {
namespace {

constexpr int kFirstSimulatedPort = 1000;

void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "TestCluster: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

TestCluster::TestCluster(const Options& options) : options_(options) {
  if (options.kind == ClusterKind::kSimulated) {
    simulated_ = std::make_unique<SimulatedScheduler>(
        clock_, SimulatedSchedulerOptions{.seed = options.seed});
    network_ = std::make_unique<bus::MemoryNetwork>(*simulated_);
  }
  int next_port = kFirstSimulatedPort;
  for (const auto& [job, num_tasks] : options.jobs) {
    for (int i = 0; i < num_tasks; ++i) {
      int port = 0;
      if (options.kind == ClusterKind::kSockets) {
        auto free = bus::FreePort();
        OrDie(free.status());
        port = *free;
      }
      if (options.kind == ClusterKind::kSimulated) port = next_port++;
      OrDie(spec_.AddTask(job, i, absl::StrCat("localhost:", port)));
    }
  }
  client_ = NewProcess("client");
  for (const auto& [job, num_tasks] : options.jobs) {
    for (int i = 0; i < num_tasks; ++i) Start(job, i);
  }
}

TestCluster::~TestCluster() {
  for (auto& [task, server] : servers_) {
    OrDie(server->Stop(absl::ZeroDuration()));
  }
  servers_.clear();
  client_.reset();
  processes_.clear();
}

std::unique_ptr<Process> TestCluster::NewProcess(const std::string& name) {
  if (options_.kind != ClusterKind::kSimulated) {
    return std::make_unique<Process>(ProcessOptions{.compute_threads = 2});
  }
  return std::make_unique<Process>(
      nullptr,
      NewSeededRandom(options_.seed * 1000003 + std::hash<std::string>()(name)),
      *simulated_,
      [this, name](Scheduler&) { return bus::NewMemoryWire(*network_, name); });
}

Process& TestCluster::ProcessOf(const std::string& task) {
  if (options_.kind == ClusterKind::kOneProcess) return *client_;
  std::unique_ptr<Process>& process = processes_[task];
  if (process == nullptr) process = NewProcess(task);
  return *process;
}

void TestCluster::Start(const std::string& job, int index) {
  const std::string task = TaskName(job, index);
  auto server = Server::Create(spec_, {.job_name = job,
                                       .task_index = index,
                                       .host_gpus = options_.host_gpus,
                                       .process = &ProcessOf(task),
                                       .lease = options_.lease,
                                       .patience = absl::Minutes(1),
                                       .logger = &logger_});
  OrDie(server.status());
  servers_[task] = *std::move(server);
}

void TestCluster::Stop(const std::string& job, int index) {
  const std::string task = TaskName(job, index);
  OrDie(server(job, index).Stop(absl::ZeroDuration()));
  servers_.erase(task);
  processes_.erase(task);
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
