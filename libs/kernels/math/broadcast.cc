#include "libs/kernels/math/broadcast.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::Status Incompatible(const TensorShape& a, const TensorShape& b) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Incompatible shapes: ", a.ToString(), " vs. ", b.ToString()));
}

// The size of dimension `i`, counted from the last, which is 0.
int64_t SizeFromEnd(const TensorShape& shape, int i) {
  return i < shape.rank() ? shape.dim(shape.rank() - 1 - i) : 1;
}

}  // namespace

absl::StatusOr<TensorShape> BroadcastShape(const TensorShape& a,
                                           const TensorShape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Dims dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int64_t x = SizeFromEnd(a, i);
    const int64_t y = SizeFromEnd(b, i);
    if (x != y && x != 1 && y != 1) return Incompatible(a, b);
    dims[rank - 1 - i] = x == 1 ? y : x;
  }
  return TensorShape::Create(dims);
}

absl::StatusOr<Broadcast> Broadcast::Of(const TensorShape& a,
                                        const TensorShape& b) {
  return OfAll({&a, &b});
}

absl::StatusOr<Broadcast> Broadcast::Of(const TensorShape& a,
                                        const TensorShape& b,
                                        const TensorShape& c) {
  return OfAll({&a, &b, &c});
}

absl::StatusOr<Broadcast> Broadcast::OfAll(
    absl::Span<const TensorShape* const> shapes) {
  Broadcast result;
  result.shape_ = *shapes[0];
  for (size_t i = 1; i < shapes.size(); ++i) {
    ASSIGN_OR_RETURN(result.shape_, BroadcastShape(result.shape_, *shapes[i]));
  }
  if (result.shape_.num_elements() == 0) {
    result.rows_ = 0;
    result.row_size_ = 0;
  } else {
    result.JoinDims(shapes);
  }
  return result;
}

void Broadcast::JoinDims(absl::Span<const TensorShape* const> shapes) {
  Offsets sizes{1, 1, 1};   // elements of each operand in the dims so far
  Offsets last_moves = {};  // operands that move along it
  bool has_row = false;
  for (int i = 0; i < shape_.rank(); ++i) {
    const int64_t size = SizeFromEnd(shape_, i);
    if (size == 1) continue;
    Offsets moves{};
    Offsets strides{};
    for (size_t j = 0; j < shapes.size(); ++j) {
      moves[j] = SizeFromEnd(*shapes[j], i) == 1 ? 0 : 1;
      strides[j] = moves[j] * sizes[j];
      if (moves[j]) sizes[j] *= size;
    }
    if (!has_row) {
      row_size_ = size;
      steps_ = moves;
      has_row = true;
    } else if (moves == last_moves) {
      (outer_.empty() ? row_size_ : outer_.back().size) *= size;
    } else {
      outer_.push_back({size, strides});
    }
    last_moves = moves;
  }
  for (const OuterDim& dim : outer_) rows_ *= dim.size;
}

void Broadcast::ForEachRow(
    int64_t begin, int64_t end,
    absl::FunctionRef<void(int64_t, const Offsets&)> work) const {
  // The position of row `begin`, then incremented like an odometer.
  absl::InlinedVector<int64_t, 4> position(outer_.size());
  Offsets offsets{};
  int64_t rest = begin;
  for (size_t d = 0; d < outer_.size(); ++d) {
    position[d] = rest % outer_[d].size;
    rest /= outer_[d].size;
    for (int j = 0; j < kMaxOperands; ++j) {
      offsets[j] += position[d] * outer_[d].strides[j];
    }
  }
  for (int64_t row = begin; row < end; ++row) {
    work(row, offsets);
    for (size_t d = 0; d < outer_.size(); ++d) {
      const OuterDim& dim = outer_[d];
      const bool wraps = ++position[d] == dim.size;
      const int64_t moved = wraps ? -(dim.size - 1) : 1;
      for (int j = 0; j < kMaxOperands; ++j) {
        offsets[j] += moved * dim.strides[j];
      }
      if (!wraps) break;
      position[d] = 0;
    }
  }
}

}  // namespace weft
