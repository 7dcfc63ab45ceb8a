#include "libs/protocol/common_messages.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/device_codec.h"
#include "libs/protocol/message_reader.h"
#include "libs/protocol/messages_inl.h"
#include "libs/protocol/method.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;

// The numbers are the schema's.
static_assert(static_cast<int>(Method::kDone) ==
              static_cast<int>(schemas::Body::Done));
static_assert(static_cast<int>(Method::kCreateSession) ==
              static_cast<int>(schemas::Body::CreateSession));
static_assert(static_cast<int>(Method::kRunCallable) ==
              static_cast<int>(schemas::Body::RunCallable));
static_assert(static_cast<int>(Method::kListDevicesReply) ==
              static_cast<int>(schemas::Body::ListDevicesReply));
static_assert(static_cast<int>(Method::kCreateWorkerSession) ==
              static_cast<int>(schemas::Body::CreateWorkerSession));
static_assert(static_cast<int>(Method::kPushes) ==
              static_cast<int>(schemas::Body::Pushes));
static_assert(static_cast<int>(Method::kGetStatus) ==
              static_cast<int>(schemas::Body::GetStatus));
static_assert(static_cast<int>(Method::kJoinCluster) ==
              static_cast<int>(schemas::Body::JoinCluster));
static_assert(static_cast<int>(Method::kPlace) ==
              static_cast<int>(schemas::Body::Place));
static_assert(static_cast<int>(Method::kShutdownCluster) ==
              static_cast<int>(schemas::Body::ShutdownCluster));
static_assert(static_cast<int>(Method::kDescribeWaitsReply) ==
              static_cast<int>(schemas::Body::DescribeWaitsReply));

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
