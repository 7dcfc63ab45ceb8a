// Kernels of stacks, which live as long as a step: loops keep values for their
// gradients in them.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/resource.h"

namespace weft {
namespace {

// Thread-safe.
class Stack : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Stack";

  Stack(std::string name, DataType dtype, int64_t max_size)
      : name_(std::move(name)), dtype_(dtype), max_size_(max_size) {}

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override {
    absl::MutexLock lock(&mutex_);
    return absl::StrCat("a stack of ", values_.size(), " tensors");
  }

  // `device` is the device whose memory holds the value; null: the host.
  absl::Status Push(Tensor value, const Device* device) {
    if (value.dtype() != dtype_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Must have type ", DataTypeName(dtype_), " but got ",
                       DataTypeName(value.dtype())));
    }
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckOpen());
    if (max_size_ >= 0 && static_cast<int64_t>(values_.size()) >= max_size_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Stack[", name_, "] overflowed its max_size (", max_size_, ")"));
    }
    values_.push_back({std::move(value), device});
    return absl::OkStatus();
  }

  // Returns FAILED_PRECONDITION for a value in the memory of another device.
  absl::StatusOr<Tensor> Pop(const Device* device) {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckOpen());
    if (values_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Stack[", name_, "] is empty when calling Pop()."));
    }
    if (values_.back().device != device) {
      return absl::FailedPreconditionError(
          absl::StrCat("Stack[", name_,
                       "] was pushed to on another device; place its "
                       "pushes and pops on one, as colocate_with does"));
    }
    Tensor value = std::move(values_.back().tensor);
    values_.pop_back();
    return value;
  }

  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    values_.clear();
  }

 private:
  struct Value {
    Tensor tensor;
    const Device* device;
  };

  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!closed_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Stack[", name_, "] has already been closed."));
  }

  const std::string name_;
  const DataType dtype_;
  const int64_t max_size_;  // negative: unbounded
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Value> values_ ABSL_GUARDED_BY(mutex_);
};

class StackKernel : public OpKernel {
 public:
  explicit StackKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        dtype_(
            construction.GetAttr<DataType>("elem_type").value_or(DT_INVALID)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const int64_t max_size, MaxSize(context));
    const std::string name =
        absl::StrCat(context.node_name(), "_", count_.fetch_add(1));
    RETURN_IF_ERROR(context.step_resources().LookupOrCreate<Stack>(
        context.cancellation(), "", name,
        [&]() -> absl::StatusOr<std::shared_ptr<Stack>> {
          return std::make_shared<Stack>(name, dtype_, max_size);
        }));
    return SetStepHandle(context, name, Stack::kTypeName);
  }

 private:
  // The op without a version is unbounded.
  static absl::StatusOr<int64_t> MaxSize(const OpKernelContext& context) {
    if (context.num_inputs() == 0) return -1;
    const Tensor& max_size = context.input(0);
    if (max_size.shape().IsScalar()) return max_size.scalar<int32_t>();
    return absl::InvalidArgumentError(
        absl::StrCat("Stack size must be a scalar, but had shape: ",
                     max_size.shape().ToString()));
  }

  const DataType dtype_;
  std::atomic<int64_t> count_{0};
};

// Attr swap_memory has no effect, because Weft does not swap to host memory.
class StackPushKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto stack, FindStepResource<Stack>(context, 0));
    RETURN_IF_ERROR(stack->Push(context.input(1), context.MemoryOfOutput(0)));
    context.SetOutput(0, context.TakeInput(1));
    return absl::OkStatus();
  }
};

class StackPopKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto stack, FindStepResource<Stack>(context, 0));
    ASSIGN_OR_RETURN(Tensor value, stack->Pop(context.MemoryOfOutput(0)));
    if (value.dtype() != context.output_type(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the stack holds ", DataTypeName(value.dtype()),
                       ", not ", DataTypeName(context.output_type(0))));
    }
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }
};

class StackCloseKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto stack, FindStepResource<Stack>(context, 0));
    stack->Close();
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterStackKernels(KernelRegistry& registry) {
  constexpr bool kCheap = true;
  registry.Register<StackKernel>("Stack", {}, kCheap);
  registry.Register<StackKernel>("StackV2", {}, kCheap);
  registry.Register<StackPushKernel>("StackPush", {}, kCheap);
  registry.Register<StackPushKernel>("StackPushV2", {}, kCheap);
  registry.Register<StackPopKernel>("StackPop", {}, kCheap);
  registry.Register<StackPopKernel>("StackPopV2", {}, kCheap);
  registry.Register<StackCloseKernel>("StackClose", {}, kCheap);
  registry.Register<StackCloseKernel>("StackCloseV2", {}, kCheap);
}

}  // namespace weft
