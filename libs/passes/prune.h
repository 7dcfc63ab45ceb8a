// Prune: the part of a graph that one callable needs.
#ifndef WEFT_LIBS_PASSES_PRUNE_H_
#define WEFT_LIBS_PASSES_PRUNE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"

namespace weft {

struct CallableEnds {
  std::vector<OutputTensor> feeds;    // none twice
  std::vector<OutputTensor> fetches;  // may repeat; none of them fed
  std::vector<const Node*> targets;
};

// A new graph of the nodes that `ends` need. Feed i is a node _Arg and fetch i
// a node _Retval, both with attr `index` = i, on the device of the node they
// belong to. A node of which one output is fed still runs when another output
// is needed; what must run after a fed placeholder runs after its _Arg.
// INVALID_ARGUMENT for a fetch from inside a loop.
// REQUIRES: `graph` is placed.
absl::StatusOr<std::unique_ptr<Graph>> Prune(const Graph& graph,
                                             const CallableEnds& ends);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_PRUNE_H_
