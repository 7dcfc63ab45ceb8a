// SmallGraph is an untrusted graph, small enough for tests to run in any case;
// GraphSession is a session with it, in a task with little memory.
//
// A node with an attribute "_value" is fed: its output 0 is that tensor. So
// kernels get shapes that their shape functions have not seen.
//
// Threads: those of one Process that lives until the program ends. One caller
// at a time.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SMALL_GRAPH_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SMALL_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "integration_tests/testing/bounded_task.h"
#include "libs/graph/graph.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/protocol/master/master.h"
#include "libs/tensor/tensor.h"

namespace weft {

namespace tf {
class GraphDef;
}  // namespace tf

class SmallGraph {
 public:
  // Null for an invalid graph, or one with excessive demands.
  static std::unique_ptr<SmallGraph> Of(const tf::GraphDef& def);

  const Graph& graph() const { return graph_; }
  const std::string& bytes() const { return bytes_; }
  const std::vector<Tensor>& fed_values() const { return values_; }
  // Steps worth running: the last nodes, one after the other, with fetches and
  // without, then all at once.
  std::vector<protocol::CallableSpec> Specs() const;
  // One step per node.
  std::vector<protocol::CallableSpec> NodeSpecs() const;

 private:
  explicit SmallGraph(std::string bytes);
  protocol::CallableSpec SpecOf(const Node& node) const;

  std::string bytes_;
  Graph graph_;
  std::vector<std::string> feeds_;
  std::vector<Tensor> values_;
};

class GraphSession {
 public:
  struct Outcome {
    absl::Status status;
    std::vector<Tensor> fetches;  // where the status is OK
    // Number of fused nodes that ran (_FusedMatMul).
    int fused_nodes = 0;
  };

  // The graph must outlive the session.
  explicit GraphSession(const SmallGraph& graph,
                        const GraphOptions& options = {});
  // Counts fused nodes from now on.
  void CountFused() { counts_fused_ = true; }
  ~GraphSession();
  GraphSession(const GraphSession&) = delete;
  GraphSession& operator=(const GraphSession&) = delete;

  // DEADLINE_EXCEEDED for steps that take longer than a small graph should.
  Outcome Run(const protocol::CallableSpec& spec);
  // Runs one after the other, until one takes too long.
  std::vector<Outcome> RunAll(const std::vector<protocol::CallableSpec>& specs);

 private:
  protocol::BlockingMaster master() {
    return {task_.master(), task_.scheduler()};
  }

  const SmallGraph& graph_;
  BoundedTask task_;
  bool counts_fused_ = false;
  uint64_t session_ = 0;
  absl::Status ready_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SMALL_GRAPH_H_
