// RemoveIdentities: consumers of an Identity take what it takes; who waits for
// a NoOp waits for what it waits for.
#ifndef WEFT_LIBS_PASSES_IDENTITY_REMOVAL_H_
#define WEFT_LIBS_PASSES_IDENTITY_REMOVAL_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// Stay: Identities of references, those with control inputs, those that carry a
// value to another device, those beside control flow (a branch is known by the
// Identity of its Switch), and ends of the graph. A NoOp stays when it gathers
// several nodes.
void RemoveIdentities(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_IDENTITY_REMOVAL_H_
