#include <utility>

#include "libs/base/status.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/coordinator/resource_codec_inl.h"

namespace weft::protocol {
namespace {

using flatbuffers::Offset;

// An upper bound for fields of fixed size and shapes.
constexpr size_t kResourceOverhead = 128 + kMaxRank * sizeof(int64_t);
// Its offset, its vtable offset, and its name's offset and length.
constexpr size_t kLeastResourceBytes = 4 * sizeof(uint32_t);
// An upper bound for the use of a device, and a lower bound for its offset and
// its vtable offset.
constexpr size_t kDeviceUseBytes = 64;
constexpr size_t kLeastDeviceUseBytes = 2 * sizeof(uint32_t);

absl::StatusOr<DataType> ReadType(int32_t number) {
  const auto type = static_cast<DataType>(number);
  if (type == DT_INVALID || DataTypeFromName(DataTypeName(type))) return type;
  return DamagedMessage(absl::StrCat("a resource has dtype ", number));
}

absl::StatusOr<PartialShape> ReadShape(const schemas::NamedResource& resource,
                                       MessageReader& reader) {
  if (!resource.has_rank()) return PartialShape::UnknownRank();
  ASSIGN_OR_RETURN(const Dims dims, reader.ReadSizes(resource.shape()));
  auto shape = PartialShape::Create(dims);
  if (!shape.ok()) return Annotate(shape.status(), "damaged message");
  return shape;
}

absl::StatusOr<Offset<schemas::PlacedResource>> WritePlacedResource(
    const PlacedResource& resource, InnerWriter& writer) {
  RETURN_IF_ERROR(writer.CheckRoom(resource.description.size()));
  ASSIGN_OR_RETURN(const auto named, WriteResource(resource.resource, writer));
  Offset<flatbuffers::String> description = 0;
  if (!resource.description.empty()) {
    description = writer.builder().CreateString(resource.description);
  }
  return schemas::CreatePlacedResource(writer.builder(), named,
                                       writer.Number(resource.device),
                                       resource.num_bytes, description);
}

absl::StatusOr<PlacedResource> ReadPlacedResource(
    const schemas::PlacedResource& resource, InnerReader& reader) {
  PlacedResource result;
  if (resource.resource() == nullptr)
    return DamagedMessage("a resource has no name");
  if (resource.num_bytes() < 0) {
    return DamagedMessage(
        absl::StrCat("a resource holds ", resource.num_bytes(), " bytes"));
  }
  ASSIGN_OR_RETURN(result.resource, ReadResource(*resource.resource(), reader));
  ASSIGN_OR_RETURN(result.device, reader.Text(resource.device()));
  result.num_bytes = resource.num_bytes();
  ASSIGN_OR_RETURN(result.description,
                   reader.reader().ReadString(resource.description()));
  return result;
}

}  // namespace

absl::StatusOr<Offset<schemas::NamedResource>> WriteResource(
    const NamedResource& resource, InnerWriter& writer) {
  RETURN_IF_ERROR(writer.CheckRoom(resource.name.size() + kResourceOverhead));
  const auto name = writer.builder().CreateString(resource.name);
  Offset<flatbuffers::Vector<int64_t>> shape = 0;
  if (resource.shape.has_rank() && resource.shape.rank() > 0) {
    const auto dims = resource.shape.dims();
    shape = writer.builder().CreateVector(dims.data(), dims.size());
  }
  return schemas::CreateNamedResource(
      writer.builder(), writer.Number(resource.container), name,
      writer.Number(resource.kind), static_cast<int32_t>(resource.dtype),
      resource.shape.has_rank(), shape, writer.Number(resource.definition));
}

absl::StatusOr<NamedResource> ReadResource(
    const schemas::NamedResource& resource, InnerReader& reader) {
  RETURN_IF_ERROR(reader.reader().SpendCopied(kLeastResourceBytes));
  NamedResource result;
  ASSIGN_OR_RETURN(result.container, reader.Text(resource.container()));
  ASSIGN_OR_RETURN(result.name, reader.reader().ReadString(resource.name()));
  ASSIGN_OR_RETURN(result.kind, reader.Text(resource.kind()));
  ASSIGN_OR_RETURN(result.dtype, ReadType(resource.dtype()));
  ASSIGN_OR_RETURN(result.shape, ReadShape(resource, reader.reader()));
  ASSIGN_OR_RETURN(result.definition, reader.Text(resource.definition()));
  return result;
}

absl::StatusOr<Offset<WirePlacedResources>> WritePlacedResources(
    const std::vector<PlacedResource>& resources, InnerWriter& writer) {
  std::vector<Offset<schemas::PlacedResource>> written;
  written.reserve(resources.size());
  for (const PlacedResource& resource : resources) {
    ASSIGN_OR_RETURN(const auto offset, WritePlacedResource(resource, writer));
    written.push_back(offset);
  }
  return writer.builder().CreateVector(written);
}

absl::StatusOr<std::vector<PlacedResource>> ReadPlacedResources(
    const WirePlacedResources* resources, InnerReader& reader) {
  std::vector<PlacedResource> result;
  if (resources == nullptr) return result;
  for (const schemas::PlacedResource* resource : *resources) {
    ASSIGN_OR_RETURN(PlacedResource read,
                     ReadPlacedResource(*resource, reader));
    result.push_back(std::move(read));
  }
  return result;
}

absl::StatusOr<Offset<WireDeviceUses>> WriteDeviceUses(
    const std::vector<DeviceUse>& uses, InnerWriter& writer) {
  std::vector<Offset<schemas::DeviceUse>> written;
  written.reserve(uses.size());
  for (const DeviceUse& use : uses) {
    RETURN_IF_ERROR(writer.CheckRoom(kDeviceUseBytes));
    written.push_back(schemas::CreateDeviceUse(
        writer.builder(), writer.Number(use.device), use.total, use.in_use));
  }
  return writer.builder().CreateVector(written);
}

absl::StatusOr<std::vector<DeviceUse>> ReadDeviceUses(
    const WireDeviceUses* uses, InnerReader& reader) {
  std::vector<DeviceUse> result;
  if (uses == nullptr) return result;
  for (const schemas::DeviceUse* use : *uses) {
    RETURN_IF_ERROR(reader.reader().SpendCopied(kLeastDeviceUseBytes));
    DeviceUse read;
    ASSIGN_OR_RETURN(read.device, reader.Text(use->device()));
    read.total = use->total();
    read.in_use = use->in_use();
    if (read.total < 0 || read.in_use < 0) {
      return DamagedMessage(absl::StrCat(read.device, " has ", read.total,
                                         " bytes, and uses ", read.in_use));
    }
    result.push_back(std::move(read));
  }
  return result;
}

}  // namespace weft::protocol
