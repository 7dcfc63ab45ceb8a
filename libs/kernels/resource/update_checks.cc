#include "libs/kernels/resource/update_checks.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

absl::Status CheckScalar(const std::string& name, const TensorShape& shape) {
  if (shape.IsScalar()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is not a scalar: ", shape.ToString()));
}

absl::Status CheckSameShape(const std::string& name, const TensorShape& var,
                            const TensorShape& other) {
  if (var == other) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("var and ", name, " do not have the same shape",
                   var.ToString(), " ", other.ToString()));
}

absl::Status CheckGradientOfRows(const TensorShape& var,
                                 const TensorShape& gradient,
                                 const TensorShape& indices) {
  if (!indices.IsVector()) {
    return absl::InvalidArgumentError("indices must be one-dimensional");
  }
  if (var.rank() < 1) {
    return absl::InvalidArgumentError("var must be at least 1 dimensional");
  }
  if (gradient.rank() != var.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("var and grad do not have the same rank: ", var.ToString(),
                     " ", gradient.ToString()));
  }
  for (int d = 1; d < var.rank(); ++d) {
    if (var.dim(d) == gradient.dim(d)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("var and grad must match in dimension ", d));
  }
  if (gradient.dim(0) == indices.dim(0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "grad must be the same size as indices in the first dimension.");
}

absl::Status CheckUpdateShape(const TensorShape& variable,
                              const TensorShape& indices,
                              const TensorShape& updates) {
  if (variable.rank() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("var must be at least 1 dimensional, its shape is ",
                     variable.ToString()));
  }
  if (updates.IsScalar()) return absl::OkStatus();
  bool same = updates.rank() == indices.rank() + variable.rank() - 1;
  for (int i = 0; same && i < updates.rank(); ++i) {
    const int64_t wanted = i < indices.rank()
                               ? indices.dim(i)
                               : variable.dim(i - indices.rank() + 1);
    same = updates.dim(i) == wanted;
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Must have updates.shape = indices.shape + params.shape[1:] or "
      "updates.shape = [], got updates.shape ",
      updates.ToString(), ", indices.shape ", indices.ToString(),
      ", params.shape ", variable.ToString()));
}

absl::Status CheckAddedShape(const TensorShape& variable,
                             const TensorShape& value) {
  if (variable == value) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Cannot update variable with shape ", variable.ToString(),
                   " using a Tensor with shape ", value.ToString(),
                   ", shapes must be equal."));
}

namespace {

absl::Status CheckNotNegative(const char* what, double value) {
  if (value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " regularization strength is not a non-negative scalar"));
}

}  // namespace

absl::Status CheckFtrlScalars(double lr, double l1, double l2,
                              double l2_shrinkage, double lr_power,
                              bool multiply_linear_by_lr) {
  if (!(lr > 0 || (multiply_linear_by_lr && lr == 0))) {
    return absl::InvalidArgumentError(
        "lr is not a positive scalar (or zero if multiply_linear_by_lr is "
        "set)");
  }
  RETURN_IF_ERROR(CheckNotNegative("l1", l1));
  RETURN_IF_ERROR(CheckNotNegative("l2", l2));
  RETURN_IF_ERROR(CheckNotNegative("l2 shrinkage", l2_shrinkage));
  if (lr_power <= 0) return absl::OkStatus();
  return absl::InvalidArgumentError("lr_power is not a non-positive scalar");
}

absl::Status CheckPositiveRate(double lr) {
  if (lr > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("lr is not a positive scalar");
}

}  // namespace weft
