// Builders of random ops. RandomNormal is the op RandomStandardNormal, as in
// TensorFlow's C++ API.
//
// Errors stick to the scope (see libs/ops/scope.h); outputs are then null.
#ifndef WEFT_LIBS_OPS_RANDOM_RANDOM_OPS_H_
#define WEFT_LIBS_OPS_RANDOM_RANDOM_OPS_H_

#include <optional>

#include "libs/ops/scope.h"

namespace weft::ops {

// `seed` is the op's seed; with the graph's seed it determines the stream (see
// Scope::GetSeeds). Without either, each session has a different stream.
struct RandomAttrs {
  std::optional<int64_t> seed;
};

// Uniform over [0, 1).
Output RandomUniform(const Scope& scope, const Input& shape, DataType dtype,
                     const RandomAttrs& attrs = {});
// Mean 0, standard deviation 1.
Output RandomNormal(const Scope& scope, const Input& shape, DataType dtype,
                    const RandomAttrs& attrs = {});
// Like RandomNormal; values beyond two standard deviations are redrawn.
Output TruncatedNormal(const Scope& scope, const Input& shape, DataType dtype,
                       const RandomAttrs& attrs = {});
// Uniform over [minval, maxval), of the type of minval and maxval.
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
