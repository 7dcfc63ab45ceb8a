#include "libs/server/server.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/bus/address.h"
#include "libs/device/local_devices.h"
#include "libs/master/master.h"
#include "libs/ops/standard_ops.h"
#include "libs/server/cluster_directory.h"
#include "libs/server/task_handler.h"

namespace weft {
namespace {

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || absl::StartsWith(host, "127.");
}

absl::StatusOr<bus::Address> ListenAddress(const bus::Address& in_spec,
                                           const std::string& bind) {
  if (bind.empty()) return in_spec;
  if (!absl::StrContains(bind, ":") || absl::EndsWith(bind, "]")) {
    return bus::Address{bind, in_spec.port};
  }
  return bus::Address::Parse(bind);
}

absl::Status CheckOpenness(const bus::Address& address,
                           const ServerOptions& options) {
  if (options.insecure || IsLoopback(address.host)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "The server of ", TaskName(options.job_name, options.task_index),
      " would listen at ", address.ToString(),
      ", where anyone who reaches the port may run graphs and read variables. "
      "Pass --insecure if the network is trusted."));
}

// A task on a port that nobody can know is reached in its own process only.
absl::Status CheckPorts(const ClusterSpec& cluster, const bus::Address& own) {
  if (own.port != 0) return absl::OkStatus();
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, text] : tasks) {
      ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(text));
      if (address.port == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Port 0 is only for clusters that live in one process, with port 0 "
          "for each task; ",
          TaskName(job, index), " is at ", text, "."));
    }
  }
  return absl::OkStatus();
}

// Others could reach neither this task nor tell it from their own machine's.
absl::Status CheckReachable(const ClusterSpec& cluster,
                            const bus::Address& own) {
  if (!IsLoopback(own.host)) return absl::OkStatus();
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, text] : tasks) {
      ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(text));
      if (IsLoopback(address.host)) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "This task's address in the cluster spec, ", own.ToString(),
          ", is only known to its own machine, but ", TaskName(job, index),
          " is elsewhere, at ", text,
          ". Give a name or address that the others reach."));
    }
  }
  return absl::OkStatus();
}

// The spec with the own task's place checked.
absl::StatusOr<bus::Address> CheckSpec(const ClusterSpec& cluster,
                                       const ServerOptions& options) {
  ASSIGN_OR_RETURN(const std::string text,
                   cluster.TaskAddress(options.job_name, options.task_index));
  if (!HasDevices(options.job_name)) {
    return absl::UnimplementedError(
        absl::StrCat("Job \"", options.job_name,
                     "\" owns no devices; its service comes with a later "
                     "version. Leave it out of the cluster spec."));
  }
  ASSIGN_OR_RETURN(const bus::Address in_spec, bus::Address::Parse(text));
  RETURN_IF_ERROR(CheckPorts(cluster, in_spec));
  RETURN_IF_ERROR(CheckReachable(cluster, in_spec));
  ASSIGN_OR_RETURN(bus::Address listen, ListenAddress(in_spec, options.bind));
  RETURN_IF_ERROR(CheckOpenness(listen, options));
  return listen;
}

}  // namespace

class Server::Impl : private PeerObserver, private protocol::PeerEvents {
 public:
  Impl(const ClusterSpec& cluster, const ServerOptions& options)
      : cluster_(cluster),
        options_(options),
        task_(TaskName(options.job_name, options.task_index)),
        own_process_(options.process ? nullptr : std::make_unique<Process>()),
        process_(options.process ? *options.process : *own_process_),
        own_logger_(options.logger ? nullptr : NewConsoleLogger(task_)),
        logger_(options.logger ? *options.logger : *own_logger_),
        incarnation_(process_.random().NextId()),
        stopped_(process_.scheduler().NewEvent()) {}

  ~Impl() override { Stop(absl::ZeroDuration()); }

  absl::Status Start(const bus::Address& address) {
    ASSIGN_OR_RETURN(directory_, ClusterDirectory::Create({.process = &process_,
                                                           .cluster = cluster_,
                                                           .self = Self(),
                                                           .events = this}));
    MakeRuntime();
    MakeMaster();
    directory_->set_own(runtime_.get());
    handler_ = std::make_unique<TaskHandler>(
        protocol::MasterServiceOptions{.master = master_.get(),
                                       .scheduler = &process_.scheduler(),
                                       .allocator = &process_.buffers(),
                                       .lease = options_.lease},
        protocol::WorkerServiceOptions{.worker = runtime_.get(),
                                       .scheduler = &process_.scheduler(),
                                       .allocator = &process_.buffers(),
                                       .ops = StandardOps()},
        static_cast<PeerObserver&>(*this));
    ASSIGN_OR_RETURN(endpoint_,
                     process_.transport().Listen(address, Self(), *handler_));
    target_ = endpoint_->address().ToTarget();
    RETURN_IF_ERROR(process_.local_tasks().Add(AsLocalTask()));
    logger_.Info(absl::StrCat("Started server with target: ", target_));
    return absl::OkStatus();
  }

