#include "libs/checkpoint/slice_protos.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "libs/base/status.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor_shape.pb.h"
#include "schemas/tf/tensor_slice.pb.h"

namespace weft::checkpoint {

using Extent = TensorSlice::Extent;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

namespace {

absl::Status NoMessage() {
  return absl::DataLossError("the bytes are not a protobuf message");
}

// Reads the bytes of the next field, which must be a message, and advances
// `in`.
bool ReadInner(absl::string_view bytes, CodedInputStream& in,
               absl::string_view* inner) {
  uint32_t size = 0;
  if (!in.ReadVarint32(&size) || size > size_t{INT_MAX}) return false;
  const auto begin = static_cast<size_t>(in.CurrentPosition());
  if (!in.Skip(static_cast<int>(size))) return false;
  *inner = bytes.substr(begin, size);
  return true;
}

}  // namespace

absl::Status SplitMessage(
    absl::string_view bytes, int field, std::string* rest,
    absl::FunctionRef<absl::Status(absl::string_view)> visit) {
  if (bytes.size() > size_t{INT_MAX}) return NoMessage();
  const uint32_t wanted =
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  for (;;) {
    const auto begin = static_cast<size_t>(in.CurrentPosition());
    const uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    if (tag == wanted) {
      absl::string_view inner;
      if (!ReadInner(bytes, in, &inner)) return NoMessage();
      RETURN_IF_ERROR(visit(inner));
      continue;
    }
    if (!WireFormatLite::SkipField(&in, tag)) return NoMessage();
    if (rest != nullptr) {
      const auto end = static_cast<size_t>(in.CurrentPosition());
      absl::StrAppend(rest, bytes.substr(begin, end - begin));
    }
  }
  return in.ConsumedEntireMessage() ? absl::OkStatus() : NoMessage();
}

absl::Status ForEachSlice(absl::string_view bytes, int field,
                          const TensorShape& shape, HeapCharge& charge,
                          absl::FunctionRef<absl::Status(TensorSlice)> visit) {
  // The sizes include the slice's Box and spare capacity of vectors.
  constexpr size_t kSliceBytes = 256;
  constexpr size_t kExtentBytes = 64;
  // The size limit of one slice's message, which is more than the maximum rank
  // needs.
  constexpr size_t kMaxMessageBytes = size_t{1} << 16;
  const size_t slice_bytes = kSliceBytes + kExtentBytes * shape.rank();
  return SplitMessage(
      bytes, field, nullptr, [&](absl::string_view message) -> absl::Status {
        tf::TensorSliceProto proto;
        if (message.size() > kMaxMessageBytes || !ParseProto(message, proto)) {
          return NoMessage();
        }
        RETURN_IF_ERROR(charge.Add(slice_bytes));
        ASSIGN_OR_RETURN(TensorSlice slice, ReadSlice(proto));
        RETURN_IF_ERROR(slice.SliceShape(shape).status());
        return visit(std::move(slice));
      });
}

absl::StatusOr<TensorShape> ReadShape(const tf::TensorShapeProto& proto) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeFromProto(proto));
  if (!shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape ", shape.ToString(), " has an unknown size"));
  }
  return shape.ToShape();
}

absl::StatusOr<TensorSlice> ReadSlice(const tf::TensorSliceProto& proto) {
  std::vector<Extent> extents;
  extents.reserve(proto.extent_size());
  for (const auto& extent : proto.extent()) {
    const bool full = extent.has_length_case() ==
                      tf::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
    extents.push_back({.start = full ? 0 : extent.start(),
                       .length = full ? Extent::kFull : extent.length()});
  }
  return TensorSlice::Create(std::move(extents));
}

void WriteSlice(const TensorSlice& slice, tf::TensorSliceProto* proto) {
  for (const Extent& extent : slice.extents()) {
    auto* to = proto->add_extent();
    if (extent.IsFull()) continue;
    to->set_start(extent.start);
    to->set_length(extent.length);
  }
}

}  // namespace weft::checkpoint
