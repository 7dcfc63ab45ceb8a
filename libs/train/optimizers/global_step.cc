#include "libs/train/optimizers/global_step.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace weft::train {
namespace {

absl::Status CheckGlobalStep(const ops::Variable& step) {
  if (!step) {
    return absl::InvalidArgumentError(
        "collection 'global_step' must hold one variable");
  }
  if (step.dtype() != DT_INT64 && step.dtype() != DT_INT32) {
    return absl::InvalidArgumentError(
        absl::StrCat("Existing \"global_step\" does not have integer type: ",
                     DataTypeName(step.dtype())));
  }
  if (step.shape().has_rank() && step.shape().rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Existing \"global_step\" is not scalar: ", step.shape().ToString()));
  }
  return absl::OkStatus();
}

// Returns the global step; null if the collection does not have exactly one
// item.
ops::Variable OnlyGlobalStep(const Scope& scope) {
  const std::vector<Output> found =
      scope.GetCollection(collection::kGlobalStep);
  return found.size() == 1 ? ops::FindVariable(scope, found[0])
                           : ops::Variable();
}

}  // namespace

ops::Variable GetGlobalStep(const Scope& scope) {
  if (scope.GetCollection(collection::kGlobalStep).empty()) {
    return ops::Variable();
  }
  const ops::Variable step = OnlyGlobalStep(scope);
  const absl::Status status = CheckGlobalStep(step);
  if (status.ok()) return step;
  scope.UpdateStatus(status);
  return ops::Variable();
}

ops::Variable FindGlobalStep(const Scope& scope) {
  const ops::Variable step = OnlyGlobalStep(scope);
  return CheckGlobalStep(step).ok() ? step : ops::Variable();
}

ops::Variable GetOrCreateGlobalStep(const Scope& scope) {
  ops::Variable step = GetGlobalStep(scope);
  if (step || !scope.ok()) return step;
  ops::VariableOptions options;
  options.dtype = DT_INT64;
  options.trainable = false;
  options.collections = {std::string(collection::kGlobalVariables),
                         std::string(collection::kGlobalStep)};
  return ops::Variable(scope.ReenterScope("").WithName("global_step"),
                       ops::initializers::Zeros(), TensorShape(), options);
}

int64_t GlobalStepValue(const Tensor& fetched) {
  return fetched.dtype() == DT_INT32 ? fetched.scalar<int32_t>()
                                     : fetched.scalar<int64_t>();
}

}  // namespace weft::train
