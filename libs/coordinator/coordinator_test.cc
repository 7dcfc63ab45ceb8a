// A coordinator and its tasks, on simulated threads and time.
#include "libs/coordinator/coordinator.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using protocol::ClusterStatus;
using protocol::HeartbeatReply;
using protocol::HeartbeatRequest;
using protocol::JoinReply;
using protocol::JoinRequest;
using protocol::PlacedResource;
using protocol::PlacementReply;
using protocol::PlacementRequest;
using protocol::TaskState;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kWriter[] = "/job:checkpoint_writer/replica:0/task:0";
constexpr char kCoordinator[] = "/job:coordinator/replica:0/task:0";
constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1";
constexpr char kWorker0[] = "/job:worker/replica:0/task:0";
constexpr char kWorker1[] = "/job:worker/replica:0/task:1";
constexpr auto kDisagrees = absl::StatusCode::kFailedPrecondition;

std::string Cpu(const std::string& task) { return task + "/device:CPU:0"; }

NamedResource Var(const std::string& name, PartialShape shape = {2, 3},
                  DataType dtype = DT_FLOAT) {
  return {"", name, "Var", dtype, std::move(shape)};
}

PlacementNode NodeOf(NamedResource resource, const std::string& device) {
  PlacementNode node;
  node.name = resource.name;
  node.op = "VarHandleOp";
  node.requested_device = device;
  node.kernel_types = {"CPU"};
  node.resource = std::move(resource);
  return node;
}

PlacedResource Held(const std::string& container, NamedResource resource,
                    const std::string& device) {
  PlacedResource held;
  held.resource = std::move(resource);
  held.resource.container = container;
  held.device = device;
  held.num_bytes = 24;
  return held;
}

// An answer that has come, or not.
template <typename T>
class Pending {
 public:
  // To be called once.
  protocol::Coordinator::Answer<T> Done() {
    return [answer = answer_](absl::StatusOr<T> given) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(given);
    };
  }
  bool has_come() const { return answer_->has_value(); }
  absl::StatusOr<T> get() const {
    if (answer_->has_value()) return **answer_;
    return absl::UnknownError("not answered yet");
  }

 private:
  std::shared_ptr<std::optional<absl::StatusOr<T>>> answer_ =
      std::make_shared<std::optional<absl::StatusOr<T>>>();
};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() { Start(100); }

  void Start(uint64_t incarnation, absl::Duration interval = absl::Seconds(1)) {
    coordinator_.reset();
    incarnation_ = incarnation;
    CoordinatorOptions options;
    options.scheduler = &scheduler_;
    options.random = random_.get();
    options.cluster = cluster_;
    options.task = kCoordinator;
    options.incarnation = incarnation;
    options.heartbeat_interval = interval;
    options.heartbeat_timeout =
        interval < absl::InfiniteDuration() ? 5 * interval : interval;
    options.logger = &logger_;
    coordinator_ = std::make_unique<Coordinator>(options);
  }

  absl::Time In(absl::Duration time) const { return clock_.Now() + time; }

  JoinRequest JoinOf(const std::string& task, uint64_t incarnation) const {
    JoinRequest request;
    request.task = task;
    request.incarnation = incarnation;
    request.cluster = cluster_text_;
    request.target = "zmq://somewhere:1";
    request.op_fingerprint = 77;
    DeviceAttributes cpu;
    cpu.name = Cpu(task);
    cpu.device_type = "CPU";
    cpu.incarnation = incarnation;
    request.devices = {cpu};
    return request;
  }

  absl::StatusOr<JoinReply> Join(const JoinRequest& request) {
    Pending<JoinReply> reply;
    coordinator_->Join(request, In(absl::Minutes(1)), reply.Done());
    return reply.get();
  }

  void JoinAs(const std::string& task, uint64_t incarnation = 1) {
    EXPECT_OK(Join(JoinOf(task, incarnation)));
    scheduler_.RunUntilIdle();
  }
  void JoinAll() {
    for (const char* task : {kPs0, kPs1, kWorker0, kWorker1}) JoinAs(task);
  }

  absl::StatusOr<HeartbeatReply> Beat(
      const std::string& task, uint64_t incarnation = 1,
      std::optional<protocol::TaskReport> report = std::nullopt) {
    HeartbeatRequest request;
    request.task = task;
    request.incarnation = incarnation;
    request.coordinator = incarnation_;
    request.has_report = report.has_value();
    if (report) request.report = *std::move(report);
    Pending<HeartbeatReply> reply;
    coordinator_->Heartbeat(request, In(absl::Seconds(3)), reply.Done());
    scheduler_.RunUntilIdle();
    return reply.get();
  }

  // As a task does it: a heartbeat, and at once another with the report if the
  // coordinator wants one.
  void BeatAndReport(const std::string& task,
                     const protocol::TaskReport& report) {
    ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(task));
    ASSERT_TRUE(reply.wants_report) << task;
    EXPECT_OK(Beat(task, 1, report));
  }

  PlacementRequest RequestOf(uint64_t session, const std::string& task,
                             std::vector<PlacementNode> nodes) const {
    PlacementRequest request;
    request.session = session;
    request.task = task;
    request.incarnation = 1;
    request.graph.nodes = std::move(nodes);
    return request;
  }

  Pending<PlacementReply> BeginPlace(
      const PlacementRequest& request,
      absl::Duration patience = absl::Minutes(10)) {
    Pending<PlacementReply> reply;
    coordinator_->Place(request, In(patience), reply.Done());
    scheduler_.RunUntilIdle();
    return reply;
  }

  absl::StatusOr<std::vector<std::string>> Place(
      const PlacementRequest& request) {
    ASSIGN_OR_RETURN(PlacementReply reply, BeginPlace(request).get());
    return reply.devices;
  }
  absl::StatusOr<std::vector<std::string>> Place(
      uint64_t session, const std::string& task,
      std::vector<PlacementNode> nodes) {
    return Place(RequestOf(session, task, std::move(nodes)));
  }

  void EndSession(uint64_t session) {
    absl::Status status = absl::UnknownError("not answered");
    coordinator_->EndSession(session, In(absl::Seconds(1)),
                             [&](absl::Status given) { status = given; });
    EXPECT_OK(status);
    scheduler_.RunUntilIdle();
  }

  absl::Status Forget(const std::vector<std::string>& containers,
                      const std::vector<std::string>& filters) {
    absl::Status status = absl::UnknownError("not answered");
    coordinator_->ForgetContainers(containers, filters, In(absl::Seconds(1)),
                                   [&](absl::Status given) { status = given; });
    return status;
  }

  void Leave(const std::string& task, uint64_t incarnation = 1) {
    absl::Status status = absl::UnknownError("not answered");
    coordinator_->Leave(task, incarnation, In(absl::Seconds(1)),
                        [&](absl::Status given) { status = given; });
    EXPECT_OK(status);
  }

  std::map<std::string, protocol::TaskStatus> Tasks() {
    Pending<ClusterStatus> reply;
    coordinator_->GetCluster(In(absl::Seconds(1)), reply.Done());
    std::map<std::string, protocol::TaskStatus> result;
    const absl::StatusOr<ClusterStatus> status = reply.get();
    EXPECT_OK(status);
    if (!status.ok()) return result;
    for (const auto& task : status->tasks) result[task.task] = task;
    return result;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  RecordingLogger logger_;
  ClusterSpec cluster_{{"coordinator", {"a:1"}},
                       {"ps", {"b:1", "c:1"}},
                       {"worker", {"d:1", "e:1"}},
                       {"checkpoint_writer", {"f:1"}}};
  std::string cluster_text_ = cluster_.ToString();
  uint64_t incarnation_ = 0;
  std::unique_ptr<Coordinator> coordinator_;
};