  const std::string& target() const { return target_; }
  TaskRuntime& runtime() { return *runtime_; }
  void Join() { stopped_->Wait(); }

  void Stop(absl::Duration drain) {
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(stopping_, true)) return;
    }
    if (runtime_ != nullptr) Drain(drain);
    process_.local_tasks().Remove(AsLocalTask(), Stopped());
    endpoint_.reset();
    // Calls to other tasks fail now, and what waits for them in the handler.
    if (directory_ != nullptr) directory_->Close();
    handler_.reset();
    if (!target_.empty()) logger_.Info("Stopped");
    stopped_->Set();
  }

 private:
  bus::Identity Self() const {
    return {.cluster_uuid = "", .task = task_, .incarnation = incarnation_};
  }

  LocalTask AsLocalTask() {
    return {.cluster = cluster_.ToString(),
            .task = task_,
            .target = target_,
            .incarnation = incarnation_,
            .master = master_,
            .worker = runtime_,
            .observer = this};
  }

  absl::Status Stopped() const {
    return absl::UnavailableError(
        absl::StrCat("The server of ", task_, " was stopped."));
  }

  void MakeRuntime() {
    runtime_ = std::make_shared<TaskRuntime>(
        NewLocalDevices(
            task_, {.cpus = options_.cpus, .host_gpus = options_.host_gpus},
            process_.buffers(), process_.random()),
        TaskRuntimeOptions{.kernels = &process_.kernels(),
                           .scheduler = &process_.scheduler(),
                           .random = &process_.random(),
                           .default_container = options_.job_name,
                           .task = task_,
                           .incarnation = incarnation_,
                           .peers = directory_.get(),
                           .master_lease = options_.lease});
  }

  void MakeMaster() {
    master_ = std::make_shared<Master>(MasterOptions{
        .scheduler = &process_.scheduler(),
        .random = &process_.random(),
        .ops = StandardOps(),
        .directory = directory_.get(),
        .task = task_,
        .incarnation = incarnation_,
        .device_types =
            [this](const Node& node) {
              return process_.kernels().DeviceTypesFor(node);
            },
        .unknown_tensor_code = absl::StatusCode::kNotFound,
        .log_placement =
            [this](const std::string& line) { logger_.Info(line); },
        .patience = options_.patience,
        .logger = &logger_});
  }

  // First the steps that this task's master drives, then those of others.
  void Drain(absl::Duration drain) {
    Scheduler& scheduler = process_.scheduler();
    const absl::Time deadline = scheduler.clock().Now() + drain;
    if (endpoint_ != nullptr) endpoint_->Drain();
    master_->Drain(deadline);
    runtime_->WaitForSteps(deadline);
    runtime_->Stop(Stopped());
    runtime_->WaitForSteps(absl::InfiniteFuture());
  }

  void PeerConnected(const std::string& task, uint64_t incarnation) override {
    runtime_->PeerConnected(task, incarnation);
  }
  void PeerLost(const std::string& task, uint64_t incarnation,
                const absl::Status& why) override {
    runtime_->PeerLost(task, incarnation, why);
  }
  void OnPeerConnected(const bus::Identity& peer) override {
    runtime_->PeerConnected(peer.task, peer.incarnation);
  }
  void OnPeerLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why) override {
    runtime_->PeerLost(task, incarnation, why);
  }
  void OnPushFailed(const protocol::StepId& step,
                    const absl::Status& why) override {
    runtime_->Abort(step, 0, why, [](const absl::Status&) {});
  }

  const ClusterSpec cluster_;
  const ServerOptions options_;
  const std::string task_;
  const std::unique_ptr<Process> own_process_;
  Process& process_;
  const std::unique_ptr<Logger> own_logger_;
  Logger& logger_;
  const uint64_t incarnation_;
  std::string target_;
  std::unique_ptr<ClusterDirectory> directory_;
  std::shared_ptr<TaskRuntime> runtime_;
  std::shared_ptr<Master> master_;
  std::unique_ptr<TaskHandler> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
  const std::unique_ptr<Event> stopped_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const ClusterSpec& cluster, const ServerOptions& options) {
  ASSIGN_OR_RETURN(const bus::Address address, CheckSpec(cluster, options));
  if (options.cpus < 1 || options.host_gpus < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("A task needs at least one CPU device, and no negative "
                     "number of GPUs; asked for ",
                     options.cpus, " and ", options.host_gpus, "."));
  }
  auto impl = std::make_unique<Impl>(cluster, options);
  RETURN_IF_ERROR(impl->Start(address));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<Server>> Server::CreateLocal(
    ServerOptions options) {
  options.job_name = "local";
  options.task_index = 0;
  return Create(ClusterSpec{{"local", {"localhost:0"}}}, options);
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() = default;

const std::string& Server::target() const { return impl_->target(); }

absl::Status Server::Join() {
  impl_->Join();
  return absl::OkStatus();
}

absl::Status Server::Stop(absl::Duration drain) {
  impl_->Stop(drain);
  return absl::OkStatus();
}

TaskRuntime& Server::runtime() { return impl_->runtime(); }

}  // namespace weft
