// Callable: what runs of one (feeds, fetches, targets) have in common.
#ifndef WEFT_LIBS_MASTER_CALLABLE_H_
#define WEFT_LIBS_MASTER_CALLABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"
#include "libs/passes/run_passes.h"
#include "libs/protocol/master.h"
#include "libs/protocol/worker.h"

namespace weft {

class PartialRun;

// Immutable once made.
struct Callable {
  // What one task runs of it.
  struct Part {
    std::string task;
    protocol::Worker* worker = nullptr;
    std::vector<protocol::DevicePartition> partitions;
    // Positions of the feeds it takes and the fetches it makes.
    std::vector<int> feeds;
    std::vector<int> fetches;
    // What else may come with its answer, for errors: ", sends TASK [tensor
    // a:0 and 2 more]". Empty for the master's own task.
    std::string sends;
    // Which nodes it runs, for errors: "[[node x (VariableV2) and 2 more]]".
    std::string nodes;
  };

  uint64_t id = 0;
  protocol::CallableSpec spec;
  std::vector<DataType> feed_types;
  // Of a partial run; else null. It has state of its own.
  std::shared_ptr<PartialRun> partial;
  // Of one that marks variables: how long it waits for the steps that write
  // these (WriterHold).
  std::optional<absl::Duration> max_hold;
  // It waits until variables have values: Weft makes such steps itself, and
  // they may take long.
  bool awaits_variables = false;
  // The master's own task, if it has a part, is the last.
  std::vector<Part> parts;

  // INVALID_ARGUMENT unless the tensors fit the feeds in number and type.
  absl::Status CheckFeeds(absl::Span<const Tensor> feeds) const;

  // `status` with the names of what the part takes and makes for the client.
  absl::Status NameEnds(const Part& part, const absl::Status& status) const;
};

// A callable's part of its session's graph, on its own.
struct PrunedCallable {
  protocol::CallableSpec spec;
  std::vector<DataType> feed_types;
  std::unique_ptr<Graph> graph;
};

// Resolves the names and prunes.
// INVALID_ARGUMENT: a tensor fed twice, or both fed and fetched; NOT_FOUND: an
// unknown target; `unknown_tensor_code`: an unknown feed or fetch. A partial
// run meets its client on the CPU of `own_task`. Nodes from number `num_nodes`
// on are not there yet. REQUIRES: those before are placed.
absl::StatusOr<PrunedCallable> PruneCallable(
    const Graph& graph, int num_nodes, const protocol::CallableSpec& spec,
    absl::StatusCode unknown_tensor_code, const std::string& own_task);

// Runs the passes and partitions; does not register.
// REQUIRES: placed on devices of tasks of `directory`.
absl::StatusOr<std::shared_ptr<Callable>> CompileCallable(
    PrunedCallable pruned, const PassOptions& passes,
    const NodeEvaluator& evaluate, protocol::WorkerDirectory& directory,
    const std::string& own_task);

// The serialised GraphDef of each device's part, in the order of their names.
// RESOURCE_EXHAUSTED for one of more than 2 GiB. REQUIRES: they are there yet.
absl::StatusOr<std::vector<std::string>> ExportPartitions(
    const Callable& callable);

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_CALLABLE_H_
