#include "libs/runtime/task_runtime.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/transport.h"
#include "libs/device/local_devices.h"
#include "libs/fs/memory_file_system.h"
#include "libs/graph/function_library.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/protocol/testing/recording_worker.h"
#include "libs/resource/variable.h"
#include "libs/runtime/testing/partition_with_variable.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr uint64_t kOwn = 1;
constexpr uint64_t kMaster = 7;

class Thing : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Thing";
  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "a thing"; }
};

// A task with one device, whose peers connect and disconnect as the test
// requires.
class TaskRuntimeTest : public testing::Test {
 protected:
  absl::Status CreateWorkerSession(uint64_t master, uint64_t session) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->CreateWorkerSession(
        {master, session},
        {.isolated = isolated_, .is_monitored = is_monitored_},
        absl::InfiniteFuture(), [&](absl::Status status) { result = status; });
    return result;
  }
  absl::Status DeleteWorkerSession(uint64_t master, uint64_t session) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->DeleteWorkerSession(
        {master, session}, absl::InfiniteFuture(),
        [&](absl::Status status) { result = status; });
    return result;
  }
  absl::Status Register(uint64_t session, uint64_t registration) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->Register(
        {.session = {kMaster, session}, .registration = registration},
        absl::InfiniteFuture(),
        [&](const auto& made) { result = made.status(); });
    return result;
  }
  absl::Status Clear(absl::Time deadline,
                     const std::shared_ptr<Cancellation>& client) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->ClearContainers({}, deadline, client,
                              [&](absl::Status status) { result = status; });
    return result;
  }
  void Lose(uint64_t master) {
    runtime_->PeerLost(kWorker, master, absl::UnavailableError("gone"));
  }
  void HalfALeasePasses() { scheduler_.AdvanceBy(absl::Seconds(31)); }

  static constexpr int64_t kMaxBytes = 200'000;
  static constexpr uint64_t kMaxSessions = 20;

  bool isolated_ = true;
  bool is_monitored_ = false;
  protocol::AvailableMemory memory_;
  int num_looks_ = 0;  // number of calls of available_memory
  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  KernelRegistry kernels_;
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  MemoryFileSystem file_system_;
  std::shared_ptr<TaskRuntime> runtime_ = std::make_shared<TaskRuntime>(
      NewLocalDevices(kTask, {}, HeapAllocator(), *random_),
      TaskRuntimeOptions{.kernels = &kernels_,
                         .scheduler = &scheduler_,
                         .random = random_.get(),
                         .file_system = &file_system_,
                         .task = kTask,
                         .incarnation = kOwn,
                         .max_registered_bytes_per_session = kMaxBytes,
                         .max_sessions = kMaxSessions,
                         .master_lease = absl::Minutes(1),
                         .available_memory = [this] {
                           ++num_looks_;
                           return memory_;
                         }});
};

// Tests what registrations report about the variables that they create.
class NewVariablesTest : public TaskRuntimeTest {
 protected:
  using Told = absl::StatusOr<protocol::NewVariables>;

  NewVariablesTest() {
    RegisterStandardKernels(kernels_);
    isolated_ = false;
    EXPECT_OK(CreateWorkerSession(kMaster, 1));
  }

  Told RegisterAssignments(
      const std::vector<std::pair<std::string, PartialShape>>& variables,
      bool wants = true) {
    Told told = absl::UnknownError("did not answer");
    runtime_->Register({.session = {kMaster, 1},
                        .registration = ++last_registration_,
                        .partitions = PartitionThatAssigns(kTask, variables),
                        .wants_new_variables = wants},
                       absl::InfiniteFuture(),
                       [&](Told made) { told = std::move(made); });
    return told;
  }
  // Creates the variable without a value, as the kernels of a step do.
  std::shared_ptr<Variable> Make(const std::string& name) {
    return ValueOf(runtime_->resources(0).LookupOrCreate<Variable>(
        Cancellation(), "", name, [&] {
          return std::make_shared<Variable>(name, DT_FLOAT, PartialShape());
        }));
  }

  static constexpr int64_t kEnough = protocol::NewVariables::kConsiderable / 4;
  uint64_t last_registration_ = 0;
};

TEST_F(NewVariablesTest, LargeVariablesAreReportedWithFreeMemory) {
  memory_ = {.task = 5, .machine = "here", .machine_has = 7};
  ASSERT_OK_AND_ASSIGN(
      const protocol::NewVariables made,
      RegisterAssignments({{"a", {kEnough}}, {"b", {2, kEnough}}}));
  EXPECT_EQ(made.bytes, 3 * 4 * kEnough);
  EXPECT_EQ(made.largest, "b");
  EXPECT_EQ(made.largest_bytes, 2 * 4 * kEnough);
  EXPECT_EQ(made.available.task, 5);
  EXPECT_EQ(made.available.machine, "here");
  EXPECT_EQ(made.available.machine_has, 7);
}

TEST_F(NewVariablesTest, AreReportedOnlyOnRequest) {
  ASSERT_OK_AND_ASSIGN(const protocol::NewVariables made,
                       RegisterAssignments({{"a", {kEnough}}}, false));
  EXPECT_EQ(made.bytes, 0);
  EXPECT_EQ(num_looks_, 0);
}

