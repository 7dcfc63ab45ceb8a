#include "libs/server/server.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/scheduler/thread_scheduler.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/address.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/coordinator/coordinator_client.h"
#include "libs/protocol/master/master_client.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/server/task.h"

namespace weft {
namespace {

using ::absl::StatusCode;

class ServerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Server>> Create(const ClusterSpec& cluster,
                                                 ServerOptions options) {
    options.process = &process_;
    options.logger = &logger_;
    return Server::Create(cluster, options);
  }

  RecordingLogger logger_;
  Process process_{{.compute_threads = 1}};
};

TEST_F(ServerTest, ListensAtAPortThatWasFree) {
  ASSERT_OK_AND_ASSIGN(
      auto server, Create({{"local", {"localhost:0"}}}, {.job_name = "local"}));
  EXPECT_EQ(server->target().rfind("zmq://localhost:", 0), 0u);
  EXPECT_NE(server->target(), "zmq://localhost:0");
  EXPECT_EQ(logger_.lines().front(),
            "I Started server with target: " + server->target());
}

TEST_F(ServerTest, TheTaskMustBeInTheSpec) {
  const ClusterSpec cluster{{"ps", {"localhost:0"}}};
  EXPECT_THAT(Create(cluster, {.job_name = "worker"}),
              StatusIs(StatusCode::kInvalidArgument, "worker"));
  EXPECT_THAT(Create(cluster, {.job_name = "ps", .task_index = 1}),
              StatusIs(StatusCode::kInvalidArgument, "Task 1"));
  EXPECT_THAT(Create({}, {.job_name = "ps"}),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(ServerTest, AddressesAreChecked) {
  EXPECT_THAT(Create({{"ps", {"localhost"}}}, {.job_name = "ps"}),
              StatusIs(StatusCode::kInvalidArgument, "localhost"));
  EXPECT_THAT(Create({{"ps", {"localhost:0"}}, {"worker", {"nonsense"}}},
                     {.job_name = "ps"}),
              StatusIs(StatusCode::kInvalidArgument, "nonsense"));
}

TEST_F(ServerTest, TwoTasksCannotHaveTheSameAddress) {
  EXPECT_THAT(
      Create({{"ps", {"localhost:4000"}}, {"worker", {"localhost:4000"}}},
             {.job_name = "ps"}),
      StatusIs(StatusCode::kInvalidArgument,
               "/job:ps/replica:0/task:0 and /job:worker/replica:0/"
               "task:0 the same address, localhost:4000"));
}

TEST_F(ServerTest, PortZeroIsForClustersOfOneProcess) {
  EXPECT_THAT(
      Create({{"ps", {"localhost:0"}}, {"worker", {"localhost:4000"}}},
             {.job_name = "ps"}),
      StatusIs(StatusCode::kInvalidArgument, "/job:worker/replica:0/task:0"));
}

// A cluster of 500 other tasks, in a process with a limited number of
// descriptors.
class DescriptorLimitTest : public ::testing::Test {
 protected:
  absl::Status Start(const DescriptorUsage& room) {
    Process process{
        {.compute_threads = 1, .descriptor_usage = [room] { return room; }}};
    const ClusterSpec cluster{
        {"ps", {"localhost:0"}},
        {"worker", std::vector<std::string>(500, "localhost:0")}};
    return Server::Create(
               cluster,
               {.job_name = "ps", .process = &process, .logger = &logger_})
        .status();
  }

  RecordingLogger logger_;
};

TEST_F(DescriptorLimitTest, EnoughForTheClusterLogsNoWarning) {
  EXPECT_OK(Start({.limit = 5064, .open = 5000}));
  for (const std::string& line : logger_.lines()) EXPECT_EQ(line[0], 'I');
}

TEST_F(DescriptorLimitTest, TooFewForTheClusterLogsOneWarning) {
  EXPECT_OK(Start({.limit = 5063, .open = 100}));
  EXPECT_THAT(logger_.lines().front(),
              testing::HasSubstr("W /job:ps/replica:0/task:0 may need 5064"));
  EXPECT_EQ(std::ranges::count(logger_.lines(), 'W',
                               [](const std::string& line) { return line[0]; }),
            1);
}

TEST_F(DescriptorLimitTest, TooFewToStartIsResourceExhausted) {
  EXPECT_THAT(Start({.limit = 1024, .open = 961}),
              StatusIs(StatusCode::kResourceExhausted,
                       "this process has 63: 961 of at most 1024 are open"));
  EXPECT_TRUE(logger_.lines().empty());
}

// Starts no thread.
class NoThreads : public ThreadStarter {
 public:
  absl::StatusOr<std::thread> Start(Body) override {
    return absl::ResourceExhaustedError("No thread; raise ulimit -u");
  }
};

TEST(ServerThreadsTest, TooFewToStartIsResourceExhausted) {
  NoThreads starter;
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(
      clock, {.compute_threads = 1}, &starter, [](const std::string&) {});
  Process process(std::make_unique<SystemClock>(), NewSystemRandom(),
                  *scheduler, /*new_wire=*/nullptr);
  EXPECT_THAT(Server::Create({{"ps", {"localhost:0"}}},
                             {.job_name = "ps", .process = &process}),
              StatusIs(StatusCode::kResourceExhausted, "raise ulimit -u"));
}

TEST_F(ServerTest, NonLoopbackAddressNeedsAnOption) {
  const ClusterSpec cluster{{"ps", {"localhost:0"}}};
  EXPECT_THAT(Create(cluster, {.job_name = "ps", .bind = "0.0.0.0"}),
              StatusIs(StatusCode::kFailedPrecondition, "--insecure"));
  ASSERT_OK(
      Create(cluster, {.job_name = "ps", .bind = "0.0.0.0", .insecure = true}));
}

TEST_F(ServerTest, LoopbackAddressIsRefusedForRemoteTasks) {
  EXPECT_THAT(
      Create({{"ps", {"localhost:4000"}}, {"worker", {"10.0.0.7:4000"}}},
             {.job_name = "ps"}),
      StatusIs(StatusCode::kFailedPrecondition, "10.0.0.7:4000"));
}

TEST_F(ServerTest, OneTaskHasOneServerInAProcess) {
  const ClusterSpec cluster{{"ps", {"localhost:0"}}};
  ASSERT_OK_AND_ASSIGN(auto first, Create(cluster, {.job_name = "ps"}));
  EXPECT_THAT(Create(cluster, {.job_name = "ps"}),
              StatusIs(StatusCode::kAlreadyExists, "/job:ps"));
  ASSERT_OK(first->Stop());
  ASSERT_OK(Create(cluster, {.job_name = "ps"}));
}

TEST_F(ServerTest, ZeroHeartbeatIntervalIsRefused) {
  EXPECT_THAT(
      Create({{"ps", {"localhost:0"}}},
             {.job_name = "ps", .heartbeat_interval = absl::ZeroDuration()}),
      StatusIs(StatusCode::kInvalidArgument, "more than 0"));
}

TEST_F(ServerTest, DevicesAreCountedAndNamed) {
  EXPECT_THAT(Create({{"ps", {"localhost:0"}}}, {.job_name = "ps", .cpus = 0}),
              StatusIs(StatusCode::kInvalidArgument, "CPU"));
  ASSERT_OK_AND_ASSIGN(auto server,
                       Create({{"ps", {"localhost:0"}}},
                              {.job_name = "ps", .cpus = 2, .host_gpus = 1}));
  std::vector<std::string> names;
  server->runtime().GetStatusWhenConnected(
      absl::InfiniteFuture(),
      [&](const absl::StatusOr<std::vector<DeviceAttributes>>& devices) {
        for (const auto& device : *devices) names.push_back(device.name);
      });
  EXPECT_EQ(names, (std::vector<std::string>{
                       "/job:ps/replica:0/task:0/device:CPU:0",
                       "/job:ps/replica:0/task:0/device:CPU:1",
                       "/job:ps/replica:0/task:0/device:GPU:0"}));
}

// As the task of a session in the program: it knows no other task, and serves
// both roles to itself.
TEST_F(ServerTest, SingleTaskNeedsNoOtherTask) {
  protocol::RecordingCoordinator coordinator;
  auto gpus = process_.NewGpus("/job:localhost/replica:0/task:0", 1);
  ASSERT_OK(gpus);
  Task task({.process = &process_,
             .task = "/job:localhost/replica:0/task:0",
             .incarnation = 7,
             .gpus = *std::move(gpus),
             .coordinator = &coordinator,
             .logger = &logger_,
             .runtime = {.default_container = "localhost"}});
  const auto devices = task.runtime()->Devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].name, "/job:localhost/replica:0/task:0/device:GPU:0");
  SyncCall<> reset(process_.scheduler());
  task.master()->Reset({"container"}, {}, nullptr, reset.Done());
  EXPECT_OK(reset.Wait());
  ASSERT_FALSE(coordinator.forgotten.empty());
  EXPECT_EQ(coordinator.forgotten.front(),
            std::vector<std::string>{"container"});
}

// Says HELLO to a server with a given identity, and returns the answer.
class Handshake : public bus::ChannelEvents {
 public:
  static absl::StatusOr<bus::Identity> Exchange(Process& process,
                                                const Server& server,
                                                const bus::Identity& self) {
    ASSIGN_OR_RETURN(const bus::Address address,
                     bus::Address::Parse(server.target()));
    Handshake handshake(process);
    const auto channel =
        process.transport().Dial(address, self, "", &handshake);
    handshake.heard_->WaitUntil(process.clock().Now() + absl::Minutes(1));
    absl::MutexLock lock(&handshake.mutex_);
    return handshake.answer_;
  }

