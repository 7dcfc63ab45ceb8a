// GradientRegistry: the derivative of each op, as a function that adds nodes.
//
// Filled explicitly, family by family; every op of the op registry is here with
// a function, or declared to have none (the loop test insists).
#ifndef WEFT_LIBS_GRADIENTS_GRADIENT_REGISTRY_H_
#define WEFT_LIBS_GRADIENTS_GRADIENT_REGISTRY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft {

// The gradient with respect to one output of a node: dense, or the rows
// `values` at `indices` of a tensor of shape `dense_shape` (IndexedSlices; a
// row may occur several times, and then counts several times).
struct Gradient {
  Output dense;   // null when sparse or absent
  Output values;  // these three are set when sparse
  Output indices;
  Output dense_shape;
  bool is_distinct = false;  // sparse, and known to name no row twice

  Gradient() = default;
  Gradient(Output output) : dense(output) {}  // NOLINT: the usual case
  bool IsNone() const { return !dense && !values; }
  bool IsSparse() const { return static_cast<bool>(values); }
};

// Given the gradients with respect to `node`'s outputs (one each; None where
// nothing depends on the output), returns those with respect to its inputs:
// one for each input, None where there is none. `scope` names new nodes
// "gradients/NODE_grad/..." and runs on the device of `node`.
// Dense gradients arrive dense: a sparse one is made dense before the call
// unless the op is registered with `takes_sparse`.
using GradientFn = std::function<absl::StatusOr<std::vector<Gradient>>(
    const Scope& scope, const Node& node,
    const std::vector<Gradient>& grad_outputs)>;

class GradientRegistry {
 public:
  void Register(absl::string_view op, GradientFn fn, bool takes_sparse = false);
  // Has no gradient by nature (Shape, ArgMax, ...): the walk stops there.
  void RegisterNone(absl::string_view op);

  struct Entry {
    GradientFn fn;  // null: none by nature
    bool takes_sparse = false;
  };
  // Null when nothing was said about the op: differentiating through it is an
  // error.
  const Entry* Find(absl::string_view op) const;

 private:
  absl::flat_hash_map<std::string, Entry> entries_;
};

// Every gradient Weft has. A constant, as StandardOps() is.
const GradientRegistry& StandardGradients();

// One for each family, in the folder of its name: FAMILY/FAMILY_gradients.cc.
void RegisterArrayGradients(GradientRegistry& registry);
void RegisterControlGradients(GradientRegistry& registry);
void RegisterDataGradients(GradientRegistry& registry);
void RegisterIoGradients(GradientRegistry& registry);
void RegisterImageGradients(GradientRegistry& registry);
void RegisterLinalgGradients(GradientRegistry& registry);
void RegisterMathGradients(GradientRegistry& registry);
void RegisterNnGradients(GradientRegistry& registry);
void RegisterParsingGradients(GradientRegistry& registry);
void RegisterRandomGradients(GradientRegistry& registry);
void RegisterResourceGradients(GradientRegistry& registry);
void RegisterSparseGradients(GradientRegistry& registry);
void RegisterStateGradients(GradientRegistry& registry);
void RegisterStringGradients(GradientRegistry& registry);
void RegisterSummaryGradients(GradientRegistry& registry);
void RegisterTrainingGradients(GradientRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_GRADIENT_REGISTRY_H_
