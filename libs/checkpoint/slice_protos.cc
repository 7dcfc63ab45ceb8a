#include "libs/checkpoint/slice_protos.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor_shape.pb.h"
#include "schemas/tf/tensor_slice.pb.h"

namespace weft::checkpoint {

using Extent = TensorSlice::Extent;

absl::StatusOr<TensorShape> ReadShape(const tf::TensorShapeProto& proto) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeFromProto(proto));
  if (!shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a size of ", shape.ToString(), " is unknown"));
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
