// Callable is the common state of the runs of one combination of feeds, fetches
// and targets.
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
#include "libs/protocol/master/master.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

class PartialRun;

// Immutable once made.
struct Callable {
  // The part of a callable on one task.
  struct Part {
    std::string task;
    protocol::Worker* worker = nullptr;
    std::vector<protocol::DevicePartition> partitions;
    // The indices of the feeds it consumes and the fetches it produces.
    std::vector<int> feeds;
    std::vector<int> fetches;
    // The tensors that may arrive with its answer in addition, for errors: ",
    // sends TASK [tensor a:0 and 2 more]". Empty for the master's own task.
    std::string sends;
    // The nodes that it runs, for errors: "[[node x (VariableV2) and 2 more]]".
    std::string nodes;
  };

  uint64_t id = 0;
  protocol::CallableSpec spec;
  std::vector<DataType> feed_types;
  // Of a partial run; otherwise null. It has its own state.
  std::shared_ptr<PartialRun> partial;
  // Of a callable that marks variables: how long it waits for the steps that
  // write these (WriterHold).
  std::optional<absl::Duration> max_hold;
  // The step waits until variables have values: Weft makes such steps itself,
  // and they may take long.
  bool awaits_variables = false;
  // The part of the master's own task, if any, is the last.
  std::vector<Part> parts;

  // Returns INVALID_ARGUMENT unless the tensors match the feeds in number and
  // type.
  absl::Status CheckFeeds(absl::Span<const Tensor> feeds) const;

  // Adds to `status` the names of the part's feeds and fetches.
  absl::Status NameEnds(const Part& part, const absl::Status& status) const;
};

// The part of a session's graph that a callable needs.
struct PrunedCallable {
  protocol::CallableSpec spec;
  std::vector<DataType> feed_types;
  std::unique_ptr<Graph> graph;
};

// Resolves the names and prunes. INVALID_ARGUMENT: a tensor fed twice, or both
// fed and fetched; NOT_FOUND: an unknown target; `unknown_tensor_code`: an
// unknown feed or fetch. A partial run exchanges values with its client on the
// CPU of `own_task`. Nodes from number `num_nodes` on do not exist yet.
// REQUIRES: those before are placed.
absl::StatusOr<PrunedCallable> PruneCallable(
    const Graph& graph, int num_nodes, const protocol::CallableSpec& spec,
    absl::StatusCode unknown_tensor_code, const std::string& own_task);

// Runs the passes and partitions; does not register. REQUIRES: placed on
// devices of tasks of `directory`.
absl::StatusOr<std::shared_ptr<Callable>> CompileCallable(
    PrunedCallable pruned, const PassOptions& passes,
    const NodeEvaluator& evaluate, protocol::WorkerDirectory& directory,
    const std::string& own_task);

// The serialized GraphDef of each device's partition, in the order of the
// devices' names. RESOURCE_EXHAUSTED for one of more than 2 GiB. REQUIRES: the
// graphs have not been released.
absl::StatusOr<std::vector<std::string>> ExportPartitions(
    const Callable& callable);

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_CALLABLE_H_
