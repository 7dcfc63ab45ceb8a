// Devices in messages: DeviceAttributes to and from schemas::Device
// (schemas/peer.fbs).
//
// Only .cc files include FlatBuffers. Threads: functions without state. Errors
// are as in message_reader.h.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_DEVICE_CODEC_H_
#define WEFT_LIBS_PROTOCOL_CODEC_DEVICE_CODEC_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/device/device.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"

namespace weft::schemas {
struct Device;
}  // namespace weft::schemas

namespace weft::protocol {

using WireDevices = flatbuffers::Vector<flatbuffers::Offset<schemas::Device>>;

flatbuffers::Offset<WireDevices> WriteDeviceList(
    absl::Span<const DeviceAttributes> devices,
    flatbuffers::FlatBufferBuilder& builder);

// Reads a list of devices; null is the empty list.
absl::StatusOr<std::vector<DeviceAttributes>> ReadDeviceList(
    const WireDevices* devices, MessageReader& reader);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_DEVICE_CODEC_H_