 private:
  explicit Handshake(Process& process)
      : heard_(process.scheduler().NewEvent()) {}

  void OnConnected(const bus::Identity& peer) override { Hear(peer); }
  void OnDisconnected(const absl::Status& why) override { Hear(why); }
  void Hear(absl::StatusOr<bus::Identity> answer) {
    {
      absl::MutexLock lock(&mutex_);
      answer_ = std::move(answer);
    }
    heard_->Set();
  }

  const std::unique_ptr<Event> heard_;
  absl::Mutex mutex_;
  absl::StatusOr<bus::Identity> answer_ ABSL_GUARDED_BY(mutex_) =
      absl::DeadlineExceededError("no answer");
};

// A ps, which hosts the coordinator, and a worker, each in a process of its
// own, on simulated threads and time.
class SimulatedServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Start(ps_, "ps", ps_process_);
    Start(worker_, "worker", worker_process_);
    // Time enough to join, and for a heartbeat.
    scheduler_.AdvanceBy(absl::Minutes(1));
  }

  std::unique_ptr<Process> NewProcess(const std::string& name,
                                      const ProcessOptions& options = {}) {
    return std::make_unique<Process>(
        nullptr, NewSeededRandom(++num_processes_), scheduler_,
        [this, name](Scheduler&) { return bus::NewMemoryWire(network_, name); },
        options);
  }

  void Start(std::unique_ptr<Server>& server, const std::string& job,
             std::unique_ptr<Process>& process) {
    process = NewProcess(job);
    ASSERT_OK_AND_ASSIGN(server,
                         Server::Create(cluster_, {.job_name = job,
                                                   .process = process.get(),
                                                   .logger = &logger_}));
  }

  // A task of another cluster takes the address of the ps, which has died. Time
  // passes; the worker continues, and logs the problem.
  void WorkerMeetsStranger(const std::string& job, const ClusterSpec& cluster,
                           const std::string& why) {
    ASSERT_OK(ps_->Stop(absl::ZeroDuration()));
    ps_.reset();
    ASSERT_OK_AND_ASSIGN(
        stranger_, Server::Create(cluster, {.job_name = job,
                                            .process = stranger_process_.get(),
                                            .logger = &stranger_logger_}));
    scheduler_.AdvanceBy(absl::Minutes(5));
    EXPECT_FALSE(worker_->AwaitStopped(clock_.Now()));
    EXPECT_FALSE(worker_->joined());
    EXPECT_THAT(logger_.lines(), testing::Contains(testing::HasSubstr(why)));
    ASSERT_OK(stranger_->Stop(absl::ZeroDuration()));
    stranger_.reset();
  }
  void TheRightOneIsBack() {
    Start(ps_, "ps", ps_process_);
    scheduler_.AdvanceBy(absl::Minutes(1));
    EXPECT_TRUE(worker_->joined());
  }

  // Returns the cluster's uuid as the server reports it.
  std::string UuidOf(const Server& server) {
    const auto peer =
        Handshake::Exchange(*client_process_, server, {.incarnation = 5});
    EXPECT_OK(peer);
    return peer.ok() ? peer->cluster_uuid : "";
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  bus::MemoryNetwork network_{scheduler_};
  RecordingLogger logger_;
  const ClusterSpec cluster_{{"ps", {"localhost:1000"}},
                             {"worker", {"localhost:1001"}}};
  uint64_t num_processes_ = 0;
  RecordingLogger stranger_logger_;
  std::unique_ptr<Process> client_process_ = NewProcess("client");
  std::unique_ptr<Process> stranger_process_ = NewProcess("stranger");
  std::unique_ptr<Process> ps_process_, worker_process_;
  std::unique_ptr<Server> ps_, worker_, stranger_;
};

