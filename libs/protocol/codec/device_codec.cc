#include "libs/protocol/codec/device_codec.h"

#include <utility>

#include "libs/base/status.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Three strings, even if empty.
constexpr size_t kLeastDeviceBytes = sizeof(uint32_t) * 3 * 2;

Offset<schemas::Device> WriteDevice(const DeviceAttributes& device,
                                    FlatBufferBuilder& builder) {
  const auto name = builder.CreateString(device.name);
  const auto type = builder.CreateString(device.device_type);
  const auto description = builder.CreateString(device.physical_description);
  return schemas::CreateDevice(builder, name, type, device.memory_limit,
                               device.incarnation, description);
}

absl::StatusOr<DeviceAttributes> ReadDevice(const schemas::Device& device,
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

Offset<WireDevices> WriteDeviceList(absl::Span<const DeviceAttributes> devices,
                                    FlatBufferBuilder& builder) {
  std::vector<Offset<schemas::Device>> written;
  written.reserve(devices.size());
  for (const DeviceAttributes& device : devices) {
    written.push_back(WriteDevice(device, builder));
  }
  return builder.CreateVector(written);
}

absl::StatusOr<std::vector<DeviceAttributes>> ReadDeviceList(
    const WireDevices* devices, MessageReader& reader) {
  std::vector<DeviceAttributes> result;
  if (devices == nullptr) return result;
  for (const schemas::Device* device : *devices) {
    RETURN_IF_ERROR(reader.SpendCopied(kLeastDeviceBytes));
    ASSIGN_OR_RETURN(DeviceAttributes read, ReadDevice(*device, reader));
    result.push_back(std::move(read));
  }
  return result;
}

}  // namespace weft::protocol
