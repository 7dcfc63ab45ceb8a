// ResolveSignature infers the properties of a new node from its op, for
// Graph::AddNode: complete attrs and the types of inputs and outputs.
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

// The number of tensors of an argument. REQUIRES: complete attrs.
int ArgLength(const ArgDef& arg, const AttrMap& attrs);

// The number of the `num_inputs` inputs that belong to each argument. At most
// one length may be missing in `attrs` (it may be used by several arguments);
// others are taken from defaults.
absl::StatusOr<std::vector<int>> InputLengths(const OpDef& op,
                                              const AttrMap& attrs,
                                              int num_inputs);

// "Op<name=Add; signature=x:T, y:T -> z:T>", for errors.
std::string SummarizeOp(const OpDef& op);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NODE_SIGNATURE_H_
