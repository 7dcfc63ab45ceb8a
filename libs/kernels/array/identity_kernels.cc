// Kernels that forward their input: Identity and related ops, which differ in
// their gradients, and checks of shapes and numbers. The memory is forwarded,
// never copied.
#include <cmath>

#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/common/number_types.h"

namespace weft {
namespace {

class IdentityKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
};

class IdentityNKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      context.SetOutput(i, context.TakeInput(i));
    }
    return absl::OkStatus();
  }
};

class EnsureShapeKernel : public OpKernel {
 public:
  explicit EnsureShapeKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const Node& node = construction.node();
    const PartialShape* shape = node.attr<PartialShape>("shape");
    if (shape != nullptr) shape_ = *shape;
    if (node.num_inputs() > 0 && node.input(0).node != nullptr) {
      input_name_ = TensorName(node.input(0));
    }
  }

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& actual = context.input(0).shape();
    if (!shape_.IsCompatibleWith(actual)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shape of tensor ", input_name_, " ", actual.ToString(),
          " is not compatible with expected shape ", shape_.ToString(), "."));
    }
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  PartialShape shape_;
  std::string input_name_;
};

template <typename T>
struct Found {
  bool nan = false;
  bool inf = false;
};

template <typename T>
Found<T> FindNonFinite(absl::Span<const T> values) {
  Found<T> found;
  for (const T& value : values) {
    const auto wide = static_cast<Wide<T>>(value);
    found.nan |= std::isnan(wide);
    found.inf |= std::isinf(wide);
  }
  return found;
}

template <typename T>
class CheckNumericsKernel : public OpKernel {
 public:
  explicit CheckNumericsKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {
    const std::string* message =
        construction.node().attr<std::string>("message");
    if (message != nullptr) message_ = *message;
  }

  absl::Status Compute(OpKernelContext& context) override {
    const Found<T> found = FindNonFinite(context.input(0).flat<T>());
    if (found.nan || found.inf) {
      const absl::string_view what = !found.inf   ? "NaN"
                                     : !found.nan ? "Inf"
                                                  : "Inf and NaN";
      return absl::InvalidArgumentError(
          absl::StrCat(message_, " : Tensor had ", what, " values"));
    }
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  std::string message_;
};

template <typename T>
void RegisterCheckNumerics(KernelRegistry& registry) {
  registry.Register<CheckNumericsKernel<T>>(
      "CheckNumerics", {{"T", {DataTypeOf<T>::value}}}, true);
}

}  // namespace

void RegisterArrayIdentityKernels(KernelRegistry& registry) {
  for (const char* op : {"Identity", "StopGradient", "PreventGradient",
                         "Snapshot", "PlaceholderWithDefault"}) {
    registry.Register<IdentityKernel>(op, {}, true);
  }
  registry.Register<IdentityNKernel>("IdentityN", {}, true);
  registry.Register<EnsureShapeKernel>("EnsureShape", {}, true);
  RegisterCheckNumerics<float>(registry);
  RegisterCheckNumerics<double>(registry);
  RegisterCheckNumerics<half>(registry);
  RegisterCheckNumerics<bfloat16>(registry);
}

}  // namespace weft