// Waiting for tasks.

TEST_F(CoordinatorTest, PlacementWaitsForAllTasksWithDevices) {
  auto reply =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "/job:ps")}));
  for (const char* task : {kWorker0, kPs1, kPs0}) {
    JoinAs(task);
    EXPECT_FALSE(reply.has_come()) << task;
  }
  JoinAs(kWorker1);
  ASSERT_OK_AND_ASSIGN(const PlacementReply placed, reply.get());
  EXPECT_THAT(placed.devices, ElementsAre(Cpu(kPs0)));
  EXPECT_THAT(placed.reasons, IsEmpty());
}

TEST_F(CoordinatorTest, TheDeadlineNamesWhoIsMissing) {
  JoinAs(kWorker0);
  JoinAs(kPs1);
  auto reply = BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}),
                          absl::Seconds(4));
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_FALSE(reply.has_come());
  scheduler_.AdvanceBy(absl::Seconds(2));
  const absl::Status status = reply.get().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, kPs0));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(kWorker1), HasSubstr("device_filters"),
                    Not(HasSubstr(kPs1)), Not(HasSubstr(kCoordinator))));
}

TEST_F(CoordinatorTest, WhoWaitsLongIsLogged) {
  auto reply = BeginPlace(RequestOf(1, kWorker0, {}), absl::Seconds(25));
  scheduler_.AdvanceBy(absl::Seconds(30));
  EXPECT_TRUE(reply.has_come());
  int lines = 0;
  for (const std::string& line : logger_.lines()) {
    lines += line.find("waits for /job:ps/replica:0/task:0") != line.npos;
  }
  EXPECT_EQ(lines, 2);
}

TEST_F(CoordinatorTest, FilteredTasksAreNeitherWaitedForNorUsed) {
  JoinAs(kWorker1);
  JoinAs(kPs1);
  PlacementRequest request = RequestOf(
      1, kWorker1, {NodeOf(Var("x"), "/job:ps"), NodeOf(Var("y"), "")});
  request.device_filters = {"/job:ps/task:1"};
  ASSERT_OK_AND_ASSIGN(const auto devices, Place(request));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1), Cpu(kWorker1)));
  request = RequestOf(2, kWorker1, {NodeOf(Var("z"), "/job:ps/task:0")});
  request.device_filters = {"/job:ps/task:1"};
  EXPECT_THAT(Place(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "z"));
}

TEST_F(CoordinatorTest, TheMastersOwnTaskIsWaitedForInAnyCase) {
  JoinAs(kPs0);
  PlacementRequest request = RequestOf(1, kWorker1, {NodeOf(Var("x"), "")});
  request.device_filters = {"/job:ps/task:0"};
  auto reply = BeginPlace(request);
  EXPECT_FALSE(reply.has_come());
  JoinAs(kWorker1);
  ASSERT_OK_AND_ASSIGN(const PlacementReply placed, reply.get());
  EXPECT_THAT(placed.devices, ElementsAre(Cpu(kWorker1)));
}