TEST_F(SimulatedServersTest, JoinWaitsForStop) {
  bool joined = false;
  scheduler_.Schedule(Pool::kBlocking, [&] {
    EXPECT_OK(worker_->Join());
    joined = true;
  });
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_FALSE(joined);
  ASSERT_OK(worker_->Stop());
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(joined);
  ASSERT_OK(worker_->Stop());  // a second call does nothing
  EXPECT_OK(worker_->Join()) << "it has stopped already";
}

TEST_F(SimulatedServersTest, TaskUsingThePortIsNamed) {
  const auto process = NewProcess("second");
  EXPECT_THAT(Server::Create({{"other", {"localhost:1000"}}},
                             {.job_name = "other",
                              .process = process.get(),
                              .logger = &stranger_logger_}),
              StatusIs(StatusCode::kAlreadyExists,
                       "another task listens there, /job:ps/replica:0/task:0"));
}

// Accepts connections and never answers.
class SilentProgram : public bus::WireEvents {
 public:
  void OnOpen(bus::ConnectionId) override {}
  void OnMessage(bus::ConnectionId, bus::Frames) override {}
  void OnClose(bus::ConnectionId, const absl::Status&) override {}
};

TEST_F(SimulatedServersTest, OtherProgramUsingThePortIsNotATask) {
  const auto wire = bus::NewMemoryWire(network_, "program");
  SilentProgram events;
  ASSERT_OK_AND_ASSIGN(
      const auto listener,
      wire->Listen({"localhost", 1005}, bus::ChannelKind::kControl, events));
  const auto process = NewProcess("second");
  EXPECT_THAT(Server::Create({{"other", {"localhost:1005"}}},
                             {.job_name = "other",
                              .process = process.get(),
                              .logger = &stranger_logger_}),
              StatusIs(StatusCode::kAlreadyExists, "which is not a Weft task"));
}

