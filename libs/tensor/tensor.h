// Tensor has a dtype, a shape and a reference to the memory of its elements,
// row-major. Copying a Tensor shares the memory; nothing here copies elements
// unless its name says so.
//
// Threads: a value, like a shared_ptr: different Tensors that share memory may
// be used from different threads as long as none is written. Write only a
// tensor with RefCountIsOne(), or one that was just allocated.
#ifndef WEFT_LIBS_TENSOR_TENSOR_H_
#define WEFT_LIBS_TENSOR_TENSOR_H_

#include <cassert>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {

class Tensor {
 public:
  // An uninitialized tensor: dtype DT_INVALID, no memory.
  Tensor() = default;

  // RESOURCE_EXHAUSTED, with dtype and shape, if there is no memory, and
  // INVALID_ARGUMENT if the bytes overflow or the type is not supported.
  // Elements of strings, resources and variants are constructed; all others are
  // uninitialized.
  static absl::StatusOr<Tensor> Allocate(Allocator& allocator, DataType dtype,
                                         const TensorShape& shape);

  // On the heap, with zeroed elements. Aborts if there is no memory: for small
  // tensors and tests.
  Tensor(DataType dtype, const TensorShape& shape);

  template <typename T>
  static Tensor Scalar(T value);
  static Tensor Scalar(const char* value) { return Scalar(std::string(value)); }
  template <typename T>
  static Tensor Vector(absl::Span<const T> values);
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Vector(absl::Span<const T>(values.begin(), values.size()));
  }
  // REQUIRES: as many values as `shape` has elements.
  template <typename T>
  static Tensor FromValues(const TensorShape& shape,
                           absl::Span<const T> values);
  template <typename T>
  static Tensor FromValues(const TensorShape& shape,
                           std::initializer_list<T> values) {
    return FromValues(shape,
                      absl::Span<const T>(values.begin(), values.size()));
  }
  // Uses existing memory. `offset` is in bytes. REQUIRES: the buffer holds that
  // many elements from there on.
  static Tensor FromBuffer(DataType dtype, TensorShape shape, BufferPtr buffer,
                           size_t offset = 0);

  DataType dtype() const { return dtype_; }
  const TensorShape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_.dim(i); }
  int64_t num_elements() const { return shape_.num_elements(); }
  bool IsInitialized() const { return dtype_ != DT_INVALID; }
  // The size of the elements; for strings, the size of the std::string objects.
  size_t num_bytes() const;
  // Includes the memory that strings, resources and variants own. 0 for an
  // uninitialized tensor. Visits each element of these types.
  size_t TotalBytes() const;

  // All elements in row-major order. REQUIRES: T matches dtype().
  template <typename T>
  absl::Span<const T> flat() const {
    CheckType(DataTypeOf<T>::value);
    return absl::Span<const T>(static_cast<const T*>(data_),
                               static_cast<size_t>(num_elements()));
  }
  template <typename T>
  absl::Span<T> mutable_flat() {
    CheckType(DataTypeOf<T>::value);
    return absl::Span<T>(static_cast<T*>(data_),
                         static_cast<size_t>(num_elements()));
  }
  // REQUIRES: exactly one element. Otherwise throws std::logic_error with the
  // tensor's type and shape: it ends a kernel with an error, and other
  // programs.
  template <typename T>
  const T& scalar() const {
    CheckScalar();
    return flat<T>()[0];
  }
  template <typename T>
  T& mutable_scalar() {
    CheckScalar();
    return mutable_flat<T>()[0];
  }
  // Returns whether the elements are in a device's memory, which the CPU cannot
  // read: then only data() may be used, and copies of a DeviceContext.
  bool IsOnDevice() const {
    return buffer_ && buffer_->memory_kind() == MemoryKind::kDevice;
  }
  // The raw memory of the elements; null if there are none.
  const void* data() const { return data_; }
  void* mutable_data() { return data_; }

  // The same memory with another shape. INVALID_ARGUMENT if the number of
  // elements differs.
  absl::StatusOr<Tensor> Reshaped(TensorShape shape) const;

  // Rows [begin, end) of the first dimension. Shares memory if the rows are at
  // least half of the buffer, otherwise copies them, so that a small slice does
  // not keep a large tensor alive. REQUIRES: rank >= 1 and a valid range.
  absl::StatusOr<Tensor> SliceRows(int64_t begin, int64_t end,
                                   Allocator& allocator) const;

  // New memory with the same elements.
  absl::StatusOr<Tensor> DeepCopy(Allocator& allocator) const;

  // True if this Tensor is the only owner of its whole memory, and may write
  // it.
  bool RefCountIsOne() const { return buffer_ && buffer_->RefCountIsOne(); }
  // A copy that shares the memory, faster. REQUIRES: RefCountIsOne().
  Tensor ShareWhenSole() const {
    Tensor copy;
    copy.dtype_ = dtype_;
    copy.shape_ = shape_;
    copy.buffer_ = buffer_.ShareWhenSole();
    copy.data_ = data_;
    return copy;
  }
  // Releases the memory, which `other` keeps, faster than a destructor;
  // afterwards it can only be destroyed or assigned to. REQUIRES:
  // SharesBufferWith(other), and no other thread uses `other`.
  void ReleaseTo(const Tensor& other) {
    assert(SharesBufferWith(other));
    (void)other;
    buffer_.ReleaseOneOfTwo();
  }
  bool SharesBufferWith(const Tensor& other) const {
    return buffer_ && buffer_.get() == other.buffer_.get();
  }
  const BufferPtr& buffer() const { return buffer_; }

  // "Tensor<type: float shape: [2,3] values: 1 2 3 ...>" with at most
  // `max_values` values.
  std::string ToString(int max_values = 10) const;

 private:
  void CheckType(DataType expected) const {
    if (dtype_ != expected) WrongType(expected);
  }
  void CheckScalar() const {
    if (num_elements() != 1) NotScalar();
  }
  [[noreturn]] void NotScalar() const;
  // Aborts: requesting the wrong type is a programming error.
  [[noreturn]] void WrongType(DataType expected) const;

  DataType dtype_ = DT_INVALID;
  TensorShape shape_;
  BufferPtr buffer_;
  void* data_ = nullptr;  // inside *buffer_
};

// Equal dtype, shape and elements, bit for bit (NaNs with equal bits match).
bool SameBits(const Tensor& a, const Tensor& b);

template <typename T>
Tensor Tensor::Scalar(T value) {
  Tensor result(DataTypeOf<T>::value, TensorShape());
  result.mutable_flat<T>()[0] = std::move(value);
  return result;
}

template <typename T>
Tensor Tensor::Vector(absl::Span<const T> values) {
  return FromValues(TensorShape({static_cast<int64_t>(values.size())}), values);
}

template <typename T>
Tensor Tensor::FromValues(const TensorShape& shape,
                          absl::Span<const T> values) {
  Tensor result(DataTypeOf<T>::value, shape);
  absl::Span<T> out = result.mutable_flat<T>();
  assert(out.size() == values.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = values[i];
  return result;
}

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TENSOR_H_
