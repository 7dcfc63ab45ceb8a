// TensorArray is an array of tensors that lives as long as its step; loops read
// from it and write to it. Each element is written once. The array of gradients
// of another array adds up repeated writes instead.
//
// Rules and error texts are TensorFlow's (core/kernels/tensor_array.cc).
//
// Threads: all methods may be called from any thread.
#ifndef WEFT_LIBS_RESOURCE_TENSOR_ARRAY_H_
#define WEFT_LIBS_RESOURCE_TENSOR_ARRAY_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/hash_tables.h"
#include "libs/resource/resource.h"
#include "libs/tensor/tensor.h"

namespace weft {

struct TensorArrayOptions {
  DataType dtype = DT_INVALID;
  PartialShape element_shape;
  int64_t size = 0;
  bool dynamic_size = false;  // extended by writes
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool adds_up = false;  // repeated writes add up: it holds gradients
};

class TensorArray : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "TensorArray";

  // Adds the second tensor to the first, of the same dtype and shape; may write
  // in place.
  using AddFn = absl::FunctionRef<absl::Status(Tensor& sum, const Tensor&)>;

  // `name` is for error texts.
  TensorArray(std::string name, TensorArrayOptions options);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  DataType dtype() const { return options_.dtype; }

  absl::StatusOr<int64_t> Size() const;
  // The size once `count` elements are written: a dynamic array is extended to
  // hold them, but none is shortened.
  absl::StatusOr<int64_t> SizeToHold(int64_t count) const;
  // The shape of all elements, as far as it is known.
  PartialShape element_shape() const;

  absl::Status Write(int64_t index, Tensor value, AddFn add);
  // Makes an element that was never written, if its shape is known.
  using ZerosFn =
      absl::FunctionRef<absl::StatusOr<Tensor>(DataType, const TensorShape&)>;
  absl::StatusOr<Tensor> Read(int64_t index, ZerosFn zeros);
  // Drops all elements and rejects further use.
  void Close();

  // Creates the array of this array's gradients: elements written here are
  // zeros of their shape there. This array can no longer be extended.
  absl::StatusOr<std::shared_ptr<TensorArray>> NewGradients(
      const std::string& name);

 private:
  struct Element {
    Tensor value;  // uninitialized: zeros, unless cleared
    TensorShape shape;
    bool read = false;
    bool cleared = false;
  };

  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckWrite(int64_t index, const Tensor& value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<TensorShape> ZerosShape(int64_t index) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Invalid(absl::string_view text) const;

  const std::string name_;
  mutable absl::Mutex mutex_;
  TensorArrayOptions options_;  // dtype is constant, the rest is guarded
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // The elements that were written.
  FlatHashMap<int64_t, Element> elements_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_TENSOR_ARRAY_H_
