// The kernel of OneHot.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class OneHotKernel : public OpKernel {
 public:
  explicit OneHotKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const int64_t* axis = construction.node().attr<int64_t>("axis");
    if (axis != nullptr) axis_ = *axis;
  }

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckScalars(context));
    const Tensor& indices = context.input(0);
    ASSIGN_OR_RETURN(Dims depths, IntegersOf(context.input(1)));
    const int64_t depth = depths[0];
    const int rank = indices.rank();
    if (axis_ != -1 && (axis_ < 0 || axis_ > rank)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected axis to be -1 or between [0, ", rank + 1,
                       ").  But received: ", axis_));
    }
    if (depth < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("depth must be non-negative, got: ", depth));
    }
    const int axis = static_cast<int>(axis_ == -1 ? rank : axis_);
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithValue(context, context.input(3), *output));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(charge.AddObjects(
        static_cast<size_t>(indices.num_elements()), sizeof(int64_t)));
    ASSIGN_OR_RETURN(Dims hot, IntegersOf(indices));
    int64_t after = 1;
    for (int i = axis; i < rank; ++i) after *= indices.dim(i);
    RETURN_IF_ERROR(ChargeStrings(charge, context.input(2), hot.size()));
    return SetHot(context.input(2), hot, depth, after, *output);
  }

 private:
  static absl::Status CheckScalars(OpKernelContext& context) {
    static constexpr absl::string_view kNames[] = {"depth", "on_value",
                                                   "off_value"};
    for (int i = 1; i < 4; ++i) {
      const TensorShape& shape = context.input(i).shape();
      if (shape.rank() > 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            kNames[i - 1], " must be a scalar, but got: ", shape.ToString()));
      }
    }
    return absl::OkStatus();
  }

  // Indices are [before, after], the output is [before, depth, after]. An index
  // out of range sets nothing.
  static absl::Status SetHot(const Tensor& on, const Dims& hot, int64_t depth,
                             int64_t after, Tensor& output) {
    return DispatchElement(on.dtype(), [&]<typename E>(TypeTag<E>) {
      const E value = *Elements<E>(on);
      E* out = MutableElements<E>(output);
      for (size_t i = 0; i < hot.size(); ++i) {
        if (hot[i] < 0 || hot[i] >= depth) continue;
        const int64_t position = static_cast<int64_t>(i);
        const int64_t before = position / after, rest = position % after;
        out[(before * depth + hot[i]) * after + rest] = value;
      }
      return absl::OkStatus();
    });
  }

  int64_t axis_ = -1;
};

}  // namespace

void RegisterArrayOneHotKernels(KernelRegistry& registry) {
  registry.Register<OneHotKernel>("OneHot");
}

}  // namespace weft
