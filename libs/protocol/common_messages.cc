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
#define WEFT_IS_THE_SCHEMAS(METHOD)                    \
  static_assert(static_cast<int>(Method::k##METHOD) == \
                static_cast<int>(schemas::Body::METHOD))
WEFT_IS_THE_SCHEMAS(Done);
WEFT_IS_THE_SCHEMAS(CreateSession);
WEFT_IS_THE_SCHEMAS(CreateSessionReply);
WEFT_IS_THE_SCHEMAS(ExtendSession);
WEFT_IS_THE_SCHEMAS(ExtendSessionReply);
WEFT_IS_THE_SCHEMAS(CloseSession);
WEFT_IS_THE_SCHEMAS(MakeCallable);
WEFT_IS_THE_SCHEMAS(MakeCallableReply);
WEFT_IS_THE_SCHEMAS(RunCallable);
WEFT_IS_THE_SCHEMAS(RunCallableReply);
WEFT_IS_THE_SCHEMAS(ReleaseCallable);
WEFT_IS_THE_SCHEMAS(Reset);
WEFT_IS_THE_SCHEMAS(ListDevices);
WEFT_IS_THE_SCHEMAS(ListDevicesReply);
WEFT_IS_THE_SCHEMAS(CreateWorkerSession);
WEFT_IS_THE_SCHEMAS(DeleteWorkerSession);
WEFT_IS_THE_SCHEMAS(RegisterPartition);
WEFT_IS_THE_SCHEMAS(DeregisterPartition);
WEFT_IS_THE_SCHEMAS(RunPartition);
WEFT_IS_THE_SCHEMAS(RunPartitionReply);
WEFT_IS_THE_SCHEMAS(Abort);
WEFT_IS_THE_SCHEMAS(ClearContainers);
WEFT_IS_THE_SCHEMAS(Pushes);
WEFT_IS_THE_SCHEMAS(GetStatus);
WEFT_IS_THE_SCHEMAS(JoinCluster);
WEFT_IS_THE_SCHEMAS(JoinClusterReply);
WEFT_IS_THE_SCHEMAS(TaskHeartbeat);
WEFT_IS_THE_SCHEMAS(TaskHeartbeatReply);
WEFT_IS_THE_SCHEMAS(LeaveCluster);
WEFT_IS_THE_SCHEMAS(Place);
WEFT_IS_THE_SCHEMAS(PlaceReply);
WEFT_IS_THE_SCHEMAS(EndSession);
WEFT_IS_THE_SCHEMAS(ForgetContainers);
WEFT_IS_THE_SCHEMAS(ListClusterDevices);
WEFT_IS_THE_SCHEMAS(GetCluster);
WEFT_IS_THE_SCHEMAS(GetClusterReply);
WEFT_IS_THE_SCHEMAS(ShutdownCluster);
WEFT_IS_THE_SCHEMAS(DescribeWaits);
WEFT_IS_THE_SCHEMAS(DescribeWaitsReply);
WEFT_IS_THE_SCHEMAS(FileOperation);
WEFT_IS_THE_SCHEMAS(FileOperationReply);
WEFT_IS_THE_SCHEMAS(HoldSteps);
WEFT_IS_THE_SCHEMAS(HoldStepsReply);
WEFT_IS_THE_SCHEMAS(RegisterPartitionReply);
#undef WEFT_IS_THE_SCHEMAS

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