TEST_F(NewVariablesTest, SmallVariablesDoNotReadMachineMemory) {
  ASSERT_OK_AND_ASSIGN(const protocol::NewVariables made,
                       RegisterAssignments({{"a", {kEnough - 1}}}));
  EXPECT_EQ(made.bytes, 0);
  EXPECT_EQ(num_looks_, 0);
  ASSERT_OK(RegisterAssignments({{"b", {kEnough}}}));
  EXPECT_EQ(num_looks_, 1);
}

TEST_F(NewVariablesTest, VariableIsNewUntilInitialized) {
  const auto variable = Make("a");
  ASSERT_NE(variable, nullptr);
  ASSERT_OK_AND_ASSIGN(auto made, RegisterAssignments({{"a", {kEnough}}}));
  EXPECT_EQ(made.bytes, 4 * kEnough);
  ASSERT_OK(variable->Assign(Cancellation(), Tensor::Scalar(1.0f)));
  ASSERT_OK_AND_ASSIGN(made, RegisterAssignments({{"a", {kEnough}}}));
  EXPECT_EQ(made.bytes, 0);
}

TEST_F(NewVariablesTest, OverflowingSizeIsTheMaximum) {
  ASSERT_OK_AND_ASSIGN(const protocol::NewVariables made,
                       RegisterAssignments({{"a", {int64_t{1} << 61}},
                                            {"b", {int64_t{1} << 61}},
                                            {"c", {int64_t{1} << 60}}}));
  EXPECT_EQ(made.bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(made.largest, "a");
}

TEST_F(NewVariablesTest, RegisteredGraphsHaveAQuota) {
  const std::vector<std::pair<std::string, PartialShape>> variables(
      1, {std::string(1000, 'v'), {1}});
  // Each graph takes between 3 and 10 KiB.
  absl::Status status;
  while (status.ok() && last_registration_ < 1000) {
    status = RegisterAssignments(variables).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               "max_registered_bytes_per_session"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, kTask));
  const auto num_registered = static_cast<int64_t>(last_registration_);
  EXPECT_GT(num_registered, kMaxBytes / 10'000);
  EXPECT_LT(num_registered, kMaxBytes / 3'000);
  runtime_->Deregister({kMaster, 1}, 1);
  EXPECT_OK(RegisterAssignments(variables));
  ASSERT_OK(DeleteWorkerSession(kMaster, 1));
  EXPECT_EQ(runtime_->num_registrations(), 0);
}

// A session keeps the functions that it has registered until it ends.
class FunctionQuotaTest : public NewVariablesTest {
 protected:
  absl::Status RegisterFunction(const std::string& name, size_t num_bytes) {
    FunctionDef function;
    function.signature.name = name;
    function.serialized = std::string(num_bytes, 'f');
    auto library = FunctionLibrary().With(
        {std::make_shared<const FunctionDef>(std::move(function))});
    RETURN_IF_ERROR(library.status());
    const std::string device = absl::StrCat(kTask, "/device:CPU:0");
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->Register({.session = {kMaster, 1},
                        .registration = ++last_registration_,
                        .partitions = {{.device = device,
                                        .graph = std::make_shared<Graph>(
                                            StandardOps(), *library)}}},
                       absl::InfiniteFuture(),
                       [&](const auto& made) { result = made.status(); });
    return result;
  }
};

TEST_F(FunctionQuotaTest, FunctionsOfASessionHaveAQuota) {
  ASSERT_OK(RegisterFunction("f", kMaxBytes / 2));
  // The session already has the function, which another callable registered.
  ASSERT_OK(RegisterFunction("f", kMaxBytes / 2));
  EXPECT_THAT(RegisterFunction("g", kMaxBytes / 2),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "max_registered_bytes_per_session"));
  ASSERT_OK(RegisterFunction("h", kMaxBytes / 4));
  // Releasing callables does not release their functions.
  for (uint64_t i = 1; i <= last_registration_; ++i) {
    runtime_->Deregister({kMaster, 1}, i);
  }
  EXPECT_THAT(RegisterFunction("g", kMaxBytes / 2),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// A function that was refused must not count in the quota.
TEST_F(FunctionQuotaTest, RefusedFunctionDoesNotCount) {
  ASSERT_OK(RegisterFunction("f", 10));
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(RegisterFunction("f", kMaxBytes / 2),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_OK(RegisterFunction("g", kMaxBytes / 2));
}

TEST_F(NewVariablesTest, RegisteringAgainCountsOnce) {
  for (int i = 0; i < 100; ++i) {
    last_registration_ = 0;
    ASSERT_OK(RegisterAssignments({{std::string(1000, 'v'), {1}}}));
  }
  EXPECT_EQ(runtime_->num_registrations(), 1);
}

TEST_F(TaskRuntimeTest, NumberOfSessionsIsLimited) {
  for (uint64_t session = 1; session <= kMaxSessions; ++session) {
    ASSERT_OK(CreateWorkerSession(kMaster + session % 3, session));
  }
  const absl::Status refused = CreateWorkerSession(kMaster, kMaxSessions + 1);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                "max_worker_sessions"));
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, kTask));
  EXPECT_OK(CreateWorkerSession(kMaster, 3)) << "it is there";
  ASSERT_OK(DeleteWorkerSession(kMaster, 3));
  EXPECT_OK(CreateWorkerSession(kMaster, kMaxSessions + 1));
}

