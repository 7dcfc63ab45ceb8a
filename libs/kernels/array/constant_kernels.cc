// Kernels of ops that create values: Const, Placeholder, Fill, ZerosLike,
// OnesLike.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

// ConstKernel holds a reference to the value, so that no kernel writes to the
// value.
class ConstKernel : public OpKernel {
 public:
  ConstKernel(const OpKernelConstruction& construction, Tensor value)
      : OpKernel(construction), value_(std::move(value)) {}

  static absl::StatusOr<std::unique_ptr<OpKernel>> Create(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(Tensor value, construction.GetAttr<Tensor>("value"));
    return std::make_unique<ConstKernel>(construction, std::move(value));
  }

  absl::Status Compute(OpKernelContext& context) override {
    context.SetOutput(0, value_);
    return absl::OkStatus();
  }

 private:
  const Tensor value_;
};

// PlaceholderKernel runs only if the placeholder was not fed, and fails.
class PlaceholderKernel : public OpKernel {
 public:
  explicit PlaceholderKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        error_(absl::StrCat("You must feed a value for placeholder tensor '",
                            construction.node().name(), "' with dtype ",
                            DataTypeName(construction.node().output_type(0)))) {
    const PartialShape* shape = construction.node().attr<PartialShape>("shape");
    if (shape != nullptr && shape->has_rank() && shape->rank() > 0) {
      absl::StrAppend(&error_, " and shape ", shape->ToString());
    }
  }

  absl::Status Compute(OpKernelContext&) override {
    return absl::InvalidArgumentError(error_);
  }

 private:
  std::string error_;
};

class FillKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& value = context.input(1);
    // A vector of one element counts as a scalar, as in old graphs.
    if (value.num_elements() != 1 || value.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("value must represent a scalar, got shape ",
                       value.shape().ToString()));
    }
    ASSIGN_OR_RETURN(TensorShape shape, ShapeFromDims(context.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return FillWithValue(context, value, *output);
  }
};

class ZerosLikeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    if (context.input(0).dtype() == DT_VARIANT) return OfVariants(context);
    ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(
                                          {0}, 0, context.input(0).shape()));
    return FillWithZeros(*output);
  }

 private:
  // The zeros of a value that holds tensors (a list) hold the same number of
  // zeros.
  static absl::Status OfVariants(OpKernelContext& context) {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      Variant& zeros = output->mutable_flat<Variant>()[i];
      zeros = input.flat<Variant>()[i];
      if (zeros.tensors == nullptr) continue;
      auto tensors = std::make_shared<std::vector<Tensor>>();
      for (const Tensor& tensor : *zeros.tensors) {
        Tensor& zero = tensors->emplace_back();
        if (!tensor.IsInitialized() || tensor.dtype() == DT_VARIANT) continue;
        ASSIGN_OR_RETURN(zero,
                         context.AllocateTemp(tensor.dtype(), tensor.shape()));
        RETURN_IF_ERROR(FillWithZeros(zero));
      }
      zeros.tensors = std::move(tensors);
    }
    return absl::OkStatus();
  }
};

class OnesLikeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(
                                          {0}, 0, context.input(0).shape()));
    if (output->dtype() == DT_BOOL) {
      absl::Span<bool> out = output->mutable_flat<bool>();
      std::fill(out.begin(), out.end(), true);
      return absl::OkStatus();
    }
    return DispatchType(
        Numbers{}, output->dtype(), [&]<typename T>(TypeTag<T>) {
          absl::Span<T> out = output->mutable_flat<T>();
          std::fill(out.begin(), out.end(), static_cast<T>(Wide<T>(1)));
          return absl::OkStatus();
        });
  }
};

}  // namespace

void RegisterArrayConstantKernels(KernelRegistry& registry) {
  registry.Register({.op = "Const", .types = {}, .is_cheap = true},
                    ConstKernel::Create);
  registry.Register<PlaceholderKernel>("Placeholder", {}, true);
  registry.Register<PlaceholderKernel>("PlaceholderV2", {}, true);
  registry.Register<FillKernel>("Fill");
  registry.Register<ZerosLikeKernel>("ZerosLike", {}, true);
  registry.Register<OnesLikeKernel>("OnesLike", {}, true);
}

}  // namespace weft
