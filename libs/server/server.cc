#include "libs/server/server.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/thread_scheduler.h"
#include "libs/base/status.h"
#include "libs/bus/address.h"
#include "libs/bus/learned_uuid.h"
#include "libs/checkpoint_writer/file_server.h"
#include "libs/checkpoint_writer/rooted_file_system.h"
#include "libs/cluster/device_name.h"
#include "libs/coordinator/coordinator.h"
#include "libs/metrics/metrics_server.h"
#include "libs/ops/standard_ops.h"
#include "libs/server/cluster_directory.h"
#include "libs/server/coordinator_link.h"
#include "libs/server/coordinator_route.h"
#include "libs/server/port_owner.h"
#include "libs/server/server_metrics.h"
#include "libs/server/spec_checks.h"
#include "libs/server/stopped_task.h"
#include "libs/server/task.h"
#include "libs/server/task_handler.h"

namespace weft {
namespace {

// How often a finished server checks whether it has joined, and whether the
// other tasks were notified.
constexpr absl::Duration kLookInterval = absl::Milliseconds(20);
// The interval between two requests to the coordinator, and how long it may
// take to answer.
constexpr absl::Duration kAskInterval = absl::Milliseconds(200);
constexpr absl::Duration kStatusTimeout = absl::Seconds(5);
// How long a task that has trained waits for another one that the coordinator
// does not know: it may not have started, or not have joined a new coordinator.
constexpr absl::Duration kExpectedTime = absl::Seconds(5);
// A stopping checkpoint writer expects no save to begin this shortly before the
// end of its drain time.
constexpr absl::Duration kSaveTime = absl::Seconds(2);

std::unique_ptr<Process> NewProcess(const ServerOptions& options,
                                    Logger& logger) {
  if (options.process != nullptr) return nullptr;
  return std::make_unique<Process>(
      ProcessOptions{.transport = options.quotas.OfPeers(),
                     .peer_timeout = options.peer_timeout,
                     .logger = &logger,
                     .client_functions = options.client_functions,
                     .gpu_platform = options.gpu_platform,
                     .use_instance_metadata = options.use_instance_metadata});
}

// Returns the log line for a task that left cleanly, or for a connection that
// was lost. `needed`: running steps use the task.
std::string DescribeEnd(const std::string& task, bool needed) {
  return absl::StrCat(task, " has ended",
                      needed ? ", and with it the steps that need it" : "");
}
std::string DescribeLoss(const std::string& task, bool needed,
                         const absl::Status& why) {
  return absl::StrCat("The connection with ", task, " was lost",
                      needed ? ", and with it the steps that need it: " : ": ",
                      why.message());
}

absl::flat_hash_set<std::string> TasksOf(const ClusterSpec& cluster) {
  absl::flat_hash_set<std::string> tasks;
  for (const auto& [job, addresses] : cluster.jobs()) {
    for (const auto& [index, address] : addresses) {
      tasks.insert(TaskName(job, index));
    }
  }
  return tasks;
}

constexpr char kWriterJob[] = "checkpoint_writer";

// How often a server that has stopped by itself tries to listen again.
constexpr int kAnswerTries = 20;
constexpr absl::Duration kBetweenTries = absl::Milliseconds(100);

// How long a server that stops after a job waits for the end of the
// coordinator.
constexpr absl::Duration kLongestGoodbye = absl::Seconds(30);

// Returns false for a task that outlives training runs.
bool EndsWithTraining(const std::string& coordinator_task) {
  const auto name = DeviceName::Parse(coordinator_task);
  return name.ok() && name->job != "coordinator";
}

// Returns the names of the checkpoint writers,
// "/job:checkpoint_writer/replica:0/task:0, ..."; empty if there is none.
std::string Writers(const ClusterSpec& cluster) {
  std::vector<std::string> writers;
  const auto job = cluster.jobs().find(kWriterJob);
  if (job == cluster.jobs().end()) return "";
  for (const auto& [index, address] : job->second) {
    writers.push_back(
        absl::StrCat(TaskName(kWriterJob, index), " at zmq://", address));
  }
  return absl::StrJoin(writers, ", ");
}

}  // namespace

class Server::Impl : private PeerObserver,
                     private protocol::PeerEvents,
                     private CoordinatorLinkEvents {
 public:
  Impl(const ClusterSpec& cluster, const ServerOptions& options)
      : cluster_(cluster),
        tasks_of_cluster_(TasksOf(cluster)),
        options_(options),
        task_(TaskName(options.job_name, options.task_index)),
        has_devices_(HasDevices(options.job_name)),
        coordinator_task_(CoordinatorTask(cluster)),
        own_logger_(options.logger ? nullptr : NewConsoleLogger(task_)),
        logger_(options.logger ? *options.logger : *own_logger_),
        own_process_(NewProcess(options, logger_)),
        process_(options.process ? *options.process : *own_process_),
        refused_peers_(process_.scheduler(), &logger_),
        lost_peers_(
            process_.scheduler(), &logger_,
            std::max<int>(LineLimit::kMaxLines, 2 * tasks_of_cluster_.size())),
        incarnation_(process_.random().NextId()),
        stopped_(process_.scheduler().NewEvent()) {}

  ~Impl() override {
    Stop(absl::ZeroDuration());
    {
      absl::MutexLock lock(&mutex_);
      if (stop_timer_ != 0 && process_.scheduler().CancelTimer(stop_timer_)) {
        self_stops_.End();
      }
    }
    self_stops_.WaitUntilNone(process_.scheduler(), absl::InfiniteFuture());
  }

  absl::Status Start(const bus::Address& address) {
    RETURN_IF_ERROR(ThreadsStatus(process_.scheduler()));
    RETURN_IF_ERROR(CheckDescriptors(cluster_, task_,
                                     process_.descriptor_usage(), logger_));
    RETURN_IF_ERROR(ListenForMetrics(address.host));
    RETURN_IF_ERROR(MakeRoute());
    if (has_devices_) RETURN_IF_ERROR(MakeEngine());
    if (options_.job_name == kWriterJob) RETURN_IF_ERROR(MakeFileServer());
    MakeLink();
    handler_ = std::make_unique<TaskHandler>(HandlerOptions());
    auto endpoint = process_.transport().Listen(address, Self(), *handler_);
    if (!endpoint.ok()) {
      return NameListener(process_, address, endpoint.status());
    }
    endpoint_ = *std::move(endpoint);
    listening_.store(endpoint_.get());
    endpoint_address_ = endpoint_->address();
    target_ = endpoint_address_.ToTarget();
    RETURN_IF_ERROR(process_.local_tasks().Add(AsLocalTask()));
    logger_.Info(absl::StrCat("Started server with target: ", target_));
    StartMetrics();
    link_->Start(target_);  // from here on it may stop itself
    return absl::OkStatus();
  }

  const std::string& target() const { return target_; }
  const std::string& metrics_url() const { return metrics_url_; }
  TaskRuntime& runtime() { return *local_task_->runtime(); }
  int num_sessions() const { return local_task_->master()->num_sessions(); }
  bool joined() const { return link_->joined(); }

  absl::Status Join() {
    stopped_->Wait();
    absl::MutexLock lock(&mutex_);
    return refused_;
  }

  bool AwaitStopped(absl::Time deadline) {
    return stopped_->WaitUntil(deadline);
  }

  bool is_stop_requested() const {
    absl::MutexLock lock(&mutex_);
    return (stopping_ || stops_soon_) && refused_.ok();
  }

  bool AwaitJob(const std::string& job, absl::Time deadline) {
    const auto event = process_.scheduler().NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      if (finished_jobs_.contains(job)) return true;
      if (stopping_) return false;
      job_waiters_.emplace_back(job, event.get());
    }
    event->WaitUntil(deadline);
    absl::MutexLock lock(&mutex_);
    std::erase_if(job_waiters_, [&](const auto& waiter) {
      return waiter.second == event.get();
    });
    return finished_jobs_.contains(job);
  }

