#include "libs/protocol/coordinator/coordinator_messages.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "libs/base/status.h"
#include "libs/protocol/codec/device_codec.h"
#include "libs/protocol/codec/inner_message_inl.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/coordinator/resource_codec_inl.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Its offset, its vtable offset, and its vector's offset and length.
constexpr size_t kLeastDeclarationBytes = 4 * sizeof(uint32_t);
// Its offset, its vtable offset, and its name's offset and length.
constexpr size_t kLeastTaskBytes = 4 * sizeof(uint32_t);
constexpr size_t kLeastContainerBytes = 4 * sizeof(uint32_t);

absl::StatusOr<Offset<schemas::Bytes>> WriteReport(const TaskReport& report,
                                                   FlatBufferBuilder& builder,
                                                   Attachments& attachments) {
  InnerWriter inner;
  ASSIGN_OR_RETURN(const auto resources,
                   WritePlacedResources(report.resources, inner));
  std::vector<Offset<schemas::DeclaredResources>> sessions;
  sessions.reserve(report.sessions.size());
  for (const DeclaredResources& session : report.sessions) {
    ASSIGN_OR_RETURN(const auto declared,
                     WritePlacedResources(session.resources, inner));
    sessions.push_back(schemas::CreateDeclaredResources(
        inner.builder(), session.session, declared));
  }
  const auto session_vector = inner.builder().CreateVector(sessions);
  ASSIGN_OR_RETURN(const auto memory, WriteDeviceUses(report.memory, inner));
  ASSIGN_OR_RETURN(const auto strings, inner.WriteStrings());
  const auto body = schemas::CreateTaskReport(
      inner.builder(), strings, resources, session_vector, memory);
  return inner.Finish(body, builder, attachments);
}

absl::StatusOr<TaskReport> ReadReport(const schemas::Bytes* bytes,
                                      MessageReader& reader) {
  TaskReport report;
  if (bytes == nullptr) return report;
  ASSIGN_OR_RETURN(InnerReader inner,
                   InnerReader::Open<schemas::TaskReport>(bytes, reader));
  const auto& body = inner.body<schemas::TaskReport>();
  ASSIGN_OR_RETURN(report.resources,
                   ReadPlacedResources(body.resources(), inner));
  ASSIGN_OR_RETURN(report.memory, ReadDeviceUses(body.memory(), inner));
  if (body.sessions() == nullptr) return report;
  for (const schemas::DeclaredResources* session : *body.sessions()) {
    RETURN_IF_ERROR(inner.reader().SpendCopied(kLeastDeclarationBytes));
    ASSIGN_OR_RETURN(auto declared,
                     ReadPlacedResources(session->resources(), inner));
    report.sessions.push_back({session->session(), std::move(declared)});
  }
  return report;
}

schemas::TaskState ToWire(TaskState state) {
  switch (state) {
    case TaskState::kExpected:
      return schemas::TaskState::Expected;
    case TaskState::kAlive:
      return schemas::TaskState::Alive;
    case TaskState::kLost:
      return schemas::TaskState::Lost;
    case TaskState::kLeft:
      return schemas::TaskState::Left;
  }
  return schemas::TaskState::Expected;
}

absl::StatusOr<TaskState> ReadState(schemas::TaskState state) {
  switch (state) {
    case schemas::TaskState::Expected:
      return TaskState::kExpected;
    case schemas::TaskState::Alive:
      return TaskState::kAlive;
    case schemas::TaskState::Lost:
      return TaskState::kLost;
    case schemas::TaskState::Left:
      return TaskState::kLeft;
  }
  return DamagedMessage(
      absl::StrCat("a task is in state ", static_cast<int>(state)));
}

// An upper bound: the bytes of its texts and its other fields.
size_t SizeOf(const TaskStatus& task) {
  size_t bytes = 256 + task.task.size() + task.target.size();
  for (const DeviceAttributes& device : task.devices) {
    bytes += 128 + device.name.size() + device.device_type.size() +
             device.physical_description.size();
  }
  for (const auto& [container, count] : task.sessions_by_container) {
    bytes += 32 + container.size();
  }
  return bytes;
}

