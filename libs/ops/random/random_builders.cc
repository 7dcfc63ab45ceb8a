#include <utility>

#include "libs/ops/random/random_ops.h"

namespace weft::ops {
namespace {

AttrMap Seeds(const Scope& scope, std::optional<int64_t> op_seed) {
  const auto [seed, seed2] = scope.GetSeeds(op_seed);
  return {{"seed", seed}, {"seed2", seed2}};
}

Output AddFloating(const Scope& scope, absl::string_view op, const Input& shape,
                   DataType dtype, const RandomAttrs& attrs) {
  AttrMap map = Seeds(scope, attrs.seed);
  map["dtype"] = dtype;
  return scope.AddOutput(op, {shape}, std::move(map));
}

}  // namespace

Output RandomUniform(const Scope& scope, const Input& shape, DataType dtype,
                     const RandomAttrs& attrs) {
  return AddFloating(scope, "RandomUniform", shape, dtype, attrs);
}

Output RandomNormal(const Scope& scope, const Input& shape, DataType dtype,
                    const RandomAttrs& attrs) {
  return AddFloating(scope, "RandomStandardNormal", shape, dtype, attrs);
}

Output TruncatedNormal(const Scope& scope, const Input& shape, DataType dtype,
                       const RandomAttrs& attrs) {
  return AddFloating(scope, "TruncatedNormal", shape, dtype, attrs);
}

Output RandomUniformInt(const Scope& scope, const Input& shape,
                        const Input& minval, const Input& maxval,
                        const RandomAttrs& attrs) {
  return scope.AddOutput("RandomUniformInt", {shape, minval, maxval},
                         Seeds(scope, attrs.seed));
}

Output RandomShuffle(const Scope& scope, const Input& value,
                     const RandomAttrs& attrs) {
  return scope.AddOutput("RandomShuffle", {value}, Seeds(scope, attrs.seed));
}

Output Multinomial(const Scope& scope, const Input& logits,
                   const Input& num_samples, const MultinomialAttrs& attrs) {
  AttrMap map = Seeds(scope, attrs.seed);
  map["output_dtype"] = attrs.output_dtype;
  return scope.AddOutput("Multinomial", {logits, num_samples}, std::move(map));
}

}  // namespace weft::ops
