// PlanImpl is a partition compiled to a flat form. Internal to this module.
//
// Every input of every node has its own slot, contiguous for one node, so a
// kernel sees its inputs as one span. An edge says into which slot an output
// goes; the last edge of an output moves it, so the memory of a value with one
// consumer belongs to that consumer alone. A node's only output is created in
// the slot of its last edge, if that is known before it runs.
//
// Constants without control inputs do not run, nor do handles of variables on
// CPUs: their values are in the slots of their consumers from the start.
//
// Nodes belong to frames: frame 0 is the partition outside loops, every other
// one is the body of a loop. Slots, counters and asynchronous entries are
// numbered for each frame from 0 and exist once for each running iteration.
#ifndef WEFT_LIBS_EXECUTOR_PLAN_H_
#define WEFT_LIBS_EXECUTOR_PLAN_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/base/hash_tables.h"
#include "libs/executor/executor.h"

namespace weft {

class StepState;

enum class NodeKind : uint8_t {
  kKernel,   // runs a kernel synchronously
  kAsync,    // runs a kernel that ends later
  kForward,  // forwards its first input: Identity and similar ops
  kSwitch,   // forwards its first input to one of two outputs
  kMerge,    // forwards the input that arrived, without its index
  kArg,
  kRetval,
};

enum class LoopRole : uint8_t {
  kNone,
  kEnter,
  kConstantEnter,
  kExit,
  kNextIteration,
};

struct Edge {
  int32_t node = 0;      // the consumer
  int32_t slot = -1;     // in the consumer's frame; -1 on a control edge
  int32_t counter = -1;  // the consumer's; -1 if this is its only edge
  int32_t output = -1;   // the producer's; -1 on a control edge
  bool is_last = false;  // the last edge of this output
  bool to_merge = false;
  bool to_exit = false;  // the only edge of an Exit

  bool is_control() const { return slot < 0; }
};

// The recent run times, in all steps, of a kernel that is not cheap.
struct KernelCost {
  std::atomic<uint32_t> nanoseconds{0};  // 0: none has been measured
  std::atomic<uint32_t> runs{0};         // while they are short; a hint
};

struct NodeItem {
  OpKernel* kernel = nullptr;
  AsyncOpKernel* async = nullptr;
  OpKernelContext::NodeView view;
  int32_t first_input = 0;  // slot
  int32_t num_inputs = 0;
  int32_t num_outputs = 0;
  int32_t first_edge = 0;  // in PlanImpl::edges
  int32_t end_edge = 0;
  int32_t first_const = 0;  // in FrameInfo::const_inputs
  int32_t num_consts = 0;
  int32_t first_ref = 0;  // in PlanImpl::ref_inputs
  int32_t num_refs = 0;
  int32_t counter = -1;
  int32_t async_index = -1;
  int32_t index = -1;  // of an _Arg or _Retval
  int32_t frame = 0;   // where it runs
  int32_t child = -1;  // of an Enter: the frame it feeds
  // The slot of a consumer in which a run creates the node's only output. It is
  // the slot of the edge that would move the output there, in the same
  // iteration. -1 if the output is created elsewhere.
  int32_t direct_slot = -1;
  NodeKind kind = NodeKind::kKernel;
  LoopRole loop_role = LoopRole::kNone;
  bool is_cheap = false;
  bool is_merge = false;
  bool is_recv = false;
  bool is_send = false;
  // Whether the node is a _Send of values that are not encoded, of any size.
  bool moves_input = false;
  bool runs_when_dead = false;
  bool revives = false;  // ControlTrigger: never dead
  // Null for cheap kernels. Shared by all steps.
  KernelCost* cost = nullptr;

  // Returns the expected run time in nanoseconds, or 0 if it is unknown.
  uint32_t cost_or_zero() const {
    return cost == nullptr ? 0
                           : cost->nanoseconds.load(std::memory_order_relaxed);
  }
};

// An input that is produced as a reference to a variable.
struct RefInput {
  int32_t input = 0;
  bool read = false;  // the node takes a value: read it
  std::string name;   // of the producer, for errors
};

// InputSource names the node that produces an input's value.
struct InputSource {
  int32_t node = -1;  // -1: a constant in the slot
  int32_t output = 0;
};

struct ConstInput {
  int32_t slot = 0;
  Tensor value;
};

struct FrameInfo {
  std::string name;
  int parent = -1;
  int num_enters = 0;
  int parallel_iterations = 1;
  int num_slots = 0;
  // A counter for each node that waits for more than one edge. It holds the
  // number of pending edges or, for a Merge, 1 plus 2 for each control edge.
  std::vector<int64_t> counters;
  std::vector<ConstInput> const_inputs;  // by slot
  // For each asynchronous node: the number of its outputs, a text that says
  // what it waits for, and its op.
  std::vector<int32_t> async_outputs;
  std::vector<std::string> async_waits;
  std::vector<std::string> async_ops;
};

class PlanImpl : public Plan {
 public:
  PlanImpl();
  ~PlanImpl() override;

  int num_args() const override { return num_args_; }
  int num_retvals() const override { return num_retvals_; }
  int num_nodes() const override { return num_graph_nodes_; }
  bool DescribeWaits(uint64_t step_id,
                     std::vector<std::string>& waits) const override;
  void CountWaits(std::map<std::string, int64_t>& waits) const override;

  // TakeState returns a reset state for step `step_id`. GiveBack returns it
  // when the step is over.
  std::unique_ptr<StepState> TakeState(uint64_t step_id) const;
  void GiveBack(std::unique_ptr<StepState> state) const;

  std::vector<NodeItem> nodes;
  std::vector<Edge> edges;
  std::vector<RefInput> ref_inputs;
  std::vector<FrameInfo> frames;
  std::vector<int32_t> roots;  // nodes without pending edges
  std::vector<int32_t> retval_indices;
  // The tensor and the other end of each _Send and _Recv node, for traces: "x:0
  // @/job:ps/replica:0/task:0/device:CPU:0".
  FlatHashMap<int32_t, std::string> transfers;
  // The sources of all inputs of all nodes, in order, and the index of the
  // first one of each node. Traces use them, too.
  std::vector<InputSource> sources;
  std::vector<size_t> first_source;
  int max_outputs = 0;
  bool may_be_dead = false;  // some value may be dead

 private:
  friend class PlanBuilder;

  int num_args_ = 0;
  int num_retvals_ = 0;
  int num_graph_nodes_ = 0;
  // Names and types to which `nodes` refers.
  std::vector<std::string> names_;
  std::vector<DataTypeVector> output_types_;
  std::vector<std::unique_ptr<bool[]>> outputs_on_host_;
  std::vector<std::shared_ptr<OpKernel>> kernels_;
  std::unique_ptr<KernelCost[]> costs_;

  struct Running {
    uint64_t step_id = 0;
    StepState* state = nullptr;
  };

  mutable absl::Mutex mutex_;
  mutable std::vector<std::unique_ptr<StepState>> free_states_
      ABSL_GUARDED_BY(mutex_);
  // States in use by steps; they own themselves.
  mutable std::vector<Running> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_PLAN_H_
