// Builders of random ops. RandomNormal is RandomStandardNormal, as TensorFlow's
// C++ API calls it.
//
// Errors stick to the scope (see libs/ops/scope.h); outputs are null then.
#ifndef WEFT_LIBS_OPS_RANDOM_RANDOM_OPS_H_
#define WEFT_LIBS_OPS_RANDOM_RANDOM_OPS_H_

#include <optional>

#include "libs/ops/scope.h"

namespace weft::ops {

// `seed` is the op's seed; with the graph's it fixes the stream (see
// Scope::GetSeeds). Without either, each session has another one.
struct RandomAttrs {
  std::optional<int64_t> seed;
};

// Uniform over [0, 1).
Output RandomUniform(const Scope& scope, const Input& shape, DataType dtype,
                     const RandomAttrs& attrs = {});
// Mean 0, standard deviation 1.
Output RandomNormal(const Scope& scope, const Input& shape, DataType dtype,
                    const RandomAttrs& attrs = {});
// The same, values of 2 and more drawn again.
Output TruncatedNormal(const Scope& scope, const Input& shape, DataType dtype,
                       const RandomAttrs& attrs = {});
// Uniform over [minval, maxval), of minval's and maxval's type.
Output RandomUniformInt(const Scope& scope, const Input& shape,
                        const Input& minval, const Input& maxval,
                        const RandomAttrs& attrs = {});
Output RandomShuffle(const Scope& scope, const Input& value,
                     const RandomAttrs& attrs = {});

struct MultinomialAttrs {
  std::optional<int64_t> seed;
  DataType output_dtype = DT_INT64;
};
Output Multinomial(const Scope& scope, const Input& logits,
                   const Input& num_samples,
                   const MultinomialAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RANDOM_RANDOM_OPS_H_
