// ResolveSignature infers the complete attrs of a new node, and the types of
// its inputs and outputs, from the node's op. Graph::AddNode calls it.
//
// Stateless, hence thread-safe. Errors are INVALID_ARGUMENT with TensorFlow's
// texts; the caller adds the node's name.
#ifndef WEFT_LIBS_GRAPH_NODE_SIGNATURE_H_
#define WEFT_LIBS_GRAPH_NODE_SIGNATURE_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"

namespace weft {

struct NodeSignature {
  AttrMap attrs;  // complete
  DataTypeVector input_types;
  DataTypeVector output_types;
};

// Infers missing type, number and list attrs from the inputs, uses defaults for
// the others, and checks everything against the op.
absl::StatusOr<NodeSignature> ResolveSignature(const OpDef& op,
                                               const NodeSpec& spec);

// Returns the number of tensors of an argument. REQUIRES: `attrs` is complete.
int ArgLength(const ArgDef& arg, const AttrMap& attrs);

// Returns how many of the `num_inputs` inputs belong to each argument of the
// op. `attrs` may lack one length, which several arguments may use. It is
// inferred; others are taken from defaults.
absl::StatusOr<std::vector<int>> InputLengths(const OpDef& op,
                                              const AttrMap& attrs,
                                              int num_inputs);

// Returns a description of the op for errors, such as "Op<name=Add;
// signature=x:T, y:T -> z:T>".
std::string SummarizeOp(const OpDef& op);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NODE_SIGNATURE_H_
