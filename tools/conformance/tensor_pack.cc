#include "tools/conformance/tensor_pack.h"

#include "google/protobuf/io/coded_stream.h"
#include "libs/base/status.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/named_tensor.pb.h"

namespace weft::conformance {
namespace {

// The tag of field 1 with a length-delimited value.
constexpr uint32_t kTensorTag = (1 << 3) | 2;

bool ReadRecord(google::protobuf::io::CodedInputStream& input,
                tf::NamedTensorProto* record) {
  int size = 0;
  if (input.ReadTag() != kTensorTag || !input.ReadVarintSizeAsInt(&size)) {
    return false;
  }
  const auto limit = input.PushLimit(size);
  if (!record->ParseFromCodedStream(&input)) return false;
  input.PopLimit(limit);
  return true;
}

}  // namespace

absl::StatusOr<TensorPack> ParseTensorPack(absl::string_view bytes) {
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  TensorPack pack;
  while (input.CurrentPosition() < static_cast<int>(bytes.size())) {
    tf::NamedTensorProto record;
    if (!ReadRecord(input, &record)) {
      return absl::InvalidArgumentError("the bytes are not a TensorPack");
    }
    auto tensor = TensorFromProto(record.tensor(), HeapAllocator());
    if (!tensor.ok()) return Annotate(tensor.status(), record.name());
    pack[record.name()] = *std::move(tensor);
  }
  return pack;
}

}  // namespace weft::conformance
