// Prune extracts the part of a graph that one callable needs.
#ifndef WEFT_LIBS_PASSES_PRUNE_H_
#define WEFT_LIBS_PASSES_PRUNE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/graph.h"

namespace weft {

struct CallableEnds {
  std::vector<OutputTensor> feeds;    // without duplicates
  std::vector<OutputTensor> fetches;  // may repeat; none of them fed
  std::vector<const Node*> targets;
  // In a partial run, the device that receives its feeds and sends its fetches
  // while it runs; otherwise empty.
  std::string client_device;
};

// The edges between a partial run and its client have numbers above those of
// partitioning.
inline constexpr uint64_t kFirstClientEdge = uint64_t{1} << 48;
inline uint64_t FeedEdge(int feed) {
  return kFirstClientEdge + 2 * static_cast<uint64_t>(feed);
}
inline uint64_t FetchEdge(int fetch) { return FeedEdge(fetch) + 1; }

// Returns a new graph of the nodes that `ends` need. Feed i is a node _Arg and
// fetch i a node _Retval, both with attr `index` = i, on the device of their
// node. For a partial run they are a _Recv and a _Send, on client_device, with
// the attr `edge` from FeedEdge and FetchEdge. A node with a fed output still
// runs if another output is needed; control outputs of a fed placeholder follow
// its _Arg. INVALID_ARGUMENT for a fetch from inside a loop. If unknown nodes
// are needed, the error of RefuseUnknown (libs/graph/unknown_op.h). REQUIRES:
// `graph` is placed.
absl::StatusOr<std::unique_ptr<Graph>> Prune(const Graph& graph,
                                             const CallableEnds& ends);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_PRUNE_H_