using ContainerSessionsVector =
    flatbuffers::Vector<Offset<schemas::ContainerSessions>>;

Offset<ContainerSessionsVector> WriteContainerSessions(
    const std::map<std::string, int>& sessions, FlatBufferBuilder& builder) {
  std::vector<Offset<schemas::ContainerSessions>> written;
  for (const auto& [container, count] : sessions) {
    const auto name = builder.CreateString(container);
    written.push_back(schemas::CreateContainerSessions(
        builder, name, static_cast<uint32_t>(count)));
  }
  return builder.CreateVector(written);
}

absl::StatusOr<int> ReadSessionCount(uint32_t count) {
  if (count <= std::numeric_limits<int>::max()) return static_cast<int>(count);
  return DamagedMessage(absl::StrCat("a task has ", count, " sessions"));
}

// Absent from a coordinator of an older version.
absl::StatusOr<std::map<std::string, int>> ReadContainerSessions(
    const ContainerSessionsVector* sessions, MessageReader& reader) {
  std::map<std::string, int> result;
  if (sessions == nullptr) return result;
  for (const schemas::ContainerSessions* one : *sessions) {
    RETURN_IF_ERROR(reader.SpendCopied(kLeastContainerBytes));
    ASSIGN_OR_RETURN(const std::string container,
                     reader.ReadString(one->container()));
    ASSIGN_OR_RETURN(result[container], ReadSessionCount(one->num_sessions()));
  }
  return result;
}

absl::StatusOr<Offset<schemas::TaskStatus>> WriteTask(const TaskStatus& task,
                                                      InnerWriter& inner) {
  RETURN_IF_ERROR(inner.CheckRoom(SizeOf(task)));
  FlatBufferBuilder& builder = inner.builder();
  const auto name = builder.CreateString(task.task);
  const auto target = builder.CreateString(task.target);
  const auto devices = WriteDeviceList(task.devices, builder);
  ASSIGN_OR_RETURN(const auto resources,
                   WritePlacedResources(task.resources, inner));
  ASSIGN_OR_RETURN(const auto memory, WriteDeviceUses(task.memory, inner));
  const auto sessions =
      WriteContainerSessions(task.sessions_by_container, builder);
  return schemas::CreateTaskStatus(
      builder, name, ToWire(task.state), task.incarnation, target, devices,
      resources, static_cast<uint32_t>(task.num_sessions), memory, sessions);
}

absl::StatusOr<TaskStatus> ReadTask(const schemas::TaskStatus& task,
                                    InnerReader& inner) {
  MessageReader& reader = inner.reader();
  RETURN_IF_ERROR(reader.SpendCopied(kLeastTaskBytes));
  TaskStatus result;
  ASSIGN_OR_RETURN(result.task, reader.ReadString(task.task()));
  ASSIGN_OR_RETURN(result.state, ReadState(task.state()));
  result.incarnation = task.incarnation();
  ASSIGN_OR_RETURN(result.target, reader.ReadString(task.target()));
  ASSIGN_OR_RETURN(result.devices, ReadDeviceList(task.devices(), reader));
  ASSIGN_OR_RETURN(result.resources,
                   ReadPlacedResources(task.resources(), inner));
  ASSIGN_OR_RETURN(result.memory, ReadDeviceUses(task.memory(), inner));
  ASSIGN_OR_RETURN(result.num_sessions, ReadSessionCount(task.num_sessions()));
  ASSIGN_OR_RETURN(result.sessions_by_container,
                   ReadContainerSessions(task.container_sessions(), reader));
  return result;
}

Offset<flatbuffers::String> WriteUuid(const std::string& uuid,
                                      FlatBufferBuilder& builder) {
  if (uuid.empty()) return 0;
  return builder.CreateString(uuid);
}

}  // namespace

