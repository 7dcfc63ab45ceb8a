// Named resources in messages about placement: NamedResource and PlacedResource
// to and from their tables (schemas/coordinator.fbs), and the memory usage of
// devices. Only for .cc files of this module: it includes FlatBuffers.
//
// Threads: functions without state. Errors are as in inner_message_inl.h.
#ifndef WEFT_LIBS_PROTOCOL_COORDINATOR_RESOURCE_CODEC_INL_H_
#define WEFT_LIBS_PROTOCOL_COORDINATOR_RESOURCE_CODEC_INL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/placement_graph.h"
#include "libs/protocol/codec/inner_message_inl.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft::protocol {

using WirePlacedResources =
    flatbuffers::Vector<flatbuffers::Offset<schemas::PlacedResource>>;

absl::StatusOr<flatbuffers::Offset<schemas::NamedResource>> WriteResource(
    const NamedResource& resource, InnerWriter& writer);
absl::StatusOr<NamedResource> ReadResource(
    const schemas::NamedResource& resource, InnerReader& reader);

absl::StatusOr<flatbuffers::Offset<WirePlacedResources>> WritePlacedResources(
    const std::vector<PlacedResource>& resources, InnerWriter& writer);
// Returns an empty list for null.
absl::StatusOr<std::vector<PlacedResource>> ReadPlacedResources(
    const WirePlacedResources* resources, InnerReader& reader);

using WireDeviceUses =
    flatbuffers::Vector<flatbuffers::Offset<schemas::DeviceUse>>;

absl::StatusOr<flatbuffers::Offset<WireDeviceUses>> WriteDeviceUses(
    const std::vector<DeviceUse>& uses, InnerWriter& writer);
// Returns an empty list for null.
absl::StatusOr<std::vector<DeviceUse>> ReadDeviceUses(
    const WireDeviceUses* uses, InnerReader& reader);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_COORDINATOR_RESOURCE_CODEC_INL_H_
