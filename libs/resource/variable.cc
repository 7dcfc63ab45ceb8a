#include "libs/resource/variable.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

Variable::Variable(std::string name, DataType dtype, PartialShape shape)
    : name_(std::move(name)),
      dtype_(dtype),
      declared_shape_(std::move(shape)) {}

std::string Variable::DebugString() const {
  absl::ReaderMutexLock lock(&mutex_);
  return absl::StrCat(
      DataTypeName(dtype_), " ",
      value_.IsInitialized() ? value_.shape().ToString() : "uninitialized");
}

bool Variable::IsInitialized() const {
  absl::ReaderMutexLock lock(&mutex_);
  return value_.IsInitialized();
}

uint64_t Variable::version() const {
  absl::ReaderMutexLock lock(&mutex_);
  return version_;
}

uint64_t Variable::bytes_copied_on_write() const {
  absl::ReaderMutexLock lock(&mutex_);
  return bytes_copied_;
}

absl::Status Variable::Uninitialized() const {
  return absl::FailedPreconditionError(
      absl::StrCat("Attempting to use uninitialized value ", name_));
}

absl::StatusOr<Tensor> Variable::Read() const {
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (value_.IsInitialized()) return value_;
  }
  return Uninitialized();
}

absl::StatusOr<Tensor> Variable::TryRead() const {
  if (!mutex_.ReaderTryLock()) {
    return absl::UnavailableError(
        absl::StrCat("variable ", name_, " is being written"));
  }
  Tensor value = value_;
  mutex_.ReaderUnlock();
  if (!value.IsInitialized()) return Uninitialized();
  return value;
}

absl::Status Variable::ReadPart(
    absl::FunctionRef<absl::Status(const Tensor& value)> read) const {
  absl::ReaderMutexLock lock(&mutex_);
  if (!value_.IsInitialized()) return Uninitialized();
  return read(value_);
}

absl::Status Variable::Assign(const Cancellation& step, Tensor value) {
  if (value.dtype() != dtype_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Variable ", name_, " and value dtypes don't match; respectively, ",
        DataTypeName(dtype_), " and ", DataTypeName(value.dtype())));
  }
  // `value` ends up holding the old value, which is freed without the lock.
  absl::MutexLock lock(&mutex_);
  if (step.IsCancelled()) return step.status();
  std::swap(value_, value);
  ++version_;
  return absl::OkStatus();
}

absl::Status Variable::MakeWritable(Allocator& allocator) {
  if (!value_.IsInitialized()) return Uninitialized();
  if (value_.RefCountIsOne()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor copy, value_.DeepCopy(allocator));
  bytes_copied_ += copy.num_bytes();
  value_ = std::move(copy);
  return absl::OkStatus();
}

absl::Status Variable::Update(
    const Cancellation& step, Allocator& allocator,
    absl::FunctionRef<absl::Status(Tensor& value)> update) {
  absl::MutexLock lock(&mutex_);
  if (step.IsCancelled()) return step.status();
  RETURN_IF_ERROR(MakeWritable(allocator));
  ++version_;
  return update(value_);
}

// Which locks are held is only known at run time.
absl::Status Variable::UpdateAll(
    const Cancellation& step, Allocator& allocator,
    absl::Span<Variable* const> variables,
    absl::FunctionRef<absl::Status(absl::Span<Tensor* const> values)> update)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  absl::InlinedVector<Variable*, 4> ordered(variables.begin(), variables.end());
  std::sort(ordered.begin(), ordered.end(), std::less<Variable*>());
  if (std::adjacent_find(ordered.begin(), ordered.end()) != ordered.end()) {
    return absl::InvalidArgumentError(
        "one variable was given twice to an update of several");
  }
  for (Variable* variable : ordered) variable->mutex_.Lock();
  absl::Status status = step.IsCancelled() ? step.status() : absl::OkStatus();
  absl::InlinedVector<Tensor*, 4> values;
  for (Variable* variable : variables) {
    if (status.ok()) status = variable->MakeWritable(allocator);
    values.push_back(&variable->value_);
  }
  if (status.ok()) {
    for (Variable* variable : ordered) ++variable->version_;
    status = update(absl::MakeConstSpan(values));
  }
  for (Variable* variable : ordered) variable->mutex_.Unlock();
  return status;
}

}  // namespace weft
