// Shape checks of kernels that change variables, for CPUs and GPUs, with
// TensorFlow's texts. All errors are INVALID_ARGUMENT.
#ifndef WEFT_LIBS_KERNELS_RESOURCE_UPDATE_CHECKS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_UPDATE_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "libs/tensor/shape.h"

namespace weft {

// Checks a learning rate or another scalar `name`.
absl::Status CheckScalar(const std::string& name, const TensorShape& shape);

// Checks an optimizer's slot or dense gradient `name`.
absl::Status CheckSameShape(const std::string& name, const TensorShape& var,
                            const TensorShape& other);

// Checks an optimizer's gradient with a row of `var` for each of `indices`.
absl::Status CheckGradientOfRows(const TensorShape& var,
                                 const TensorShape& gradient,
                                 const TensorShape& indices);

// Checks a scatter's updates: indices.shape + variable.shape[1:], or [].
absl::Status CheckUpdateShape(const TensorShape& variable,
                              const TensorShape& indices,
                              const TensorShape& updates);

// Checks the addend of AssignAdd or AssignSub.
absl::Status CheckAddedShape(const TensorShape& variable,
                             const TensorShape& value);

// Checks the scalars of Ftrl's sparse ops; l2_shrinkage is 0 if the op has
// none. NaN is rejected.
absl::Status CheckFtrlScalars(double lr, double l1, double l2,
                              double l2_shrinkage, double lr_power,
                              bool multiply_linear_by_lr);

// Checks the learning rate of ProximalAdagrad.
absl::Status CheckPositiveRate(double lr);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_UPDATE_CHECKS_H_