namespace {

Offset<flatbuffers::Vector<Offset<schemas::LeftTask>>> WriteLeft(
    const std::vector<LeftTask>& left, FlatBufferBuilder& builder) {
  if (left.empty()) return 0;
  std::vector<Offset<schemas::LeftTask>> tasks;
  for (const LeftTask& task : left) {
    const auto name = builder.CreateString(task.task);
    tasks.push_back(schemas::CreateLeftTask(builder, name, task.incarnation));
  }
  return builder.CreateVector(tasks);
}

absl::StatusOr<std::vector<LeftTask>> ReadLeft(
    const flatbuffers::Vector<Offset<schemas::LeftTask>>* left,
    MessageReader& reader) {
  std::vector<LeftTask> tasks;
  if (left == nullptr) return tasks;
  for (const schemas::LeftTask* const packed : *left) {
    LeftTask& task = tasks.emplace_back();
    ASSIGN_OR_RETURN(task.task, reader.ReadString(packed->task()));
    task.incarnation = packed->incarnation();
  }
  return tasks;
}

}  // namespace

absl::StatusOr<bus::Message> WriteJoin(const JoinRequest& request) {
  FlatBufferBuilder builder;
  Attachments attachments;
  Offset<schemas::Bytes> report;
  if (!request.reports_later) {
    ASSIGN_OR_RETURN(report, WriteReport(request.report, builder, attachments));
  }
  const auto task = builder.CreateString(request.task);
  const auto cluster = builder.CreateString(request.cluster);
  const auto target = builder.CreateString(request.target);
  const auto devices = WriteDeviceList(request.devices, builder);
  const auto uuid = WriteUuid(request.cluster_uuid, builder);
  const auto left = WriteLeft(request.left, builder);
  return Finish(
      schemas::CreateJoinCluster(builder, task, request.incarnation, cluster,
                                 target, request.op_fingerprint, devices,
                                 report, uuid, left, request.reports_later),
      builder, std::move(attachments));
}

absl::StatusOr<JoinRequest> ReadJoin(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::JoinCluster>(std::move(message)));
  const auto& body = reader.body<schemas::JoinCluster>();
  JoinRequest request;
  ASSIGN_OR_RETURN(request.task, reader.ReadString(body.task()));
  request.incarnation = body.incarnation();
  ASSIGN_OR_RETURN(request.cluster, reader.ReadString(body.cluster()));
  ASSIGN_OR_RETURN(request.target, reader.ReadString(body.target()));
  request.op_fingerprint = body.op_fingerprint();
  ASSIGN_OR_RETURN(request.devices, ReadDeviceList(body.devices(), reader));
  request.reports_later = body.reports_later();
  if (!request.reports_later) {
    ASSIGN_OR_RETURN(request.report, ReadReport(body.report(), reader));
  }
  ASSIGN_OR_RETURN(request.cluster_uuid,
                   reader.ReadString(body.cluster_uuid()));
  ASSIGN_OR_RETURN(request.left, ReadLeft(body.left(), reader));
  return request;
}

bus::Message WriteJoinReply(const JoinReply& reply) {
  FlatBufferBuilder builder(256);
  const auto uuid = builder.CreateString(reply.cluster_uuid);
  return Finish(schemas::CreateJoinClusterReply(
                    builder, uuid, reply.coordinator,
                    absl::ToInt64Microseconds(reply.heartbeat_interval)),
                builder);
}

absl::StatusOr<JoinReply> ReadJoinReply(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::JoinClusterReply>(std::move(message)));
  const auto& body = reader.body<schemas::JoinClusterReply>();
  JoinReply reply;
  ASSIGN_OR_RETURN(reply.cluster_uuid, reader.ReadString(body.cluster_uuid()));
  reply.coordinator = body.coordinator();
  if (body.heartbeat_interval_us() <= 0) {
    return DamagedMessage(absl::StrCat("a heartbeat interval of ",
                                       body.heartbeat_interval_us(), " us"));
  }
  reply.heartbeat_interval = absl::Microseconds(body.heartbeat_interval_us());
  return reply;
}

