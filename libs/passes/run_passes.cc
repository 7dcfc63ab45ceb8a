#include "libs/passes/run_passes.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "libs/graph/frame_analysis.h"
#include "libs/passes/arithmetic_simplification.h"
#include "libs/passes/common_subexpressions.h"
#include "libs/passes/csv_fusion.h"
#include "libs/passes/element_fusion.h"
#include "libs/passes/graph_rewrite.h"
#include "libs/passes/identity_removal.h"
#include "libs/passes/lookup_fusion.h"
#include "libs/passes/parted_lookup_fusion.h"
#include "libs/passes/scaling_fusion.h"
#include "libs/passes/slice_fusion.h"
#include "libs/passes/variable_saving.h"

namespace weft {
namespace {

bool IsWanted(RewriterConfig::Toggle toggle, const GraphOptions& options) {
  if (options.rewrite_options.disable_meta_optimizer) return false;
  if (toggle != RewriterConfig::kDefault) return toggle == RewriterConfig::kOn;
  return options.optimizer_options.opt_level != OptimizerOptions::kL0;
}

bool AnyIsWanted(const PassOptions& options) {
  return options.remove_identities || options.fold_constants ||
         options.simplify_arithmetic || options.merge_common_subexpressions ||
         options.fuse_elements || options.save_from_snapshots;
}

// Malformed loops must stay unchanged, to be refused.
bool LoopsFit(const Graph& graph) {
  std::vector<bool> is_everywhere(graph.num_nodes(), false);
  for (const Node* node : graph.nodes()) {
    for (const OutputTensor& input : node->inputs()) {
      if (input.node == nullptr) return false;
    }
    is_everywhere[node->id()] =
        node->type() == "Const" && node->control_inputs().empty();
  }
  return AnalyzeFrames(graph, is_everywhere).ok();
}

}  // namespace

PassOptions PassOptionsFor(const GraphOptions& options) {
  const OptimizerOptions& optimizer = options.optimizer_options;
  const RewriterConfig& rewriter = options.rewrite_options;
  const bool by_level = optimizer.opt_level != OptimizerOptions::kL0;
  PassOptions result;
  result.fold_constants = (by_level || optimizer.do_constant_folding) &&
                          rewriter.constant_folding != RewriterConfig::kOff;
  result.merge_common_subexpressions =
      (by_level || optimizer.do_common_subexpression_elimination) &&
      rewriter.common_subgraph_elimination != RewriterConfig::kOff;
  result.simplify_arithmetic =
      IsWanted(rewriter.arithmetic_optimization, options);
  result.remove_identities =
      IsWanted(rewriter.dependency_optimization, options);
  // Off by default: whole models are no faster with it (benchmarks/README.md).
  result.fuse_elements = rewriter.remapping == RewriterConfig::kOn &&
                         IsWanted(rewriter.remapping, options);
  if (optimizer.max_folded_constant_in_bytes > 0) {
    result.max_folded_constant_bytes = optimizer.max_folded_constant_in_bytes;
  }
  return result;
}

std::unique_ptr<Graph> RunPasses(std::unique_ptr<Graph> pruned,
                                 const PassOptions& options,
                                 const NodeEvaluator& evaluate) {
  if (!AnyIsWanted(options) || !LoopsFit(*pruned)) return pruned;
  GraphRewrite rewrite(*pruned);
  if (options.remove_identities) RemoveIdentities(rewrite);
  if (options.fold_constants && evaluate) {
    FoldConstants(
        {.evaluate = evaluate, .max_bytes = options.max_folded_constant_bytes},
        rewrite);
  }
  if (options.simplify_arithmetic) SimplifyArithmetic(rewrite);
  if (options.merge_common_subexpressions) MergeCommonSubexpressions(rewrite);
  if (options.save_from_snapshots)
    SaveFromSnapshots(rewrite, options.mark_scope);
  if (options.simplify_arithmetic) {
    FuseLookups(rewrite);
    FusePartedLookups(rewrite);
    FuseCsv(rewrite);
    FuseScaling(rewrite);
    FuseSlices(rewrite);
  }
  if (options.fuse_elements) FuseElements(rewrite);
  absl::StatusOr<std::unique_ptr<Graph>> rewritten = rewrite.Build();
  return rewritten.ok() ? *std::move(rewritten) : std::move(pruned);
}

std::unique_ptr<Graph> RewriteFunctionBody(std::unique_ptr<Graph> body) {
  const auto nodes = body->nodes();
  const bool has_csv = absl::c_any_of(
      nodes, [](const Node* node) { return node->type() == "DecodeCSV"; });
  if (!has_csv) return body;
  GraphRewrite rewrite(*body);
  FuseCsv(rewrite, /*unplaced_too=*/true);
  absl::StatusOr<std::unique_ptr<Graph>> rewritten = rewrite.Build();
  return rewritten.ok() ? *std::move(rewritten) : std::move(body);
}

}  // namespace weft
