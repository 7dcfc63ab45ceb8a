// What a rewrite may do with a node. Functions of the node and its inputs'
// types alone.
#ifndef WEFT_LIBS_PASSES_NODE_KINDS_H_
#define WEFT_LIBS_PASSES_NODE_KINDS_H_

#include "libs/graph/graph.h"

namespace weft {

// Switch, Merge, the ops of loops, and ControlTrigger: where values die and
// come alive.
bool IsControlFlow(const Node& node);

// An op whose only output is its only input: Identity, StopGradient, ...
bool IsIdentity(const Node& node);

// The node's outputs follow from the values of its inputs and its attrs alone,
// and making them has no other effect, but that it may fail. Not so: stateful
// ops; references and resources, on either side (many ops that take one are not
// marked stateful in TensorFlow's registry); what hides a resource behind a
// string; placeholders, files, control flow, calls of functions.
bool IsPure(const Node& node);

// The node's errors name the tensors that it takes.
bool NamesItsInputs(const Node& node);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_NODE_KINDS_H_