  void Finish(absl::Duration drain) {
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    // A task that has not joined cannot know whether a job has finished.
    StayUntil([this] { return link_->joined() || has_left_; }, drain);
    if (hosted_ != nullptr) {
      link_->Leave();  // blocks until the coordinator was told
      const absl::Duration stay = StayOfCoordinator();
      (void)stopped_->WaitUntil(process_.scheduler().clock().Now() + stay);
      AwaitThatOthersHear(drain);
    }
    Stop(drain);
  }

  bool LeaveAndAwaitCoordinatorsEnd(absl::Time deadline) {
    if (hosted_ != nullptr || !EndsWithTraining(coordinator_task_)) return true;
    if (link_->joined()) {
      has_left_ = true;
      link_->Leave();
    }
    if (!has_left_) return true;
    const absl::Duration longest =
        deadline - process_.scheduler().clock().Now();
    StayUntil([this] { return is_coordinator_lost_.load(); }, longest);
    return is_coordinator_lost_.load();
  }

  // Used if the coordinator outlives training runs. If a process of this job
  // started the next run before all others have ended this one, the end of this
  // run would not be detected.
  bool LeaveAndAwaitOwnJob(absl::Time deadline) {
    if (!peers_ && !link_->joined()) return true;
    const Clock& clock = process_.scheduler().clock();
    while (!HavePeersEnded(deadline)) {
      const absl::Time now = clock.Now();
      if (now >= deadline) return false;
      if (stopped_->WaitUntil(std::min(deadline, now + kAskInterval))) break;
    }
    return true;
  }

  bool LeaveAndAwaitEnd(absl::Time deadline) {
    return EndsWithTraining(coordinator_task_)
               ? LeaveAndAwaitCoordinatorsEnd(deadline)
               : LeaveAndAwaitOwnJob(deadline);
  }

