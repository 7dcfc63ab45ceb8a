#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/executor/late_reads.h"
#include "libs/executor/memory_copies.h"
#include "libs/executor/plan.h"
#include "libs/graph/frame_analysis.h"
#include "libs/kernels/common/constant_output.h"
#include "libs/kernels/common/member_errors.h"

namespace weft {
namespace {

// Ops whose only output is their first input.
constexpr absl::string_view kForwardingOps[] = {
    "Enter",           "Exit",         "Identity", "LoopCond",
    "NextIteration",   "RefEnter",     "RefExit",  "RefIdentity",
    "PreventGradient", "StopGradient", "Snapshot", "RefNextIteration",
};

bool IsForwarding(const Node& node) {
  return std::find(std::begin(kForwardingOps), std::end(kForwardingOps),
                   absl::string_view(node.type())) != std::end(kForwardingOps);
}

// Returns, by id, the nodes that wait for nothing and for which `is_one` holds.
// Sources that feed a Merge are excluded, because it must see when its inputs
// arrive.
template <typename IsOne>
std::vector<bool> FindSources(const Graph& graph, const IsOne& is_one) {
  std::vector<bool> found(graph.num_nodes(), false);
  for (const Node* node : graph.nodes()) {
    found[node->id()] = node->control_inputs().empty() && is_one(*node);
  }
  for (const Node* node : graph.nodes()) {
    if (!IsMerge(*node)) continue;
    for (const OutputTensor& input : node->inputs()) {
      if (input.node != nullptr) found[input.node->id()] = false;
    }
  }
  return found;
}

// Finds constants that are stored in their consumers' slots.
std::vector<bool> FindConstants(const Graph& graph) {
  return FindSources(graph, [](const Node& node) {
    return node.type() == "Const" && node.attr<Tensor>("value") != nullptr;
  });
}

// Finds nodes whose kernels may be a ConstantOutput.
std::vector<bool> FindHandles(const Graph& graph) {
  return FindSources(
      graph, [](const Node& node) { return node.type() == "VarHandleOp"; });
}

LoopRole RoleOf(const Node& node) {
  if (IsExit(node)) return LoopRole::kExit;
  if (IsNextIteration(node)) return LoopRole::kNextIteration;
  if (!IsEnter(node)) return LoopRole::kNone;
  const bool* is_constant = node.attr<bool>("is_constant");
  return is_constant != nullptr && *is_constant ? LoopRole::kConstantEnter
                                                : LoopRole::kEnter;
}

// Returns the node that makes the handle. If the handle enters a loop, that is
// the node outside the loop. The search is bounded, because the graph is
// untrusted.
const Node& MakerOf(const OutputTensor& handle) {
  const Node* node = handle.node;
  for (int i = 0; i < 100 && IsForwarding(*node); ++i) {
    if (node->num_inputs() == 0 || node->input(0).node == nullptr) break;
    node = node->input(0).node;
  }
  return *node;
}

// Returns the shared resource's name, or a description by its node.
std::string NameOfResource(const Node& maker) {
  const std::string* shared = maker.attr<std::string>("shared_name");
  const bool is_named = shared != nullptr && !shared->empty();
  return absl::StrCat(is_named ? *shared : maker.name(), " (", maker.type(),
                      ")");
}

std::string DescribeWait(const Node& node) {
  const std::string* tensor = node.attr<std::string>("tensor_name");
  const std::string* from = node.attr<std::string>("send_device");
  const std::string* to = node.attr<std::string>("recv_device");
  if (node.type() == "_Recv" && tensor && from && to) {
    // No device sends to itself: this edge is a partial run's client (Prune).
    if (*from == *to) return absl::StrCat("the client to feed ", *tensor);
    return absl::StrCat("tensor ", *tensor, " from ", *from);
  }
  std::string text = absl::StrCat("node ", node.name(), " (", node.type(), ")");
  if (node.num_inputs() == 0) return text;
  const DataType type = node.input_type(0);
  if (type != DT_RESOURCE && !IsRefType(type)) return text;
  absl::StrAppend(&text, " on ", NameOfResource(MakerOf(node.input(0))));
  return text;
}

// Describes the other end of the edge of a _Send or _Recv.
std::string DescribeTransfer(const Node& node, bool is_recv) {
  const std::string* tensor = node.attr<std::string>("tensor_name");
  const std::string* device =
      node.attr<std::string>(is_recv ? "send_device" : "recv_device");
  return absl::StrCat(tensor == nullptr ? "?" : *tensor, " @",
                      device == nullptr ? "?" : *device);
}

bool MayMakeDead(const Node& node) {
  return IsSwitch(node) || IsMerge(node) || IsEnter(node) ||
         node.type() == "_Recv";
}

absl::Status CheckInputs(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    for (const OutputTensor& input : node->inputs()) {
      if (input.node != nullptr) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("node ", node->name(), " (", node->type(),
                       ") has an input that was never connected"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        is_const_(FindConstants(graph)),
        late_reads_(FindLateReads(graph)),
        plan_(std::make_shared<PlanImpl>()),
        item_of_(graph.num_nodes(), -1) {}

  absl::StatusOr<std::shared_ptr<const Plan>> Build() {
    RETURN_IF_ERROR(CheckInputs(graph_));
    ASSIGN_OR_RETURN(frames_, AnalyzeFrames(graph_, is_const_));
    RETURN_IF_ERROR(AddHandles());
    for (const FrameAnalysis::Frame& frame : frames_.frames) AddFrame(frame);
    Reserve();
    for (const Node* node : graph_.nodes()) {
      if (is_const_[node->id()]) continue;
      RETURN_IF_ERROR(Annotated(*node, AddItem(*node)));
    }
    for (const Node* node : graph_.nodes()) {
      if (!is_const_[node->id()]) AddInEdges(*node);
    }
    for (size_t i = 0; i < plan_->nodes.size(); ++i) FinishEdges(i);
    plan_->num_graph_nodes_ = graph_.num_nodes();
    return std::shared_ptr<const Plan>(plan_);
  }

 private:
  static absl::Status Annotated(const Node& node, absl::Status status) {
    if (status.ok()) return status;
    const std::string failed = TakeFailedNode(status, node.name(), node.type());
    const std::string name = failed.substr(0, failed.find(' '));
    if (absl::StrContains(status.message(), name)) return status;
    return Append(status, absl::StrCat("[[node ", failed, "]]"));
  }

  // Handles of variables are constants, once the default container is known.
  // For devices with their own memory, the steps copy them.
  absl::Status AddHandles() {
    if (options_.default_container == nullptr ||
        options_.device->context() != nullptr) {
      return absl::OkStatus();
    }
    const std::vector<bool> is_handle = FindHandles(graph_);
    for (const Node* node : graph_.nodes()) {
      if (!is_handle[node->id()]) continue;
      RETURN_IF_ERROR(Annotated(*node, AddHandle(*node)));
    }
    return absl::OkStatus();
  }

  absl::Status AddHandle(const Node& node) {
    ASSIGN_OR_RETURN(
        const KernelRegistry::Registration* registration,
        options_.kernels->Find(node, options_.device->device_type()));
    ASSIGN_OR_RETURN(const std::shared_ptr<OpKernel> kernel,
                     MakeKernel(node, registration->factory));
    auto* constant = dynamic_cast<ConstantOutput*>(kernel.get());
    if (constant == nullptr) return absl::OkStatus();
    handles_[node.id()] = constant->OutputIn(*options_.default_container);
    is_const_[node.id()] = true;
    return absl::OkStatus();
  }

  // Must be called for all frames in order: nodes refer to them by the indices
  // of the analysis. AddItem sets the rest of FrameInfo.
  void AddFrame(const FrameAnalysis::Frame& frame) {
    FrameInfo info;
    info.name = frame.name;
    info.parent = frame.parent;
    info.num_enters = frame.num_enters;
    info.parallel_iterations = frame.parallel_iterations;
    plan_->frames.push_back(std::move(info));
  }

  // Returns the source of the value of the node's input `i`.
  const OutputTensor& SourceOf(const Node& node, int i) const {
    const auto late = late_reads_.find({node.id(), i});
    return late == late_reads_.end() ? node.input(i) : late->second;
  }

  // Returns the nodes that the node waits for besides the sources of its
  // inputs.
  std::vector<const Node*> WaitsFor(const Node& node) const {
    std::vector<const Node*> result;
    for (const Node* input : node.control_inputs()) {
      if (!is_const_[input->id()]) result.push_back(input);
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (late_reads_.contains({node.id(), i})) {
        result.push_back(node.input(i).node);
      }
    }
    return result;
  }

  // Reserves memory for the lists into which nodes point, because they must not
  // be reallocated.
  void Reserve() {
    const size_t n = graph_.num_nodes();
    plan_->nodes.reserve(n);
    plan_->names_.reserve(2 * n);
    plan_->output_types_.reserve(n);
    plan_->costs_ = std::make_unique<KernelCost[]>(n);
    out_edges_.resize(n);
  }

  absl::Status AddItem(const Node& node) {
    item_of_[node.id()] = static_cast<int>(plan_->nodes.size());
    NodeItem& item = plan_->nodes.emplace_back();
    item.view = MakeView(node);
    item.frame = frames_.runs_in[node.id()];
    item.num_inputs = node.num_inputs();
    item.num_outputs = node.num_outputs();
    item.loop_role = RoleOf(node);
    if (IsEnter(node)) item.child = frames_.outputs_to[node.id()];
    item.is_merge = IsMerge(node);
    item.is_recv = node.type() == "_Recv";
    item.is_send = node.type() == "_Send";
    item.moves_input = item.is_send && DataTypeSize(node.input_type(0)) > 0;
    item.runs_when_dead = item.is_recv || item.is_send;
    if (item.is_recv || item.is_send) {
      plan_->transfers[item_of_[node.id()]] =
          DescribeTransfer(node, item.is_recv);
    }
    item.revives = node.type() == "ControlTrigger";
    plan_->may_be_dead |= MayMakeDead(node);
    plan_->max_outputs = std::max(plan_->max_outputs, item.num_outputs);
    RETURN_IF_ERROR(AddSlots(node, item));
    AddCounter(node, item);
    return AddKernel(node, item);
  }

  OpKernelContext::NodeView MakeView(const Node& node) {
    const std::string& name = plan_->names_.emplace_back(node.name());
    const std::string& op = plan_->names_.emplace_back(node.type());
    const DataTypeVector& types = plan_->output_types_.emplace_back(
        node.output_types().begin(), node.output_types().end());
    return {name, op, types};
  }

  absl::Status AddSlots(const Node& node, NodeItem& item) {
    FrameInfo& frame = plan_->frames[item.frame];
    item.first_input = frame.num_slots;
    frame.num_slots += node.num_inputs();
    item.first_const = static_cast<int>(frame.const_inputs.size());
    item.first_ref = static_cast<int>(plan_->ref_inputs.size());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const OutputTensor& input = SourceOf(node, i);
      if (is_const_[input.node->id()]) {
        ASSIGN_OR_RETURN(Tensor value, ConstantFor(node, i, *input.node));
        frame.const_inputs.push_back({item.first_input + i, std::move(value)});
      } else if (IsRefType(input.node->output_type(input.index))) {
        AddRefInput(node, i);
      }
    }
    item.num_consts =
        static_cast<int>(frame.const_inputs.size()) - item.first_const;
    item.num_refs = static_cast<int>(plan_->ref_inputs.size()) - item.first_ref;
    return absl::OkStatus();
  }

  // Returns the value of a constant in the memory in which the node takes it.
  // It is copied to the device only once.
  absl::StatusOr<Tensor> ConstantFor(const Node& node, int i,
                                     const Node& constant) {
    const auto handle = handles_.find(constant.id());
    if (handle != handles_.end()) return handle->second;
    const Tensor& value = *constant.attr<Tensor>("value");
    DeviceContext* context = options_.device->context();
    if (context == nullptr) return value;
    ASSIGN_OR_RETURN(const bool on_host, TakesOnHost(node, i, options_));
    if (on_host) return value;
    Tensor& copy = device_constants_[constant.id()];
    if (!copy.IsInitialized()) {
      ASSIGN_OR_RETURN(Tensor to,
                       Tensor::Allocate(options_.device->allocator(),
                                        value.dtype(), value.shape()));
      RETURN_IF_ERROR(context->CopyToDevice(value, to));
      copy = std::move(to);
    }
    return copy;
  }

  void AddRefInput(const Node& node, int i) {
    const bool read = !IsRefType(node.input_type(i));
    if (!read && node.op().allows_uninitialized_input) return;
    const OutputTensor& input = SourceOf(node, i);
    std::string name =
        input.index == 0 ? input.node->name() : TensorName(input);
    plan_->ref_inputs.push_back({i, read, std::move(name)});
  }

  void AddCounter(const Node& node, NodeItem& item) {
    const int controls = static_cast<int>(WaitsFor(node).size());
    const int pending = item.is_merge
                            ? 1 + 2 * controls
                            : item.num_inputs - item.num_consts + controls;
    if (pending == 0) {
      plan_->roots.push_back(item_of_[node.id()]);
    } else if (pending > 1 || item.is_merge) {
      std::vector<int64_t>& counters = plan_->frames[item.frame].counters;
      item.counter = static_cast<int>(counters.size());
      counters.push_back(pending);
    }
  }

  absl::Status AddKernel(const Node& node, NodeItem& item) {
    ASSIGN_OR_RETURN(
        const KernelRegistry::Registration* registration,
        options_.kernels->Find(node, options_.device->device_type()));
    item.is_cheap = registration->def.is_cheap;
    AddMemory(node, registration->def, item);
    if (node.type() == "_Arg") return AddArg(node, item);
    if (node.type() == "_Retval") return AddRetval(node, item);
    if (IsForwarding(node)) {
      item.kind = NodeKind::kForward;
      item.is_cheap = true;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(std::shared_ptr<OpKernel> kernel,
                     MakeKernel(node, registration->factory));
    item.kernel = kernel.get();
    item.async = kernel->AsAsync();
    plan_->kernels_.push_back(std::move(kernel));
    if (item.async != nullptr) {
      item.kind = NodeKind::kAsync;
      std::vector<int32_t>& outputs = plan_->frames[item.frame].async_outputs;
      item.async_index = static_cast<int>(outputs.size());
      outputs.push_back(item.num_outputs);
      plan_->frames[item.frame].async_waits.push_back(DescribeWait(node));
      plan_->frames[item.frame].async_ops.push_back(node.type());
    } else if (!item.is_cheap) {
      item.cost = &plan_->costs_[item_of_[node.id()]];
    }
    return absl::OkStatus();
  }

  // Sets the memory types of the kernel's outputs on a device with memory of
  // its own.
  void AddMemory(const Node& node, const KernelDef& def, NodeItem& item) {
    if (options_.device->context() == nullptr) return;
    item.view.is_on_host =
        !def.host_memory.empty() && def.host_memory.front() == "*";
    auto on_host = std::make_unique<bool[]>(node.num_outputs());
    for (int i = 0; i < node.num_outputs(); ++i) {
      on_host[i] = KernelRegistry::OutputOnHost(def, node, i);
    }
    item.view.outputs_on_host =
        absl::MakeConstSpan(on_host.get(), node.num_outputs());
    plan_->outputs_on_host_.push_back(std::move(on_host));
  }

  absl::StatusOr<std::shared_ptr<OpKernel>> MakeKernel(
      const Node& node, const KernelFactory& factory) {
    auto create = [&] {
      return CatchExceptions([&] {
        return factory(OpKernelConstruction(
            node, *options_.device, *options_.random, options_.functions));
      });
    };
    // Internal nodes are made anew for each partition, under names that may
    // recur; they have no state.
    const bool is_internal = node.type()[0] == '_';
    if (node.op().is_stateful && !is_internal) {
      return options_.stateful_kernels->GetOrCreate(node.name(), create);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, create());
    return std::shared_ptr<OpKernel>(std::move(kernel));
  }

  static absl::StatusOr<int> IndexOf(const Node& node) {
    const int64_t* index = node.attr<int64_t>("index");
    if (index == nullptr || *index < 0 || *index >= (1 << 20)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "node ", node.name(), " (", node.type(), ") needs an attr index"));
    }
    return static_cast<int>(*index);
  }

  absl::Status AddArg(const Node& node, NodeItem& item) {
    ASSIGN_OR_RETURN(item.index, IndexOf(node));
    item.kind = NodeKind::kArg;
    item.is_cheap = true;
    plan_->num_args_ = std::max(plan_->num_args_, item.index + 1);
    return absl::OkStatus();
  }

  absl::Status AddRetval(const Node& node, NodeItem& item) {
    ASSIGN_OR_RETURN(item.index, IndexOf(node));
    std::vector<int32_t>& indices = plan_->retval_indices;
    if (std::find(indices.begin(), indices.end(), item.index) !=
        indices.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", node.name(), " (", node.type(),
                       ") repeats index ", item.index));
    }
    indices.push_back(item.index);
    item.kind = NodeKind::kRetval;
    item.is_cheap = true;
    plan_->num_retvals_ = std::max(plan_->num_retvals_, item.index + 1);
    return absl::OkStatus();
  }

