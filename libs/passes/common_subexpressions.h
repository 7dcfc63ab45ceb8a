// MergeCommonSubexpressions merges nodes that compute the same result.
#ifndef WEFT_LIBS_PASSES_COMMON_SUBEXPRESSIONS_H_
#define WEFT_LIBS_PASSES_COMMON_SUBEXPRESSIONS_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// Merges pure nodes of equal op, device, attrs (bit for bit), inputs, control
// inputs and thus frame; the oldest stays, and errors have its name. Constants
// with equal values are merged, too. Ends stay.
void MergeCommonSubexpressions(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_COMMON_SUBEXPRESSIONS_H_
