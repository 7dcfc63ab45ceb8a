// GradientRegistry maps each op to its derivative, a function that adds nodes.
//
// It is filled explicitly, one family at a time. Every op of the op registry
// must be registered with a function or as having no gradient; a test checks
// all ops.
#ifndef WEFT_LIBS_GRADIENTS_REGISTRY_GRADIENT_REGISTRY_H_
#define WEFT_LIBS_GRADIENTS_REGISTRY_GRADIENT_REGISTRY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/gradients/registry/gradient.h"
#include "libs/ops/scope.h"

namespace weft {

// Takes the gradients with respect to `node`'s outputs (one each; None if
// nothing depends on the output). Returns the gradients with respect to its
// inputs, one for each input, or None. `scope` names new nodes
// "gradients/NODE_grad/..." and places them on the device of `node`. A sparse
// gradient is made dense before the call unless the op is registered with
// `takes_sparse`.
using GradientFn = std::function<absl::StatusOr<std::vector<Gradient>>(
    const Scope& scope, const Node& node,
    const std::vector<Gradient>& grad_outputs)>;

class GradientRegistry {
 public:
  void Register(absl::string_view op, GradientFn fn, bool takes_sparse = false);
  // Registers an op that has no gradient by nature (Shape, ArgMax, ...).
  void RegisterNone(absl::string_view op);

  struct Entry {
    GradientFn fn;  // null: no gradient by nature
    bool takes_sparse = false;
  };
  // Returns null for an unregistered op: differentiating through it is an
  // error.
  const Entry* Find(absl::string_view op) const;

 private:
  absl::flat_hash_map<std::string, Entry> entries_;
};

// All gradients of Weft: a constant, like StandardOps().
const GradientRegistry& StandardGradients();

// One function for each family, in FAMILY/FAMILY_gradients.cc.
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

#endif  // WEFT_LIBS_GRADIENTS_REGISTRY_GRADIENT_REGISTRY_H_
