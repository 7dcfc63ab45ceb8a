// Sparse tensors as kernels see them: indices [n, rank], values [n], dense
// shape [rank]; and what variants of sparse and ragged ones are.
#ifndef WEFT_LIBS_KERNELS_SPARSE_SPARSE_TENSOR_H_
#define WEFT_LIBS_KERNELS_SPARSE_SPARSE_TENSOR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

// TensorFlow's name of a variant that is a tensor: of a sparse one that became
// variants there are three, its indices, values and shape.
inline constexpr char kTensorVariant[] = "tensorflow::Tensor";

inline Variant TensorVariant(const Tensor& tensor) {
  return {kTensorVariant, "",
          std::make_shared<const std::vector<Tensor>>(1, tensor)};
}

// The same of a ragged tensor, or of a row of one: its row splits from the
// outermost to the innermost, then its values.
inline constexpr char kRaggedVariant[] = "RaggedTensorVariant";

inline Variant RaggedVariant(std::vector<Tensor> tensors) {
  return {kRaggedVariant, "",
          std::make_shared<const std::vector<Tensor>>(std::move(tensors))};
}

// Of a ragged tensor that is none.
template <typename... Parts>
absl::Status RaggedError(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// A view; the tensors outlive it.
class SparseView {
 public:
  // INVALID_ARGUMENT unless they are one sparse tensor whose shape is a valid
  // one. Indices are not looked at. `values` may be null.
  static absl::StatusOr<SparseView> Of(const Tensor& indices,
                                       const Tensor* values,
                                       const Tensor& shape);
  // The same of a shape whose sizes may be any numbers: for what compares
  // indices and makes no dense tensor, where TensorFlow takes any, too.
  static absl::StatusOr<SparseView> OfAnySizes(const Tensor& indices,
                                               const Tensor* values,
                                               const Tensor& shape);

  // Elements that are there.
  int64_t count() const { return count_; }
  int rank() const { return static_cast<int>(sizes_.size()); }
  const Dims& sizes() const { return sizes_; }
  // REQUIRES: Of.
  const TensorShape& shape() const { return shape_; }
  // Coordinate `d` of element `i`.
  int64_t index(int64_t i, int d) const { return indices_[i * rank() + d]; }
  absl::Span<const int64_t> position(int64_t i) const {
    return {indices_ + i * rank(), sizes_.size()};
  }

  bool IsInBounds(int64_t i) const {
    for (int d = 0; d < rank(); ++d) {
      if (index(i, d) < 0 || index(i, d) >= sizes_[d]) return false;
    }
    return true;
  }
  // The error of element `i`, which is not in bounds and called `number`.
  absl::Status OutOfBounds(int64_t i, int64_t number) const;
  // INVALID_ARGUMENT, naming the first that is not, unless all indices are
  // within the shape.
  absl::Status CheckBounds() const;
  // The same unless they are also in order, each once.
  absl::Status CheckOrder() const;
  // The elements' numbers in the order of their positions; those at one
  // position in the order in which they came. `charge` counts the memory;
  // RESOURCE_EXHAUSTED where there is none.
  absl::StatusOr<std::vector<int64_t>> Order(HeapCharge& charge) const;
  // Where element `i` is in the dense tensor, row-major. REQUIRES: Of; bounds.
  int64_t FlatPosition(int64_t i) const;

 private:
  const int64_t* indices_ = nullptr;
  int64_t count_ = 0;
  Dims sizes_;
  TensorShape shape_;
};

// The error of element `i`, whose row is none of `num_rows`.
absl::Status RowOutOfBounds(int64_t i, int64_t row, int64_t num_rows);

// Output `i` as the vector `values`.
absl::Status SetVector(OpKernelContext& context, int i,
                       absl::Span<const int64_t> values);

// Output `i` as elements `rows` of `values`.
absl::Status SetChosen(OpKernelContext& context, int i, const Tensor& values,
                       absl::Span<const int64_t> rows);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SPARSE_SPARSE_TENSOR_H_
