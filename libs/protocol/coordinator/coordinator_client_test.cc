// Tests a coordinator as seen from another process: CoordinatorClient and
// CoordinatorService over a simulated network, and once over sockets.
#include "libs/protocol/coordinator/coordinator_client.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/status.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/zmq/zmq_wire.h"
#include "libs/protocol/coordinator/coordinator_messages.h"
#include "libs/protocol/coordinator/coordinator_service.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/protocol/testing/two_processes.h"

namespace weft::protocol {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kCoordinator[] = "/job:coordinator/replica:0/task:0";
constexpr char kTask[] = "/job:ps/replica:0/task:0";
constexpr absl::Time kNever = absl::InfiniteFuture();

class RecordingEvents : public CoordinatorEvents {
 public:
  void OnCoordinatorConnected(const bus::Identity& coordinator) override {
    connected.push_back(coordinator.incarnation);
  }
  void OnCoordinatorLost(const absl::Status& why) override {
    lost.push_back(why);
  }
  std::vector<uint64_t> connected;
  std::vector<absl::Status> lost;
};

// Records each answer.
template <typename T>
class Answers {
 public:
  Coordinator::Answer<T> done() {
    return [this](absl::StatusOr<T> answer) { all.push_back(answer); };
  }
  std::vector<absl::StatusOr<T>> all;
};

class Results {
 public:
  Coordinator::Done done() {
    return [this](absl::Status status) { all.push_back(std::move(status)); };
  }
  std::vector<absl::Status> all;
};

PlacementRequest SmallRequest() {
  PlacementRequest request;
  request.session = 7;
  request.task = kTask;
  request.incarnation = 11;
  request.graph.nodes.resize(2);
  request.graph.nodes[0].name = "a";
  request.graph.nodes[1].name = "b";
  request.graph.nodes[1].inputs = {{0, true}};
  return request;
}

// A call of the task, until a deadline.
class WaitedCall : public bus::IncomingCall {
 public:
  explicit WaitedCall(absl::Time deadline) : deadline_(deadline) {
    peer_.identity = {.task = kTask, .incarnation = 11};
  }
  const bus::Peer& peer() const override { return peer_; }
  absl::Time deadline() const override { return deadline_; }
  Cancellation& cancellation() override { return cancellation_; }
  void Reply(bus::Message) override {}
  void Fail(const absl::Status& status) override { error = status; }

  absl::Status error;

 private:
  const absl::Time deadline_;
  bus::Peer peer_;
  Cancellation cancellation_;
};

class CoordinatorClientTest : public testing::Test {
 protected:
  CoordinatorClientTest() { NewService(); }