TEST_F(SimulatedServersTest, ATaskThatStopsHasEnded) {
  ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_THAT(logger_.lines(),
              testing::Contains("I /job:worker/replica:0/task:0 has ended"));
  EXPECT_THAT(logger_.lines(),
              testing::Not(testing::Contains(testing::HasSubstr("was lost"))));
}

// Others may keep references to the coordinator, and its server need not be
// destroyed.
TEST_F(SimulatedServersTest, StoppedCoordinatorLosesNoTasks) {
  ASSERT_OK(ps_->Stop(absl::ZeroDuration()));
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(),
              testing::Not(testing::Contains(
                  testing::HasSubstr("is lost: it has sent no heartbeat"))));
}

TEST_F(SimulatedServersTest, TaskOfAnotherClusterIsRefusedNamingBoth) {
  const std::string uuid = UuidOf(*worker_);
  EXPECT_EQ(uuid.size(), 32u);
  EXPECT_EQ(UuidOf(*ps_), uuid);
  bus::Identity other{.cluster_uuid = "c0ffee",
                      .task = "/job:ps/replica:0/task:0",
                      .incarnation = 5};
  EXPECT_THAT(
      Handshake::Exchange(*client_process_, *worker_, other),
      StatusIs(StatusCode::kFailedPrecondition,
               absl::StrCat("/job:worker/replica:0/task:0 belongs to another "
                            "cluster than /job:ps/replica:0/task:0: ",
                            uuid, " is not c0ffee")));
  other.cluster_uuid = uuid;
  EXPECT_OK(Handshake::Exchange(*client_process_, *worker_, other));
}

TEST_F(SimulatedServersTest, PeerWithTheServersNameIsRefused) {
  ASSERT_OK_AND_ASSIGN(
      const bus::Identity server,
      Handshake::Exchange(*client_process_, *worker_, {.incarnation = 5}));
  for (const std::string& task : {server.task, std::string()}) {
    EXPECT_THAT(
        Handshake::Exchange(*client_process_, *worker_,
                            {.task = task, .incarnation = server.incarnation}),
        StatusIs(StatusCode::kPermissionDenied, "must draw its own"));
  }
  EXPECT_TRUE(worker_->joined());
}

// Each connects and leaves under another name. What the worker sends to
// coordinators is limited, so a worker that kept the names could not join
// again.
TEST_F(SimulatedServersTest, UnknownPeersLeaveNoState) {
  ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
  worker_.reset();
  worker_process_ = NewProcess("limited worker",
                               {.transport = {.max_control_bytes = 64 << 10}});
  ASSERT_OK_AND_ASSIGN(
      worker_, Server::Create(cluster_, {.job_name = "worker",
                                         .process = worker_process_.get(),
                                         .logger = &logger_}));
  scheduler_.AdvanceBy(absl::Minutes(1));
  ASSERT_TRUE(worker_->joined());
  for (uint64_t i = 1; i <= 100; ++i) {
    const std::string name = absl::StrCat(std::string(1000, 'x'), i);
    EXPECT_OK(Handshake::Exchange(*client_process_, *worker_,
                                  {.task = name, .incarnation = 100 + i}));
  }
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_TRUE(worker_->joined());
  EXPECT_THAT(logger_.lines(), testing::Not(testing::Contains(testing::AllOf(
                                   testing::HasSubstr("xxx"),
                                   testing::Not(testing::StartsWith("D "))))));
  ASSERT_OK(ps_->Stop(absl::ZeroDuration()));
  ps_.reset();
  TheRightOneIsBack();
  EXPECT_FALSE(worker_->AwaitStopped(clock_.Now()));
}

// A client makes connections at any rate.
class BusyLogTest : public SimulatedServersTest {
 protected:
  void SetUp() override {
    SimulatedServersTest::SetUp();
    ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
    worker_.reset();
    worker_process_ = NewProcess("worker that logs", {.logger = &logger_});
    ASSERT_OK_AND_ASSIGN(
        worker_, Server::Create(cluster_, {.job_name = "worker",
                                           .process = worker_process_.get(),
                                           .logger = &logger_}));
    scheduler_.AdvanceBy(absl::Minutes(1));
  }
  int NumLinesWith(const std::string& text) const {
    int count = 0;
    for (const std::string& line : logger_.lines()) {
      count += absl::StrContains(line, text);
    }
    return count;
  }
};

