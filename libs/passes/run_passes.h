// RunPasses applies the rewrites to a callable's graph, between pruning and
// partitioning.
#ifndef WEFT_LIBS_PASSES_RUN_PASSES_H_
#define WEFT_LIBS_PASSES_RUN_PASSES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "libs/graph/graph.h"
#include "libs/passes/constant_folding.h"
#include "libs/protocol/master/graph_options.h"

namespace weft {

struct PassOptions {
  bool remove_identities = true;
  bool fold_constants = true;
  bool simplify_arithmetic = true;
  bool merge_common_subexpressions = true;
  bool fuse_elements = true;
  // This is not an optimization, so it is always on.
  bool save_from_snapshots = true;
  // Separates the session's marks from those of others.
  std::string mark_scope;
  int64_t max_folded_constant_bytes = int64_t{100} * 1024;

  friend bool operator==(const PassOptions&, const PassOptions&) = default;
};

// Folding and merging are on by opt_level, or by their own `do_` switch, unless
// rewrite_options turns them off. The first and the third are on unless
// rewrite_options turns them or all of their kind off, and at level 0 only on
// request; elements are fused only on request.
PassOptions PassOptionsFor(const GraphOptions& options);

// Runs the requested passes on a pruned, placed graph. Fetches, side effects,
// random streams, errors and the order of nodes stay the same; remaining nodes
// keep name and device. Without `evaluate` nothing is folded. A graph that the
// passes cannot handle is returned unchanged: the step then fails.
std::unique_ptr<Graph> RunPasses(std::unique_ptr<Graph> pruned,
                                 const PassOptions& options,
                                 const NodeEvaluator& evaluate);

// Applies the passes that are worthwhile for the body of a function that is
// called at run time, with unplaced nodes: it runs on a CPU, once for each
// element of a data set. Values stay the same, and so do errors and their node
// names.
std::unique_ptr<Graph> RewriteFunctionBody(std::unique_ptr<Graph> body);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_RUN_PASSES_H_