TEST_F(TaskRuntimeTest, SessionsOutliveALossByTheirLease) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  Lose(kMaster);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  // The master reconnects, and is lost again, so its lease begins again.
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  Lose(kMaster);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

// A deletion can overtake the creation of its session, because the two requests
// may be served by two threads or arrive over two connections.
TEST_F(TaskRuntimeTest, DeletionBeforeCreationIsRemembered) {
  ASSERT_OK(DeleteWorkerSession(kOwn, 1));
  EXPECT_THAT(
      CreateWorkerSession(kOwn, 1),
      StatusIs(absl::StatusCode::kAborted, "Session 1 has been deleted"));
  EXPECT_EQ(runtime_->num_sessions(), 0);
  EXPECT_OK(CreateWorkerSession(kOwn, 2));
}

TEST_F(TaskRuntimeTest, SessionBelongsToItsMaster) {
  constexpr uint64_t kStranger = 8;
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  ASSERT_OK(Register(1, 5));
  EXPECT_FALSE(CreateWorkerSession(kStranger, 1).ok());
  runtime_->Deregister({kStranger, 1}, 5);
  EXPECT_OK(DeleteWorkerSession(kStranger, 1));
  EXPECT_OK(DeleteWorkerSession(kStranger, 2));
  absl::Status ran = absl::UnknownError("did not answer");
  runtime_->Run({.session = {kStranger, 1},
                 .registration = 5,
                 .step = 1,
                 .cancellation = std::make_shared<Cancellation>()},
                [&](const absl::Status& status) { ran = status; });
  EXPECT_THAT(ran, StatusIs(absl::StatusCode::kAborted, "is not known"));
  EXPECT_EQ(runtime_->num_sessions(), 1);
  EXPECT_EQ(runtime_->num_registrations(), 1);
  EXPECT_OK(CreateWorkerSession(kMaster, 2));
}

// The master may have sent the same creation request twice.
TEST_F(TaskRuntimeTest, DeletedSessionIsNotRecreated) {
  ASSERT_OK(CreateWorkerSession(kOwn, 1));
  ASSERT_OK(DeleteWorkerSession(kOwn, 1));
  EXPECT_THAT(CreateWorkerSession(kOwn, 1),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(TaskRuntimeTest, ReleaseBeforeRegistrationIsRemembered) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->Deregister({kMaster, 1}, 5);
  EXPECT_THAT(Register(1, 5),
              StatusIs(absl::StatusCode::kAborted,
                       "Registration 5 of session 1 has been released"));
  EXPECT_EQ(runtime_->num_registrations(), 0);
  EXPECT_OK(Register(1, 6));
  EXPECT_EQ(runtime_->num_registrations(), 1);
}

// Releases overtake registrations, because only registrations wait for the
// compute pool.
TEST_F(TaskRuntimeTest, ManyEarlyReleasesAreRemembered) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  for (uint64_t id = 1; id <= 2000; ++id) {
    runtime_->Deregister({kMaster, 1}, id);
  }
  EXPECT_THAT(Register(1, 1), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(runtime_->num_registrations(), 0);
}

// Compiling this graph would fail, because its device does not exist.
TEST_F(TaskRuntimeTest, ReleasedGraphIsNotCompiled) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->Deregister({kMaster, 1}, 5);
  absl::Status result = absl::UnknownError("did not answer");
  runtime_->Register({.session = {kMaster, 1},
                      .registration = 5,
                      .partitions = {{.device = "/job:nobody/cpu:0"}}},
                     absl::InfiniteFuture(),
                     [&](const auto& made) { result = made.status(); });
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kAborted, "been released"));
  EXPECT_TRUE(IsDerived(result));
}

TEST_F(TaskRuntimeTest, LatestDeletedSessionsAreRemembered) {
  for (uint64_t id = 0; id <= TaskRuntime::kEndedRemembered; ++id) {
    ASSERT_OK(DeleteWorkerSession(kOwn, id));
    ASSERT_OK(DeleteWorkerSession(kOwn, id));  // same request again
  }
  EXPECT_OK(CreateWorkerSession(kOwn, 0));
  EXPECT_THAT(CreateWorkerSession(kOwn, 1),
              StatusIs(absl::StatusCode::kAborted));
}

