// Tests that each request and reply of the role Coordinator is decoded as it
// was encoded, and that a damaged one is refused or at least harmless.
#include "libs/protocol/coordinator/coordinator_messages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/testing/damage.h"

namespace weft::protocol {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kTask[] = "/job:ps/replica:0/task:0";
constexpr char kCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";

PlacedResource Variable(const std::string& name, int64_t num_bytes) {
  return {.resource = {"ps", name, "Var", DT_FLOAT, PartialShape({784, 10})},
          .device = kCpu,
          .num_bytes = num_bytes,
          .description = "float[784,10]"};
}

TaskReport SampleReport() {
  TaskReport report;
  report.resources = {Variable("w", 31360), Variable("b", 40)};
  report.sessions = {{7, {Variable("w", 0)}}, {8, {}}};
  report.sessions[0].resources[0].description = "";
  report.memory = {{kCpu, int64_t{1} << 40, 5}};
  return report;
}

void ExpectSame(const std::vector<PlacedResource>& a,
                const std::vector<PlacedResource>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i].resource == b[i].resource) << a[i].resource.name;
    EXPECT_EQ(a[i].device, b[i].device);
    EXPECT_EQ(a[i].num_bytes, b[i].num_bytes);
    EXPECT_EQ(a[i].description, b[i].description);
  }
}

void ExpectSame(const std::vector<DeviceUse>& a,
                const std::vector<DeviceUse>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].device, b[i].device);
    EXPECT_EQ(a[i].total, b[i].total);
    EXPECT_EQ(a[i].in_use, b[i].in_use);
  }
}

void ExpectSame(const TaskReport& a, const TaskReport& b) {
  ExpectSame(a.resources, b.resources);
  ExpectSame(a.memory, b.memory);
  ASSERT_EQ(a.sessions.size(), b.sessions.size());
  for (size_t i = 0; i < a.sessions.size(); ++i) {
    EXPECT_EQ(a.sessions[i].session, b.sessions[i].session);
    ExpectSame(a.sessions[i].resources, b.sessions[i].resources);
  }
}

JoinRequest SampleJoin() {
  JoinRequest request;
  request.task = kTask;
  request.incarnation = 11;
  request.cluster = "{\"ps\": [\"localhost:2222\"]}";
  request.target = "zmq://localhost:2222";
  request.op_fingerprint = 0xdecade;
  request.devices = {{kCpu, "CPU", 1 << 28, 77, "a CPU"}};
  request.report = SampleReport();
  request.cluster_uuid = "c0ffee";
  return request;
}

absl::StatusOr<JoinRequest> RoundTrip(const JoinRequest& request) {
  auto message = WriteJoin(request);
  if (!message.ok()) return message.status();
  return ReadJoin(*std::move(message));
}

TEST(CoordinatorMessagesTest, JoinRoundTrips) {
  const JoinRequest request = SampleJoin();
  ASSERT_OK_AND_ASSIGN(const JoinRequest read, RoundTrip(request));
  EXPECT_EQ(read.task, kTask);
  EXPECT_EQ(read.incarnation, 11u);
  EXPECT_EQ(read.cluster, request.cluster);
  EXPECT_EQ(read.target, request.target);
  EXPECT_EQ(read.op_fingerprint, 0xdecadeu);
  ASSERT_EQ(read.devices.size(), 1u);
  EXPECT_EQ(read.devices[0].name, kCpu);
  EXPECT_EQ(read.devices[0].incarnation, 77u);
  ExpectSame(read.report, request.report);
  EXPECT_EQ(read.cluster_uuid, "c0ffee");

  EXPECT_FALSE(read.reports_later);

  JoinRequest later = request;
  later.reports_later = true;
  ASSERT_OK_AND_ASSIGN(const JoinRequest read_later, RoundTrip(later));
  EXPECT_TRUE(read_later.reports_later);
  ExpectSame(read_later.report, {});

  const JoinReply reply{"uuid", 22, absl::Milliseconds(250)};
  ASSERT_OK_AND_ASSIGN(const JoinReply read_reply,
                       ReadJoinReply(WriteJoinReply(reply)));
  EXPECT_EQ(read_reply.cluster_uuid, "uuid");
  EXPECT_EQ(read_reply.coordinator, 22u);
  EXPECT_EQ(read_reply.heartbeat_interval, absl::Milliseconds(250));
}

TEST(CoordinatorMessagesTest, NonpositiveHeartbeatIntervalIsRefused) {
  for (const absl::Duration interval :
       {absl::ZeroDuration(), -absl::Seconds(1)}) {
    EXPECT_THAT(ReadJoinReply(WriteJoinReply({"uuid", 22, interval})),
                StatusIs(kInvalid, "heartbeat interval"));
  }
}

