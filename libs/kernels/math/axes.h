// Checked inputs that select dimensions, and the plan of a reduction.
#ifndef WEFT_LIBS_KERNELS_MATH_AXES_H_
#define WEFT_LIBS_KERNELS_MATH_AXES_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "libs/tensor/tensor.h"

namespace weft {

// All integers of a tensor of any integer type. Returns INVALID_ARGUMENT for
// other types.
absl::StatusOr<absl::InlinedVector<int64_t, 8>> IntegerValues(
    const Tensor& tensor);

// The integer of a scalar. Returns INVALID_ARGUMENT, naming `what`, for other
// shapes.
absl::StatusOr<int64_t> IntegerScalar(const Tensor& tensor,
                                      absl::string_view what);

// The dimension along which Cumsum and related ops run, from 0.
absl::StatusOr<int> ScanAxis(const Tensor& axis, int rank);

// ReductionPlan describes a reduction along some axes for kernels: dimensions
// of size 1 are removed, and adjacent dimensions are joined if both are kept or
// both reduced. Kept and reduced dimensions then alternate.
class ReductionPlan {
 public:
  // Returns INVALID_ARGUMENT "Invalid reduction dimension (3 for input with 3
  // dimension(s)", also for a repeated axis.
  static absl::StatusOr<ReductionPlan> Make(const TensorShape& input,
                                            const Tensor& axes, bool keep_dims);

  const TensorShape& output_shape() const { return output_shape_; }
  // The number of elements that are reduced to one output element.
  int64_t reduced_count() const { return reduced_count_; }
  // Returns whether nothing is reduced: the output has the elements of the
  // input.
  bool is_copy() const { return is_copy_; }

  // The innermost dimension.
  bool inner_is_reduced() const { return inner_is_reduced_; }
  int64_t inner_size() const { return inner_size_; }
  // The dimensions outside of it, innermost first.
  struct Dim {
    int64_t size;
    int64_t stride;  // in elements of the input
  };
  using DimList = absl::InlinedVector<Dim, 4>;
  const DimList& outer_kept() const { return outer_kept_; }
  const DimList& outer_reduced() const { return outer_reduced_; }

 private:
  void Join(const TensorShape& input, absl::Span<const bool> reduced);

  TensorShape output_shape_;
  int64_t reduced_count_ = 1;
  bool is_copy_ = false;
  bool inner_is_reduced_ = false;
  int64_t inner_size_ = 1;
  DimList outer_kept_;
  DimList outer_reduced_;
};

// Iterates over the offsets of all positions in some dimensions, in row-major
// order.
class DimWalker {
 public:
  explicit DimWalker(const ReductionPlan::DimList& dims, int64_t start = 0);
  static int64_t Count(const ReductionPlan::DimList& dims);
  int64_t offset() const { return offset_; }
  void Next();

 private:
  const ReductionPlan::DimList& dims_;
  absl::InlinedVector<int64_t, 4> position_;
  int64_t offset_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_AXES_H_
