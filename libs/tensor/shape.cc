#include "libs/tensor/shape.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max();

std::string Describe(absl::Span<const int64_t> dims) {
  const auto size = [](std::string* out, int64_t dim) {
    if (dim == PartialShape::kUnknown) {
      out->push_back('?');
    } else {
      absl::StrAppend(out, dim);
    }
  };
  return absl::StrCat("[", absl::StrJoin(dims, ",", size), "]");
}

// Checks rank and sizes; unknown ones only if they are allowed. A size of 0
// counts as 1, so that no kernel's strides overflow on an empty tensor.
absl::Status Check(absl::Span<const int64_t> dims, int64_t smallest) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape has rank ", dims.size(), ", more than the ",
                     kMaxRank, " that tensors may have"));
  }
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim < smallest) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shape ", absl::StrCat("[", absl::StrJoin(dims, ","), "]"),
          " has a dimension of ", dim, "; it must be >= ", smallest));
    }
    if (dim > 0 && __builtin_mul_overflow(elements, dim, &elements)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape ", Describe(dims),
                       " would have more than 2**63 - 1 elements"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

TensorShape::TensorShape(std::initializer_list<int64_t> dims)
    : dims_(dims.begin(), dims.end()) {
  Recount();
}

TensorShape::TensorShape(absl::Span<const int64_t> dims)
    : dims_(dims.begin(), dims.end()) {
  Recount();
}

absl::StatusOr<TensorShape> TensorShape::Create(
    absl::Span<const int64_t> dims) {
  if (absl::Status status = Check(dims, 0); !status.ok()) return status;
  return TensorShape(dims);
}

// An invalid shape counts as too large to allocate, so a mistake ends in an
// error rather than in too small a buffer.
void TensorShape::Recount() {
  num_elements_ = 1;
  for (const int64_t dim : dims_) {
    if (dim < 0 || __builtin_mul_overflow(num_elements_, dim, &num_elements_)) {
      num_elements_ = kMaxElements;
      return;
    }
  }
}

void TensorShape::AddDim(int64_t size) {
  dims_.push_back(size);
  Recount();
}

void TensorShape::InsertDim(int position, int64_t size) {
  dims_.insert(dims_.begin() + position, size);
  Recount();
}

void TensorShape::RemoveDim(int position) {
  dims_.erase(dims_.begin() + position);
  Recount();
}

void TensorShape::set_dim(int i, int64_t size) {
  dims_[i] = size;
  Recount();
}

std::string TensorShape::ToString() const { return Describe(dims_); }

absl::StatusOr<PartialShape> PartialShape::Create(
    absl::Span<const int64_t> dims) {
  if (absl::Status status = Check(dims, kUnknown); !status.ok()) return status;
  return PartialShape(Dims(dims.begin(), dims.end()));
}

bool PartialShape::IsFullyDefined() const {
  return known_rank_ && std::all_of(dims_.begin(), dims_.end(),
                                    [](int64_t dim) { return dim >= 0; });
}

int64_t PartialShape::num_elements() const {
  return IsFullyDefined() ? ToShape().num_elements() : kUnknown;
}

TensorShape PartialShape::ToShape() const { return TensorShape(dims()); }

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (dims_.size() != other.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    const bool known = dims_[i] != kUnknown && other.dims_[i] != kUnknown;
    if (known && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

absl::StatusOr<PartialShape> PartialShape::MergeWith(
    const PartialShape& other) const {
  if (!IsCompatibleWith(other)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Incompatible shapes during merge: ", ToString(), " vs. ",
                     other.ToString()));
  }
  if (!known_rank_) return other;
  PartialShape result = *this;
  if (!other.known_rank_) return result;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] == kUnknown) result.dims_[i] = other.dims_[i];
  }
  return result;
}

std::string PartialShape::ToString() const {
  return known_rank_ ? Describe(dims_) : "<unknown>";
}

}  // namespace weft