TEST_F(TaskRuntimeTest, CancelledResetKeepsResources) {
  const auto client = std::make_shared<Cancellation>();
  ASSERT_OK(runtime_->resources(0).LookupOrCreate<Thing>(
      *client, "", "x", [] { return std::make_shared<Thing>(); }));
  EXPECT_THAT(Clear(clock_.Now(), client),
              StatusIs(absl::StatusCode::kDeadlineExceeded, kTask));
  EXPECT_EQ(runtime_->SharedResources().size(), 1u);
  const auto gone = std::make_shared<Cancellation>();
  gone->Cancel(absl::UnavailableError("the connection was lost"));
  EXPECT_THAT(Clear(absl::InfiniteFuture(), gone),
              StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_EQ(runtime_->SharedResources().size(), 1u);
  EXPECT_OK(Clear(absl::InfiniteFuture(), client));
  EXPECT_TRUE(runtime_->SharedResources().empty());
}

// A directory of tasks, each created when it is first looked up.
class ManyTasks : public protocol::WorkerDirectory {
 public:
  protocol::Worker* Find(const std::string& task) override {
    ++num_looked_for;
    return &workers[task];
  }
  std::vector<std::string> Tasks() const override { return {}; }
  std::map<std::string, protocol::RecordingWorker> workers;
  int num_looked_for = 0;
};

// A task with a callable that sends a constant to kWorker.
class SendingTaskTest : public TaskRuntimeTest {
 protected:
  void SetUp() override {
    RegisterStandardKernels(kernels_);
    runtime_ = std::make_shared<TaskRuntime>(
        NewLocalDevices(kTask, {}, HeapAllocator(), *random_),
        TaskRuntimeOptions{.kernels = &kernels_,
                           .scheduler = &scheduler_,
                           .random = random_.get(),
                           .file_system = &file_system_,
                           .task = kTask,
                           .incarnation = kOwn,
                           .peers = &peers_});
    ASSERT_OK(CreateWorkerSession(kOwn, 1));
    absl::Status registered = absl::UnknownError("did not answer");
    runtime_->Register({.session = {kOwn, 1},
                        .registration = 1,
                        .partitions = PartitionThatSends(kTask, kWorker)},
                       absl::InfiniteFuture(),
                       [&](const auto& made) { registered = made.status(); });
    ASSERT_OK(registered);
    peers_.num_looked_for = 0;
  }
  void Run(uint64_t step) {
    absl::Status ran = absl::UnknownError("did not answer");
    runtime_->Run({.session = {kOwn, 1},
                   .registration = 1,
                   .step = step,
                   .cancellation = std::make_shared<Cancellation>()},
                  [&](absl::Status status) { ran = std::move(status); });
    scheduler_.RunUntilIdle();
    ASSERT_OK(ran);
  }
  void Abort(uint64_t step) {
    runtime_->Abort({kOwn, step}, 0, absl::AbortedError("enough"),
                    [](const absl::Status&) {});
  }

  ManyTasks peers_;
};

// The values are abandoned although this task's part of the step has ended.
TEST_F(SendingTaskTest, AbortAbandonsPushesOfTheStep) {
  Run(30);
  Abort(30);
  const auto& abandoned = peers_.workers[kWorker].abandoned;
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0], (protocol::StepId{kOwn, 30}));
}

// Aborts are frequent, so an abort must not visit all tasks of the cluster.
TEST_F(SendingTaskTest, AbortNotifiesReceiversOnly) {
  Abort(30);  // a step that sent no values
  EXPECT_EQ(peers_.num_looked_for, 0);
  Run(31);
  Abort(31);
  EXPECT_EQ(peers_.num_looked_for, 1);
}

TEST_F(TaskRuntimeTest, SessionsOfOwnMasterStay) {
  ASSERT_OK(CreateWorkerSession(kOwn, 1));
  scheduler_.AdvanceBy(absl::Hours(10));
  EXPECT_EQ(runtime_->num_sessions(), 1);
}

// The master may have been lost after it sent the request, or the request may
// be forged. The session must not exist forever.
TEST_F(TaskRuntimeTest, SessionOfAnAbsentMasterExpires) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  Lose(kMaster);
  HalfALeasePasses();
  HalfALeasePasses();
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  ASSERT_OK(CreateWorkerSession(kMaster, 2));
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 2);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
  EXPECT_EQ(runtime_->steps().masters, 0);
}

TEST_F(TaskRuntimeTest, SessionSurvivesALateMaster) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  scheduler_.AdvanceBy(absl::Hours(1));
  EXPECT_EQ(runtime_->num_sessions(), 1);
}

TEST_F(TaskRuntimeTest, SessionsOfARestartedMasterEndSoon) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  // The new process only claims the task while the first process is connected
  // or may still come back.
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
  EXPECT_EQ(runtime_->num_sessions(), 1);
  Lose(kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster + 1, 2));
  EXPECT_EQ(runtime_->num_sessions(), 2);
  scheduler_.AdvanceBy(absl::Seconds(6));
  EXPECT_EQ(runtime_->num_sessions(), 1);
  // The new process now owns the task.
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  Lose(kMaster + 1);
  EXPECT_EQ(runtime_->num_sessions(), 1);
}

// A kernel that sets a flag when it is destroyed.
class EndingKernel : public OpKernel {
 public:
  EndingKernel(const OpKernelConstruction& construction, bool* ended)
      : OpKernel(construction), ended_(ended) {}
  ~EndingKernel() override { *ended_ = true; }
  absl::Status Compute(OpKernelContext&) override { return absl::OkStatus(); }

 private:
  bool* const ended_;
};

