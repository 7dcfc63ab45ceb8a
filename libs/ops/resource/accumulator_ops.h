// Builders of ops on gradient accumulators, with TensorFlow's names.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_RESOURCE_ACCUMULATOR_OPS_H_
#define WEFT_LIBS_OPS_RESOURCE_ACCUMULATOR_OPS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

struct AccumulatorAttrs {
  std::string container;                // empty: the scope's
  std::string shared_name;              // empty: not shared
  std::string reduction_type = "MEAN";  // or "SUM"
};

// Attributes of nodes that apply a gradient. They are specific to Weft and set
// only if they differ from the default.
struct AccumulatorApplyAttrs {
  // "_replica": the number of the gradient's replica. Gradients of a step are
  // then added in the order of these numbers, so that two runs are bitwise
  // equal, and only one gradient of each replica counts. See
  // libs/resource/gradient_accumulator.h for the cost.
  std::optional<int64_t> replica;
  // "_sums_repeated_rows": the rows of a sparse gradient may be unsorted and
  // repeated. TensorFlow takes the gradient unchanged and then averages a
  // repeated row over its repetitions, as if they were gradients.
  bool sums_repeated_rows = false;
};

struct NumAccumulatedAttrs {
  // "_at_least", specific to Weft: the op waits until there are this many
  // gradients, and takes none. TensorFlow's op, and 0, return at once.
  int64_t at_least = 0;
};

struct AccumulatorSetGlobalStepAttrs {
  // "_begins_anew", specific to Weft: gradients of an earlier training, or of
  // steps rolled back by a restore, no longer count in any step (see
  // libs/resource/gradient_accumulator.h). TensorFlow's op keeps them and
  // accepts those of later steps.
  bool begins_anew = false;
};

// ---- dense; handles are resources ----
Output ResourceConditionalAccumulator(const Scope& scope, DataType dtype,
                                      const PartialShape& shape,
                                      const AccumulatorAttrs& attrs = {});
Operation ResourceAccumulatorApplyGradient(
    const Scope& scope, const Input& handle, const Input& local_step,
    const Input& gradient, const AccumulatorApplyAttrs& attrs = {});
Output ResourceAccumulatorTakeGradient(const Scope& scope, const Input& handle,
                                       const Input& num_required,
                                       DataType dtype);
Output ResourceAccumulatorNumAccumulated(const Scope& scope,
                                         const Input& handle,
                                         const NumAccumulatedAttrs& attrs = {});
Operation ResourceAccumulatorSetGlobalStep(
    const Scope& scope, const Input& handle, const Input& new_global_step,
    const AccumulatorSetGlobalStepAttrs& attrs = {});

// ---- dense; handles are references ----
Output ConditionalAccumulator(const Scope& scope, DataType dtype,
                              const PartialShape& shape,
                              const AccumulatorAttrs& attrs = {});
Operation AccumulatorApplyGradient(const Scope& scope, const Input& handle,
                                   const Input& local_step,
                                   const Input& gradient);
Output AccumulatorTakeGradient(const Scope& scope, const Input& handle,
                               const Input& num_required, DataType dtype);
// These two are for dense and sparse accumulators.
Output AccumulatorNumAccumulated(const Scope& scope, const Input& handle,
                                 const NumAccumulatedAttrs& attrs = {});
Operation AccumulatorSetGlobalStep(
    const Scope& scope, const Input& handle, const Input& new_global_step,
    const AccumulatorSetGlobalStepAttrs& attrs = {});

// ---- sparse: some rows of a tensor ----
Output SparseConditionalAccumulator(const Scope& scope, DataType dtype,
                                    const PartialShape& shape,
                                    const AccumulatorAttrs& attrs = {});
Operation SparseAccumulatorApplyGradient(
    const Scope& scope, const Input& handle, const Input& local_step,
    const Input& gradient_indices, const Input& gradient_values,
    const Input& gradient_shape, bool has_known_shape,
    const AccumulatorApplyAttrs& attrs = {});
struct SparseTakenGradient {
  Output indices;
  Output values;
  Output shape;
};
SparseTakenGradient SparseAccumulatorTakeGradient(const Scope& scope,
                                                  const Input& handle,
                                                  const Input& num_required,
                                                  DataType dtype);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RESOURCE_ACCUMULATOR_OPS_H_