  void Stop(absl::Duration drain) {
    std::unique_ptr<StoppedTask> answers;  // released without the lock
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(stopping_, true)) {
        is_address_free_ = true;
        answers = std::move(answers_);
        return;
      }
      for (const auto& [job, event] : job_waiters_) event->Set();
    }
    // Calls that wait for tasks have nothing to drain. The route is first,
    // because it tells callers that this task stops, so that they do not retry.
    if (route_ != nullptr) route_->EndWaits();
    if (hosted_ != nullptr) hosted_->EndWaits();
    if (local_task_ != nullptr) Drain(drain);
    if (file_server_ != nullptr) DrainFiles(drain);
    metrics_server_.reset();
    if (link_ != nullptr) {
      // A coordinator has no other coordinator to leave.
      if (hosted_ == nullptr) link_->Leave();
      link_->Close();
    }
    process_.local_tasks().Remove(AsLocalTask(), Stopped());
    listening_.store(nullptr);
    endpoint_.reset();
    // From here on calls to other tasks fail, and so do calls in the handler
    // that wait for other tasks.
    if (route_ != nullptr) route_->Close();
    if (directory_ != nullptr) directory_->Close();
    if (hosted_ != nullptr) hosted_->Close();
    handler_.reset();
    file_server_.reset();
    if (!target_.empty()) logger_.Info("Stopped");
    stopped_->Set();
  }

 private:
  bus::Identity Self() const {
    return {.task = task_,
            .incarnation = incarnation_,
            .learned_uuid = cluster_uuid_};
  }

  LocalTask AsLocalTask() {
    return {.cluster = cluster_.ToString(),
            .task = task_,
            .target = target_,
            .incarnation = incarnation_,
            .master = local_task_ ? local_task_->master() : nullptr,
            .worker = local_task_ ? local_task_->runtime() : nullptr,
            .coordinator = hosted_,
            .files = files_,
            .observer = this};
  }

  absl::Status Stopped() const {
    return absl::UnavailableError(
        absl::StrCat("The server of ", task_, " was stopped."));
  }

  // Starts the metrics server. Runs before other tasks can connect to this
  // task, because it fails if the port is taken.
  absl::Status ListenForMetrics(const std::string& host) {
    if (!options_.metrics_port.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(metrics_server_,
                     MetricsServer::Listen({.scheduler = &process_.scheduler(),
                                            .host = host,
                                            .port = *options_.metrics_port}));
    metrics_url_ = metrics_server_->url();
    task_metrics_ = std::make_unique<TaskMetrics>();
    return absl::OkStatus();
  }

  void StartMetrics() {
    if (metrics_server_ == nullptr) return;
    metrics_server_->Start([this] {
      return ServerMetricsText({.process = &process_,
                                .job_name = options_.job_name,
                                .task_index = options_.task_index,
                                .task = local_task_.get(),
                                .metrics = task_metrics_.get(),
                                .link = link_.get(),
                                .coordinator = hosted_.get(),
                                .file_server = file_server_.get()});
    });
    logger_.Info(absl::StrCat("Metrics at ", metrics_url_));
  }

  // Creates the route to the coordinator, which may be this task.
  absl::Status MakeRoute() {
    ASSIGN_OR_RETURN(const DeviceName name,
                     DeviceName::Parse(coordinator_task_));
    ASSIGN_OR_RETURN(const std::string text,
                     cluster_.TaskAddress(*name.job, *name.task));
    ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(text));
    if (coordinator_task_ == task_) MakeCoordinator();
    route_ = CoordinatorRoute::Create(
        {.process = &process_,
         .cluster = cluster_,
         .self = Self(),
         .task = coordinator_task_,
         .address = address,
         .hosted = hosted_,
         .on_connected = [this] { OnCoordinatorConnected(); },
         .on_lost = [this] { OnCoordinatorLost(); }});
    return absl::OkStatus();
  }

  void OnCoordinatorConnected() {
    // After this task has left, the next coordinator belongs to another
    // training.
    if (!has_left_) is_coordinator_lost_.store(false);
    link_->OnConnected();
  }
  void OnCoordinatorLost() {
    is_coordinator_lost_.store(true);
    link_->OnLost();
  }

  void MakeCoordinator() {
    hosted_ = std::make_shared<Coordinator>(
        CoordinatorOptions{.scheduler = &process_.scheduler(),
                           .random = &process_.random(),
                           .cluster = cluster_,
                           .task = task_,
                           .incarnation = incarnation_,
                           .heartbeat_interval = options_.heartbeat_interval,
                           .heartbeat_timeout = options_.heartbeat_timeout,
                           .logger = &logger_});
  }

  absl::Status MakeEngine() {
    ASSIGN_OR_RETURN(directory_, ClusterDirectory::Create({.process = &process_,
                                                           .cluster = cluster_,
                                                           .self = Self(),
                                                           .events = this}));
    TaskOptions options = LocalTaskOptions();
    ASSIGN_OR_RETURN(options.gpus, NewGpus());
    local_task_ = std::make_unique<Task>(std::move(options));
    directory_->set_own(local_task_->runtime().get());
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::unique_ptr<Device>>> NewGpus() {
    auto gpus = process_.NewGpus(task_, options_.gpus + options_.host_gpus);
    if (gpus.ok()) return gpus;
    return Append(gpus.status(),
                  absl::StrCat("for the ", options_.gpus, " GPUs of ", task_));
  }

  absl::Status MakeFileServer() {
    if (IsZmqPath(options_.root)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The root of ", task_, ", ", options_.root,
          ", is at a checkpoint writer: it must be a directory of its own."));
    }
    const auto found = process_.file_system().IsDirectory(options_.root);
    if (!found.ok() || !*found) {
      return absl::FailedPreconditionError(absl::StrCat(
          "The root of ", task_, ", ", options_.root, ", is not a directory",
          found.ok() ? "" : ": ", found.status().message(),
          ". Make it, or give another one with --root."));
    }
    files_ = std::make_shared<RootedFileSystem>(process_.file_system(),
                                                options_.root);
    file_server_ = std::make_unique<FileServer>(FileServerOptions{
        .file_system = files_.get(),
        .scheduler = &process_.scheduler(),
        .random = &process_.random(),
        .task = task_,
        .max_open_files_per_client = options_.quotas.max_open_files_per_client,
        .max_open_files = options_.quotas.max_open_files});
    return absl::OkStatus();
  }

  TaskOptions LocalTaskOptions() {
    const Quotas& quotas = options_.quotas;
    return {.process = &process_,
            .task = task_,
            .incarnation = incarnation_,
            .cpus = options_.cpus,
            .directory = directory_.get(),
            .coordinator = route_.get(),
            .logger = &logger_,
            .logs_placement = true,
            .runtime = {.default_container = options_.job_name,
                        .max_unclaimed_bytes_per_session =
                            quotas.max_unclaimed_bytes_per_session,
                        .max_registrations_per_session =
                            quotas.max_callables_per_session,
                        .max_registered_bytes_per_session =
                            quotas.max_registered_bytes_per_session,
                        .max_sessions = quotas.max_worker_sessions,
                        .master_lease = options_.lease,
                        .metrics =
                            task_metrics_ ? task_metrics_->runtime : nullptr},
            .master = {
                .unknown_tensor_code = absl::StatusCode::kNotFound,
                .placement_timeout = options_.placement_timeout,
                .log_waits_after = options_.log_waits_after,
                .quotas = quotas.OfSessions(),
                .max_sessions = quotas.max_sessions,
                .metrics = task_metrics_ ? &task_metrics_->sessions : nullptr}};
  }

  TaskHandlerOptions HandlerOptions() {
    TaskHandlerOptions options{
        .coordinator = {.coordinator = route_.get(),
                        .scheduler = &process_.scheduler(),
                        .on_task_lost =
                            [this](const std::string& task,
                                   uint64_t incarnation,
                                   const absl::Status& why) {
                              LoseMember(task, incarnation, why);
                            }},
        .refusal = absl::StrCat(
            task_,
            " owns no devices and serves no sessions. Connect to one "
            "of: ",
            absl::StrJoin(TasksWithDevices(cluster_), ", ")),
        .files_refusal = FilesRefusal(),
        .incarnation = incarnation_,
        .peers = this};
    if (file_server_ != nullptr) {
      options.files = {
          .new_client = [this] { return file_server_->NewClient(); },
          .scheduler = &process_.scheduler()};
    }
    if (!has_devices_) return options;
    options.master = {
        .master = local_task_->master().get(),
        .scheduler = &process_.scheduler(),
        .allocator = &process_.buffers(),
        .task = task_,
        .lease = options_.lease,
        .max_sessions_per_client = options_.quotas.max_sessions_per_client,
        .logger = &logger_};
    options.worker = {.worker = local_task_->runtime().get(),
                      .scheduler = &process_.scheduler(),
                      .allocator = &process_.buffers(),
                      .ops = StandardOps(),
                      .logger = &logger_,
                      .abandon_pushes = [this](const protocol::StepId& step) {
                        AbandonPushes(step);
                      }};
    return options;
  }

  // Drops unsent pushes of a step. Called by the endpoint's handler, for which
  // the endpoint's destructor waits.
  void AbandonPushes(const protocol::StepId& step) {
    bus::Endpoint* const endpoint = listening_.load();
    if (endpoint == nullptr) return;
    endpoint->AbandonStep({step.master_incarnation, step.step});
  }

  std::string FilesRefusal() const {
    const std::string writers = Writers(cluster_);
    return absl::StrCat(task_, " keeps no files for others. ",
                        writers.empty()
                            ? absl::StrCat("A task of job ", kWriterJob,
                                           " does; this cluster has none.")
                            : absl::StrCat("Ask one of: ", writers));
  }

  void MakeLink() {
    protocol::JoinRequest request{
        .task = task_,
        .incarnation = incarnation_,
        .cluster = cluster_.ToString(),
        .op_fingerprint = StandardOps()->Fingerprint()};
    if (local_task_ != nullptr)
      request.devices = local_task_->runtime()->Devices();
    link_ = std::make_shared<CoordinatorLink>(
        CoordinatorLinkOptions{.scheduler = &process_.scheduler(),
                               .coordinator = route_.get(),
                               .events = this,
                               .request = std::move(request),
                               .logger = &logger_});
  }

  // Drains first the steps that this task's master drives, then the steps of
  // other masters.
  void Drain(absl::Duration drain) {
    Scheduler& scheduler = process_.scheduler();
    const absl::Time deadline = scheduler.clock().Now() + drain;
    local_task_->runtime()->Drain(absl::UnavailableError(
        absl::StrCat("The server of ", task_, " is shutting down.")));
    if (endpoint_ != nullptr) {  // it has started
      endpoint_->Drain();
      handler_->Drain();
      logger_.Info(absl::StrCat(
          "Stopping: monitored sessions and running steps may continue for ",
          absl::FormatDuration(drain)));
    }
    local_task_->master()->Drain(deadline);
    const bool have_closed =
        local_task_->runtime()->WaitForMonitoredSessions(deadline);
    const bool have_ended = local_task_->runtime()->WaitForSteps(deadline);
    LogEndOfDrain(
        have_closed && have_ended && scheduler.clock().Now() < deadline, drain);
    local_task_->runtime()->Stop(Stopped());
    local_task_->runtime()->WaitForSteps(absl::InfiniteFuture());
  }

  void LogEndOfDrain(bool in_time, absl::Duration drain) {
    if (in_time || drain <= absl::ZeroDuration()) return;
    logger_.Warning(
        absl::StrCat("The drain time is over: work that has not ended within ",
                     absl::FormatDuration(drain), " is cancelled"));
  }

  // Waits for clients that write files. A client with a monitored session may
  // be a chief, whose last save begins only when its step is over. The wait for
  // such a client ends if it has written nothing until a save would begin too
  // late: it was not asked to stop.
  void DrainFiles(absl::Duration drain) {
    file_server_->Drain();
    if (endpoint_ != nullptr) {
      endpoint_->Drain();
      handler_->Drain();
      logger_.Info(absl::StrCat("Stopping: clients may write files for ",
                                absl::FormatDuration(drain)));
    }
    const absl::Time deadline = process_.scheduler().clock().Now() + drain;
    const absl::Duration quiet = std::max(drain / 2, drain - kSaveTime);
    LogEndOfDrain(file_server_->WaitUntilUnused(deadline, quiet), drain);
  }

  // Waits until `is_so`, until the server has stopped, or for `longest`.
  void StayUntil(absl::FunctionRef<bool()> is_so,
                 absl::Duration longest) const {
    const Clock& clock = process_.scheduler().clock();
    const absl::Time deadline = clock.Now() + longest;
    while (!is_so() && clock.Now() < deadline &&
           !stopped_->WaitUntil(clock.Now() + kLookInterval)) {
    }
  }

  // Returns how long a coordinator stays available so that other tasks learn
  // how it ended; zero if no other task uses it.
  absl::Duration StayOfCoordinator() const {
    if (hosted_ == nullptr ||
        options_.heartbeat_interval == absl::InfiniteDuration()) {
      return absl::ZeroDuration();
    }
    return 2 * options_.heartbeat_interval;
  }

  // Stops the server from a thread that must not wait. A coordinator stays
  // available for a while, so that others learn from it why this task stopped.
  void StopSoon(const absl::Status& why, std::string reason) {
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_ || std::exchange(stops_soon_, true)) return;
      refused_ = why;
      stop_reason_ = std::move(reason);
      self_stops_.Begin();
    }
    Scheduler& scheduler = process_.scheduler();
    absl::MutexLock lock(&mutex_);
    // Runs on the unbounded pool, because the stop blocks and must not wait for
    // a thread that client functions hold.
    stop_timer_ = scheduler.ScheduleAt(
        Pool::kUnbounded, scheduler.clock().Now() + StayOfCoordinator(),
        [this] { StopItself(); });
  }

  // Waits until the other tasks have heard of the end. Their heartbeats may be
  // late.
  void AwaitThatOthersHear(absl::Duration longest) {
    if (StayOfCoordinator() == absl::ZeroDuration()) return;
    StayUntil([this] { return hosted_->HaveAllAcknowledged(); }, longest);
  }

  // Tells clients why the server has stopped, until the program stops the
  // server, too. Tries several times, because the system may release the
  // address with a delay.
  void AnswerClients() {
    for (int tries = 0; tries < kAnswerTries; ++tries) {
      const auto why = WhyItHasStopped();
      if (!why.has_value()) return;
      auto answers = StoppedTask::Listen(process_.transport(),
                                         endpoint_address_, Self(), *why);
      if (answers != nullptr) return KeepAnswering(std::move(answers));
      Scheduler& scheduler = process_.scheduler();
      scheduler.NewEvent()->WaitUntil(scheduler.clock().Now() + kBetweenTries);
    }
  }

  // The incarnations of the other tasks of this job, by name; 0: none has
  // joined this coordinator. Excludes tasks that have left or were lost.
  using Peers = std::map<std::string, uint64_t>;
  absl::StatusOr<Peers> AskForPeers(absl::Time deadline) {
    SyncCall<absl::StatusOr<protocol::ClusterStatus>> call(
        process_.scheduler());
    route_->GetCluster({}, deadline, call.Done());
    ASSIGN_OR_RETURN(const protocol::ClusterStatus cluster, call.Wait());
    Peers peers;
    const std::string job = absl::StrCat("/job:", options_.job_name, "/");
    for (const protocol::TaskStatus& one : cluster.tasks) {
      const bool may_end = one.state == protocol::TaskState::kAlive ||
                           one.state == protocol::TaskState::kExpected;
      if (may_end && one.task != task_ && absl::StartsWith(one.task, job)) {
        peers[one.task] = one.incarnation;
      }
    }
    return peers;
  }

  // Returns whether the peers have ended. This task leaves after the first
  // answer. A coordinator that does not answer for kStatusTimeout counts as
  // gone, and the peers with it: there is no other source for the answer.
  bool HavePeersEnded(absl::Time deadline) {
    const absl::Time begin = process_.scheduler().clock().Now();
    if (silent_since_ == absl::InfiniteFuture()) silent_since_ = begin;
    const absl::Time give_up_at = silent_since_ + kStatusTimeout;
    const auto now = AskForPeers(std::min(deadline, give_up_at));
    if (!now.ok()) return process_.scheduler().clock().Now() >= give_up_at;
    silent_since_ = absl::InfiniteFuture();
    if (!peers_) LeaveBefore(*now);
    bool have_all = true;
    for (auto& [task, incarnation] : *peers_) {
      const auto it = now->find(task);
      if (it == now->end()) continue;
      have_all &= HasPeerEnded(task, incarnation, it->second);
    }
    return have_all;
  }

  // Returns whether a peer has ended. `known` is the incarnation that was last
  // present, or 0; `joined` is the present one.
  bool HasPeerEnded(const std::string& task, uint64_t& known, uint64_t joined) {
    if (joined == 0) {
      const absl::Time now = process_.scheduler().clock().Now();
      const absl::Time since =
          expected_since_.try_emplace(task, now).first->second;
      return now - since >= kExpectedTime;
    }
    expected_since_.erase(task);
    if (known == 0) known = joined;  // it has started
    return known != joined;
  }

  void LeaveBefore(const Peers& peers) {
    peers_ = peers;
    has_left_ = true;
    link_->Leave();
  }

  // Returns why the server has stopped by itself, or nullopt if the program has
  // stopped it.
  std::optional<absl::Status> WhyItHasStopped() {
    absl::MutexLock lock(&mutex_);
    if (is_address_free_) return std::nullopt;
    return absl::UnavailableError(
        absl::StrCat("The server of ", task_, " has stopped: ", stop_reason_));
  }

  void KeepAnswering(std::unique_ptr<StoppedTask> answers) {
    absl::MutexLock lock(&mutex_);
    if (!is_address_free_) std::swap(answers_, answers);
  }

  void StopItself() {
    AwaitThatOthersHear(options_.drain);
    if (stops_after_job_) {
      LeaveAndAwaitCoordinatorsEnd(process_.scheduler().clock().Now() +
                                   kLongestGoodbye);
    }
    Stop(options_.drain);
    AnswerClients();
    if (options_.on_stopped) options_.on_stopped();
    self_stops_.End();
  }

  // Returns the severity with which the end of a connection is logged. A task
  // that leaves causes no harm, so its end is not a warning. The end is not
  // logged at all when this task leaves, nor a second time: two tasks that have
  // dialed each other lose two connections.
  Severity SeverityOfLoss(const std::string& task, uint64_t incarnation,
                          bool needed, bool has_ended) {
    if (!tasks_of_cluster_.contains(task)) {
      return needed ? Severity::kWarning : Severity::kDebug;
    }
    absl::MutexLock lock(&mutex_);
    Peer& peer = met_[task];
    const bool told = peer.incarnation == incarnation && peer.is_told_lost;
    peer.incarnation = incarnation;
    peer.is_told_lost = true;
    peer.is_told_ended |= has_ended;
    if (needed) return Severity::kWarning;
    return stopping_ || told ? Severity::kDebug : Severity::kInfo;
  }

  // Returns whether the process that last connected as this task is a member of
  // this cluster. An earlier deployment may have had the same addresses. A
  // HELLO without a uuid comes from a process that had not learned the uuid
  // yet.
  bool IsOfThisCluster(const std::string& task, uint64_t incarnation) {
    const std::string uuid = cluster_uuid_->Get();
    if (uuid.empty()) return false;
    absl::MutexLock lock(&mutex_);
    const auto peer = met_.find(task);
    return peer != met_.end() && peer->second.connected == incarnation &&
           (peer->second.cluster_uuid.empty() ||
            peer->second.cluster_uuid == uuid);
  }

  bool HasEnded(const std::string& task, uint64_t incarnation,
                const absl::Status& why) const {
    return why == bus::TaskHasEnded(task) ||
           link_->HasLeft(task, incarnation) ||
           (hosted_ != nullptr && hosted_->HasLeft(task, incarnation));
  }

  void LoseMember(const std::string& task, uint64_t incarnation,
                  const absl::Status& why) {
    if (hosted_ == nullptr) return;
    {
      // This task is stopping, and closes its connections.
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    hosted_->OnTaskLost(task, incarnation, why);
  }

  // PeerObserver: tasks of this process.
  void PeerConnected(const std::string& task, uint64_t incarnation) override {
    if (local_task_ != nullptr) {
      // Tasks of one process have different incarnations.
      (void)local_task_->runtime()->PeerConnected(task, incarnation);
    }
    if (task == coordinator_task_) OnCoordinatorConnected();
  }
  void PeerLost(const std::string& task, uint64_t incarnation,
                const absl::Status& why) override {
    if (local_task_ != nullptr) {
      local_task_->runtime()->PeerLost(task, incarnation, why);
    }
    if (task == coordinator_task_) OnCoordinatorLost();
    LoseMember(task, incarnation, why);
  }

  // protocol::PeerEvents: tasks of other processes.
  absl::Status OnPeerConnected(const bus::Identity& peer) override {
    if (local_task_ != nullptr) {
      absl::Status counted =
          local_task_->runtime()->PeerConnected(peer.task, peer.incarnation);
      if (!counted.ok()) {
        refused_peers_.Log(
            Severity::kWarning,
            absl::StrCat("A connection is not accepted: ", counted.message()));
        return counted;
      }
    }
    // HELLO is self-asserted: the number of other names is unbounded.
    if (!tasks_of_cluster_.contains(peer.task)) return absl::OkStatus();
    link_->NoteBack(peer.task);
    absl::MutexLock lock(&mutex_);
    met_[peer.task] = {.incarnation = peer.incarnation,
                       .connected = peer.incarnation,
                       .cluster_uuid = peer.cluster_uuid};
    return absl::OkStatus();
  }
  void OnPeerLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why) override {
    const bool needed =
        local_task_ != nullptr &&
        local_task_->runtime()->PeerLost(task, incarnation, why);
    const bool has_ended = HasEnded(task, incarnation, why);
    if (has_ended && IsOfThisCluster(task, incarnation)) {
      link_->NoteLeft(task, incarnation);
    }
    std::string line =
        has_ended ? DescribeEnd(task, needed) : DescribeLoss(task, needed, why);
    const Severity severity =
        SeverityOfLoss(task, incarnation, needed, has_ended);
    // Any process may connect as a task and disconnect, at any rate.
    if (severity == Severity::kInfo) {
      lost_peers_.Log(severity, std::move(line));
    } else {
      logger_.Log(severity, line);
    }
  }
  void OnUnusedConnectionLost(const std::string& task, uint64_t incarnation,
                              const absl::Status& why) override {
    if (local_task_ != nullptr &&
        local_task_->runtime()->DropUnusedConnection(task, incarnation)) {
      return;
    }
    OnPeerLost(task, incarnation, why);
  }
  void OnPushFailed(const protocol::Push& push,
                    const absl::Status& why) override {
    local_task_->runtime()->PushFailed(push, why);
  }
  void OnPushes(std::vector<protocol::Push> pushes) override {
    if (local_task_ != nullptr)
      local_task_->runtime()->Deliver(std::move(pushes));
  }

  // CoordinatorLinkEvents.
  protocol::TaskReport Report() override {
    if (!has_devices_) return {};
    return {.resources = local_task_->runtime()->SharedResources(),
            .sessions = local_task_->master()->Declared(),
            .memory = local_task_->runtime()->MemoryInUse()};
  }
  void OnClusterKnown(const std::string& uuid) override {
    cluster_uuid_->Set(uuid);
  }
  void OnRefused(const absl::Status& why) override {
    logger_.Error(absl::StrCat("The coordinator at ", coordinator_task_,
                               " refused this task: ", why.ToString()));
    StopSoon(why, absl::StrCat("the coordinator at ", coordinator_task_,
                               " refused it: ", why.message()));
  }
  void OnStopRequested() override {
    logger_.Info("Asked to stop by the coordinator");
    StopSoon(absl::OkStatus(), "the cluster was shut down (weft shutdown)");
  }
  void OnJobFinished(const std::string& job) override {
    {
      absl::MutexLock lock(&mutex_);
      finished_jobs_.insert(job);
      for (const auto& [wanted, event] : job_waiters_) {
        if (wanted == job) event->Set();
      }
    }
    if (job.empty() || job != options_.stop_after_job) return;
    const std::string reason =
        absl::StrCat("All tasks of job ", job, " have finished");
    logger_.Info(reason);
    stops_after_job_ = true;
    StopSoon(absl::OkStatus(), reason);
  }

  // Called for a task that this one has used, and whose end it has not seen.
  void OnTaskLeft(const std::string& task, uint64_t incarnation) override {
    {
      absl::MutexLock lock(&mutex_);
      const auto peer = met_.find(task);
      if (stopping_ || peer == met_.end()) return;
      if (peer->second.incarnation != incarnation) return;
      if (std::exchange(peer->second.is_told_ended, true)) return;
      peer->second.is_told_lost = true;
    }
    logger_.Info(DescribeEnd(task, /*needed=*/false));
  }

  // State of another task: the process about which something was logged last,
  // and the event; and the process that connected last, with the uuid in its
  // HELLO.
  struct Peer {
    uint64_t incarnation = 0;
    bool is_told_lost = false;
    bool is_told_ended = false;
    uint64_t connected = 0;
    std::string cluster_uuid;
  };

  const ClusterSpec cluster_;
  const absl::flat_hash_set<std::string> tasks_of_cluster_;
  const ServerOptions options_;
  const std::string task_;
  const bool has_devices_;
  const std::string coordinator_task_;
  const std::unique_ptr<Logger> own_logger_;
  Logger& logger_;
  const std::unique_ptr<Process> own_process_;
  Process& process_;
  LimitedLog refused_peers_;
  LimitedLog lost_peers_;  // fits the ends of all tasks at once
  const uint64_t incarnation_;
  bus::Address endpoint_address_;  // with its port, once it listens
  const std::shared_ptr<bus::LearnedUuid> cluster_uuid_ =
      std::make_shared<bus::LearnedUuid>();
  std::string target_;
  // Null and empty without metrics_port. The former outlives the task's parts.
  std::unique_ptr<TaskMetrics> task_metrics_;
  std::unique_ptr<MetricsServer> metrics_server_;
  std::string metrics_url_;
  // Null unless this task hosts it. Start sets it once, before it starts other
  // threads. They read it without the lock, also while the server stops.
  std::shared_ptr<Coordinator> hosted_;
  std::shared_ptr<CoordinatorRoute> route_;
  std::shared_ptr<CoordinatorLink> link_;
  // Null if the task has no devices.
  std::unique_ptr<ClusterDirectory> directory_;
  std::unique_ptr<Task> local_task_;
  // Null except on a checkpoint writer.
  std::shared_ptr<FileSystem> files_;
  std::unique_ptr<FileServer> file_server_;
  std::unique_ptr<TaskHandler> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
  // The listening endpoint, for its own handler.
  std::atomic<bus::Endpoint*> listening_{nullptr};
  std::atomic<bool> is_coordinator_lost_{false};
  std::atomic<bool> has_left_{false};
  // The peers that this task waits for, set when it left. Used only by the
  // waiting thread.
  std::optional<Peers> peers_;
  // The times since when the coordinator has not known a peer, by task;
  // likewise.
  std::map<std::string, absl::Time> expected_since_;
  // The time since when the coordinator has not answered that thread.
  absl::Time silent_since_ = absl::InfiniteFuture();
  std::atomic<bool> stops_after_job_{false};
  const std::unique_ptr<Event> stopped_;
  InFlight self_stops_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stops_soon_ ABSL_GUARDED_BY(mutex_) = false;
  // Set if it stops by itself.
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
  bool is_address_free_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<StoppedTask> answers_ ABSL_GUARDED_BY(mutex_);
  Scheduler::TimerId stop_timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // By task of the cluster.
  absl::flat_hash_map<std::string, Peer> met_ ABSL_GUARDED_BY(mutex_);
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> finished_jobs_ ABSL_GUARDED_BY(mutex_);
  // Events of the callers that wait for each job; the callers own them.
  std::vector<std::pair<std::string, Event*>> job_waiters_
      ABSL_GUARDED_BY(mutex_);
};

