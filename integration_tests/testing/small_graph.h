// SmallGraph is an untrusted graph that is small enough for tests to run.
// GraphSession is a session with a SmallGraph in a task with little memory.
//
// If a node has an attribute "_value", that tensor is fed as output 0 of the
// node. So kernels get shapes that their shape functions have not seen.
//
// Threads: those of one Process that lives until the program ends. Not
// thread-safe.
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
  // Returns null if the graph is invalid or demands too much work or memory.
  static std::unique_ptr<SmallGraph> Of(const tf::GraphDef& def);

  const Graph& graph() const { return graph_; }
  const std::string& bytes() const { return bytes_; }
  const std::vector<Tensor>& fed_values() const { return values_; }
  // Returns the steps to run: each of the last nodes, with and without fetches,
  // and then all of these nodes together.
  std::vector<protocol::CallableSpec> Specs() const;
  // Returns one step for each node.
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
    std::vector<Tensor> fetches;  // set if the status is OK
    // Number of fused nodes that ran, such as _FusedMatMul.
    int fused_nodes = 0;
  };

  // The graph must outlive the session.
  explicit GraphSession(const SmallGraph& graph,
                        const GraphOptions& options = {});
  // Starts to count the fused nodes that run.
  void CountFused() { counts_fused_ = true; }
  ~GraphSession();
  GraphSession(const GraphSession&) = delete;
  GraphSession& operator=(const GraphSession&) = delete;

  // Runs one step. Returns DEADLINE_EXCEEDED if it takes longer than a step of
  // a small graph should.
  Outcome Run(const protocol::CallableSpec& spec);
  // Runs the steps one after the other, until a step takes too long.
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
