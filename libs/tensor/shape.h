// TensorShape is a known shape. PartialShape is a shape as far as it is known
// when a graph is built; sizes, or even the rank, may be unknown.
//
// Both are values, not synchronized. Sizes are elements, never bytes.
#ifndef WEFT_LIBS_TENSOR_SHAPE_H_
#define WEFT_LIBS_TENSOR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace weft {

using Dims = absl::InlinedVector<int64_t, 4>;

// The maximum rank, as in TensorFlow.
inline constexpr int kMaxRank = 254;

class TensorShape {
 public:
  TensorShape() = default;  // a scalar
  // REQUIRES: valid sizes, as checked by Create. For trusted shapes.
  TensorShape(std::initializer_list<int64_t> dims);
  explicit TensorShape(absl::Span<const int64_t> dims);

  // INVALID_ARGUMENT for a negative size, a rank above kMaxRank, or more than
  // 2^63 - 1 elements (counting a size of 0 as 1, so that no stride overflows).
  // For untrusted shapes.
  static absl::StatusOr<TensorShape> Create(absl::Span<const int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return dims_.empty(); }
  bool IsVector() const { return dims_.size() == 1; }
  bool IsMatrix() const { return dims_.size() == 2; }

  // REQUIRES for all: the result is a valid shape.
  void AddDim(int64_t size);
  void InsertDim(int position, int64_t size);
  void RemoveDim(int position);
  void set_dim(int i, int64_t size);

  // "[2,3]"; a scalar is "[]".
  std::string ToString() const;

  friend bool operator==(const TensorShape& a, const TensorShape& b) {
    return a.dims_ == b.dims_;
  }

 private:
  void Recount();

  Dims dims_;
  int64_t num_elements_ = 1;
};

class PartialShape {
 public:
  static constexpr int64_t kUnknown = -1;

  PartialShape() = default;  // unknown rank
  PartialShape(std::initializer_list<int64_t> dims)
      : known_rank_(true), dims_(dims) {}
  explicit PartialShape(Dims dims)
      : known_rank_(true), dims_(std::move(dims)) {}
  PartialShape(
      const TensorShape& shape)  // NOLINT: every shape is a partial one
      : known_rank_(true), dims_(shape.dims().begin(), shape.dims().end()) {}
  static PartialShape UnknownRank() { return PartialShape(); }
  static PartialShape Scalar() {
    return PartialShape(std::initializer_list<int64_t>{});
  }
  static PartialShape Vector(int64_t size) { return PartialShape({size}); }
  static PartialShape Matrix(int64_t rows, int64_t cols) {
    return PartialShape({rows, cols});
  }
  // All sizes unknown.
  static PartialShape OfRank(int rank) {
    return PartialShape(Dims(rank, kUnknown));
  }
  // Checks untrusted sizes: sizes below -1, rank, overflow.
  static absl::StatusOr<PartialShape> Create(absl::Span<const int64_t> dims);

  bool has_rank() const { return known_rank_; }
  // REQUIRES: has_rank().
  int rank() const { return static_cast<int>(dims_.size()); }
  // kUnknown if unknown. REQUIRES: has_rank().
  int64_t dim(int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  void set_dim(int i, int64_t size) { dims_[i] = size; }
  void AddDim(int64_t size) { dims_.push_back(size); }

  bool IsFullyDefined() const;
  // Elements, or kUnknown.
  int64_t num_elements() const;
  // REQUIRES: IsFullyDefined().
  TensorShape ToShape() const;

  bool IsCompatibleWith(const PartialShape& other) const;
  bool IsCompatibleWith(const TensorShape& other) const {
    return IsCompatibleWith(PartialShape(other));
  }
  // The combination of both; INVALID_ARGUMENT if they disagree.
  absl::StatusOr<PartialShape> MergeWith(const PartialShape& other) const;

  // "[2,?]"; unknown rank is "<unknown>".
  std::string ToString() const;

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }

 private:
  bool known_rank_ = false;
  Dims dims_;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_SHAPE_H_
