// Updates of whole variables that read them first: AssignAdd, AssignSub and
// CountUpTo, for both kinds of variables.
#include <memory>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/resource/update_checks.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/scatter_rules.h"
#include "libs/kernels/state/state_kernels.h"

namespace weft {
namespace {

template <typename Operation>
class AssignUpdateKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    const Tensor& value = context.input(1);
    RETURN_IF_ERROR(CheckVariableType(*variable, value.dtype()));
    RETURN_IF_ERROR(variable->Update(
        context.cancellation(), context.allocator(),
        [&](const Tensor& from, Tensor& to) { return Apply(from, value, to); },
        context.when_locked()));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  static absl::Status Apply(const Tensor& current, const Tensor& value,
                            Tensor& next) {
    RETURN_IF_ERROR(CheckAddedShape(current.shape(), value.shape()));
    return DispatchType(Numbers{}, current.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          const T* from = current.flat<T>().data();
                          const T* change = value.flat<T>().data();
                          T* to = next.mutable_flat<T>().data();
                          const int64_t size = value.num_elements();
                          for (int64_t i = 0; i < size; ++i) {
                            to[i] = Operation::Apply(from[i], change[i]);
                          }
                          return absl::OkStatus();
                        });
  }

  VariableLookup lookup_;
};

class CountUpToKernel : public OpKernel {
 public:
  explicit CountUpToKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        limit_(construction.GetAttr<int64_t>("limit").value_or(0)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    RETURN_IF_ERROR(CheckVariableType(*variable, context.output_type(0)));
    ASSIGN_OR_RETURN(Tensor * before, context.AllocateOutput(0, {}));
    return variable->Update(
        context.cancellation(), context.allocator(),
        [&](const Tensor& value, Tensor& next) {
          if (!value.shape().IsScalar()) {
            return absl::InvalidArgumentError(absl::StrCat(
                "input is not a scalar: ", value.shape().ToString()));
          }
          return DispatchType(IndexTypes{}, value.dtype(),
                              [&]<typename T>(TypeTag<T>) {
                                return Count<T>(value, *before, next);
                              });
        },
        context.when_locked());
  }

 private:
  template <typename T>
  absl::Status Count(const Tensor& value, Tensor& before, Tensor& next) {
    const T count = value.scalar<T>();
    if (count >= limit_) {
      return absl::OutOfRangeError(absl::StrCat("Reached limit of ", limit_));
    }
    before.mutable_scalar<T>() = count;
    next.mutable_scalar<T>() = count + 1;
    return absl::OkStatus();
  }

  const int64_t limit_;
  VariableLookup lookup_;
};

}  // namespace

void RegisterStateUpdateKernels(KernelRegistry& registry) {
  constexpr bool kCheap = true;
  const auto numbers = DataTypesOf(Numbers{});
  const auto indices = DataTypesOf(IndexTypes{});
  registry.Register<AssignUpdateKernel<AddUpdate>>("AssignAdd",
                                                   {{"T", numbers}}, kCheap);
  registry.Register<AssignUpdateKernel<SubtractUpdate>>(
      "AssignSub", {{"T", numbers}}, kCheap);
  registry.Register<AssignUpdateKernel<AddUpdate>>(
      "AssignAddVariableOp", {{"dtype", numbers}}, kCheap);
  registry.Register<AssignUpdateKernel<SubtractUpdate>>(
      "AssignSubVariableOp", {{"dtype", numbers}}, kCheap);
  for (const char* op : {"CountUpTo", "ResourceCountUpTo"}) {
    registry.Register<CountUpToKernel>(op, {{"T", indices}}, kCheap);
  }
}

}  // namespace weft
