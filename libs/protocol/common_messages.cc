#include "libs/protocol/common_messages.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/message_reader.h"
#include "libs/protocol/messages_inl.h"
#include "libs/protocol/method.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;

// The numbers are the schema's.
static_assert(static_cast<int>(Method::kDone) ==
              static_cast<int>(wire::Body::Done));
static_assert(static_cast<int>(Method::kCreateSession) ==
              static_cast<int>(wire::Body::CreateSession));
static_assert(static_cast<int>(Method::kRunCallable) ==
              static_cast<int>(wire::Body::RunCallable));
static_assert(static_cast<int>(Method::kListDevicesReply) ==
              static_cast<int>(wire::Body::ListDevicesReply));
static_assert(static_cast<int>(Method::kOpenWorkerSession) ==
              static_cast<int>(wire::Body::OpenWorkerSession));
static_assert(static_cast<int>(Method::kPushes) ==
              static_cast<int>(wire::Body::Pushes));
static_assert(static_cast<int>(Method::kGetStatus) ==
              static_cast<int>(wire::Body::GetStatus));

// Three strings, even if empty.
constexpr size_t kLeastDeviceBytes = 3 * 2 * sizeof(uint32_t);

flatbuffers::Offset<wire::Device> WriteDevice(const DeviceAttributes& device,
                                              FlatBufferBuilder& builder) {
  const auto name = builder.CreateString(device.name);
  const auto type = builder.CreateString(device.device_type);
  const auto description = builder.CreateString(device.physical_description);
  return wire::CreateDevice(builder, name, type, device.memory_limit,
                            device.incarnation, description);
}

absl::StatusOr<DeviceAttributes> ReadDevice(const wire::Device& device,
                                            MessageReader& reader) {
  DeviceAttributes result;
  ASSIGN_OR_RETURN(result.name, reader.ReadString(device.name()));
  ASSIGN_OR_RETURN(result.device_type, reader.ReadString(device.type()));
  ASSIGN_OR_RETURN(result.physical_description,
                   reader.ReadString(device.physical_description()));
  result.memory_limit = device.memory_limit();
  result.incarnation = device.incarnation();
  return result;
}

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
  return Finish(wire::CreateDone(builder), builder);
}

absl::Status ReadDone(bus::Message message) {
  return Open<wire::Done>(std::move(message)).status();
}

bus::Message WriteDevices(absl::Span<const DeviceAttributes> devices) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Device>> written;
  written.reserve(devices.size());
  for (const DeviceAttributes& device : devices) {
    written.push_back(WriteDevice(device, builder));
  }
  return Finish(
      wire::CreateListDevicesReply(builder, builder.CreateVector(written)),
      builder);
}

absl::StatusOr<std::vector<DeviceAttributes>> ReadDevices(
    bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<wire::ListDevicesReply>(std::move(message)));
  std::vector<DeviceAttributes> result;
  const auto* devices = reader.body<wire::ListDevicesReply>().devices();
  if (devices == nullptr) return result;
  for (const wire::Device* device : *devices) {
    RETURN_IF_ERROR(reader.SpendCopied(kLeastDeviceBytes));
    ASSIGN_OR_RETURN(DeviceAttributes read, ReadDevice(*device, reader));
    result.push_back(std::move(read));
  }
  return result;
}

}  // namespace weft::protocol