// Tests a session that may be large, represented by a graph with one kernel.
class LargeSessionTest : public TaskRuntimeTest {
 protected:
  void SetUp() override {
    kernels_.Register({.op = "NoOp"},
                      [this](const OpKernelConstruction& construction)
                          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                        return std::make_unique<EndingKernel>(construction,
                                                              &is_freed_);
                      });
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
    ASSERT_OK(CreateWorkerSession(kMaster, 1));
    absl::Status registered = absl::UnknownError("did not answer");
    runtime_->Register({.session = {kMaster, 1},
                        .registration = 1,
                        .partitions = NoOpPartition()},
                       absl::InfiniteFuture(),
                       [&](const auto& made) { registered = made.status(); });
    ASSERT_OK(registered);
  }
  static std::vector<protocol::DevicePartition> NoOpPartition() {
    const std::string device = absl::StrCat(kTask, "/device:CPU:0");
    auto graph = std::make_shared<Graph>(StandardOps());
    auto node = graph->AddNode({.name = "node", .op = "NoOp"});
    EXPECT_OK(node);
    graph->set_assigned_device(*node, device);
    return {{.device = device, .graph = std::move(graph)}};
  }
  // Expects that the session is freed on another thread than the test's.
  void ExpectFreedElsewhere() {
    EXPECT_FALSE(is_freed_);
    scheduler_.RunUntilIdle();
    EXPECT_TRUE(is_freed_);
  }

  bool is_freed_ = false;
};

// The runtime learns of the restart on the thread that reads the HELLO message,
// which must not free the session.
TEST_F(LargeSessionTest, RestartOfAMasterFreesItOnAnotherThread) {
  Lose(kMaster);
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
  EXPECT_EQ(runtime_->num_sessions(), 0);
  ExpectFreedElsewhere();
}

// The runtime's destructor waits for the closures on the control pool.
TEST_F(LargeSessionTest, RuntimeEndsAfterItsSessions) {
  Lose(kMaster);
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
  runtime_.reset();
  EXPECT_TRUE(is_freed_);
}

TEST_F(LargeSessionTest, DeletedSessionIsFreedOnAnotherThread) {
  ASSERT_OK(DeleteWorkerSession(kMaster, 1));
  EXPECT_EQ(runtime_->num_sessions(), 0);
  ExpectFreedElsewhere();
}

TEST_F(LargeSessionTest, ReleasingThreadDoesNotFreeTheGraph) {
  runtime_->Deregister({kMaster, 1}, 1);
  EXPECT_EQ(runtime_->num_registrations(), 0);
  ExpectFreedElsewhere();
}

TEST_F(LargeSessionTest, EndOfTheTaskWaitsUntilItIsFreed) {
  runtime_.reset();
  EXPECT_TRUE(is_freed_);
}

TEST_F(TaskRuntimeTest, ConnectionLossDoesNotHandOverATask) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
    Lose(kMaster);
    scheduler_.AdvanceBy(absl::Seconds(1));
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 2));
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
    Lose(kMaster + 1);
    Lose(kMaster + 2);
    scheduler_.AdvanceBy(absl::Minutes(2));
    EXPECT_EQ(runtime_->num_sessions(), 1);
  }
}

TEST_F(TaskRuntimeTest, LeaseIsFullAfterTheLastClaim) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
  Lose(kMaster);
  Lose(kMaster + 1);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  HalfALeasePasses();
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(TaskRuntimeTest, UnusedExtraConnectionIsNotALoss) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  EXPECT_TRUE(runtime_->DropUnusedConnection(kWorker, kMaster));
  for (int i = 0; i < 4; ++i) HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  // The other connection may be stale: its own heartbeat timeout ends it.
  Lose(kMaster);
  for (int i = 0; i < 4; ++i) HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(TaskRuntimeTest, LastUnusedConnectionIsALoss) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  EXPECT_FALSE(runtime_->DropUnusedConnection(kWorker, kMaster));
  Lose(kMaster);
  for (int i = 0; i < 4; ++i) HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(TaskRuntimeTest, UnusedConnectionOfAnotherProcessIsLost) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
  EXPECT_FALSE(runtime_->DropUnusedConnection(kWorker, kMaster + 1));
}

TEST_F(TaskRuntimeTest, ConnectedProcessCannotBeAnotherTask) {
  constexpr char kOther[] = "/job:worker/replica:0/task:1";
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  EXPECT_THAT(runtime_->PeerConnected(kOther, kMaster),
              StatusIs(absl::StatusCode::kUnavailable, kWorker));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  // The refused connection does not count, so only the accepted connections are
  // lost.
  Lose(kMaster);
  Lose(kMaster);
  for (int i = 0; i < 4; ++i) HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
  EXPECT_OK(runtime_->PeerConnected(kOther, kMaster));
}

TEST_F(TaskRuntimeTest, SessionsOfAReplacedMasterEndAtOnce) {
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->PeerLost(kWorker, kMaster, absl::UnavailableError("it has died"));
  EXPECT_EQ(runtime_->num_sessions(), 1);  // it may come back
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster + 1));
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