TEST_F(CoordinatorTest, ATaskLostMeanwhileIsWaitedForAgain) {
  JoinAs(kWorker0);
  JoinAs(kPs0);
  JoinAs(kPs1);
  auto reply =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "/job:ps")}));
  coordinator_->OnTaskLost(kPs1, 1, absl::UnavailableError("cut"));
  JoinAs(kWorker1);
  EXPECT_FALSE(reply.has_come());
  JoinAs(kPs1, 2);
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, DevicesAreListedInOrderOfTasks) {
  Pending<std::vector<DeviceAttributes>> all, ps;
  coordinator_->ListDevices({}, In(absl::Minutes(1)), all.Done());
  coordinator_->ListDevices({"/job:ps"}, In(absl::Minutes(1)), ps.Done());
  const auto named = [](const std::string& task) {
    return Field(&DeviceAttributes::name, Cpu(task));
  };
  JoinAs(kPs1);
  JoinAs(kPs0);
  ASSERT_OK(ps.get());
  EXPECT_THAT(*ps.get(), ElementsAre(named(kPs0), named(kPs1)));
  EXPECT_FALSE(all.has_come());
  JoinAs(kWorker1);
  JoinAs(kWorker0);
  ASSERT_OK(all.get());
  EXPECT_THAT(*all.get(), ElementsAre(named(kPs0), named(kPs1), named(kWorker0),
                                      named(kWorker1)));
}

TEST_F(CoordinatorTest, ListingHasADeadlineToo) {
  Pending<std::vector<DeviceAttributes>> reply;
  coordinator_->ListDevices({"/job:ps/task:1"}, In(absl::Seconds(1)),
                            reply.Done());
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_THAT(reply.get().status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, kPs1));
}

TEST_F(CoordinatorTest, BadRequestsAreRefusedAtOnce) {
  JoinAll();
  PlacementRequest request = RequestOf(1, kWorker0, {});
  request.device_filters = {"/jobs:ps"};
  EXPECT_THAT(Place(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters"));
  Pending<std::vector<DeviceAttributes>> list;
  coordinator_->ListDevices({"/jobs:ps"}, In(absl::Seconds(1)), list.Done());
  EXPECT_THAT(list.get(),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters"));
  EXPECT_THAT(Forget({}, {"/jobs:ps"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters"));
  for (const char* master : {"nobody", "", kCoordinator}) {
    EXPECT_THAT(Place(1, master, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, "master"));
  }
  for (const int input : {-1, 1, 1 << 30}) {
    PlacementNode node = NodeOf(Var("x"), "");
    node.inputs = {{input, true}};
    EXPECT_THAT(Place(1, kWorker0, {node}),
                StatusIs(absl::StatusCode::kInvalidArgument, "Node x"));
  }
}

// Sharing.

TEST_F(CoordinatorTest, ReplicasThatAgreeShareTheirVariables) {
  JoinAll();
  for (const auto& [session, task] :
       {std::pair<uint64_t, const char*>{1, kWorker0}, {2, kWorker1}}) {
    ASSERT_OK_AND_ASSIGN(
        const auto devices,
        Place(session, task,
              {NodeOf(Var("w"), "/job:ps/task:0"),
               NodeOf(Var("b"), "/job:ps/task:1"),
               // As in synchronous training: each worker has its own.
               NodeOf(Var("sync_rep_local_step", {}, DT_INT64),
                      std::string(task) + "/cpu:0")}));
    EXPECT_THAT(devices, ElementsAre(Cpu(kPs0), Cpu(kPs1), Cpu(task)));
  }
}

TEST_F(CoordinatorTest, ReplicasThatDisagreeAreRefused) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0,
                  {NodeOf(Var("w"), "/job:ps/task:0"),
                   NodeOf(Var("e/part_0", {5, 4}), "/job:ps/task:0"),
                   NodeOf(Var("e/part_1", {5, 4}), "/job:ps/task:1")}));
  EXPECT_THAT(Place(2, kWorker1, {NodeOf(Var("w"), "/job:ps/task:1")}),
              StatusIs(kDisagrees, "another ps_tasks or strategy"));
  EXPECT_THAT(
      Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}),
      StatusIs(kDisagrees, "there: float [2,3] on " + Cpu(kPs0) +
                               ", declared by a session of " + kWorker0));
  EXPECT_THAT(
      Place(2, kWorker1,
            {NodeOf(Var("w", {2, 3}, DT_INT32), "/job:ps/task:0")}),
      StatusIs(kDisagrees, "here:  int32 [2,3] on " + Cpu(kPs0) +
                               ", declared by this session of " + kWorker1));
  EXPECT_THAT(Place(2, kWorker1,
                    {NodeOf(Var("e/part_0", {4, 4}), "/job:ps/task:0"),
                     NodeOf(Var("e/part_1", {3, 4}), "/job:ps/task:1"),
                     NodeOf(Var("e/part_2", {3, 4}), "/job:ps/task:0")}),
              StatusIs(kDisagrees, "partitioner"));
}

TEST_F(CoordinatorTest, AnErrorRegistersNothing) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EXPECT_THAT(Place(2, kWorker1,
                    {NodeOf(Var("new"), "/job:ps/task:0"),
                     NodeOf(Var("w", {9}), "/job:ps/task:0")}),
              StatusIs(kDisagrees));
  EXPECT_THAT(Place(2, kWorker1,
                    {NodeOf(Var("new"), "/job:ps/task:0"),
                     NodeOf(Var("v"), "/job:ps/task:7")}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(Place(3, kWorker0, {NodeOf(Var("new", {7}), "/job:ps/task:1")}));
  EXPECT_EQ(Tasks()[kWorker1].num_sessions, 0);
  EXPECT_EQ(Tasks()[kWorker0].num_sessions, 2);
}

TEST_F(CoordinatorTest, AnExplanationKnowsWhatLivesWhereAndRegistersNothing) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("x"), "/job:ps/task:1")}));
  PlacementRequest request = RequestOf(
      2, kWorker1, {NodeOf(Var("x"), ""), NodeOf(Var("y"), "/job:ps/task:0")});
  request.explain = true;
  ASSERT_OK_AND_ASSIGN(const PlacementReply reply, BeginPlace(request).get());
  EXPECT_THAT(reply.devices, ElementsAre(Cpu(kPs1), Cpu(kPs0)));
  EXPECT_THAT(reply.reasons,
              ElementsAre(HasSubstr("Var 'x' lives there already"),
                          Not(HasSubstr("lives there"))));
  // Another than what was explained, and than x: neither is compared.
  EXPECT_OK(Place(3, kWorker1, {NodeOf(Var("y"), "/job:ps/task:1")}));
  request.graph.nodes = {NodeOf(Var("x", {7}), "/job:ps/task:0")};
  EXPECT_OK(BeginPlace(request).get());
}

