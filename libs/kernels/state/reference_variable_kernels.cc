// Kernels of reference variables: VariableV2, Assign and queries.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/state_kernels.h"

namespace weft {
namespace {

class VariableKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Create(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<VariableKernel>(construction);
    ASSIGN_OR_RETURN(kernel->name_, ResourceName::FromAttrs(construction));
    ASSIGN_OR_RETURN(kernel->dtype_, construction.GetAttr<DataType>("dtype"));
    ASSIGN_OR_RETURN(kernel->shape_,
                     construction.GetAttr<PartialShape>("shape"));
    // Before VariableV2, a scalar shape meant an unknown shape.
    if (construction.node().type() == "Variable" && kernel->shape_.has_rank() &&
        kernel->shape_.rank() == 0) {
      kernel->shape_ = PartialShape::UnknownRank();
    }
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FindOrCreate(context, name_.container, name_.name,
                                          dtype_, shape_));
    RETURN_IF_ERROR(CheckVariableType(*variable, dtype_));
    context.SetOutputRef(0, std::move(variable));
    return absl::OkStatus();
  }

 private:
  ResourceName name_;
  DataType dtype_ = DT_INVALID;
  PartialShape shape_;
  VariableLookup lookup_;
};

// The shape that an Assign validates against: that of the value, or the
// declared one before the first value.
absl::StatusOr<PartialShape> AssignableShape(const OpKernelContext& context,
                                             const Variable& variable) {
  if (!variable.IsInitialized()) return variable.declared_shape();
  PartialShape shape;
  RETURN_IF_ERROR(variable.ReadPart(
      [&](const Tensor& value) {
        shape = value.shape();
        return absl::OkStatus();
      },
      context.when_locked()));
  return shape;
}

class AssignKernel : public OpKernel {
 public:
  explicit AssignKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        validate_shape_(
            construction.GetAttr<bool>("validate_shape").value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    Variable& variable = *context.input_variable(0);
    const TensorShape& given = context.input(1).shape();
    if (validate_shape_) {
      ASSIGN_OR_RETURN(const PartialShape shape,
                       AssignableShape(context, variable));
      if (!shape.IsCompatibleWith(given)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Assign requires shapes of both tensors to match. lhs shape= ",
            shape.ToString(), " rhs shape= ", given.ToString(), ". Variable ",
            variable.name(),
            " may have been created by another session: it keeps its shape "
            "until its container is reset (`weft variables` shows the "
            "container, `weft reset CONTAINER` or Session::Reset clears it); a "
            "separate container (Scope::WithContainer) or scope avoids this"));
      }
    }
    RETURN_IF_ERROR(AssignInput(context, 1, variable));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  const bool validate_shape_;
};

class IsVariableInitializedKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {}));
    output->mutable_scalar<bool>() = context.input_variable(0)->IsInitialized();
    return absl::OkStatus();
  }
};

class RefIdentityKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ForwardReference(context);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterReferenceVariableKernels(KernelRegistry& registry) {
  registry.Register({.op = "VariableV2", .is_cheap = true},
                    VariableKernel::Create);
  registry.Register({.op = "Variable", .is_cheap = true},
                    VariableKernel::Create);
  registry.Register<AssignKernel>("Assign", {}, /*is_cheap=*/true);
  registry.Register<IsVariableInitializedKernel>("IsVariableInitialized", {},
                                                 /*is_cheap=*/true);
  registry.Register<RefIdentityKernel>("RefIdentity", {}, /*is_cheap=*/true);
}

}  // namespace weft
