// Broadcast maps the elements of two or three tensors to each other by NumPy's
// rule.
//
// Adjacent dimensions with the same broadcast operands are joined, so that most
// cases become one long row.
#ifndef WEFT_LIBS_KERNELS_MATH_BROADCAST_H_
#define WEFT_LIBS_KERNELS_MATH_BROADCAST_H_

#include <array>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "libs/tensor/shape.h"

namespace weft {

inline constexpr int kMaxOperands = 3;

// A value; not synchronized.
class Broadcast {
 public:
  // Returns INVALID_ARGUMENT "Incompatible shapes: [2] vs. [3]".
  static absl::StatusOr<Broadcast> Of(const TensorShape& a,
                                      const TensorShape& b);
  static absl::StatusOr<Broadcast> Of(const TensorShape& a,
                                      const TensorShape& b,
                                      const TensorShape& c);

  const TensorShape& shape() const { return shape_; }  // of the result

  // The result is `rows` consecutive rows of `row_size` elements.
  int64_t rows() const { return rows_; }
  int64_t row_size() const { return row_size_; }
  // The distance of operand `i` between elements of a row: 0 or 1.
  int64_t step(int operand) const { return steps_[operand]; }

  // The offset of a row in each operand.
  using Offsets = std::array<int64_t, kMaxOperands>;
  // Calls `work` for rows [begin, end), in order.
  void ForEachRow(
      int64_t begin, int64_t end,
      absl::FunctionRef<void(int64_t row, const Offsets& offsets)> work) const;

 private:
  struct OuterDim {
    int64_t size;
    Offsets strides;  // in elements; 0 for broadcast operands
  };

  static absl::StatusOr<Broadcast> OfAll(
      absl::Span<const TensorShape* const> shapes);
  void JoinDims(absl::Span<const TensorShape* const> shapes);

  TensorShape shape_;
  int64_t rows_ = 1;
  int64_t row_size_ = 1;
  Offsets steps_{};
  absl::InlinedVector<OuterDim, 4> outer_;  // innermost first
};

// The shape that `a` and `b` broadcast to, with the error of Broadcast::Of.
absl::StatusOr<TensorShape> BroadcastShape(const TensorShape& a,
                                           const TensorShape& b);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_BROADCAST_H_