TEST_F(CoordinatorTest, AnIsolatedSessionSharesNothing) {
  JoinAll();
  ASSERT_OK(Place(1, kPs1, {NodeOf(Var("w"), "")}));
  PlacementRequest request = RequestOf(
      2, kWorker1,
      {NodeOf(Var("w", {9}), "/job:ps/task:0"), NodeOf(Var("w"), "")});
  request.graph.nodes[1].name = "w_1";
  request.isolated = true;
  ASSERT_OK_AND_ASSIGN(const auto devices, Place(request));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs0), Cpu(kWorker1)))
      << "what others have is not looked for";
  EXPECT_OK(Place(3, kWorker0, {NodeOf(Var("w", {2, 3}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, AnUnpinnedResourceIsFoundByASecondSession) {
  JoinAll();
  ASSERT_OK_AND_ASSIGN(auto devices, Place(1, kPs1, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1)));
  ASSERT_OK_AND_ASSIGN(devices, Place(2, kWorker0, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1)));
  // When both have ended it lives on because the object exists ...
  EndSession(1);
  EndSession(2);
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("x"), Cpu(kPs1))};
  BeatAndReport(kPs1, report);
  ASSERT_OK_AND_ASSIGN(devices, Place(3, kWorker1, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1)));
  // ... and once it does not, another is made.
  EndSession(3);
  BeatAndReport(kPs1, {});
  ASSERT_OK_AND_ASSIGN(devices, Place(4, kWorker1, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kWorker1)));
}

TEST_F(CoordinatorTest, AResetAllowsAnotherDefinition) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("w"), Cpu(kPs0))};
  BeatAndReport(kPs0, report);
  EXPECT_THAT(Tasks()[kPs0].resources,
              ElementsAre(Field(&PlacedResource::num_bytes, 24)));
  EXPECT_OK(Forget({}, {"/job:ps"}));
  EXPECT_THAT(Tasks()[kPs0].resources, IsEmpty());
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, AfterASessionTheObjectDecides) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  const PlacementRequest other =
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")});
  auto reply = BeginPlace(other);
  EXPECT_FALSE(reply.has_come()) << "only the ps knows whether w exists";
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("w"), Cpu(kPs0))};
  BeatAndReport(kPs0, report);
  EXPECT_THAT(reply.get(), StatusIs(kDisagrees, "left by a session of"));
  // Somebody deletes it.
  reply = BeginPlace(other);
  EXPECT_FALSE(reply.has_come());
  BeatAndReport(kPs0, {});
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, AReportThatDoesNotComeIsNotWaitedForBeyondTheDeadline) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  auto reply = BeginPlace(
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}),
      absl::Seconds(2));
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                    std::string(kPs0) + " to report"));
}

TEST_F(CoordinatorTest, ATaskThatIsLostHasNothingToReport) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  auto reply = BeginPlace(
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}));
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  scheduler_.RunUntilIdle();
  EXPECT_FALSE(reply.has_come());
  JoinAs(kPs0, 2);
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, PlacementsTakeTurns) {
  JoinAll();
  std::vector<Pending<PlacementReply>> replies;
  for (uint64_t i = 0; i < 20; ++i) {
    const bool is_first = i % 2 == 0;
    replies.emplace_back();
    coordinator_->Place(
        RequestOf(i + 1, is_first ? kWorker0 : kWorker1,
                  {NodeOf(Var("w", {is_first ? 2 : 3}), "/job:ps/task:0")}),
        In(absl::Minutes(1)), replies.back().Done());
  }
  scheduler_.RunUntilIdle();
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].get().ok(), i % 2 == 0) << i << ": the first wins";
  }
}

// Sessions and their masters.

TEST_F(CoordinatorTest, AMasterThatWasReplacedPlacesNothing) {
  JoinAll();
  PlacementRequest request = RequestOf(1, kWorker0, {NodeOf(Var("x"), "")});
  request.incarnation = 9;
  EXPECT_THAT(Place(request), StatusIs(absl::StatusCode::kAborted, kWorker0));
  // Nor one that is replaced while it waits.
  coordinator_->OnTaskLost(kWorker0, 1, absl::UnavailableError("cut"));
  request.incarnation = 1;
  auto reply = BeginPlace(request);
  EXPECT_FALSE(reply.has_come());
  JoinAs(kWorker0, 2);
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kAborted, kWorker0));
}