  void AddInEdges(const Node& node) {
    const int to = item_of_[node.id()];
    const NodeItem& item = plan_->nodes[to];
    Edge edge;
    edge.node = to;
    edge.counter = item.counter;
    edge.to_merge = item.is_merge;
    plan_->first_source.push_back(plan_->sources.size());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const OutputTensor& input = SourceOf(node, i);
      const int from = item_of_[input.node->id()];
      plan_->sources.push_back({from, input.index});
      if (is_const_[input.node->id()]) continue;
      edge.slot = item.first_input + i;
      edge.output = input.index;
      edge.to_exit = item.loop_role == LoopRole::kExit && edge.counter < 0;
      out_edges_[from].push_back(edge);
    }
    edge.slot = edge.output = -1;
    edge.to_exit = false;
    for (const Node* input : WaitsFor(node)) {
      out_edges_[item_of_[input->id()]].push_back(edge);
    }
  }

  // Sorts data edges by output, before control edges.
  void FinishEdges(size_t i) {
    NodeItem& item = plan_->nodes[i];
    std::vector<Edge>& edges = out_edges_[i];
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) {
                       return static_cast<uint32_t>(a.output) <
                              static_cast<uint32_t>(b.output);
                     });
    for (size_t e = 0; e < edges.size(); ++e) {
      if (edges[e].is_control()) continue;
      edges[e].is_last =
          e + 1 == edges.size() || edges[e + 1].output != edges[e].output;
    }
    item.view.outputs_not_required = NotRequired(item, edges);
    item.kind = KindAmong(item, edges);
    item.direct_slot = DirectSlot(item, edges);
    item.first_edge = static_cast<int>(plan_->edges.size());
    plan_->edges.insert(plan_->edges.end(), edges.begin(), edges.end());
    item.end_edge = static_cast<int>(plan_->edges.size());
  }

  static uint64_t NotRequired(const NodeItem& item,
                              const std::vector<Edge>& edges) {
    const int known = std::min(item.num_outputs, 64);
    uint64_t outputs = known == 0 ? 0 : ~uint64_t{0} >> (64 - known);
    for (const Edge& edge : edges) {
      if (edge.output >= 0 && edge.output < 64) {
        outputs &= ~(uint64_t{1} << edge.output);
      }
    }
    return outputs;
  }

  // Returns kSwitch or kMerge if the work of the node needs no kernel. A
  // constant stays in its slot, so nodes with a constant input are excluded.
  static NodeKind KindAmong(const NodeItem& item,
                            const std::vector<Edge>& edges) {
    if (item.kind != NodeKind::kKernel || item.num_consts > 0) return item.kind;
    if (item.view.op == "Switch" || item.view.op == "RefSwitch") {
      return NodeKind::kSwitch;
    }
    const bool says_which =
        std::any_of(edges.begin(), edges.end(),
                    [](const Edge& edge) { return edge.output == 1; });
    return item.is_merge && !says_which ? NodeKind::kMerge : item.kind;
  }

  // Returns NodeItem::direct_slot. It is -1 for a Merge, which takes the first
  // value that arrives; for an Exit, which may not run; for forwarding nodes,
  // whose output already is in a slot; and for nodes that lead to another
  // iteration, which is known only after they have run.
  static int32_t DirectSlot(const NodeItem& item,
                            const std::vector<Edge>& edges) {
    const bool makes_it =
        item.kind == NodeKind::kKernel || item.kind == NodeKind::kArg;
    if (!makes_it || item.num_outputs != 1) return -1;
    if (item.loop_role != LoopRole::kNone) return -1;
    for (const Edge& edge : edges) {
      if (edge.is_last) return edge.to_merge || edge.to_exit ? -1 : edge.slot;
    }
    return -1;
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<bool> is_const_;
  const LateReads late_reads_;
  FrameAnalysis frames_;
  std::shared_ptr<PlanImpl> plan_;
  std::vector<int> item_of_;  // by node id; -1 for constants
  std::vector<std::vector<Edge>> out_edges_;
  FlatHashMap<int, Tensor> device_constants_;  // by node id
  FlatHashMap<int, Tensor> handles_;           // by node id
};

absl::StatusOr<std::shared_ptr<const Plan>> Plan::Compile(
    const Graph& partition, const PlanOptions& options) {
  if (options.device->context() == nullptr) {
    return PlanBuilder(partition, options).Build();
  }
  RETURN_IF_ERROR(CheckInputs(partition));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Graph> graph,
      WithMemoryCopies(partition, FindConstants(partition), options));
  return PlanBuilder(*graph, options).Build();
}

}  // namespace weft
