// TensorArray: an array of tensors that lives as long as a step: what loops
// read from and write to. Each element is written once; the array of gradients
// of another one adds up what is written instead.
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
  bool dynamic_size = false;  // grows with what is written
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool adds_up = false;  // it holds gradients
};

class TensorArray : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "TensorArray";

  // Adds the second to the first, of one dtype and shape; may write in place.
  using AddFn = absl::FunctionRef<absl::Status(Tensor& sum, const Tensor&)>;

  // `name` is for error texts.
  TensorArray(std::string name, TensorArrayOptions options);

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;

  const std::string& name() const { return name_; }
  DataType dtype() const { return options_.dtype; }

  absl::StatusOr<int64_t> Size() const;
  // What it is once `count` elements are written: an array that grows makes
  // room for them, but none shrinks.
  absl::StatusOr<int64_t> SizeToHold(int64_t count) const;
  // Of all elements, as far as it is known.
  PartialShape element_shape() const;

  absl::Status Write(int64_t index, Tensor value, AddFn add);
  // An element that was never written is what `zeros` makes, where its shape is
  // known.
  using ZerosFn =
      absl::FunctionRef<absl::StatusOr<Tensor>(DataType, const TensorShape&)>;
  absl::StatusOr<Tensor> Read(int64_t index, ZerosFn zeros);
  // Forgets all elements and refuses further use.
  void Close();

  // What an array of this one's gradients begins as: elements written here are
  // zeros of their shape there. This one grows no more.
  absl::StatusOr<std::shared_ptr<TensorArray>> NewGradients(
      const std::string& name);

 private:
  struct Element {
    Tensor value;  // uninitialised: zeros, unless cleared
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
  // Those that were written.
  FlatHashMap<int64_t, Element> elements_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_TENSOR_ARRAY_H_