TEST_F(CoordinatorTest, TheEndOfASessionEndsItsPlacement) {
  JoinAs(kWorker0);
  auto reply = BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}));
  auto other = BeginPlace(RequestOf(2, kWorker0, {NodeOf(Var("x"), "")}));
  EndSession(1);
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kAborted, "has ended"));
  EXPECT_FALSE(other.has_come());
  EXPECT_THAT(BeginPlace(RequestOf(1, kWorker0, {})).get(),
              StatusIs(absl::StatusCode::kAborted, "has ended"));
}

TEST_F(CoordinatorTest, SessionsOfALostMasterStandInNobodysWay) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  coordinator_->OnTaskLost(kWorker0, 1, absl::UnavailableError("cut"));
  PlacementRequest request =
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")});
  request.device_filters = {"/job:ps"};
  auto reply = BeginPlace(request);
  BeatAndReport(kPs0, {});
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, ASessionWhoseEndWasNotHeardDoesHarmOnlyOnce) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  const PlacementRequest other =
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")});
  EXPECT_THAT(Place(other), StatusIs(kDisagrees));
  BeatAndReport(kWorker0, {});
  BeatAndReport(kWorker0, {});
  auto reply = BeginPlace(other);
  BeatAndReport(kPs0, {});
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, ARestartedTaskHasLostItsContainers) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("w"), Cpu(kPs0))};
  EXPECT_OK(Beat(kPs0, 1, report));
  EXPECT_EQ(Tasks()[kPs0].resources.size(), 1u);
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLost);
  EXPECT_THAT(Tasks()[kPs0].resources, IsEmpty());
  EXPECT_THAT(Beat(kPs0, 1), StatusIs(absl::StatusCode::kAborted, kPs0));
  JoinAs(kPs0, 2);
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, ANewCoordinatorLearnsAllFromTheTasks) {
  JoinAll();
  const std::vector<PlacementNode> model = {NodeOf(Var("w"), "/job:ps/task:0"),
                                            NodeOf(Var("x"), "/job:ps/task:1")};
  ASSERT_OK(Place(1, kWorker0, model));
  Start(200);
  HeartbeatRequest old;
  old.task = kPs0;
  old.incarnation = 1;
  old.coordinator = 100;
  Pending<HeartbeatReply> refused;
  coordinator_->Heartbeat(old, In(absl::Seconds(1)), refused.Done());
  EXPECT_THAT(refused.get(),
              StatusIs(absl::StatusCode::kAborted, "started anew"));

  JoinRequest worker = JoinOf(kWorker0, 1);
  worker.report.sessions = {
      {1, {Held("ps", Var("w"), Cpu(kPs0)), Held("ps", Var("x"), Cpu(kPs1))}}};
  EXPECT_OK(Join(worker));
  auto differs =
      BeginPlace(RequestOf(2, kWorker1, {NodeOf(Var("w"), "/job:ps/task:1")}));
  auto unpinned = BeginPlace(RequestOf(3, kWorker1, {NodeOf(Var("x"), "")}));
  auto held = BeginPlace(RequestOf(4, kWorker1, {NodeOf(Var("old"), "")}));
  for (const char* task : {kPs0, kPs1}) {
    JoinRequest ps = JoinOf(task, 1);
    ps.report.resources = {
        Held("ps", Var(task == kPs0 ? "w" : "x"), Cpu(task)),
        Held("ps", Var(task == kPs0 ? "old" : "y"), Cpu(task))};
    EXPECT_OK(Join(ps));
  }
  JoinAs(kWorker1);
  EXPECT_THAT(differs.get(), StatusIs(kDisagrees, "Var \"w\""));
  ASSERT_OK(unpinned.get());
  EXPECT_THAT(unpinned.get()->devices, ElementsAre(Cpu(kPs1)));
  ASSERT_OK(held.get());
  EXPECT_THAT(held.get()->devices, ElementsAre(Cpu(kPs0)));
  EXPECT_OK(Place(5, kWorker1, model));
}

TEST_F(CoordinatorTest, AConnectionThatWasOnlyCutCostsNothing) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  const protocol::DeclaredResources declared = {
      1, {Held("ps", Var("w"), Cpu(kPs0))}};
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  JoinRequest back = JoinOf(kPs0, 1);
  back.report.resources = declared.resources;
  EXPECT_OK(Join(back));
  // What its session declares there only the worker knows now.
  protocol::TaskReport report;
  report.sessions = {declared};
  BeatAndReport(kWorker0, report);
  EXPECT_THAT(Place(2, kWorker1, {NodeOf(Var("w"), "/job:ps/task:1")}),
              StatusIs(kDisagrees, "declared by a session of"));
}

// Who may join, who leaves.

TEST_F(CoordinatorTest, JoiningTellsWhatATaskNeedsToKnow) {
  ASSERT_OK_AND_ASSIGN(const JoinReply first, Join(JoinOf(kPs0, 1)));
  EXPECT_EQ(first.coordinator, 100u);
  EXPECT_EQ(first.heartbeat_interval, absl::Seconds(1));
  Start(200);
  ASSERT_OK_AND_ASSIGN(const JoinReply other, Join(JoinOf(kPs0, 1)));
  EXPECT_EQ(other.coordinator, 200u);
}