TEST_F(BusyLogTest, BrokenMessagesDoNotFillTheLog) {
  const auto wire = bus::NewMemoryWire(network_, "raw");
  SilentProgram events;
  for (int i = 0; i < 100; ++i) {
    const bus::ConnectionId connection =
        wire->Dial({"localhost", 1001}, bus::ChannelKind::kControl, events);
    scheduler_.AdvanceBy(absl::Milliseconds(10));
    ASSERT_OK(wire->Send(connection, {bus::Blob::FromString("no message")}));
    scheduler_.AdvanceBy(absl::Milliseconds(10));
    wire->Close(connection);
  }
  const int lines = NumLinesWith("Closing the connection of a client");
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, LineLimit::kMaxLines);
}

// A HELLO may name any task.
TEST_F(BusyLogTest, ConnectionsAsATaskDoNotFillTheLog) {
  const absl::Time begin = clock_.Now();
  for (uint64_t i = 1; i <= 200; ++i) {
    EXPECT_OK(Handshake::Exchange(
        *client_process_, *worker_,
        {.task = "/job:ps/replica:0/task:0", .incarnation = 100 + i}));
  }
  scheduler_.AdvanceBy(absl::Seconds(1));
  const int intervals =
      static_cast<int>((clock_.Now() - begin) / LineLimit::kInterval) + 1;
  ASSERT_LT(intervals * LineLimit::kMaxLines, 200);
  const int lines = NumLinesWith("/job:ps/replica:0/task:0 has ended");
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, intervals * LineLimit::kMaxLines);
}

// Two parameter servers that stop after the workers. The worker starts later
// than they do.
class LateWorkerTest : public SimulatedServersTest {
 protected:
  void SetUp() override {
    StartTask(ps_, "ps", 0, ps_process_);
    StartTask(second_, "ps", 1, second_process_);
    scheduler_.AdvanceBy(absl::Minutes(1));
  }
  void TearDown() override {
    for (auto* server : {&worker_, &second_, &ps_}) server->reset();
  }
  void StartTask(std::unique_ptr<Server>& server, const std::string& job,
                 int index, std::unique_ptr<Process>& process) {
    process = NewProcess(absl::StrCat(job, index));
    ASSERT_OK_AND_ASSIGN(
        server, Server::Create(spec_, OptionsOf(job, index, *process)));
  }
  ServerOptions OptionsOf(const std::string& job, int index, Process& process) {
    ServerOptions options;
    options.job_name = job;
    options.task_index = index;
    options.process = &process;
    options.logger = &logger_;
    if (job == "ps") options.stop_after_job = "worker";
    return options;
  }
  bool HaveStopped() {
    const bool first = ps_->AwaitStopped(clock_.Now());
    EXPECT_EQ(second_->AwaitStopped(clock_.Now()), first);
    return first;
  }

  const ClusterSpec spec_{{"ps", {"localhost:1000", "localhost:1002"}},
                          {"worker", {"localhost:1001"}}};
  std::unique_ptr<Process> second_process_;
  std::unique_ptr<Server> second_;
};

// The cluster of the earlier worker had the same addresses, and that worker
// still dials them.
TEST_F(LateWorkerTest, EndOfAnEarlierWorkerIsIgnored) {
  const std::string earlier(32, 'e');
  for (const Server* server : {second_.get(), ps_.get()}) {
    EXPECT_OK(Handshake::Exchange(*client_process_, *server,
                                  {.cluster_uuid = earlier,
                                   .task = "/job:worker/replica:0/task:0",
                                   .incarnation = 9}));
  }
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_FALSE(HaveStopped());
  StartTask(worker_, "worker", 0, worker_process_);
  scheduler_.AdvanceBy(absl::Minutes(1));
  ASSERT_TRUE(worker_->joined());
  ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_TRUE(HaveStopped());
}

// OwnJobTest runs two of three workers, which have trained, and a coordinator
// that outlives training runs. The third worker never starts.
class OwnJobTest : public SimulatedServersTest {
 protected:
  void SetUp() override {
    Start(coordinator_, "coordinator", 0);
    for (int i = 0; i < 2; ++i) Start(workers_[i], "worker", i);
    scheduler_.AdvanceBy(absl::Minutes(1));
  }
  void TearDown() override {
    scheduler_.AdvanceBy(absl::Minutes(6));  // all waits have ended
    for (Program& worker : workers_) worker.server.reset();
    coordinator_.server.reset();
  }

  struct Program {
    std::unique_ptr<Process> process;
    std::unique_ptr<Server> server;
    bool has_ended = false;
  };
  void Start(Program& program, const std::string& job, int index) {
    program.server.reset();
    program.process = NewProcess(absl::StrCat(job, index));
    ASSERT_OK_AND_ASSIGN(
        program.server, Server::Create(spec_, {.job_name = job,
                                               .task_index = index,
                                               .process = program.process.get(),
                                               .logger = &logger_}));
  }
  // Ends the training as an Estimator does.
  void BeginEnd(Program& worker) {
    scheduler_.Schedule(Pool::kBlocking, [this, &worker] {
      const absl::Time last = clock_.Now() + absl::Minutes(5);
      bool has_ended = false;
      while (!has_ended && clock_.Now() < last) {
        const absl::Time deadline = clock_.Now() + absl::Milliseconds(500);
        has_ended = worker.server->LeaveAndAwaitCoordinatorsEnd(deadline);
        EXPECT_LE(clock_.Now(), deadline + absl::Seconds(1));
      }
      worker.has_ended = has_ended;
    });
  }

