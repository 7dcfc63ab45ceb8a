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

// A Callable is immutable once it is made.
struct Callable {
  // The part of a callable on one task.
  struct Part {
    std::string task;
    protocol::Worker* worker = nullptr;
    std::vector<protocol::DevicePartition> partitions;
    // The indices of the feeds that the part consumes and of the fetches that
    // it produces.
    std::vector<int> feeds;
    std::vector<int> fetches;
    // The tensors that may arrive with its answer in addition, for errors: ",
    // sends TASK [tensor a:0 and 2 more]". Empty for the master's own task.
    std::string sends;
    // The nodes that the part runs, for errors: "[[node x (VariableV2) and 2
    // more]]".
    std::string nodes;
  };

  uint64_t id = 0;
  protocol::CallableSpec spec;
  std::vector<DataType> feed_types;
  // The state of a partial run; null for other callables.
  std::shared_ptr<PartialRun> partial;
  // For a callable that marks variables: how long it waits for the steps that
  // write these variables (WriterHold).
  std::optional<absl::Duration> max_hold;
  // The step waits until variables have values: Weft makes such steps itself,
  // and they may take long.
  bool awaits_variables = false;
  // The part of the master's own task, if any, is the last.
  std::vector<Part> parts;

  // Returns INVALID_ARGUMENT unless the tensors match the feeds in number and
  // type.
  absl::Status CheckFeeds(absl::Span<const Tensor> feeds) const;

  // Returns `status` with the names of the part's feeds and fetches.
  absl::Status NameEnds(const Part& part, const absl::Status& status) const;
};

// The part of a session's graph that a callable needs.
struct PrunedCallable {
  protocol::CallableSpec spec;
  std::vector<DataType> feed_types;
  std::unique_ptr<Graph> graph;
};

// Resolves the names of feeds, fetches and targets, and prunes the graph.
// Returns INVALID_ARGUMENT if a tensor is fed twice, or both fed and fetched;
// NOT_FOUND for an unknown target; `unknown_tensor_code` for an unknown feed or
// fetch. A partial run exchanges values with its client on the CPU of
// `own_task`. Only the first `num_nodes` nodes exist for the callable.
// REQUIRES: they are placed.
absl::StatusOr<PrunedCallable> PruneCallable(
    const Graph& graph, int num_nodes, const protocol::CallableSpec& spec,
    absl::StatusCode unknown_tensor_code, const std::string& own_task);

// Runs the passes and partitions the graph, without registering the partitions.
// REQUIRES: the nodes are placed on devices of tasks of `directory`.
absl::StatusOr<std::shared_ptr<Callable>> CompileCallable(
    PrunedCallable pruned, const PassOptions& passes,
    const NodeEvaluator& evaluate, protocol::WorkerDirectory& directory,
    const std::string& own_task);

// Returns the serialized GraphDef of each device's partition, in the order of
// the devices' names. RESOURCE_EXHAUSTED if a GraphDef has more than 2 GiB.
// REQUIRES: the graphs have not been released.
absl::StatusOr<std::vector<std::string>> ExportPartitions(
    const Callable& callable);

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_CALLABLE_H_