TEST_F(CoordinatorTest, TheClustersUuidIsToldOnceAllHaveJoined) {
  for (const char* task : {kWriter, kCoordinator, kPs0, kPs1, kWorker0}) {
    ASSERT_OK_AND_ASSIGN(const JoinReply early, Join(JoinOf(task, 1)));
    EXPECT_EQ(early.cluster_uuid, "");
  }
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply before, Beat(kPs0));
  EXPECT_EQ(before.cluster_uuid, "");
  ASSERT_OK_AND_ASSIGN(const JoinReply last, Join(JoinOf(kWorker1, 1)));
  EXPECT_EQ(last.cluster_uuid.size(), 32u);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply after, Beat(kPs0));
  EXPECT_EQ(after.cluster_uuid, last.cluster_uuid);
}

// Also where the task that plays the coordinator, or another, is new.
TEST_F(CoordinatorTest, TheClustersUuidOutlivesItsCoordinator) {
  const std::string uuid = "00112233445566778899aabbccddeeff";
  Start(200);
  ASSERT_OK_AND_ASSIGN(const JoinReply fresh, Join(JoinOf(kPs0, 2)));
  EXPECT_EQ(fresh.cluster_uuid, "");
  JoinRequest old = JoinOf(kWorker0, 1);
  old.cluster_uuid = uuid;
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(old));
  EXPECT_EQ(reply.cluster_uuid, uuid);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply beat, Beat(kPs0, 2));
  EXPECT_EQ(beat.cluster_uuid, uuid);
  ASSERT_OK_AND_ASSIGN(const JoinReply later, Join(JoinOf(kPs1, 1)));
  EXPECT_EQ(later.cluster_uuid, uuid);
}

TEST_F(CoordinatorTest, WhatIsNoUuidIsNotTheClusters) {
  JoinRequest odd = JoinOf(kPs0, 1);
  for (const std::string& text : {std::string("c0ffee"), std::string(32, '/'),
                                  std::string(100'000, 'a')}) {
    odd.cluster_uuid = text;
    ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(odd));
    EXPECT_EQ(reply.cluster_uuid, "");
  }
}

TEST_F(CoordinatorTest, OfTwoClaimantsTheFirstIsTheTask) {
  JoinAs(kPs0, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Join(JoinOf(kPs0, 2)),
                StatusIs(absl::StatusCode::kAlreadyExists, kPs0));
  }
  EXPECT_OK(Beat(kPs0, 1));
  int lines = 0;
  for (const std::string& line : logger_.lines()) {
    lines += line.find("may not join") != line.npos;
  }
  EXPECT_EQ(lines, 1) << "one line a claimant";
  Leave(kPs0, 2);
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
  Leave(kPs0, 1);
  EXPECT_OK(Join(JoinOf(kPs0, 2)));
}

TEST_F(CoordinatorTest, TasksOfAnotherClusterAreRefused) {
  JoinRequest request = JoinOf(kPs0, 1);
  request.cluster = R"({"ps": ["elsewhere:1"], "worker": ["d:1"]})";
  EXPECT_THAT(Join(request),
              StatusIs(kDisagrees,
                       "task 0 of job \"ps\" is b:1 in the first "
                       "and elsewhere:1 in the second"));
  request.task = "/job:ps/replica:0/task:7";
  request.devices.clear();
  EXPECT_THAT(Join(request), StatusIs(kDisagrees,
                                      "/job:ps/replica:0/task:7 is "
                                      "not a task of the cluster"));
  request = JoinOf(kPs0, 1);
  request.cluster = "{";
  EXPECT_THAT(Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument, kPs0));
  request.cluster = R"({"ps": ["b:1"]})";
  EXPECT_OK(Join(request)) << "a sparse spec contradicts nothing";
}

TEST_F(CoordinatorTest, AnotherBuildIsRefused) {
  JoinRequest other = JoinOf(kPs1, 1);
  other.op_fingerprint = 0xabc;
  JoinRequest none = JoinOf(kWorker0, 1);
  none.op_fingerprint = 0;
  EXPECT_OK(Join(none));
  JoinAs(kPs0);
  EXPECT_THAT(Join(other), StatusIs(kDisagrees, "different builds of Weft"));
  EXPECT_THAT(Join(other), StatusIs(kDisagrees, kPs0));
  EXPECT_THAT(Join(other), StatusIs(kDisagrees, "abc"));
  Leave(kPs0);
  EXPECT_OK(Join(other)) << "a new build takes over when the old has gone";
  EXPECT_THAT(Join(JoinOf(kPs0, 2)), StatusIs(kDisagrees, kPs1));
}

TEST_F(CoordinatorTest, JoinRequestsThatMakeNoSenseAreRefused) {
  JoinRequest request = JoinOf(kPs0, 0);
  EXPECT_THAT(Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "incarnation"));
  for (const std::string& device :
       {std::string("/cpu:0"), std::string("x"), std::string(), Cpu(kPs1),
        std::string("/job:ps/task:0/replica:0/device:CPU:0")}) {
    request = JoinOf(kPs0, 1);
    request.devices[0].name = device;
    EXPECT_THAT(Join(request),
                StatusIs(absl::StatusCode::kInvalidArgument, kPs0))
        << device;
  }
  request = JoinOf(kPs0, 1);
  request.devices.push_back(request.devices[0]);
  EXPECT_THAT(Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "twice"));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kExpected);
}