  void NewService() {
    service_ = std::make_unique<CoordinatorService>(CoordinatorServiceOptions{
        .coordinator = &coordinator_,
        .scheduler = &processes_.scheduler(),
        .on_task_lost = [this](const std::string& task, uint64_t incarnation,
                               const absl::Status& why) {
          EXPECT_FALSE(why.ok());
          lost_tasks_.push_back(absl::StrCat(task, " ", incarnation));
        }});
    handler_ = std::make_unique<OneRoleHandler<CoordinatorService>>(*service_);
  }
  void Listen(uint64_t incarnation = 22) {
    auto endpoint = processes_.server().transport->Listen(
        processes_.address(),
        {.task = kCoordinator, .incarnation = incarnation}, *handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }
  std::unique_ptr<CoordinatorClient> Dial() {
    return std::make_unique<CoordinatorClient>(
        *processes_.client().transport,
        CoordinatorClientOptions{.address = processes_.address(),
                                 .self = {.task = kTask, .incarnation = 11},
                                 .task = kCoordinator,
                                 .scheduler = &processes_.scheduler(),
                                 .events = &events_});
  }
  void Connect() {
    Listen();
    client_ = Dial();
    processes_.Settle();
    ASSERT_THAT(events_.connected, ElementsAre(22));
  }
  void Join() {
    Join(*client_);
    processes_.Settle();
    ASSERT_FALSE(joins_.all.empty());
    ASSERT_OK(joins_.all.back());
  }
  void Join(CoordinatorClient& client) {
    JoinRequest request;
    request.task = kTask;
    request.incarnation = 11;
    client.Join(request, kNever, joins_.done());
  }
  void Pass(absl::Duration time) { processes_.scheduler().AdvanceBy(time); }
  absl::Time Now() { return processes_.scheduler().clock().Now(); }

  TwoProcesses processes_;
  RecordingCoordinator coordinator_;
  RecordingEvents events_;
  std::vector<std::string> lost_tasks_;
  Answers<JoinReply> joins_;
  Results results_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<OneRoleHandler<CoordinatorService>> handler_;
  std::unique_ptr<bus::Endpoint> endpoint_;
  std::unique_ptr<CoordinatorClient> client_;
};

TEST_F(CoordinatorClientTest, TaskJoinsReportsAndLeaves) {
  Connect();
  Join();
  EXPECT_EQ(joins_.all[0]->cluster_uuid, "uuid");
  EXPECT_EQ(joins_.all[0]->heartbeat_interval, absl::Seconds(1));
  EXPECT_EQ(coordinator_.joins[0].task, kTask);

  Answers<HeartbeatReply> heartbeats;
  HeartbeatRequest heartbeat;
  heartbeat.task = kTask;
  heartbeat.incarnation = 11;
  heartbeat.coordinator = 77;
  coordinator_.heartbeat_reply.finished_jobs = {"worker"};
  client_->Heartbeat(heartbeat, kNever, heartbeats.done());
  processes_.Settle();
  ASSERT_EQ(heartbeats.all.size(), 1u);
  ASSERT_OK(heartbeats.all[0]);
  EXPECT_THAT(heartbeats.all[0]->finished_jobs, ElementsAre("worker"));
  EXPECT_EQ(coordinator_.heartbeats[0].coordinator, 77u);

  client_->Leave({kTask, 11, ""}, kNever, results_.done());
  processes_.Settle();
  EXPECT_THAT(results_.all, ElementsAre(IsOk()));
  EXPECT_EQ(coordinator_.left[0].task, kTask);
  EXPECT_EQ(coordinator_.left[0].incarnation, 11u);
}

TEST_F(CoordinatorClientTest, ReportOfACancelledCallIsIgnored) {
  HeartbeatRequest heartbeat;
  heartbeat.task = kTask;
  heartbeat.incarnation = 11;
  heartbeat.has_report = true;
  const auto send = [&](const std::shared_ptr<WaitedCall>& call) {
    auto message = WriteHeartbeat(heartbeat);
    ASSERT_OK(message);
    handler_->OnRequest(call, *std::move(message));
  };
  const auto late = std::make_shared<WaitedCall>(Now());
  send(late);
  EXPECT_THAT(late->error, StatusIs(absl::StatusCode::kDeadlineExceeded));
  const auto cancelled = std::make_shared<WaitedCall>(kNever);
  cancelled->cancellation().Cancel(absl::CancelledError("given up"));
  send(cancelled);
  EXPECT_THAT(cancelled->error, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(coordinator_.reports, IsEmpty());
  const auto in_time = std::make_shared<WaitedCall>(Now() + absl::Seconds(1));
  send(in_time);
  EXPECT_OK(in_time->error);
  EXPECT_EQ(coordinator_.reports.size(), 1u);
}

TEST_F(CoordinatorClientTest, TaskMayOnlyActForItself) {
  Connect();
  Join();
  CoordinatorClient other(
      *processes_.client().transport,
      {.address = processes_.address(),
       .self = {.task = "/job:ps/replica:0/task:1", .incarnation = 12},
       .task = kCoordinator,
       .scheduler = &processes_.scheduler()});
  processes_.Settle();
  joins_.all.clear();
  Join(other);
  Answers<HeartbeatReply> heartbeats;
  HeartbeatRequest heartbeat;
  heartbeat.task = kTask;
  heartbeat.incarnation = 11;
  other.Heartbeat(heartbeat, kNever, heartbeats.done());
  Answers<PlacementReply> placements;
  other.Place(SmallRequest(), kNever, /*cancellation=*/nullptr,
              placements.done());
  other.Leave({kTask, 11, ""}, kNever, results_.done());
  processes_.Settle();
  const auto is_denied = StatusIs(absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(joins_.all, ElementsAre(is_denied));
  EXPECT_THAT(heartbeats.all, ElementsAre(is_denied));
  EXPECT_THAT(placements.all, ElementsAre(is_denied));
  EXPECT_THAT(results_.all, ElementsAre(is_denied));
  EXPECT_EQ(coordinator_.joins.size(), 1u);
  EXPECT_TRUE(coordinator_.left.empty());
}

TEST_F(CoordinatorClientTest, MasterPlacesAndEndsSessions) {
  Connect();
  coordinator_.placement_reply.devices = {"/cpu:0", "/cpu:1"};
  Answers<PlacementReply> placements;
  client_->Place(SmallRequest(), kNever, nullptr, placements.done());
  client_->EndSession(7, kNever, results_.done());
  client_->ForgetContainers({"a"}, {"/job:ps"}, kNever, nullptr,
                            results_.done());
  processes_.Settle();
  ASSERT_EQ(placements.all.size(), 1u);
  ASSERT_OK(placements.all[0]);
  EXPECT_THAT(placements.all[0]->devices, ElementsAre("/cpu:0", "/cpu:1"));
  EXPECT_TRUE(coordinator_.placements[0].graph == SmallRequest().graph);
  EXPECT_EQ(coordinator_.last_deadline, kNever);
  EXPECT_THAT(results_.all, ElementsAre(IsOk(), IsOk()));
  EXPECT_THAT(coordinator_.ended, ElementsAre(7));
  EXPECT_THAT(coordinator_.forgotten,
              ElementsAre(ElementsAre("a"), ElementsAre("/job:ps")));
}

TEST_F(CoordinatorClientTest, ToolReadsStatusAndShutsDown) {
  Connect();
  coordinator_.devices = {{"/job:ps/replica:0/task:0/device:CPU:0", "CPU"}};
  coordinator_.cluster.coordinator = kCoordinator;
  Answers<std::vector<DeviceAttributes>> devices;
  Answers<ClusterStatus> clusters;
  client_->ListDevices({"/job:ps"}, kNever, nullptr, devices.done());
  client_->GetCluster({.is_fresh = true}, kNever, clusters.done());
  client_->Shutdown(kNever, results_.done());
  processes_.Settle();
  ASSERT_EQ(devices.all.size(), 1u);
  ASSERT_OK(devices.all[0]);
  EXPECT_EQ(devices.all[0]->at(0).name, coordinator_.devices[0].name);
  EXPECT_THAT(coordinator_.listed, ElementsAre(ElementsAre("/job:ps")));
  ASSERT_EQ(clusters.all.size(), 1u);
  ASSERT_OK(clusters.all[0]);
  EXPECT_EQ(clusters.all[0]->coordinator, kCoordinator);
  EXPECT_TRUE(coordinator_.last_query.is_fresh);
  EXPECT_FALSE(coordinator_.last_query.only_states);
  EXPECT_THAT(results_.all, ElementsAre(IsOk()));
  EXPECT_EQ(coordinator_.num_shutdowns, 1);
}

TEST_F(CoordinatorClientTest, ErrorsKeepCodeAndText) {
  Connect();
  coordinator_.answer = absl::AlreadyExistsError("another process plays it");
  Join(*client_);
  client_->Leave({kTask, 11, ""}, kNever, results_.done());
  processes_.Settle();
  ASSERT_EQ(joins_.all.size(), 1u);
  EXPECT_EQ(joins_.all[0].status(), coordinator_.answer);
  EXPECT_THAT(results_.all, ElementsAre(coordinator_.answer));
}

TEST_F(CoordinatorClientTest, AGraphLargerThanAControlMessageIsPlaced) {
  Connect();
  PlacementRequest request = SmallRequest();
  request.graph.nodes.clear();
  for (int i = 0; i < 20000; ++i) {
    PlacementNode node;
    node.name = absl::StrCat(std::string(1000, 'n'), i);
    request.graph.nodes.push_back(std::move(node));
  }
  coordinator_.placement_reply.devices.assign(request.graph.nodes.size(),
                                              "/job:ps/replica:0/task:0/cpu:0");
  coordinator_.placement_reply.reasons = coordinator_.placement_reply.devices;
  Answers<PlacementReply> placements;
  client_->Place(request, kNever, nullptr, placements.done());
  processes_.Settle();
  ASSERT_EQ(placements.all.size(), 1u);
  ASSERT_OK(placements.all[0]);
  EXPECT_EQ(placements.all[0]->devices, coordinator_.placement_reply.devices);
  EXPECT_EQ(placements.all[0]->reasons, coordinator_.placement_reply.reasons);
  EXPECT_TRUE(coordinator_.placements[0].graph == request.graph);
}

TEST_F(CoordinatorClientTest, AnAnswerForAnotherGraphIsInternal) {
  Connect();
  coordinator_.placement_reply.devices = {"/cpu:0"};
  Answers<PlacementReply> placements;
  client_->Place(SmallRequest(), kNever, nullptr, placements.done());
  processes_.Settle();
  ASSERT_EQ(placements.all.size(), 1u);
  EXPECT_THAT(placements.all[0],
              StatusIs(absl::StatusCode::kInternal, "zmq://server:7000"));
}

TEST_F(CoordinatorClientTest, CallsWaitForTheCoordinator) {
  client_ = Dial();
  Join(*client_);
  Pass(absl::Minutes(1));
  EXPECT_THAT(joins_.all, IsEmpty());
  EXPECT_THAT(events_.lost, IsEmpty());  // there was none to lose
  Listen();
  Pass(absl::Seconds(10));
  ASSERT_EQ(joins_.all.size(), 1u);
  EXPECT_OK(joins_.all[0]);
}

TEST_F(CoordinatorClientTest, UnreachableAddressIsNamedAtTheDeadline) {
  client_ = Dial();
  Answers<ClusterStatus> clusters;
  client_->GetCluster({.is_fresh = true}, Now() + absl::Seconds(5),
                      clusters.done());
  Pass(absl::Seconds(5) - absl::Milliseconds(1));
  EXPECT_THAT(clusters.all, IsEmpty());
  Pass(absl::Milliseconds(1));
  ASSERT_EQ(clusters.all.size(), 1u);
  EXPECT_THAT(clusters.all[0],
              StatusIs(absl::StatusCode::kUnavailable, "zmq://server:7000"));
  EXPECT_THAT(clusters.all[0],
              StatusIs(absl::StatusCode::kUnavailable, "is it running"));
}

TEST_F(CoordinatorClientTest, LeaveHasAShortTimeout) {
  client_ = Dial();
  client_->Leave({kTask, 11, ""}, kNever, results_.done());
  client_->EndSession(7, kNever, results_.done());
  Pass(kPartingTime);
  EXPECT_THAT(results_.all,
              ElementsAre(StatusIs(absl::StatusCode::kUnavailable),
                          StatusIs(absl::StatusCode::kUnavailable)));
}

// Only the coordinator knows what a placement waited for.
TEST_F(CoordinatorClientTest, CoordinatorExplainsWaitBeforeDeadline) {
  Connect();
  coordinator_.hold = true;
  Answers<PlacementReply> placements;
  Answers<std::vector<DeviceAttributes>> devices;
  const absl::Time deadline = Now() + absl::Minutes(1);
  client_->Place(SmallRequest(), deadline, nullptr, placements.done());
  processes_.Settle();
  EXPECT_LT(coordinator_.last_deadline, deadline);
  EXPECT_GE(coordinator_.last_deadline, deadline - absl::Seconds(1));
  client_->ListDevices({}, deadline, nullptr, devices.done());
  processes_.Settle();
  EXPECT_LT(coordinator_.last_deadline, deadline);
  Pass(coordinator_.last_deadline - Now());
  EXPECT_THAT(placements.all, IsEmpty());
  EXPECT_THAT(devices.all, IsEmpty());
  coordinator_.answer = absl::DeadlineExceededError(
      "/job:worker/replica:0/task:1 has not joined");
  coordinator_.Release();
  coordinator_.Release();
  processes_.Settle();
  ASSERT_EQ(placements.all.size(), 1u);
  EXPECT_EQ(placements.all[0].status(), coordinator_.answer);
  ASSERT_EQ(devices.all.size(), 1u);
  EXPECT_EQ(devices.all[0].status(), coordinator_.answer);
}

TEST_F(CoordinatorClientTest, ACancelledCallEndsAtBothEnds) {
  Connect();
  coordinator_.hold = true;
  Answers<PlacementReply> placements;
  const auto given_up = std::make_shared<Cancellation>();
  client_->Place(SmallRequest(), kNever, given_up, placements.done());
  processes_.Settle();
  const auto at_coordinator = coordinator_.last_cancellation.lock();
  ASSERT_NE(at_coordinator, nullptr);
  EXPECT_FALSE(at_coordinator->IsCancelled());
  given_up->Cancel(absl::AbortedError("given up"));
  processes_.Settle();
  ASSERT_EQ(placements.all.size(), 1u);
  EXPECT_THAT(placements.all[0],
              StatusIs(absl::StatusCode::kAborted, "given up"));
  EXPECT_TRUE(at_coordinator->IsCancelled());
  coordinator_.Release();
}

TEST_F(CoordinatorClientTest, ALostConnectionCancelsCallsThatWait) {
  Connect();
  coordinator_.hold = true;
  Answers<std::vector<DeviceAttributes>> devices;
  client_->ListDevices({}, kNever, nullptr, devices.done());
  processes_.Settle();
  const auto at_coordinator = coordinator_.last_cancellation.lock();
  ASSERT_NE(at_coordinator, nullptr);
  EXPECT_FALSE(at_coordinator->IsCancelled());
  client_.reset();
  processes_.Settle();
  EXPECT_TRUE(at_coordinator->IsCancelled());
  coordinator_.Release();
}

TEST_F(CoordinatorClientTest, SilentCoordinatorTimesOut) {
  Connect();
  coordinator_.hold = true;
  Answers<PlacementReply> placements;
  client_->Place(SmallRequest(), Now() + absl::Minutes(1), nullptr,
                 placements.done());
  Pass(absl::Minutes(1));
  ASSERT_EQ(placements.all.size(), 1u);
  EXPECT_THAT(placements.all[0], StatusIs(absl::StatusCode::kDeadlineExceeded));
  coordinator_.Release();
  processes_.Settle();
  EXPECT_EQ(placements.all.size(), 1u);
}

TEST_F(CoordinatorClientTest, ReportsLossAndReturnOfTheCoordinator) {
  Connect();
  coordinator_.hold = true;
  Answers<ClusterStatus> clusters;
  client_->GetCluster({.is_fresh = true}, kNever, clusters.done());
  processes_.Settle();
  endpoint_.reset();
  Pass(absl::Minutes(1));
  ASSERT_EQ(events_.lost.size(), 1u);  // not at each attempt
  EXPECT_THAT(events_.lost[0],
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
  ASSERT_EQ(clusters.all.size(), 1u);
  EXPECT_THAT(clusters.all[0], StatusIs(absl::StatusCode::kUnavailable));
  coordinator_.Release();
  Listen(23);
  Pass(absl::Minutes(1));
  EXPECT_THAT(events_.connected, ElementsAre(22, 23));
}

TEST_F(CoordinatorClientTest, ARefusalIsReportedAtOnce) {
  handler_->refuse_with = absl::FailedPreconditionError("another cluster");
  Listen();
  client_ = Dial();
  Join(*client_);
  processes_.Settle();
  ASSERT_EQ(joins_.all.size(), 1u);
  EXPECT_THAT(joins_.all[0], StatusIs(absl::StatusCode::kFailedPrecondition,
                                      "another cluster"));
  EXPECT_THAT(std::string(joins_.all[0].status().message()),
              HasSubstr("zmq://server:7000"));
  ASSERT_EQ(events_.lost.size(), 1u);
  EXPECT_TRUE(bus::IsRefusal(events_.lost[0]));
}

TEST_F(CoordinatorClientTest, OtherProcessAtTheAddressIsRetried) {
  Connect();
  endpoint_.reset();
  handler_->refuse_with = absl::FailedPreconditionError("another cluster");
  Listen();
  Pass(absl::Seconds(5));
  ASSERT_EQ(events_.lost.size(), 1u);
  Answers<ClusterStatus> in_time, patient;
  client_->GetCluster({.is_fresh = true}, Now() + absl::Seconds(5),
                      in_time.done());
  client_->GetCluster({.is_fresh = true}, kNever, patient.done());
  Pass(absl::Seconds(6));
  ASSERT_EQ(in_time.all.size(), 1u);
  EXPECT_THAT(in_time.all[0], StatusIs(absl::StatusCode::kUnavailable,
                                       "no connection in time"));
  EXPECT_THAT(in_time.all[0],
              StatusIs(absl::StatusCode::kUnavailable, "another cluster"));
  EXPECT_THAT(patient.all, IsEmpty());
  handler_->refuse_with = absl::OkStatus();
  Pass(absl::Seconds(31));
  ASSERT_EQ(patient.all.size(), 1u);
  EXPECT_OK(patient.all[0]);
  EXPECT_EQ(events_.lost.size(), 1u);
}

TEST_F(CoordinatorClientTest, DisconnectedTaskIsLost) {
  Connect();
  Join();
  processes_.network().Kill("client");
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, ElementsAre(absl::StrCat(kTask, " 11")));
}

TEST_F(CoordinatorClientTest, ATaskThatHasLeftIsNotLost) {
  Connect();
  Join();
  client_->Leave({kTask, 11, ""}, kNever, results_.done());
  processes_.Settle();
  client_.reset();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, IsEmpty());
}

TEST_F(CoordinatorClientTest, DisconnectedToolIsNotALostTask) {
  Connect();
  Answers<ClusterStatus> clusters;
  client_->GetCluster({.is_fresh = true}, kNever, clusters.done());
  processes_.Settle();
  client_.reset();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, IsEmpty());
}

TEST_F(CoordinatorClientTest, TaskWithAnotherConnectionIsNotLost) {
  Connect();
  Join();
  auto second = Dial();
  Join(*second);
  processes_.Settle();
  client_.reset();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, IsEmpty());
  second.reset();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, ElementsAre(absl::StrCat(kTask, " 11")));
}