  const ClusterSpec spec_{
      {"coordinator", {"localhost:1000"}},
      {"worker", {"localhost:1001", "localhost:1002", "localhost:1003"}}};
  Program coordinator_;
  Program workers_[2];
};

TEST_F(OwnJobTest, PeerThatNeverStartsIsNotAwaited) {
  for (Program& worker : workers_) BeginEnd(worker);
  scheduler_.AdvanceBy(absl::Seconds(10));
  for (Program& worker : workers_) EXPECT_TRUE(worker.has_ended);
}

TEST_F(OwnJobTest, PeerThatTrainsIsAwaited) {
  BeginEnd(workers_[0]);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_FALSE(workers_[0].has_ended);
  ASSERT_OK(workers_[1].server->Stop(absl::ZeroDuration()));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(workers_[0].has_ended);
}

TEST_F(OwnJobTest, StoppedCoordinatorIsNotAwaited) {
  BeginEnd(workers_[0]);
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_FALSE(workers_[0].has_ended);
  ASSERT_OK(coordinator_.server->Stop(absl::ZeroDuration()));
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_TRUE(workers_[0].has_ended);
}

TEST_F(SimulatedServersTest, NewCoordinatorLearnsUuidFromTasks) {
  const std::string uuid = UuidOf(*worker_);
  ASSERT_EQ(UuidOf(*ps_), uuid);
  ASSERT_OK(ps_->Stop(absl::ZeroDuration()));
  ps_.reset();
  Start(ps_, "ps", ps_process_);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(UuidOf(*ps_), uuid);
  EXPECT_EQ(UuidOf(*worker_), uuid);
}

// The other process refuses the connection.
TEST_F(SimulatedServersTest, TaskSurvivesOtherProcessAtCoordinator) {
  WorkerMeetsStranger(
      "other", {{"other", {"localhost:1000"}}},
      "/job:other/replica:0/task:0 belongs to another cluster than");
  TheRightOneIsBack();
}

// Its tasks have not all joined, so it does not know its cluster yet, and
// accepts any connection.
TEST_F(SimulatedServersTest, TaskSurvivesTheStartOfAnotherCluster) {
  WorkerMeetsStranger(
      "ps", {{"ps", {"localhost:1000"}}, {"worker", {"localhost:2001"}}},
      "refuses this task, which has joined the cluster before");
  TheRightOneIsBack();
}

TEST_F(SimulatedServersTest, ATaskThatNeverJoinedIsRefusedAtOnce) {
  ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
  const auto process = NewProcess("mistaken");
  ASSERT_OK_AND_ASSIGN(
      const auto mistaken,
      Server::Create({{"ps", {"localhost:1000"}}, {"worker", {"localhost:7"}}},
                     {.job_name = "worker",
                      .process = process.get(),
                      .logger = &stranger_logger_}));
  scheduler_.AdvanceBy(absl::Seconds(5));
  ASSERT_TRUE(mistaken->AwaitStopped(clock_.Now()));
  EXPECT_THAT(mistaken->Join(),
              StatusIs(StatusCode::kFailedPrecondition, "localhost:7"));
  EXPECT_FALSE(mistaken->is_stop_requested());
  EXPECT_TRUE(worker_->is_stop_requested());
  EXPECT_FALSE(ps_->is_stop_requested());
}

// A session of the server's own program must not keep dialing for hours.
TEST_F(SimulatedServersTest, SelfStoppedServerTellsClientsTheReason) {
  ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
  const auto process = NewProcess("mistaken");
  ASSERT_OK_AND_ASSIGN(
      const auto mistaken,
      Server::Create({{"ps", {"localhost:1000"}}, {"worker", {"localhost:7"}}},
                     {.job_name = "worker",
                      .process = process.get(),
                      .logger = &stranger_logger_}));
  scheduler_.AdvanceBy(absl::Seconds(5));
  ASSERT_TRUE(mistaken->AwaitStopped(clock_.Now()));
  EXPECT_THAT(
      Handshake::Exchange(*client_process_, *mistaken, {.incarnation = 5}),
      StatusIs(StatusCode::kFailedPrecondition,
               "The server of /job:worker/replica:0/task:0 has stopped: the "
               "coordinator at /job:ps/replica:0/task:0 refused it"));
  // Another task retries until the expected process listens there.
  EXPECT_THAT(Handshake::Exchange(
                  *client_process_, *mistaken,
                  {.task = "/job:ps/replica:0/task:0", .incarnation = 5}),
              StatusIs(StatusCode::kUnavailable, "has stopped"));
  ASSERT_OK(mistaken->Stop());  // by its program: the address is free
  EXPECT_THAT(
      Handshake::Exchange(*client_process_, *mistaken, {.incarnation = 5}),
      StatusIs(StatusCode::kUnavailable));
}