TEST_F(CoordinatorTest, ATaskThatIsSilentIsLost) {
  JoinAs(kPs0);
  JoinAs(kPs1);
  for (int i = 0; i < 7; ++i) {
    EXPECT_OK(Beat(kPs1));
    scheduler_.AdvanceBy(absl::Seconds(1));
  }
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLost);
  EXPECT_EQ(Tasks()[kPs1].state, TaskState::kAlive);
  EXPECT_THAT(logger_.lines(),
              Contains("W /job:ps/replica:0/task:0 is lost: nothing was heard "
                       "of it for 5s"));
  EXPECT_THAT(Beat(kPs0), StatusIs(absl::StatusCode::kAborted, kPs0));
  EXPECT_OK(Join(JoinOf(kPs0, 1)));
}

TEST_F(CoordinatorTest, ComingsAndGoingsAreLogged) {
  JoinAs(kPs0);
  JoinAs(kPs0);
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  JoinAs(kPs0, 2);
  Leave(kPs0, 2);
  Leave(kPs0, 2);
  EXPECT_THAT(
      logger_.lines(),
      ElementsAre(
          "I /job:ps/replica:0/task:0 has joined at zmq://somewhere:1 with 1 "
          "device",
          "W /job:ps/replica:0/task:0 is lost: it was cut",
          "I /job:ps/replica:0/task:0 has joined at zmq://somewhere:1 with 1 "
          "device",
          "I /job:ps/replica:0/task:0 has left"));
}

TEST_F(CoordinatorTest, WithoutHeartbeatsOnlyALostConnectionLosesATask) {
  Start(200, absl::InfiniteDuration());
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(JoinOf(kPs0, 1)));
  EXPECT_EQ(reply.heartbeat_interval, absl::InfiniteDuration());
  scheduler_.AdvanceBy(absl::Hours(1000));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
  JoinAs(kPs1);
  JoinAs(kWorker0);
  JoinAs(kWorker1);
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EXPECT_THAT(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}),
              StatusIs(kDisagrees));
  EndSession(1);
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}))
      << "nobody can tell whether it still exists";
}

TEST_F(CoordinatorTest, HeartbeatsTellWhichJobsHaveFinished) {
  JoinAll();
  Leave(kWorker0);
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, IsEmpty());
  Leave(kWorker1);
  ASSERT_OK_AND_ASSIGN(reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, ElementsAre("worker"));
  JoinAs(kWorker1, 2);
  ASSERT_OK_AND_ASSIGN(reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, IsEmpty());
}

TEST_F(CoordinatorTest, AShutdownStopsTheCoordinatorLast) {
  JoinAs(kPs0);
  JoinAs(kWorker0);
  JoinRequest own = JoinOf(kCoordinator, 1);
  own.devices.clear();
  EXPECT_OK(Join(own));
  const auto shall_stop = [&](const std::string& task) {
    const absl::StatusOr<HeartbeatReply> reply = Beat(task);
    EXPECT_OK(reply);
    return reply.ok() && reply->stop;
  };
  EXPECT_FALSE(shall_stop(kPs0));
  absl::Status status = absl::UnknownError("not answered");
  coordinator_->Shutdown(In(absl::Seconds(1)),
                         [&](absl::Status given) { status = given; });
  EXPECT_OK(status);
  EXPECT_TRUE(shall_stop(kPs0));
  EXPECT_TRUE(shall_stop(kWorker0));
  EXPECT_FALSE(shall_stop(kCoordinator));
  Leave(kPs0);
  EXPECT_FALSE(shall_stop(kCoordinator));
  coordinator_->OnTaskLost(kWorker0, 1, absl::UnavailableError("cut"));
  EXPECT_TRUE(shall_stop(kCoordinator));
}

TEST_F(CoordinatorTest, AShutdownDoesNotWaitForEverForATaskThatStays) {
  JoinAs(kPs0);
  JoinRequest own = JoinOf(kCoordinator, 1);
  own.devices.clear();
  EXPECT_OK(Join(own));
  coordinator_->Shutdown(In(absl::Seconds(1)), [](const absl::Status&) {});
  for (int i = 0; i < 11; ++i) {
    EXPECT_OK(Beat(kPs0));
    EXPECT_OK(Beat(kCoordinator));
    scheduler_.AdvanceBy(absl::Seconds(1));
  }
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(kCoordinator));
  EXPECT_TRUE(reply.stop);
}

TEST_F(CoordinatorTest, TheStatusTellsAll) {
  JoinAs(kPs0, 7);
  PlacementRequest request = RequestOf(1, kWorker0, {NodeOf(Var("x"), "")});
  request.device_filters = {"/job:worker/task:0"};
  JoinAs(kWorker0);
  ASSERT_OK(Place(request));
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster(In(absl::Seconds(1)), pending.Done());
  ASSERT_OK_AND_ASSIGN(const ClusterStatus status, pending.get());
  EXPECT_EQ(status.coordinator, kCoordinator);
  EXPECT_EQ(status.cluster_uuid.size(), 32u);
  std::vector<std::string> names;
  for (const auto& task : status.tasks) names.push_back(task.task);
  EXPECT_THAT(names, ElementsAre("/job:checkpoint_writer/replica:0/task:0",
                                 kCoordinator, kPs0, kPs1, kWorker0, kWorker1));
  const protocol::TaskStatus& ps = status.tasks[2];
  EXPECT_EQ(ps.state, TaskState::kAlive);
  EXPECT_EQ(ps.incarnation, 7u);
  EXPECT_EQ(ps.target, "zmq://somewhere:1");
  EXPECT_THAT(ps.devices,
              ElementsAre(Field(&DeviceAttributes::name, Cpu(kPs0))));
  EXPECT_EQ(status.tasks[3].state, TaskState::kExpected);
  EXPECT_EQ(status.tasks[4].num_sessions, 1);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(kPs0, 7));
  EXPECT_TRUE(reply.wants_report) << "whoever looks again sees more";
}

