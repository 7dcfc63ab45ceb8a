#include "libs/session/feed_shapes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Returns whether the value has the shape. Each step calls this for each feed,
// so neither shape is copied.
bool Fits(const PartialShape& shape, const TensorShape& value) {
  if (!shape.has_rank()) return true;
  if (shape.rank() != value.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t size = shape.dim(i);
    if (size != PartialShape::kUnknown && size != value.dim(i)) return false;
  }
  return true;
}

// Formats sizes as Python prints a tuple: "()", "(3,)", "(?, 2)".
std::string Tuple(absl::Span<const int64_t> sizes) {
  const auto append = [](std::string* out, int64_t size) {
    absl::StrAppend(out, size < 0 ? "?" : absl::StrCat(size));
  };
  return absl::StrCat("(", absl::StrJoin(sizes, ", ", append),
                      sizes.size() == 1 ? ",)" : ")");
}

}  // namespace

absl::Status CheckFeedShape(absl::string_view name, const PartialShape& shape,
                            const Tensor& value) {
  if (Fits(shape, value.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot feed value of shape ", Tuple(value.shape().dims()),
      " for Tensor '", name, "', which has shape '", Tuple(shape.dims()), "'"));
}

FeedShapes::FeedShapes(const Graph& graph,
                       const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto fed = graph.FindOutputTensor(name);
    feeds_.push_back({name, fed.ok() ? fed->node->output_shape(fed->index)
                                     : PartialShape::UnknownRank()});
  }
}

absl::Status FeedShapes::Check(absl::Span<const Tensor> values) const {
  const size_t count = std::min(feeds_.size(), values.size());
  for (size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckFeedShape(feeds_[i].name, feeds_[i].shape, values[i]));
  }
  return absl::OkStatus();
}

}  // namespace weft