TEST_F(CoordinatorClientTest, TaskDisconnectedDuringJoinIsLost) {
  Connect();
  coordinator_.hold = true;
  Join(*client_);
  processes_.Settle();
  client_.reset();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, IsEmpty());  // not yet known
  coordinator_.Release();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, ElementsAre(absl::StrCat(kTask, " 11")));
}

TEST_F(CoordinatorClientTest, ATaskThatWasRefusedIsNotLost) {
  Connect();
  coordinator_.answer = absl::AlreadyExistsError("another process plays it");
  Join(*client_);
  processes_.Settle();
  client_.reset();
  processes_.Settle();
  EXPECT_THAT(lost_tasks_, IsEmpty());
}

TEST_F(CoordinatorClientTest, DestructorCancelsPendingCalls) {
  Connect();
  coordinator_.hold = true;
  Answers<PlacementReply> placements;
  client_->Place(SmallRequest(), kNever, nullptr, placements.done());
  processes_.Settle();
  client_.reset();
  ASSERT_EQ(placements.all.size(), 1u);
  EXPECT_THAT(placements.all[0], StatusIs(absl::StatusCode::kCancelled));
  coordinator_.Release();
}

TEST_F(CoordinatorClientTest, ServiceDestructorWaitsForCoordinator) {
  Connect();
  coordinator_.hold = true;
  Answers<PlacementReply> placements;
  client_->Place(SmallRequest(), kNever, nullptr, placements.done());
  processes_.Settle();
  endpoint_.reset();
  bool ended = false;
  processes_.scheduler().Schedule(Pool::kCompute, [&] {
    ended = true;
    coordinator_.Release();
  });
  service_.reset();
  EXPECT_TRUE(ended);
}