TEST_F(CoordinatorTest, WhatWaitsIsAnsweredWhenItEnds) {
  auto waiting = BeginPlace(RequestOf(1, kWorker0, {}));
  Pending<std::vector<DeviceAttributes>> list;
  coordinator_->ListDevices({}, In(absl::Minutes(1)), list.Done());
  coordinator_.reset();
  EXPECT_THAT(waiting.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
  EXPECT_THAT(list.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));

  Start(200);
  JoinAll();
  Pending<PlacementReply> queued;
  coordinator_->Place(RequestOf(3, kWorker0, {}), In(absl::Minutes(1)),
                      queued.Done());
  EXPECT_FALSE(queued.has_come());
  coordinator_.reset();
  EXPECT_THAT(queued.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
  scheduler_.AdvanceBy(absl::Minutes(5));
}

// Threads and scale.

TEST_F(CoordinatorTest, EachCallIsAnsweredOnceWhateverHappensMeanwhile) {
  constexpr int kRounds = 100;
  const SystemClock clock;
  std::unique_ptr<Scheduler> scheduler = NewThreadScheduler(clock);
  CoordinatorOptions options;
  options.scheduler = scheduler.get();
  options.random = random_.get();
  options.cluster = cluster_;
  options.task = kCoordinator;
  options.incarnation = 1;
  options.logger = &logger_;
  auto coordinator = std::make_unique<Coordinator>(options);
  std::atomic<int> asked = 0, answered = 0;
  const auto count = [&](const auto&) { ++answered; };
  const auto soon = [&] { return clock.Now() + absl::Seconds(30); };
  std::vector<std::thread> threads;
  for (const char* task : {kPs0, kPs1, kWorker0, kWorker1}) {
    threads.emplace_back([&, task] {
      for (uint64_t i = 1; i <= kRounds; ++i) {
        asked += 5;
        coordinator->Join(JoinOf(task, i), soon(), count);
        PlacementRequest request =
            RequestOf(i, task, {NodeOf(Var("w"), "/job:ps/task:0")});
        request.incarnation = i;
        coordinator->Place(request, soon(), count);
        HeartbeatRequest beat;
        beat.task = task;
        beat.incarnation = beat.coordinator = i;
        coordinator->Heartbeat(beat, soon(), count);
        coordinator->ListDevices({}, soon(), count);
        if (i % 2 == 0) coordinator->EndSession(i, soon(), [](const auto&) {});
        coordinator->GetCluster(soon(), count);
        coordinator->OnTaskLost(task, i, absl::UnavailableError("cut"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  coordinator.reset();
  scheduler.reset();  // an answer may have been under way on its threads
  EXPECT_EQ(answered, asked);
}

TEST_F(CoordinatorTest, AThousandTasksJoinAndASessionIsPlaced) {
  constexpr int kTasks = 1000;
  const auto run = [&](uint64_t seed) {
    ManualClock clock;
    SimulatedSchedulerOptions simulation;
    simulation.seed = seed;
    SimulatedScheduler scheduler(clock, std::move(simulation));
    cluster_ = ClusterSpec();
    for (int i = 0; i < kTasks; ++i) {
      EXPECT_OK(cluster_.AddTask(i % 2 == 0 ? "ps" : "worker", i / 2, "h:1"));
    }
    cluster_text_ = cluster_.ToString();
    CoordinatorOptions options;
    options.scheduler = &scheduler;
    options.random = random_.get();
    options.cluster = cluster_;
    options.task = kPs0;
    options.incarnation = 1;
    Coordinator coordinator(options);
    std::vector<PlacementNode> nodes;
    for (int i = 0; i < kTasks; ++i) {
      PlacementNode node =
          NodeOf(Var("v" + std::to_string(i)),
                 "/job:ps/task:" + std::to_string(i % (kTasks / 2)));
      nodes.push_back(std::move(node));
    }
    Pending<PlacementReply> placed;
    coordinator.Place(RequestOf(1, kWorker0, nodes),
                      clock.Now() + absl::Minutes(10), placed.Done());
    int joined = 0;
    for (const auto& [job, tasks] : cluster_.jobs()) {
      for (const auto& [index, address] : tasks) {
        scheduler.Schedule(
            Pool::kCompute,
            [&, request = JoinOf(TaskName(job, index), index + 1)] {
              Pending<JoinReply> reply;
              coordinator.Join(request, clock.Now() + absl::Minutes(1),
                               reply.Done());
              joined += reply.get().ok();
            });
      }
    }
    scheduler.RunUntilIdle();
    EXPECT_EQ(joined, kTasks);
    EXPECT_OK(placed.get());
    std::vector<std::string> devices =
        placed.get().ok() ? placed.get()->devices : std::vector<std::string>();
    return std::make_pair(devices, scheduler.trace_hash());
  };
  const auto first = run(1);
  EXPECT_EQ(first, run(1)) << "the same seed, the same course";
  EXPECT_EQ(first.first, run(2).first) << "in whatever order they join";
  EXPECT_EQ(first.first[501], Cpu("/job:ps/replica:0/task:1"));
}

}  // namespace
}  // namespace weft
