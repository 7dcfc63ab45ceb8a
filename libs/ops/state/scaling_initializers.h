// More initialisers (see initializers.h): scaled by the size of the variable,
// orthogonal ones, and the identity. TensorFlow's, with its defaults.
//
// Stateless values; threads as the scope's.
#ifndef WEFT_LIBS_OPS_STATE_SCALING_INITIALIZERS_H_
#define WEFT_LIBS_OPS_STATE_SCALING_INITIALIZERS_H_

#include <cstdint>
#include <optional>

#include "libs/ops/state/initializers.h"

namespace weft::ops::initializers {

// VarianceScaling by the fan in. Variance 2 / fan in, for layers of rectified
// units.
Initializer HeNormal(std::optional<int64_t> seed = std::nullopt);
Initializer HeUniform(std::optional<int64_t> seed = std::nullopt);
// Variance 1 / fan in.
Initializer LecunNormal(std::optional<int64_t> seed = std::nullopt);
Initializer LecunUniform(std::optional<int64_t> seed = std::nullopt);
// Uniform over +- factor * sqrt(3 / inputs); inputs: all dimensions but the
// last.
Initializer UniformUnitScaling(double factor = 1.0,
                               std::optional<int64_t> seed = std::nullopt);
// Orthonormal columns, or rows where there are fewer of them, times `gain`; all
// dimensions but the last are taken as one. INVALID_ARGUMENT for less than two
// dimensions and for types that are not floating-point. Of a partitioned
// variable each part is orthogonal by itself.
Initializer Orthogonal(double gain = 1.0,
                       std::optional<int64_t> seed = std::nullopt);
// `gain` on the diagonal of a matrix. INVALID_ARGUMENT for other ranks.
Initializer Identity(double gain = 1.0);

}  // namespace weft::ops::initializers

#endif  // WEFT_LIBS_OPS_STATE_SCALING_INITIALIZERS_H_