absl::StatusOr<bus::Message> WriteHeartbeat(const HeartbeatRequest& request) {
  FlatBufferBuilder builder(256);
  Attachments attachments;
  Offset<schemas::Bytes> report = 0;
  if (request.has_report) {
    ASSIGN_OR_RETURN(report, WriteReport(request.report, builder, attachments));
  }
  const auto task = builder.CreateString(request.task);
  const auto left = WriteLeft(request.left, builder);
  return Finish(schemas::CreateTaskHeartbeat(builder, task, request.incarnation,
                                             request.coordinator, report,
                                             request.left_version, left),
                builder, std::move(attachments));
}

absl::StatusOr<HeartbeatRequest> ReadHeartbeat(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::TaskHeartbeat>(std::move(message)));
  const auto& body = reader.body<schemas::TaskHeartbeat>();
  HeartbeatRequest request;
  ASSIGN_OR_RETURN(request.task, reader.ReadString(body.task()));
  request.incarnation = body.incarnation();
  request.coordinator = body.coordinator();
  request.has_report = body.report() != nullptr;
  ASSIGN_OR_RETURN(request.report, ReadReport(body.report(), reader));
  request.left_version = body.left_version();
  ASSIGN_OR_RETURN(request.left, ReadLeft(body.left(), reader));
  return request;
}

bus::Message WriteHeartbeatReply(const HeartbeatReply& reply) {
  FlatBufferBuilder builder(128);
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> jobs = 0;
  if (!reply.finished_jobs.empty()) {
    jobs = builder.CreateVectorOfStrings(reply.finished_jobs);
  }
  const auto uuid = WriteUuid(reply.cluster_uuid, builder);
  const auto left = WriteLeft(reply.left, builder);
  return Finish(
      schemas::CreateTaskHeartbeatReply(builder, reply.wants_report, reply.stop,
                                        jobs, uuid, reply.left_version, left),
      builder);
}

absl::StatusOr<HeartbeatReply> ReadHeartbeatReply(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::TaskHeartbeatReply>(std::move(message)));
  const auto& body = reader.body<schemas::TaskHeartbeatReply>();
  HeartbeatReply reply;
  reply.wants_report = body.wants_report();
  reply.stop = body.stop();
  ASSIGN_OR_RETURN(reply.finished_jobs,
                   reader.ReadStrings(body.finished_jobs()));
  ASSIGN_OR_RETURN(reply.cluster_uuid, reader.ReadString(body.cluster_uuid()));
  reply.left_version = body.left_version();
  ASSIGN_OR_RETURN(reply.left, ReadLeft(body.left(), reader));
  return reply;
}

bus::Message WriteLeave(const LeaveRequest& request) {
  FlatBufferBuilder builder(128);
  const auto name = builder.CreateString(request.task);
  const auto uuid = builder.CreateString(request.cluster_uuid);
  return Finish(
      schemas::CreateLeaveCluster(builder, name, request.incarnation, uuid),
      builder);
}

absl::StatusOr<LeaveRequest> ReadLeave(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::LeaveCluster>(std::move(message)));
  const auto& body = reader.body<schemas::LeaveCluster>();
  LeaveRequest request;
  ASSIGN_OR_RETURN(request.task, reader.ReadString(body.task()));
  request.incarnation = body.incarnation();
  ASSIGN_OR_RETURN(request.cluster_uuid,
                   reader.ReadString(body.cluster_uuid()));
  return request;
}

bus::Message WriteEndSession(uint64_t session) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateEndSession(builder, session), builder);
}

absl::StatusOr<uint64_t> ReadEndSession(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::EndSession>(std::move(message)));
  return reader.body<schemas::EndSession>().session();
}

bus::Message WriteForgetContainers(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters) {
  FlatBufferBuilder builder(256);
  const auto names = builder.CreateVectorOfStrings(containers);
  const auto filters = builder.CreateVectorOfStrings(device_filters);
  return Finish(schemas::CreateForgetContainers(builder, names, filters),
                builder);
}

