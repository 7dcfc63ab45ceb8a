// TensorArray is an array of tensors that lives until the end of its step.
// Loops read from it and write to it. Each element is written once. Only an
// array that holds the gradients of another array adds up repeated writes.
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
  bool dynamic_size = false;  // whether writes extend the array
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool adds_up = false;  // for arrays of gradients
};

class TensorArray : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "TensorArray";

  // Adds the second tensor to the first, which has the same dtype and shape.
  // May write in place.
  using AddFn = absl::FunctionRef<absl::Status(Tensor& sum, const Tensor&)>;

  // `name` is used in error texts.
  TensorArray(std::string name, TensorArrayOptions options);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  DataType dtype() const { return options_.dtype; }

  absl::StatusOr<int64_t> Size() const;
  // Returns the size of the array after `count` elements are written. A dynamic
  // array is extended if necessary. No array is shortened.
  absl::StatusOr<int64_t> SizeToHold(int64_t count) const;
  // Returns the shape of all elements, as far as it is known.
  PartialShape element_shape() const;

  absl::Status Write(int64_t index, Tensor value, AddFn add);
  // Makes a tensor of zeros, for reading an element that was never written.
  using ZerosFn =
      absl::FunctionRef<absl::StatusOr<Tensor>(DataType, const TensorShape&)>;
  absl::StatusOr<Tensor> Read(int64_t index, ZerosFn zeros);
  // Drops all elements. Later calls are errors.
  void Close();

  // Creates the array of this array's gradients. For each element written here,
  // it holds zeros of the same shape. Afterwards this array can no longer be
  // extended.
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
