// Sums of gradients, as AddGradients needs them where a value is used more than
// once.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_GRADIENTS_AGGREGATE_H_
#define WEFT_LIBS_GRADIENTS_AGGREGATE_H_

#include <vector>

#include "libs/gradients/gradient_registry.h"

namespace weft {

// The sum of `parts`, none of which is None; None for no parts. Sparse parts
// are joined, not added: rows that occur several times count several times.
// Dense parts of several devices are added on each device first.
Gradient Aggregate(const Scope& scope, const std::vector<Gradient>& parts);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_AGGREGATE_H_
