// Views of sparse tensors for kernels: indices [n, rank], values [n], dense
// shape [rank]; and the encoding of sparse and ragged tensors as variants.
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

// TensorFlow's type name of a variant that holds a tensor. A sparse tensor is
// encoded as three: its indices, values and shape.
inline constexpr char kTensorVariant[] = "tensorflow::Tensor";

inline Variant TensorVariant(const Tensor& tensor) {
  return {kTensorVariant, "",
          std::make_shared<const std::vector<Tensor>>(1, tensor)};
}

// The type name for a ragged tensor, or a row of one: it holds its row splits
// from the outermost to the innermost, then its values.
inline constexpr char kRaggedVariant[] = "RaggedTensorVariant";

inline Variant RaggedVariant(std::vector<Tensor> tensors) {
  return {kRaggedVariant, "",
          std::make_shared<const std::vector<Tensor>>(std::move(tensors))};
}

// The error of an invalid ragged tensor.
template <typename... Parts>
absl::Status RaggedError(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// A view; the tensors must outlive it.
class SparseView {
 public:
  // Returns INVALID_ARGUMENT unless they are one sparse tensor with a valid
  // shape. Indices are not checked. `values` may be null.
  static absl::StatusOr<SparseView> Of(const Tensor& indices,
                                       const Tensor* values,
                                       const Tensor& shape);
  // Like Of, for any sizes in the shape: for ops that compare indices and
  // create no dense tensor, where TensorFlow accepts any sizes, too.
  static absl::StatusOr<SparseView> OfAnySizes(const Tensor& indices,
                                               const Tensor* values,
                                               const Tensor& shape);

  // The number of stored elements.
  int64_t count() const { return count_; }
  int rank() const { return static_cast<int>(sizes_.size()); }
  const Dims& sizes() const { return sizes_; }
  // REQUIRES: created by Of.
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
  // The error for element `i`, which is out of bounds and is called `number`.
  absl::Status OutOfBounds(int64_t i, int64_t number) const;
  // Returns INVALID_ARGUMENT, naming the first index out of bounds, unless all
  // indices are within the shape.
  absl::Status CheckBounds() const;
  // Like CheckBounds, and also requires sorted, distinct indices.
  absl::Status CheckOrder() const;
  // Returns the elements' numbers sorted by position; elements at one position
  // keep their order. `charge` counts the memory; RESOURCE_EXHAUSTED beyond the
  // bound.
  absl::StatusOr<std::vector<int64_t>> Order(HeapCharge& charge) const;
  // The row-major position of element `i` in the dense tensor. REQUIRES:
  // created by Of; in bounds.
  int64_t FlatPosition(int64_t i) const;

 private:
  const int64_t* indices_ = nullptr;
  int64_t count_ = 0;
  Dims sizes_;
  TensorShape shape_;
};

// The error for element `i`, whose row is not below `num_rows`.
absl::Status RowOutOfBounds(int64_t i, int64_t row, int64_t num_rows);

// Sets output `i` to the vector `values`.
absl::Status SetVector(OpKernelContext& context, int i,
                       absl::Span<const int64_t> values);

// Sets output `i` to elements `rows` of `values`.
absl::Status SetChosen(OpKernelContext& context, int i, const Tensor& values,
                       absl::Span<const int64_t> rows);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SPARSE_SPARSE_TENSOR_H_
