#include "libs/protocol/common_messages.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/device_codec.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/messages_inl.h"
#include "libs/protocol/method.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;

// The numbers are the schema's.
#define WEFT_CHECK_METHOD_NUMBER(METHOD)               \
  static_assert(static_cast<int>(Method::k##METHOD) == \
                static_cast<int>(schemas::Body::METHOD))
WEFT_CHECK_METHOD_NUMBER(Done);
WEFT_CHECK_METHOD_NUMBER(CreateSession);
WEFT_CHECK_METHOD_NUMBER(CreateSessionReply);
WEFT_CHECK_METHOD_NUMBER(ExtendSession);
WEFT_CHECK_METHOD_NUMBER(ExtendSessionReply);
WEFT_CHECK_METHOD_NUMBER(CloseSession);
WEFT_CHECK_METHOD_NUMBER(MakeCallable);
WEFT_CHECK_METHOD_NUMBER(MakeCallableReply);
WEFT_CHECK_METHOD_NUMBER(RunCallable);
WEFT_CHECK_METHOD_NUMBER(RunCallableReply);
WEFT_CHECK_METHOD_NUMBER(ReleaseCallable);
WEFT_CHECK_METHOD_NUMBER(Reset);
WEFT_CHECK_METHOD_NUMBER(ListDevices);
WEFT_CHECK_METHOD_NUMBER(ListDevicesReply);
WEFT_CHECK_METHOD_NUMBER(CreateWorkerSession);
WEFT_CHECK_METHOD_NUMBER(DeleteWorkerSession);
WEFT_CHECK_METHOD_NUMBER(RegisterPartition);
WEFT_CHECK_METHOD_NUMBER(DeregisterPartition);
WEFT_CHECK_METHOD_NUMBER(RunPartition);
WEFT_CHECK_METHOD_NUMBER(RunPartitionReply);
WEFT_CHECK_METHOD_NUMBER(Abort);
WEFT_CHECK_METHOD_NUMBER(ClearContainers);
WEFT_CHECK_METHOD_NUMBER(Pushes);
WEFT_CHECK_METHOD_NUMBER(GetStatus);
WEFT_CHECK_METHOD_NUMBER(JoinCluster);
WEFT_CHECK_METHOD_NUMBER(JoinClusterReply);
WEFT_CHECK_METHOD_NUMBER(TaskHeartbeat);
WEFT_CHECK_METHOD_NUMBER(TaskHeartbeatReply);
WEFT_CHECK_METHOD_NUMBER(LeaveCluster);
WEFT_CHECK_METHOD_NUMBER(Place);
WEFT_CHECK_METHOD_NUMBER(PlaceReply);
WEFT_CHECK_METHOD_NUMBER(EndSession);
WEFT_CHECK_METHOD_NUMBER(ForgetContainers);
WEFT_CHECK_METHOD_NUMBER(ListClusterDevices);
WEFT_CHECK_METHOD_NUMBER(GetCluster);
WEFT_CHECK_METHOD_NUMBER(GetClusterReply);
WEFT_CHECK_METHOD_NUMBER(ShutdownCluster);
WEFT_CHECK_METHOD_NUMBER(DescribeWaits);
WEFT_CHECK_METHOD_NUMBER(DescribeWaitsReply);
WEFT_CHECK_METHOD_NUMBER(FileOperation);
WEFT_CHECK_METHOD_NUMBER(FileOperationReply);
WEFT_CHECK_METHOD_NUMBER(HoldSteps);
WEFT_CHECK_METHOD_NUMBER(HoldStepsReply);
WEFT_CHECK_METHOD_NUMBER(RegisterPartitionReply);
#undef WEFT_CHECK_METHOD_NUMBER

}  // namespace

absl::Status BadReply(absl::string_view who, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return status;
  return absl::InternalError(absl::StrCat(
      "the answer of ", who, " can't be read: ", status.message()));
}

void Answer(bus::IncomingCall& call, absl::StatusOr<bus::Message> reply) {
  if (reply.ok()) {
    call.Reply(*std::move(reply));
  } else {
    call.Fail(reply.status());
  }
}

bus::Message WriteDone() {
  FlatBufferBuilder builder(64);
  return Finish(schemas::CreateDone(builder), builder);
}

absl::Status ReadDone(bus::Message message) {
  return Open<schemas::Done>(std::move(message)).status();
}

bus::Message WriteDevices(absl::Span<const DeviceAttributes> devices) {
  FlatBufferBuilder builder;
  const auto written = WriteDeviceList(devices, builder);
  return Finish(schemas::CreateListDevicesReply(builder, written), builder);
}

absl::StatusOr<std::vector<DeviceAttributes>> ReadDevices(
    bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ListDevicesReply>(std::move(message)));
  return ReadDeviceList(reader.body<schemas::ListDevicesReply>().devices(),
                        reader);
}

}  // namespace weft::protocol