TEST_F(CoordinatorClientTest, MalformedRequestsAreRefused) {
  Connect();
  const auto channel = processes_.client().transport->Dial(
      processes_.address(), {.incarnation = 44}, "", nullptr);
  processes_.Settle();
  for (int method = 0; method < 256; ++method) {
    if (!CoordinatorService::Handles(static_cast<uint8_t>(method))) continue;
    std::vector<absl::Status> answers;
    bus::Message message;
    message.method = static_cast<uint8_t>(method);
    message.body = bus::Blob::FromString("not a FlatBuffer at all, is it?");
    channel->Call(std::move(message), {}, [&](const auto& reply) {
      answers.push_back(reply.status());
    });
    processes_.Settle();
    ASSERT_EQ(answers.size(), 1u) << method;
    EXPECT_THAT(answers[0], StatusIs(absl::StatusCode::kInvalidArgument));
  }
  Join();  // others continue
}

// A process with threads and sockets.
struct RealProcess {
  SystemClock clock;
  std::unique_ptr<Scheduler> scheduler = NewThreadScheduler(clock);
  std::unique_ptr<Random> random = NewSeededRandom(1);
  AllocatorReceiveMemory memory{HeapAllocator()};
  std::unique_ptr<bus::Wire> wire = bus::NewZmqWire(*scheduler);
  std::unique_ptr<bus::Transport> transport =
      bus::NewTransport({.wire = wire.get(),
                         .scheduler = scheduler.get(),
                         .random = random.get(),
                         .memory = &memory});
};