// The system has refused further threads: one is left for servers that stop
// themselves, and one for the Reclaimer that they wait for.
TEST(ServersOfOneProcessTest, StopOneAfterTheOther) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock, {.pools = {.own = 2}});
  bus::MemoryNetwork network(scheduler);
  RecordingLogger logger;
  Process process(nullptr, NewSeededRandom(1), scheduler, [&](Scheduler&) {
    return bus::NewMemoryWire(network, "process");
  });
  const ClusterSpec cluster{{"ps", {"localhost:1000"}},
                            {"worker", {"localhost:1001"}}};
  std::vector<std::unique_ptr<Server>> servers;
  for (const std::string job : {"ps", "worker"}) {
    ASSERT_OK_AND_ASSIGN(servers.emplace_back(),
                         Server::Create(cluster, {.job_name = job,
                                                  .process = &process,
                                                  .logger = &logger}));
  }
  scheduler.AdvanceBy(absl::Minutes(1));
  SyncCall<> told(scheduler);
  process.local_tasks()
      .FindCoordinator(cluster.ToString())
      ->Shutdown(absl::InfiniteFuture(), told.Done());
  EXPECT_OK(told.Wait());
  scheduler.AdvanceBy(absl::Minutes(1));
  for (const auto& server : servers) {
    EXPECT_TRUE(server->AwaitStopped(clock.Now()));
  }
}

// Servers of a cluster in which a second ps never starts, so that calls wait
// for it. ps 0 hosts the coordinator.
class WaitingCallsTest : public SimulatedServersTest {
 protected:
  void SetUp() override {
    Start(ps_, "ps", ps_process_);
    Start(worker_, "worker", worker_process_);
    scheduler_.AdvanceBy(absl::Minutes(1));
  }

  void Start(std::unique_ptr<Server>& server, const std::string& job,
             std::unique_ptr<Process>& process) {
    process = NewProcess(job);
    ASSERT_OK_AND_ASSIGN(server,
                         Server::Create(incomplete_, {.job_name = job,
                                                      .process = process.get(),
                                                      .logger = &logger_}));
  }

  // Asks `server` for the devices of all tasks, and for the placement of a node
  // of a monitored session. Returns while both calls wait.
  void BeginCalls(const Server& server) {
    ASSERT_OK_AND_ASSIGN(const bus::Address address,
                         bus::Address::Parse(server.target()));
    client_ = std::make_unique<protocol::CoordinatorClient>(
        client_process_->transport(),
        protocol::CoordinatorClientOptions{.address = address,
                                           .self = {.incarnation = 5},
                                           .scheduler = &scheduler_});
    client_->ListDevices(
        {}, clock_.Now() + absl::Hours(2), nullptr,
        [this](const absl::StatusOr<std::vector<DeviceAttributes>>& devices) {
          listed_ = devices.status();
        });
    BeginPlacement(address);
    scheduler_.AdvanceBy(absl::Seconds(1));
    ASSERT_FALSE(listed_.has_value());
    ASSERT_FALSE(placed_.has_value());
  }

  void BeginPlacement(const bus::Address& address) {
    session_client_ = std::make_unique<protocol::MasterClient>(
        client_process_->transport(),
        protocol::MasterClientOptions{.address = address,
                                      .self = {.incarnation = 6},
                                      .scheduler = &scheduler_});
    SyncCall<absl::StatusOr<uint64_t>> session(scheduler_);
    session_client_->CreateSession({.is_monitored = true}, session.Done());
    ASSERT_OK_AND_ASSIGN(const uint64_t id, session.Wait());
    Graph graph(StandardOps());
    ASSERT_OK(graph.AddNode({.name = "node", .op = "NoOp"}));
    ASSERT_OK_AND_ASSIGN(std::string graph_def, ExportGraphDef(graph));
    session_client_->ExtendSession(
        id, {std::move(graph_def), 0}, nullptr,
        [this](const absl::StatusOr<protocol::ExtensionResult>& result) {
          placed_ = result.status();
        });
  }

  // The client of the session asks for the devices of all tasks, too.
  void BeginListingForSession() {
    session_client_->ListDevices(
        /*client=*/nullptr,
        [this](const absl::StatusOr<std::vector<DeviceAttributes>>& devices) {
          listed_for_session_ = devices.status();
        });
    scheduler_.AdvanceBy(absl::Seconds(1));
    ASSERT_FALSE(listed_for_session_.has_value());
  }

  // Stops `server`, which drains until the monitored session is closed. All
  // calls must be answered at once, in the name of `task`.
  void StopAnswersCalls(Server& server, const std::string& task) {
    BeginListingForSession();
    bool stopped = false;
    scheduler_.Schedule(Pool::kBlocking, [&] {
      EXPECT_OK(server.Stop(absl::Hours(1)));
      stopped = true;
    });
    scheduler_.AdvanceBy(absl::Seconds(1));
    EXPECT_FALSE(stopped);
    for (const std::optional<absl::Status>& answer :
         {listed_, listed_for_session_, placed_}) {
      ASSERT_TRUE(answer.has_value());
      EXPECT_THAT(*answer, StatusIs(StatusCode::kUnavailable, task));
    }
    session_client_.reset();
    scheduler_.AdvanceBy(absl::Minutes(5));
    EXPECT_TRUE(stopped);
  }

