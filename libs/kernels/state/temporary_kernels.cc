// TemporaryVariable and DestroyTemporaryVariable: a variable that lives as long
// as a step, for sums accumulated in place.
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/state_kernels.h"

namespace weft {
namespace {

constexpr char kContainer[] = "temporary_variables";

// Each loop iteration has its own.
std::string NameIn(const OpKernelContext& context, const std::string& name) {
  const auto position = context.loop_position();
  return absl::StrCat(position.frame, "/", position.iteration, "/", name);
}

class TemporaryVariableKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Create(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<TemporaryVariableKernel>(construction);
    ASSIGN_OR_RETURN(kernel->dtype_, construction.GetAttr<DataType>("dtype"));
    ASSIGN_OR_RETURN(PartialShape shape,
                     construction.GetAttr<PartialShape>("shape"));
    if (!shape.IsFullyDefined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shape of a TemporaryVariable must be known, but "
                       "is ",
                       shape.ToString()));
    }
    kernel->shape_ = shape.ToShape();
    ASSIGN_OR_RETURN(kernel->name_,
                     construction.GetAttr<std::string>("var_name"));
    if (kernel->name_.empty()) kernel->name_ = construction.node().name();
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    auto variable = std::make_shared<Variable>(name_, dtype_, shape_);
    ASSIGN_OR_RETURN(Tensor value, context.AllocateTemp(dtype_, shape_));
    // TensorFlow leaves it uninitialized; zeros give the same values in each
    // run.
    const size_t bytes = DataTypeSize(dtype_) * shape_.num_elements();
    if (bytes != 0) std::memset(value.mutable_data(), 0, bytes);
    RETURN_IF_ERROR(variable->Assign(context.cancellation(), std::move(value)));
    ASSIGN_OR_RETURN(
        std::shared_ptr<Variable> kept,
        context.step_resources().LookupOrCreate<Variable>(
            context.cancellation(), kContainer, NameIn(context, name_),
            [&]() -> absl::StatusOr<std::shared_ptr<Variable>> {
              return variable;
            }));
    if (kept != variable) {
      return absl::AlreadyExistsError(absl::StrCat(
          "temporary variable ", name_, " was made twice in one step"));
    }
    context.SetOutputRef(0, std::move(kept));
    return absl::OkStatus();
  }

 private:
  DataType dtype_ = DT_INVALID;
  TensorShape shape_;
  std::string name_;
};

class DestroyTemporaryVariableKernel : public OpKernel {
 public:
  explicit DestroyTemporaryVariableKernel(
      const OpKernelConstruction& construction)
      : OpKernel(construction),
        name_(construction.GetAttr<std::string>("var_name").value_or("")) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor value, context.input_variable(0)->Read());
    RETURN_IF_ERROR(context.step_resources().Delete<Variable>(
        context.cancellation(), kContainer, NameIn(context, name_)));
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }

 private:
  const std::string name_;
};

}  // namespace

void RegisterTemporaryVariableKernels(KernelRegistry& registry) {
  registry.Register({.op = "TemporaryVariable"},
                    TemporaryVariableKernel::Create);
  registry.Register<DestroyTemporaryVariableKernel>("DestroyTemporaryVariable");
}

}  // namespace weft