TEST(CoordinatorSocketsTest, AGraphIsPlacedOverSockets) {
  RealProcess process;
  RecordingCoordinator coordinator;
  CoordinatorService service(
      {.coordinator = &coordinator, .scheduler = process.scheduler.get()});
  OneRoleHandler<CoordinatorService> handler(service);
  ASSERT_OK_AND_ASSIGN(const auto endpoint,
                       process.transport->Listen(
                           {"127.0.0.1", 0},
                           {.task = kCoordinator, .incarnation = 22}, handler));
  CoordinatorClient client(*process.transport,
                           {.address = endpoint->address(),
                            .self = {.incarnation = 11},
                            .scheduler = process.scheduler.get()});
  PlacementRequest request = SmallRequest();
  request.graph.nodes[0].name.assign(200000, 'n');  // streams
  coordinator.placement_reply.devices = {"/cpu:0", "/cpu:1"};
  const auto answered = process.scheduler->NewEvent();
  absl::StatusOr<PlacementReply> placement;
  const absl::Time deadline = process.clock.Now() + absl::Seconds(60);
  client.Place(request, deadline, nullptr,
               [&](absl::StatusOr<PlacementReply> reply) {
                 placement = std::move(reply);
                 answered->Set();
               });
  ASSERT_TRUE(answered->WaitUntil(deadline + absl::Seconds(10)));
  ASSERT_OK(placement);
  EXPECT_THAT(placement->devices, ElementsAre("/cpu:0", "/cpu:1"));
  absl::MutexLock lock(&coordinator.mutex);
  EXPECT_TRUE(coordinator.placements[0].graph == request.graph);
}

}  // namespace
}  // namespace weft::protocol