absl::StatusOr<ForgetContainersRequest> ReadForgetContainers(
    bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ForgetContainers>(std::move(message)));
  const auto& body = reader.body<schemas::ForgetContainers>();
  ForgetContainersRequest request;
  ASSIGN_OR_RETURN(request.containers, reader.ReadStrings(body.containers()));
  ASSIGN_OR_RETURN(request.device_filters,
                   reader.ReadStrings(body.device_filters()));
  return request;
}

bus::Message WriteListClusterDevices(
    const std::vector<std::string>& device_filters,
    absl::Duration answer_time) {
  FlatBufferBuilder builder(256);
  const auto filters = builder.CreateVectorOfStrings(device_filters);
  return Finish(schemas::CreateListClusterDevices(
                    builder, filters, absl::ToInt64Microseconds(answer_time)),
                builder);
}

absl::StatusOr<ListClusterDevicesCall> ReadListClusterDevices(
    bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ListClusterDevices>(std::move(message)));
  const auto& body = reader.body<schemas::ListClusterDevices>();
  ListClusterDevicesCall call;
  ASSIGN_OR_RETURN(call.device_filters,
                   reader.ReadStrings(body.device_filters()));
  call.answer_time =
      absl::Microseconds(std::max<int64_t>(0, body.answer_time_us()));
  return call;
}

bus::Message WriteGetCluster(const ClusterQuery& query) {
  FlatBufferBuilder builder(64);
  return Finish(
      schemas::CreateGetCluster(builder, query.is_fresh, query.only_states),
      builder);
}

absl::StatusOr<ClusterQuery> ReadGetCluster(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::GetCluster>(std::move(message)));
  const auto& body = reader.body<schemas::GetCluster>();
  return ClusterQuery{.is_fresh = body.is_fresh(),
                      .only_states = body.only_states()};
}

absl::StatusOr<bus::Message> WriteClusterStatus(const ClusterStatus& status) {
  InnerWriter inner;
  std::vector<Offset<schemas::TaskStatus>> tasks;
  tasks.reserve(status.tasks.size());
  for (const TaskStatus& task : status.tasks) {
    ASSIGN_OR_RETURN(const auto written, WriteTask(task, inner));
    tasks.push_back(written);
  }
  const auto task_vector = inner.builder().CreateVector(tasks);
  const auto uuid = inner.builder().CreateString(status.cluster_uuid);
  const auto coordinator = inner.builder().CreateString(status.coordinator);
  ASSIGN_OR_RETURN(const auto strings, inner.WriteStrings());
  const auto body = schemas::CreateClusterStatus(inner.builder(), strings, uuid,
                                                 coordinator, task_vector);
  FlatBufferBuilder builder;
  Attachments attachments;
  const auto bytes = inner.Finish(body, builder, attachments);
  return Finish(schemas::CreateGetClusterReply(builder, bytes), builder,
                std::move(attachments));
}

absl::StatusOr<ClusterStatus> ReadClusterStatus(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::GetClusterReply>(std::move(message)));
  ASSIGN_OR_RETURN(
      InnerReader inner,
      InnerReader::Open<schemas::ClusterStatus>(
          reader.body<schemas::GetClusterReply>().status(), reader));
  const auto& body = inner.body<schemas::ClusterStatus>();
  ClusterStatus status;
  ASSIGN_OR_RETURN(status.cluster_uuid,
                   inner.reader().ReadString(body.cluster_uuid()));
  ASSIGN_OR_RETURN(status.coordinator,
                   inner.reader().ReadString(body.coordinator()));
  if (body.tasks() == nullptr) return status;
  for (const schemas::TaskStatus* task : *body.tasks()) {
    ASSIGN_OR_RETURN(TaskStatus read, ReadTask(*task, inner));
    status.tasks.push_back(std::move(read));
  }
  return status;
}

bus::Message WriteShutdown() {
  FlatBufferBuilder builder(64);
  return Finish(schemas::CreateShutdownCluster(builder), builder);
}

absl::Status ReadShutdown(bus::Message message) {
  return Open<schemas::ShutdownCluster>(std::move(message)).status();
}

}  // namespace weft::protocol
