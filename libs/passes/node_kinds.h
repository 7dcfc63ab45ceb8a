// Properties of nodes for rewrites. Functions of the node and its inputs'
// types.
#ifndef WEFT_LIBS_PASSES_NODE_KINDS_H_
#define WEFT_LIBS_PASSES_NODE_KINDS_H_

#include "libs/graph/graph.h"

namespace weft {

// Switch, Merge, the ops of loops, and ControlTrigger: values become dead or
// alive there.
bool IsControlFlow(const Node& node);

// An op whose only output is its only input: Identity, StopGradient, ...
bool IsIdentity(const Node& node);

// Returns whether the node's outputs depend only on the values of its inputs
// and its attrs, and computing them has no side effects, except that it may
// fail. Not pure: stateful ops; references and resources, on either side (many
// ops that take one are not marked stateful in TensorFlow's registry); ops that
// hide a resource behind a string; placeholders, files, control flow, calls of
// functions.
bool IsPure(const Node& node);

// Returns whether the node's errors name its input tensors.
bool NamesItsInputs(const Node& node);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_NODE_KINDS_H_
