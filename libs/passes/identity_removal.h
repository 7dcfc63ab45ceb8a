// RemoveIdentities: consumers of an Identity take its input; nodes that wait
// for a NoOp wait for its control input.
#ifndef WEFT_LIBS_PASSES_IDENTITY_REMOVAL_H_
#define WEFT_LIBS_PASSES_IDENTITY_REMOVAL_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// The following stay: Identities of references, those with control inputs,
// those that carry a value to another device, those next to control flow (a
// branch is identified by the Identity of its Switch), and ends of the graph. A
// NoOp stays if it joins several nodes.
void RemoveIdentities(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_IDENTITY_REMOVAL_H_