  // Begins a reset of tasks at the worker, which must wait. Stop of the worker,
  // which drains until a monitored session is closed, must answer the reset at
  // once.
  void StopAnswersReset(const std::vector<std::string>& filters) {
    session_client_->Reset(
        {}, filters, /*client=*/nullptr,
        [this](const absl::Status& status) { reset_ = status; });
    scheduler_.AdvanceBy(absl::Seconds(5));
    // The reset has already closed the sessions.
    SyncCall<absl::StatusOr<uint64_t>> session(scheduler_);
    session_client_->CreateSession({.is_monitored = true}, session.Done());
    ASSERT_OK(session.Wait());
    ASSERT_FALSE(reset_.has_value());
    bool stopped = false;
    scheduler_.Schedule(Pool::kBlocking, [&] {
      EXPECT_OK(worker_->Stop(absl::Hours(1)));
      stopped = true;
    });
    scheduler_.AdvanceBy(absl::Seconds(1));
    EXPECT_FALSE(stopped);
    ASSERT_TRUE(reset_.has_value());
    EXPECT_THAT(*reset_, StatusIs(StatusCode::kUnavailable, "/job:worker"));
    session_client_.reset();
    scheduler_.AdvanceBy(absl::Minutes(5));
    EXPECT_TRUE(stopped);
  }

  const ClusterSpec incomplete_{{"ps", {"localhost:1000", "localhost:1002"}},
                                {"worker", {"localhost:1001"}}};
  std::unique_ptr<protocol::CoordinatorClient> client_;
  std::optional<absl::Status> listed_, listed_for_session_, placed_, reset_;
  std::unique_ptr<protocol::MasterClient> session_client_;
};

TEST_F(WaitingCallsTest, StopOfTheCoordinatorEndsWaitingCalls) {
  BeginCalls(*ps_);
  StopAnswersCalls(*ps_, "/job:ps");
}

// The coordinator is asked again after the stop has begun.
TEST_F(WaitingCallsTest, StopEndsCallsToALostCoordinator) {
  BeginCalls(*worker_);
  BeginListingForSession();
  ASSERT_OK(ps_->Stop(absl::ZeroDuration()));
  EXPECT_FALSE(listed_for_session_.has_value());
  bool stopped = false;
  scheduler_.Schedule(Pool::kBlocking, [&] {
    EXPECT_OK(worker_->Stop(absl::Hours(1)));
    stopped = true;
  });
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_FALSE(stopped);
  ASSERT_TRUE(listed_for_session_.has_value());
  EXPECT_THAT(*listed_for_session_,
              StatusIs(StatusCode::kUnavailable, "/job:worker"));
  session_client_.reset();
  scheduler_.AdvanceBy(absl::Minutes(5));
  EXPECT_TRUE(stopped);
}

TEST_F(WaitingCallsTest, StopEndsAResetWithoutCoordinator) {
  BeginCalls(*worker_);
  ASSERT_OK(ps_->Stop(absl::ZeroDuration()));
  StopAnswersReset(/*filters=*/{"/job:worker"});
}

// The reset waits for the second ps, which never starts.
TEST_F(WaitingCallsTest, StopEndsAResetThatWaitsForATask) {
  BeginCalls(*worker_);
  StopAnswersReset(/*filters=*/{});
}

TEST_F(WaitingCallsTest, StopOfTheForwardingTaskEndsCalls) {
  BeginCalls(*worker_);
  StopAnswersCalls(*worker_, "/job:worker");
}

TEST_F(WaitingCallsTest, AbandonedCallsAreForgotten) {
  BeginCalls(*ps_);
  client_.reset();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(),
              testing::Not(testing::Contains(
                  testing::HasSubstr("A list of devices waits"))));
}

TEST_F(WaitingCallsTest, AbandonedCallsAreForgottenThroughAnotherTask) {
  BeginCalls(*worker_);
  client_.reset();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(),
              testing::Not(testing::Contains(
                  testing::HasSubstr("A list of devices waits"))));
}

// The coordinator, which continues, is in the same process.
TEST_F(WaitingCallsTest, StopBesideTheCoordinatorEndsCalls) {
  ASSERT_OK(worker_->Stop(absl::ZeroDuration()));
  ASSERT_OK_AND_ASSIGN(
      worker_, Server::Create(incomplete_, {.job_name = "worker",
                                            .process = ps_process_.get(),
                                            .logger = &logger_}));
  scheduler_.AdvanceBy(absl::Minutes(1));
  BeginCalls(*worker_);
  StopAnswersCalls(*worker_, "/job:worker");
}

}  // namespace
}  // namespace weft