TEST(CoordinatorMessagesTest, HeartbeatsRoundTrip) {
  HeartbeatRequest request;
  request.task = kTask;
  request.incarnation = 11;
  request.coordinator = 22;
  request.left_version = 33;
  request.left = {{kTask, 44}};
  ASSERT_OK_AND_ASSIGN(bus::Message message, WriteHeartbeat(request));
  ASSERT_OK_AND_ASSIGN(HeartbeatRequest read, ReadHeartbeat(message));
  EXPECT_EQ(read.task, kTask);
  EXPECT_EQ(read.incarnation, 11u);
  EXPECT_EQ(read.coordinator, 22u);
  EXPECT_EQ(read.left_version, 33u);
  EXPECT_THAT(read.left, ElementsAre(LeftTask{kTask, 44}));
  EXPECT_FALSE(read.has_report);

  request.has_report = true;
  ASSERT_OK_AND_ASSIGN(message, WriteHeartbeat(request));
  ASSERT_OK_AND_ASSIGN(read, ReadHeartbeat(message));
  EXPECT_TRUE(read.has_report);  // an empty report
  ExpectSame(read.report, {});

  request.report = SampleReport();
  ASSERT_OK_AND_ASSIGN(message, WriteHeartbeat(request));
  ASSERT_OK_AND_ASSIGN(read, ReadHeartbeat(message));
  ExpectSame(read.report, request.report);
}

TEST(CoordinatorMessagesTest, HeartbeatRepliesRoundTrip) {
  ASSERT_OK_AND_ASSIGN(HeartbeatReply read,
                       ReadHeartbeatReply(WriteHeartbeatReply({})));
  EXPECT_FALSE(read.wants_report);
  EXPECT_FALSE(read.stop);
  EXPECT_THAT(read.finished_jobs, IsEmpty());
  EXPECT_EQ(read.cluster_uuid, "");
  ASSERT_OK_AND_ASSIGN(
      read,
      ReadHeartbeatReply(WriteHeartbeatReply(
          {true, true, {"worker"}, "c0ffee", 5, {{kTask, 11}, {kTask, 0}}})));
  EXPECT_TRUE(read.wants_report);
  EXPECT_TRUE(read.stop);
  EXPECT_THAT(read.finished_jobs, ElementsAre("worker"));
  EXPECT_EQ(read.cluster_uuid, "c0ffee");
  EXPECT_EQ(read.left_version, 5u);
  EXPECT_THAT(read.left, ElementsAre(LeftTask{kTask, 11}, LeftTask{kTask, 0}));
}

TEST(CoordinatorMessagesTest, SmallMessagesRoundTrip) {
  ASSERT_OK_AND_ASSIGN(const LeaveRequest leave,
                       ReadLeave(WriteLeave({kTask, 11, "uuid"})));
  EXPECT_EQ(leave.task, kTask);
  EXPECT_EQ(leave.incarnation, 11u);
  EXPECT_EQ(leave.cluster_uuid, "uuid");
  ASSERT_OK_AND_ASSIGN(const uint64_t session,
                       ReadEndSession(WriteEndSession(7)));
  EXPECT_EQ(session, 7u);
  ASSERT_OK_AND_ASSIGN(
      const ForgetContainersRequest forget,
      ReadForgetContainers(WriteForgetContainers({"a", ""}, {"/job:ps"})));
  EXPECT_THAT(forget.containers, ElementsAre("a", ""));
  EXPECT_THAT(forget.device_filters, ElementsAre("/job:ps"));
  ASSERT_OK_AND_ASSIGN(const ListClusterDevicesCall list,
                       ReadListClusterDevices(WriteListClusterDevices(
                           {"/job:ps"}, absl::Seconds(1))));
  EXPECT_THAT(list.device_filters, ElementsAre("/job:ps"));
  EXPECT_EQ(list.answer_time, absl::Seconds(1));
  for (const ClusterQuery& query :
       {ClusterQuery{}, {.is_fresh = true}, {.only_states = true}}) {
    ASSERT_OK_AND_ASSIGN(const ClusterQuery read,
                         ReadGetCluster(WriteGetCluster(query)));
    EXPECT_EQ(read.is_fresh, query.is_fresh);
    EXPECT_EQ(read.only_states, query.only_states);
  }
  EXPECT_OK(ReadShutdown(WriteShutdown()));
  EXPECT_THAT(ReadShutdown(WriteGetCluster({})),
              StatusIs(kInvalid, "ShutdownCluster"));
}

ClusterStatus SampleStatus() {
  ClusterStatus status;
  status.cluster_uuid = "uuid";
  status.coordinator = "/job:coordinator/replica:0/task:0";
  TaskStatus alive;
  alive.task = kTask;
  alive.state = TaskState::kAlive;
  alive.incarnation = 11;
  alive.target = "zmq://localhost:2222";
  alive.devices = {{kCpu, "CPU", 1 << 28, 77, "a CPU"}};
  alive.resources = {Variable("w", 31360)};
  alive.num_sessions = 3;
  alive.memory = {{kCpu, 100, 7}};
  alive.sessions_by_container = {{"box", 1}, {"ps", 3}};
  status.tasks.push_back(alive);
  for (const TaskState state :
       {TaskState::kExpected, TaskState::kLost, TaskState::kLeft}) {
    TaskStatus task;
    task.task =
        absl::StrCat("/job:worker/replica:0/task:", static_cast<int>(state));
    task.state = state;
    status.tasks.push_back(task);
  }
  return status;
}