// Has sessions of two masters with a graph each that accesses a variable "v",
// and a session whose graph does not.
class ClearedContainerTest : public TaskRuntimeTest {
 protected:
  ClearedContainerTest() {
    RegisterStandardKernels(kernels_);
    isolated_ = false;
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
    for (const uint64_t session : {1, 2}) {
      EXPECT_OK(CreateWorkerSession(kMaster, session));
    }
    EXPECT_OK(CreateWorkerSession(kOwn, 3));
    for (const auto& [master, session] :
         {std::pair(kMaster, 1), std::pair(kOwn, 3)}) {
      EXPECT_OK(RegisterGraph(master, session));
    }
    EXPECT_OK(Register(2, 5));
  }
  absl::Status RegisterGraph(uint64_t master, uint64_t session,
                             uint64_t registration = 5) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->Register(
        {.session = {master, session},
         .registration = registration,
         .partitions = PartitionWithVariable(kTask, "ReadVariableOp")},
        absl::InfiniteFuture(),
        [&](const auto& made) { result = made.status(); });
    return result;
  }
  // Runs a step that dequeues from a queue that stays empty.
  void RunDequeue(uint64_t session, absl::AnyInvocable<void()> on_end) {
    runtime_->Register({.session = {kMaster, session},
                        .registration = 7,
                        .partitions = PartitionThatDequeues(kTask)},
                       absl::InfiniteFuture(),
                       [](const auto& made) { EXPECT_OK(made); });
    runtime_->Run({.session = {kMaster, session},
                   .registration = 7,
                   .step = 30,
                   .cancellation = std::make_shared<Cancellation>()},
                  [end = std::move(on_end)](absl::Status status) mutable {
                    EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted));
                    end();
                  });
    scheduler_.RunUntilIdle();
  }
  absl::Status Clear(const std::vector<std::string>& containers) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->ClearContainers(containers, absl::InfiniteFuture(),
                              std::make_shared<Cancellation>(),
                              [&](absl::Status status) { result = status; });
    return result;
  }
};

