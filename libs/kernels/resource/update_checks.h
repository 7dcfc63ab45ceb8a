// What kernels that change variables demand of shapes, in TensorFlow's words:
// those for CPUs and those for GPUs. All are INVALID_ARGUMENT.
#ifndef WEFT_LIBS_KERNELS_RESOURCE_UPDATE_CHECKS_H_
#define WEFT_LIBS_KERNELS_RESOURCE_UPDATE_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "libs/tensor/shape.h"

namespace weft {

// Of a learning rate or its like, `name`.
absl::Status CheckScalar(const std::string& name, const TensorShape& shape);

// Of an optimizer's slot, or dense gradient, `name`.
absl::Status CheckSameShape(const std::string& name, const TensorShape& var,
                            const TensorShape& other);

// Of an optimizer's gradient that holds a row of `var` for each of `indices`.
absl::Status CheckGradientOfRows(const TensorShape& var,
                                 const TensorShape& gradient,
                                 const TensorShape& indices);

// Of a scatter's updates: indices.shape + variable.shape[1:], or [].
absl::Status CheckUpdateShape(const TensorShape& variable,
                              const TensorShape& indices,
                              const TensorShape& updates);

// Of what AssignAdd and AssignSub add.
absl::Status CheckAddedShape(const TensorShape& variable,
                             const TensorShape& value);

// Of the scalars of Ftrl's sparse ops, l2_shrinkage 0 where the op has none.
// NaN is none that they take.
absl::Status CheckFtrlScalars(double lr, double l1, double l2,
                              double l2_shrinkage, double lr_power,
                              bool multiply_linear_by_lr);

// Of ProximalAdagrad.
absl::Status CheckPositiveRate(double lr);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RESOURCE_UPDATE_CHECKS_H_
