#include "libs/resource/tensor_array.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

TensorArray::TensorArray(std::string name, TensorArrayOptions options)
    : name_(std::move(name)), options_(std::move(options)) {}

std::string TensorArray::DebugString() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrCat("an array of ", options_.size, " tensors of ",
                      DataTypeName(options_.dtype), ", ", elements_.size(),
                      " written");
}

absl::Status TensorArray::Invalid(absl::string_view text) const {
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray ", name_, ": ", text));
}

absl::Status TensorArray::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray ", name_, " has already been closed."));
}

absl::StatusOr<int64_t> TensorArray::Size() const {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  return options_.size;
}

absl::StatusOr<int64_t> TensorArray::SizeToHold(int64_t count) const {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  return options_.dynamic_size ? std::max(options_.size, count) : options_.size;
}

PartialShape TensorArray::element_shape() const {
  absl::MutexLock lock(&mutex_);
  return options_.element_shape;
}

void TensorArray::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  elements_.clear();
}

absl::Status TensorArray::CheckWrite(int64_t index, const Tensor& value) {
  RETURN_IF_ERROR(CheckOpen());
  if (index < 0 || (index >= options_.size && !options_.dynamic_size)) {
    return Invalid(absl::StrCat(
        "Tried to write to index ", index,
        " but array is not resizeable and size is: ", options_.size));
  }
  const auto refuse = [&](const auto&... because) {
    return Invalid(absl::StrCat("Could not write to TensorArray index ", index,
                                " because ", because...));
  };
  if (value.dtype() != options_.dtype) {
    return refuse("the value dtype is ", DataTypeName(value.dtype()),
                  " but TensorArray dtype is ", DataTypeName(options_.dtype),
                  ".");
  }
  if (!options_.element_shape.IsCompatibleWith(value.shape())) {
    return refuse("the value shape is ", value.shape().ToString(),
                  " which is incompatible with the TensorArray's inferred "
                  "element shape: ",
                  options_.element_shape.ToString(),
                  " (consider setting infer_shape=False).");
  }
  auto found = elements_.find(index);
  if (found == elements_.end()) return absl::OkStatus();
  if (found->second.read) return refuse("it has already been read.");
  if (!options_.adds_up) return refuse("it has already been written to.");
  if (found->second.shape == value.shape()) return absl::OkStatus();
  return Invalid(absl::StrCat(
      "Could not aggregate to TensorArray index ", index,
      " because the existing shape is ", found->second.shape.ToString(),
      " but the new input shape is ", value.shape().ToString(), "."));
}

absl::Status TensorArray::Write(int64_t index, Tensor value, AddFn add) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckWrite(index, value));
  if (options_.identical_element_shapes) {
    options_.element_shape = value.shape();
  }
  options_.size = std::max(options_.size, index + 1);
  Element& element = elements_[index];
  if (element.value.IsInitialized()) return add(element.value, value);
  element.shape = value.shape();
  element.value = std::move(value);
  return absl::OkStatus();
}

absl::StatusOr<TensorShape> TensorArray::ZerosShape(int64_t index) const {
  if (options_.element_shape.IsFullyDefined()) {
    return options_.element_shape.ToShape();
  }
  return Invalid(absl::StrCat(
      "Could not read from TensorArray index ", index,
      ".  Furthermore, the element shape is not fully defined: ",
      options_.element_shape.ToString(),
      ".  It is possible you are working with a resizeable TensorArray and "
      "stop_gradients is not allowing the gradients to be written.  If you set "
      "the full element_shape property on the forward TensorArray, the proper "
      "all-zeros tensor will be returned instead of incurring this error."));
}

absl::StatusOr<Tensor> TensorArray::Read(int64_t index, ZerosFn zeros) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  if (index < 0 || index >= options_.size) {
    return Invalid(absl::StrCat("Tried to read from index ", index,
                                " but array size is: ", options_.size));
  }
  auto found = elements_.find(index);
  if (found == elements_.end()) {
    ASSIGN_OR_RETURN(const TensorShape shape, ZerosShape(index));
    return zeros(options_.dtype, shape);
  }
  Element& element = found->second;
  if (element.cleared) {
    return Invalid(absl::StrCat(
        "Could not read index ", index,
        " twice because it was cleared after a previous read (perhaps try "
        "setting clear_after_read = false?)."));
  }
  if (!element.value.IsInitialized()) {
    ASSIGN_OR_RETURN(element.value, zeros(options_.dtype, element.shape));
  }
  element.read = true;
  if (!options_.clear_after_read) return element.value;
  element.cleared = true;
  return std::exchange(element.value, Tensor());
}

absl::StatusOr<std::shared_ptr<TensorArray>> TensorArray::NewGradients(
    const std::string& name) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckOpen());
  options_.dynamic_size = false;
  TensorArrayOptions options = options_;
  options.adds_up = true;
  options.clear_after_read = true;
  auto gradients = std::make_shared<TensorArray>(name, std::move(options));
  absl::MutexLock gradients_lock(&gradients->mutex_);
  for (const auto& [index, element] : elements_) {
    gradients->elements_[index].shape = element.shape;
  }
  return gradients;
}

}  // namespace weft
