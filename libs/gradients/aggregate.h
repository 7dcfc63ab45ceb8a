// Sums of gradients for values that are used more than once.
//
// Threads: as for the scope. Errors stick to the scope.
#ifndef WEFT_LIBS_GRADIENTS_AGGREGATE_H_
#define WEFT_LIBS_GRADIENTS_AGGREGATE_H_

#include <vector>

#include "libs/gradients/registry/gradient.h"

namespace weft {

// Returns the sum of `parts`, none of which may be None, or None for no parts.
// Sparse parts are joined, not added: a repeated row counts several times.
// Dense parts on several devices are first added on each device.
Gradient Aggregate(const Scope& scope, const std::vector<Gradient>& parts);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_AGGREGATE_H_
