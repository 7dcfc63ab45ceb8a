// RunPasses: the rewrites of a callable's graph, between pruning and cutting it
// by device.
#ifndef WEFT_LIBS_PASSES_RUN_PASSES_H_
#define WEFT_LIBS_PASSES_RUN_PASSES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "libs/graph/graph.h"
#include "libs/passes/constant_folding.h"
#include "libs/protocol/graph_options.h"

namespace weft {

struct PassOptions {
  bool remove_identities = true;
  bool fold_constants = true;
  bool simplify_arithmetic = true;
  bool merge_common_subexpressions = true;
  bool fuse_elements = true;
  // No optimization: always on.
  bool save_from_snapshots = true;
  // What sets the session's marks apart from those of others.
  std::string mark_scope;
  int64_t max_folded_constant_bytes = int64_t{100} * 1024;

  friend bool operator==(const PassOptions&, const PassOptions&) = default;
};

// Folding and merging are on by opt_level, or by the `do_` switch of their own,
// unless rewrite_options turns them off. The first and the third are on unless
// rewrite_options turns them or all of its kind off, and at level 0 only where
// it asks for them; elements are fused only where it asks for that.
PassOptions PassOptionsFor(const GraphOptions& options);

// Runs what is wanted on a pruned, placed graph. Fetches, effects, random
// streams, errors and what comes after what stay the same; nodes that are left
// keep name and device. Without `evaluate` nothing is folded. A graph that the
// passes can't handle comes back as it was: it is the step that fails then.
std::unique_ptr<Graph> RunPasses(std::unique_ptr<Graph> pruned,
                                 const PassOptions& options,
                                 const NodeEvaluator& evaluate);

// What pays in the body of a function that is called at run time, of nodes that
// are not placed: it runs on a CPU, once for each element of a data set. The
// same values, and errors of nodes of the same names.
std::unique_ptr<Graph> RewriteFunctionBody(std::unique_ptr<Graph> body);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_RUN_PASSES_H_
