// ResolveSignature: what Graph::AddNode finds out about a new node from its op:
// complete attrs and the types of inputs and outputs.
//
// Stateless, hence thread-safe. Errors are INVALID_ARGUMENT with TensorFlow's
// texts; the caller names the node.
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

// Infers missing type, number and list attrs from the inputs, takes defaults
// for the others, and checks everything against the op.
absl::StatusOr<NodeSignature> ResolveSignature(const OpDef& op,
                                               const NodeSpec& spec);

// How many tensors an argument stands for. REQUIRES: complete attrs.
int ArgLength(const ArgDef& arg, const AttrMap& attrs);

// How many of `num_inputs` inputs belong to each argument. At most one length
// may be open in `attrs` (it may count for several arguments); others are taken
// from defaults.
absl::StatusOr<std::vector<int>> InputLengths(const OpDef& op,
                                              const AttrMap& attrs,
                                              int num_inputs);

// "Op<name=Add; signature=x:T, y:T -> z:T>", for errors.
std::string SummarizeOp(const OpDef& op);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_NODE_SIGNATURE_H_