TEST_F(ClearedContainerTest, SessionsWithResourcesInItAreClosed) {
  ASSERT_OK(Clear({"other"}));
  EXPECT_EQ(runtime_->num_sessions(), 3);
  ASSERT_OK(Clear({""}));  // the default container
  EXPECT_EQ(runtime_->num_sessions(), 1);
  EXPECT_THAT(RegisterGraph(kMaster, 1), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(RegisterGraph(kOwn, 3), StatusIs(absl::StatusCode::kAborted));
  EXPECT_OK(Register(2, 6));
}

// The session's callable has initialized "v", and was released afterwards.
TEST_F(ClearedContainerTest, SessionsWithReleasedGraphsAreClosed) {
  runtime_->Deregister({kMaster, 1}, 5);
  ASSERT_OK(Clear({""}));
  EXPECT_EQ(runtime_->num_sessions(), 1);
  EXPECT_THAT(RegisterGraph(kMaster, 1), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ClearedContainerTest, NamesOfContainersAreBounded) {
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    runtime_->Register({.session = {kMaster, 2},
                        .registration = 100 + static_cast<uint64_t>(i),
                        .partitions = PartitionWithVariable(
                            kTask, "ReadVariableOp",
                            absl::StrCat(i, std::string(kMaxBytes / 20, 'c')))},
                       absl::InfiniteFuture(),
                       [&](const auto& made) { status = made.status(); });
    runtime_->Deregister({kMaster, 2}, 100 + static_cast<uint64_t>(i));
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
}

// Session 2 registers a graph after the first search for sessions to end.
TEST_F(ClearedContainerTest, SessionsThatRegisterMeanwhileAreClosed) {
  absl::Status registered = absl::UnknownError("was not called");
  RunDequeue(1, [&] { registered = RegisterGraph(kMaster, 2, 6); });
  ASSERT_OK(Clear({""}));
  ASSERT_OK(registered);
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

// A task that drains while another master has sessions with one registration
// each. Session 2 is monitored.
class DrainingRuntimeTest : public TaskRuntimeTest {
 protected:
  DrainingRuntimeTest() {
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
    EXPECT_OK(CreateWorkerSession(kMaster, 1));
    EXPECT_OK(Register(1, 5));
    is_monitored_ = true;
    EXPECT_OK(CreateWorkerSession(kMaster, 2));
    EXPECT_OK(Register(2, 5));
  }
  // Begins to drain; sets ended_ when the task has drained.
  void BeginDrain() {
    runtime_->Drain(absl::UnavailableError("shutting down"));
    scheduler_.Schedule(Pool::kBlocking, [this] {
      in_time_ =
          runtime_->WaitForMonitoredSessions(clock_.Now() + absl::Seconds(10));
      ended_ = clock_.Now();
    });
    scheduler_.RunUntilIdle();
  }
  absl::Status Run(uint64_t session) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->Run({.session = {kMaster, session},
                   .registration = 5,
                   .step = ++last_step_,
                   .cancellation = std::make_shared<Cancellation>()},
                  [&](absl::Status status) { result = std::move(status); });
    scheduler_.RunUntilIdle();
    return result;
  }

  uint64_t last_step_ = 30;
  const absl::Time begin_ = clock_.Now();
  bool in_time_ = false;
  std::optional<absl::Time> ended_;
};

TEST_F(DrainingRuntimeTest, RunsStepsOfMonitoredSessionsUntilTheyClose) {
  EXPECT_OK(Run(1));
  BeginDrain();
  EXPECT_FALSE(ended_);
  EXPECT_THAT(Run(1), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_OK(Run(2));
  EXPECT_OK(Register(2, 6));
  EXPECT_THAT(Register(1, 6), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(CreateWorkerSession(kMaster, 3),
              StatusIs(absl::StatusCode::kUnavailable));
  // The task's own master, which drains too, may still create a session here,
  // because its monitored sessions may need this device now.
  EXPECT_OK(CreateWorkerSession(kOwn, 4));
  ASSERT_OK(DeleteWorkerSession(kMaster, 2));
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ended_, begin_);
  EXPECT_TRUE(in_time_);
}

TEST_F(DrainingRuntimeTest, WaitsBrieflyForAMasterThatIsLost) {
  BeginDrain();
  EXPECT_FALSE(ended_);
  Lose(kMaster);
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_EQ(ended_, begin_ + absl::Seconds(2));
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(DrainingRuntimeTest, WaitsBrieflyForAMasterThatWasLostBefore) {
  Lose(kMaster);
  EXPECT_EQ(runtime_->num_sessions(), 2);
  BeginDrain();
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_EQ(ended_, begin_ + absl::Seconds(2));
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(DrainingRuntimeTest, ServesAMasterThatReturnsSoon) {
  Lose(kMaster);
  BeginDrain();
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  Lose(kMaster);
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_FALSE(ended_);
  EXPECT_OK(Run(2));
  ASSERT_OK(DeleteWorkerSession(kMaster, 2));
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(in_time_);
}

TEST_F(DrainingRuntimeTest, DoesNotWaitForAMasterThatHasEnded) {
  BeginDrain();
  runtime_->PeerLost(kWorker, kMaster, bus::TaskHasEnded(kWorker));
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ended_, begin_);
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(DrainingRuntimeTest, SkipsOtherSessionsOfALostMaster) {
  ASSERT_OK(DeleteWorkerSession(kMaster, 2));
  BeginDrain();
  Lose(kMaster);
  scheduler_.RunUntilIdle();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(DrainingRuntimeTest, WaitsNoLongerThanItsDeadline) {
  BeginDrain();
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(ended_, begin_ + absl::Seconds(10));
  EXPECT_FALSE(in_time_);
  runtime_->Stop(absl::UnavailableError("stopped"));
  EXPECT_THAT(Run(2), StatusIs(absl::StatusCode::kUnavailable, "stopped"));
}

// A task with sessions whose graphs access a variable "v".
class StepHoldTest : public TaskRuntimeTest, public protocol::StepHolds {
 protected:
  using Action = protocol::StepHold::Action;
  using Writers = std::vector<protocol::VariableWriter>;

  StepHoldTest() {
    RegisterStandardKernels(kernels_);
    isolated_ = false;
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
    EXPECT_OK(CreateWorkerSession(kMaster, 1));
    EXPECT_OK(RegisterGraph(1, "ReadVariableOp"));
  }

  absl::Status RegisterGraph(uint64_t registration, const std::string& op) {
    absl::Status result = absl::UnknownError("did not answer");
    // The runtime may call the callback later.
    runtime_->Register({.session = {kMaster, 1},
                        .registration = registration,
                        .partitions = PartitionWithVariable(kTask, op)},
                       absl::InfiniteFuture(),
                       [this, registration](const auto& made) {
                         registered_[registration] = made.status();
                       });
    const auto it = registered_.find(registration);
    return it == registered_.end() ? result : it->second;
  }
  absl::StatusOr<Writers> Hold(Action action, uint64_t step = 30,
                               uint64_t registration = 1) {
    absl::StatusOr<Writers> result = absl::UnknownError("did not answer");
    runtime_->HoldSteps({.action = action,
                         .holder = {kMaster, step},
                         .session = 1,
                         .registration = registration,
                         .max_wait = absl::Seconds(2),
                         .lease = absl::Seconds(10)},
                        absl::InfiniteFuture(),
                        [&](auto writers) { result = std::move(writers); });
    return result;
  }

  void HoldSteps(const protocol::StepHold& hold,
                 protocol::Worker::Done done) override {
    handed_on_.push_back(hold.action);
    done(absl::OkStatus());
  }
  void EndHolds(uint64_t master_incarnation) override {
    ended_.push_back(master_incarnation);
  }

  std::map<uint64_t, absl::Status> registered_;
  std::vector<Action> handed_on_;
  std::vector<uint64_t> ended_;
};

TEST_F(StepHoldTest, WritersAreNamed) {
  ASSERT_OK(RegisterGraph(2, "AssignVariableOp"));
  ASSERT_OK(RegisterGraph(3, "ReadVariableOp"));
  ASSERT_OK_AND_ASSIGN(const Writers writers, Hold(Action::kHoldVariables));
  EXPECT_EQ(writers, (Writers{{kWorker, {kMaster, 1}, 2}}));
  EXPECT_THAT(Hold(Action::kHoldVariables),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_OK(Hold(Action::kReleaseVariables));
  EXPECT_THAT(Hold(Action::kReleaseVariables),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "does not hold variables for step 30 any more"));
}

TEST_F(StepHoldTest, WriterDuringAHoldWaits) {
  ASSERT_OK(Hold(Action::kHoldVariables));
  EXPECT_OK(RegisterGraph(2, "ReadVariableOp"));
  EXPECT_THAT(RegisterGraph(3, "AssignAddVariableOp"),
              StatusIs(absl::StatusCode::kUnknown));
  // The second hold names the waiting writer, and the writer waits for the
  // second hold, too.
  ASSERT_OK_AND_ASSIGN(const Writers writers, Hold(Action::kHoldVariables, 31));
  EXPECT_EQ(writers.size(), 1u);
  ASSERT_OK(Hold(Action::kReleaseVariables));
  EXPECT_FALSE(registered_.contains(3));
  ASSERT_OK(Hold(Action::kReleaseVariables, 31));
  EXPECT_OK(registered_.at(3));
}

TEST_F(StepHoldTest, AHoldEndsWithItsLease) {
  ASSERT_OK(Hold(Action::kHoldVariables));
  EXPECT_FALSE(RegisterGraph(3, "AssignVariableOp").ok());
  scheduler_.AdvanceBy(absl::Seconds(11));
  EXPECT_OK(registered_.at(3));
  EXPECT_THAT(Hold(Action::kReleaseVariables),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StepHoldTest, AHoldEndsWithItsMaster) {
  // The master has two connections.
  EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
  ASSERT_OK(Hold(Action::kHoldVariables));
  const std::shared_ptr<protocol::StepHolds> master(
      this, [](protocol::StepHolds*) {});
  runtime_->SetMaster(master);
  Lose(kMaster);
  EXPECT_FALSE(RegisterGraph(3, "AssignVariableOp").ok());
  Lose(kMaster);
  EXPECT_OK(registered_.at(3));
  EXPECT_EQ(ended_, std::vector<uint64_t>{kMaster});
}

// A master that is not connected runs no steps on this task, so the hold does
// not wait for it. Once it reconnects, it may run steps, so the hold ends.
TEST_F(StepHoldTest, ReturningWriterEndsTheHold) {
  EXPECT_OK(
      runtime_->PeerConnected("/job:worker/replica:0/task:1", kMaster + 1));
  ASSERT_OK(CreateWorkerSession(kMaster + 1, 2));
  absl::Status registered = absl::UnknownError("did not answer");
  runtime_->Register(
      {.session = {kMaster + 1, 2},
       .registration = 9,
       .partitions = PartitionWithVariable(kTask, "AssignVariableOp")},
      absl::InfiniteFuture(),
      [&](const auto& made) { registered = made.status(); });
  ASSERT_OK(registered);
  runtime_->PeerLost("/job:worker/replica:0/task:1", kMaster + 1,
                     absl::UnavailableError("cut"));
  ASSERT_OK_AND_ASSIGN(const Writers writers, Hold(Action::kHoldVariables));
  EXPECT_TRUE(writers.empty());
  EXPECT_OK(
      runtime_->PeerConnected("/job:worker/replica:0/task:1", kMaster + 1));
  EXPECT_THAT(Hold(Action::kReleaseVariables),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

// A step that holds the variables and also writes them would wait for itself.
TEST_F(StepHoldTest, StepThatWritesMarkedVariablesIsRefused) {
  ASSERT_OK(RegisterGraph(2, "AssignVariableOp"));
  EXPECT_THAT(
      Hold(Action::kHoldVariables, 30, /*registration=*/2),
      StatusIs(absl::StatusCode::kInvalidArgument, "also writes some of them"));
}

TEST_F(StepHoldTest, HoldAfterItsReleaseIsRefused) {
  EXPECT_THAT(Hold(Action::kReleaseVariables),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Hold(Action::kHoldVariables),
              StatusIs(absl::StatusCode::kCancelled, "ended before it could"));
  EXPECT_OK(RegisterGraph(2, "AssignVariableOp"));
}

TEST_F(StepHoldTest, StoppingTaskReleasesWriters) {
  ASSERT_OK(Hold(Action::kHoldVariables));
  EXPECT_FALSE(RegisterGraph(3, "AssignVariableOp").ok());
  runtime_->Stop(absl::UnavailableError("shutting down"));
  EXPECT_TRUE(registered_.contains(3));
}

TEST_F(StepHoldTest, StepActionsAreForwardedToTheMaster) {
  EXPECT_OK(Hold(Action::kHoldSteps));  // without a master there are no steps
  const std::shared_ptr<protocol::StepHolds> master(
      this, [](protocol::StepHolds*) {});
  runtime_->SetMaster(master);
  EXPECT_OK(Hold(Action::kHoldSteps));
  EXPECT_OK(Hold(Action::kReleaseSteps));
  EXPECT_EQ(handed_on_,
            (std::vector{Action::kHoldSteps, Action::kReleaseSteps}));
}

}  // namespace
}  // namespace weft
