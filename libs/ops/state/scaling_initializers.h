// Further initializers (see initializers.h): scaled by the size of the
// variable, orthogonal, and identity. They have TensorFlow's defaults.
//
// Stateless values; threads: as for the scope.
#ifndef WEFT_LIBS_OPS_STATE_SCALING_INITIALIZERS_H_
#define WEFT_LIBS_OPS_STATE_SCALING_INITIALIZERS_H_

#include <cstdint>
#include <optional>

#include "libs/ops/state/initializers.h"

namespace weft::ops::initializers {

// VarianceScaling by the fan in: variance 2 / fan in, for layers of rectified
// linear units.
Initializer HeNormal(std::optional<int64_t> seed = std::nullopt);
Initializer HeUniform(std::optional<int64_t> seed = std::nullopt);
// Variance 1 / fan in.
Initializer LecunNormal(std::optional<int64_t> seed = std::nullopt);
Initializer LecunUniform(std::optional<int64_t> seed = std::nullopt);
// Uniform over +- factor * sqrt(3 / inputs), where inputs is the product of all
// dimensions but the last.
Initializer UniformUnitScaling(double factor = 1.0,
                               std::optional<int64_t> seed = std::nullopt);
// Orthonormal columns, or rows if there are fewer rows, times `gain`; all
// dimensions but the last are treated as one. INVALID_ARGUMENT for less than
// two dimensions and for types that are not floating-point. Each part of a
// partitioned variable is orthogonal by itself.
Initializer Orthogonal(double gain = 1.0,
                       std::optional<int64_t> seed = std::nullopt);
// `gain` on the diagonal of a matrix. INVALID_ARGUMENT for other ranks.
Initializer Identity(double gain = 1.0);

}  // namespace weft::ops::initializers

#endif  // WEFT_LIBS_OPS_STATE_SCALING_INITIALIZERS_H_
