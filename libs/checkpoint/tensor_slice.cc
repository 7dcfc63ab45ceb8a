#include "libs/checkpoint/tensor_slice.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/checkpoint/ordered_code.h"

namespace weft::checkpoint {
namespace {

using Extent = TensorSlice::Extent;

absl::Status CheckExtent(const Extent& extent) {
  if (extent.IsFull() && extent.start == 0) return absl::OkStatus();
  if (extent.start >= 0 && extent.length >= 1 &&
      extent.start <= INT64_MAX - extent.length) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Expected non-negative start and positive length but got start = ",
      extent.start, ", length = ", extent.length));
}

std::string ExtentToString(const Extent& extent) {
  return extent.IsFull() ? "-" : absl::StrCat(extent.start, ",", extent.length);
}

absl::StatusOr<Extent> ParseExtent(absl::string_view text) {
  if (text == "-") return Extent();
  const std::vector<absl::string_view> pair = absl::StrSplit(text, ',');
  Extent extent;
  if (pair.size() != 2 || !absl::SimpleAtoi(pair[0], &extent.start) ||
      !absl::SimpleAtoi(pair[1], &extent.length)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected a pair of numbers or '-' but got '", text, "'"));
  }
  // A length of -1 in the text is invalid, because kFull has the value -1 and
  // means the whole dimension.
  if (extent.length < 1) extent.length = 0;
  RETURN_IF_ERROR(CheckExtent(extent));
  return extent;
}

absl::StatusOr<TensorShape> ParseSizes(
    absl::Span<const absl::string_view> sizes) {
  Dims dims;
  for (const absl::string_view size : sizes) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(size, &dim)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Non numerical dimension '", size, "'"));
    }
    dims.push_back(dim);
  }
  return TensorShape::Create(dims);
}

absl::StatusOr<ShapeAndSlice> ParseParts(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ' ');
  if (parts.size() < 2) {
    return absl::InvalidArgumentError("Need least two elements");
  }
  ShapeAndSlice result;
  const absl::Span<const absl::string_view> all(parts);
  ASSIGN_OR_RETURN(result.shape, ParseSizes(all.subspan(0, all.size() - 1)));
  ASSIGN_OR_RETURN(result.slice, TensorSlice::Parse(all.back()));
  ASSIGN_OR_RETURN(result.slice_shape, result.slice.SliceShape(result.shape));
  return result;
}

absl::StatusOr<TensorNameSlice> DecodeParts(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const uint64_t marker, ReadNumIncreasing(&bytes));
  if (marker != 0)
    return absl::InvalidArgumentError("the key does not begin with 0");
  TensorNameSlice result;
  ASSIGN_OR_RETURN(result.name, ReadStringIncreasing(&bytes));
  ASSIGN_OR_RETURN(const uint64_t rank, ReadNumIncreasing(&bytes));
  // An extent takes at least two bytes, so a false rank cannot reserve much
  // memory.
  if (rank > bytes.size() / 2) {
    return absl::InvalidArgumentError("bytes for its extents are missing");
  }
  std::vector<Extent> extents(rank);
  for (Extent& extent : extents) {
    ASSIGN_OR_RETURN(extent.start, ReadSignedNumIncreasing(&bytes));
    ASSIGN_OR_RETURN(extent.length, ReadSignedNumIncreasing(&bytes));
  }
  if (!bytes.empty()) return absl::InvalidArgumentError("the key is too long");
  ASSIGN_OR_RETURN(result.slice, TensorSlice::Create(std::move(extents)));
  return result;
}

}  // namespace

absl::StatusOr<TensorSlice> TensorSlice::Create(std::vector<Extent> extents) {
  if (extents.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("a slice of ", extents.size(), " dimensions; at most ",
                     kMaxRank, " are possible"));
  }
  for (const Extent& extent : extents) RETURN_IF_ERROR(CheckExtent(extent));
  TensorSlice slice;
  slice.extents_ = std::move(extents);
  return slice;
}

absl::StatusOr<TensorSlice> TensorSlice::Parse(absl::string_view text) {
  std::vector<Extent> extents;
  for (const absl::string_view part :
       absl::StrSplit(text, ':', absl::SkipEmpty())) {
    const absl::StatusOr<Extent> extent = ParseExtent(part);
    if (!extent.ok()) {
      return Append(extent.status(), absl::StrCat(": string = ", text));
    }
    extents.push_back(*extent);
  }
  return Create(std::move(extents));
}

bool TensorSlice::IsFull() const {
  for (const Extent& extent : extents_) {
    if (!extent.IsFull()) return false;
  }
  return true;
}

std::string TensorSlice::ToString() const {
  return absl::StrJoin(extents_, ":", [](std::string* out, const Extent& e) {
    out->append(ExtentToString(e));
  });
}

absl::StatusOr<TensorShape> TensorSlice::SliceShape(
    const TensorShape& shape) const {
  const auto where = [&] {
    return absl::StrCat(": shape = ", shape.ToString(),
                        ", slice = ", ToString());
  };
  if (shape.rank() != rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Mismatching ranks", where()));
  }
  Dims dims;
  for (int i = 0; i < rank(); ++i) {
    const Extent& extent = extents_[i];
    if (!extent.IsFull() && extent.start + extent.length > shape.dim(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Extent in dimension ", i, " out of bounds", where()));
    }
    dims.push_back(extent.IsFull() ? shape.dim(i) : extent.length);
  }
  return TensorShape::Create(dims);
}

std::string FormatShapeAndSlice(const TensorShape& whole,
                                absl::Span<const int64_t> offset,
                                const TensorShape& part) {
  std::vector<std::string> extents;
  for (int i = 0; i < part.rank(); ++i) {
    extents.push_back(absl::StrCat(offset[i], ",", part.dim(i)));
  }
  return absl::StrCat(absl::StrJoin(whole.dims(), " "), " ",
                      absl::StrJoin(extents, ":"));
}

absl::StatusOr<ShapeAndSlice> ParseShapeAndSlice(absl::string_view text) {
  absl::StatusOr<ShapeAndSlice> result = ParseParts(text);
  if (result.ok()) return result;
  return Append(result.status(),
                absl::StrCat("in shape_and_slice specification: ", text));
}

std::string EncodeTensorNameSlice(absl::string_view name,
                                  const TensorSlice& slice) {
  std::string key;
  AppendNumIncreasing(0, &key);
  AppendStringIncreasing(name, &key);
  AppendNumIncreasing(slice.rank(), &key);
  for (const Extent& extent : slice.extents()) {
    AppendSignedNumIncreasing(extent.start, &key);
    AppendSignedNumIncreasing(extent.length, &key);
  }
  return key;
}

absl::StatusOr<TensorNameSlice> DecodeTensorNameSlice(absl::string_view key) {
  absl::StatusOr<TensorNameSlice> result = DecodeParts(key);
  if (result.ok()) return result;
  return Annotate(result.status(), "not the key of a slice");
}

}  // namespace weft::checkpoint