absl::StatusOr<ClusterStatus> RoundTrip(const ClusterStatus& status) {
  auto message = WriteClusterStatus(status);
  if (!message.ok()) return message.status();
  return ReadClusterStatus(*std::move(message));
}

TEST(CoordinatorMessagesTest, NegativeMemoryIsRefused) {
  ClusterStatus status = SampleStatus();
  status.tasks[0].memory[0].in_use = -1;
  EXPECT_THAT(RoundTrip(status), StatusIs(kInvalid, "damaged"));
}

TEST(CoordinatorMessagesTest, ClusterStatusRoundTrips) {
  const ClusterStatus status = SampleStatus();
  ASSERT_OK_AND_ASSIGN(const auto read, RoundTrip(status));
  EXPECT_EQ(read.cluster_uuid, "uuid");
  EXPECT_EQ(read.coordinator, status.coordinator);
  ASSERT_EQ(read.tasks.size(), status.tasks.size());
  for (size_t i = 0; i < read.tasks.size(); ++i) {
    EXPECT_EQ(read.tasks[i].task, status.tasks[i].task);
    EXPECT_EQ(read.tasks[i].state, status.tasks[i].state);
    EXPECT_EQ(read.tasks[i].incarnation, status.tasks[i].incarnation);
    EXPECT_EQ(read.tasks[i].target, status.tasks[i].target);
    EXPECT_EQ(read.tasks[i].devices.size(), status.tasks[i].devices.size());
    ExpectSame(read.tasks[i].resources, status.tasks[i].resources);
    EXPECT_EQ(read.tasks[i].num_sessions, status.tasks[i].num_sessions);
    ExpectSame(read.tasks[i].memory, status.tasks[i].memory);
    EXPECT_EQ(read.tasks[i].sessions_by_container,
              status.tasks[i].sessions_by_container);
  }
}

TEST(CoordinatorMessagesTest, StatusMayExceedAControlMessage) {
  ClusterStatus status = SampleStatus();
  auto& resources = status.tasks[0].resources;
  for (int i = 0; i < 20000; ++i) {
    resources.push_back(Variable(absl::StrCat(std::string(1000, 'v'), i), i));
  }
  ASSERT_OK_AND_ASSIGN(const bus::Message message, WriteClusterStatus(status));
  EXPECT_LT(message.body.size(), 1024u);
  ASSERT_EQ(message.attachments.size(), 1u);
  EXPECT_GT(message.attachments[0].size(), size_t{16} << 20);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadClusterStatus(message));
  ExpectSame(read.tasks[0].resources, resources);
}

TEST(CoordinatorMessagesTest, InvalidResourcesAreRefused) {
  JoinRequest request = SampleJoin();
  request.report.resources[1].resource.dtype = static_cast<DataType>(1000);
  EXPECT_THAT(RoundTrip(request), StatusIs(kInvalid, "dtype 1000"));
  request = SampleJoin();
  request.report.resources[1].num_bytes = -1;
  EXPECT_THAT(RoundTrip(request), StatusIs(kInvalid, "-1 bytes"));
  request = SampleJoin();
  request.report.sessions[0].resources[0].resource.shape =
      PartialShape(Dims{int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THAT(RoundTrip(request), StatusIs(kInvalid));
  ClusterStatus status = SampleStatus();
  status.tasks[0].num_sessions = -1;
  EXPECT_THAT(RoundTrip(status), StatusIs(kInvalid, "sessions"));
}

template <typename Read>
void ExpectDamageIsHarmless(const absl::StatusOr<bus::Message>& message,
                            Read read) {
  ASSERT_OK(message);
  ReadDamaged(*message, [&](bus::Message damaged) {
    return read(std::move(damaged)).ok();
  });
}

TEST(CoordinatorMessagesTest, DamagedBytesAreRefusedOrHarmless) {
  JoinRequest join = SampleJoin();
  join.report.sessions.clear();  // small enough to be inside the body
  ExpectDamageIsHarmless(WriteJoin(join), ReadJoin);
  ExpectDamageIsHarmless(WriteJoinReply({"uuid", 22, absl::Seconds(1)}),
                         ReadJoinReply);
  HeartbeatRequest heartbeat;
  heartbeat.task = kTask;
  heartbeat.has_report = true;
  heartbeat.report.sessions = {{7, {Variable("w", 0)}}};
  ExpectDamageIsHarmless(WriteHeartbeat(heartbeat), ReadHeartbeat);
  ExpectDamageIsHarmless(WriteHeartbeatReply({true, false, {"worker"}}),
                         ReadHeartbeatReply);
  ExpectDamageIsHarmless(WriteLeave({kTask, 11, ""}), ReadLeave);
  ExpectDamageIsHarmless(WriteForgetContainers({"a"}, {"/job:ps"}),
                         ReadForgetContainers);
  ExpectDamageIsHarmless(WriteListClusterDevices({"/job:ps"}, absl::Seconds(1)),
                         ReadListClusterDevices);
  ExpectDamageIsHarmless(WriteClusterStatus(SampleStatus()), ReadClusterStatus);
}

}  // namespace
}  // namespace weft::protocol
