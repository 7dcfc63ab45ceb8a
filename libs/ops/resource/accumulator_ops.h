// Builders of ops on accumulators of gradients, under TensorFlow's names.
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

// Of nodes that apply a gradient; Weft's own attributes, which are on a node
// only where they say something.
struct AccumulatorApplyAttrs {
  // "_replica": the number of the replica that the gradient is of. Gradients of
  // a step are then added up in the order of these numbers, so that two runs
  // are equal to the bit, and of one replica one gradient counts; see
  // libs/resource/gradient_accumulator.h for what it costs.
  std::optional<int64_t> replica;
  // "_sums_repeated_rows": a sparse gradient may have its rows in any order,
  // and several times. TensorFlow takes it as it is, and such a row is then
  // averaged over its repetitions as if they were gradients.
  bool sums_repeated_rows = false;
};

struct NumAccumulatedAttrs {
  // "_at_least", of Weft's own: it waits until so many gradients are there, and
  // takes none. TensorFlow's, and 0, tell at once.
  int64_t at_least = 0;
};

struct AccumulatorSetGlobalStepAttrs {
  // "_begins_anew", of Weft's own: gradients of an earlier training, or of
  // steps that were undone because variables were restored, count in no step
  // from now on (see libs/resource/gradient_accumulator.h). TensorFlow's keeps
  // them, and takes those of later steps.
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
// These two are for dense and sparse ones.
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