namespace {

absl::Status CheckGpus(const ServerOptions& options) {
  const bool has_platform = options.process != nullptr
                                ? options.process->has_gpu_platform()
                                : options.gpu_platform != nullptr;
  if (options.gpus > 0 && !has_platform) {
    return absl::InvalidArgumentError(
        "gpus require a Process with a gpu_platform (ServerOptions, or "
        "ProcessOptions where the server is given a Process); host_gpus need "
        "none.");
  }
  if (options.host_gpus > 0 && has_platform) {
    return absl::InvalidArgumentError(
        "host_gpus must not be used with a Process with a gpu_platform: ask "
        "for gpus.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const ClusterSpec& cluster, const ServerOptions& options) {
  ASSIGN_OR_RETURN(const bus::Address address,
                   CheckSpec(cluster, {.job_name = options.job_name,
                                       .task_index = options.task_index,
                                       .bind = options.bind,
                                       .insecure = options.insecure}));
  if (options.cpus < 1 || options.host_gpus < 0 || options.gpus < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "A task needs at least one CPU device, and no negative "
        "number of GPUs; asked for ",
        options.cpus, " and ", std::min(options.host_gpus, options.gpus), "."));
  }
  RETURN_IF_ERROR(CheckGpus(options));
  if (options.process != nullptr && !options.client_functions.empty()) {
    return absl::InvalidArgumentError(
        "client_functions require a server with a Process of its own. Pass "
        "them to its Process (ProcessOptions::client_functions).");
  }
  if (options.heartbeat_interval <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The heartbeat interval must be more than 0; it is ",
                     absl::FormatDuration(options.heartbeat_interval), "."));
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

const std::string& Server::metrics_url() const { return impl_->metrics_url(); }

absl::Status Server::Join() { return impl_->Join(); }

absl::Status Server::Stop(absl::Duration drain) {
  impl_->Stop(drain);
  return absl::OkStatus();
}

absl::Status Server::Finish(absl::Duration drain) {
  impl_->Finish(drain);
  return absl::OkStatus();
}

bool Server::is_stop_requested() const { return impl_->is_stop_requested(); }

bool Server::LeaveAndAwaitCoordinatorsEnd(absl::Time deadline) {
  return impl_->LeaveAndAwaitEnd(deadline);
}

bool Server::AwaitStopped(absl::Time deadline) {
  return impl_->AwaitStopped(deadline);
}

bool Server::AwaitJob(const std::string& job, absl::Time deadline) {
  return impl_->AwaitJob(job, deadline);
}

bool Server::joined() const { return impl_->joined(); }

TaskRuntime& Server::runtime() { return impl_->runtime(); }

int Server::num_sessions() const { return impl_->num_sessions(); }

}  // namespace weft
