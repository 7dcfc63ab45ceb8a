// Scope defines the graph, name prefix, device and other properties of new
// nodes. It is a value: each With...() returns a changed copy, and all copies
// add to the same Graph.
//
//   Scope root = Scope::Root();
//   auto x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
//   Scope ps = root.WithDevice("/job:ps").SubScope("layer");
//   auto y = ops::Add(ps, x, 1.0f);      // node "layer/Add" on /job:ps
//
// Errors stick: the scope keeps the first error, later calls do nothing, and
// Session::Connect and Run reject the graph with it.
//
// Threads: one thread at a time for all scopes of one graph. A second thread is
// rejected, and this error sticks.
#ifndef WEFT_LIBS_OPS_SCOPE_H_
#define WEFT_LIBS_OPS_SCOPE_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"
#include "libs/ops/control_flow_context.h"
#include "libs/ops/output.h"

namespace weft {

// Is called once for each node before it is added; returns its device, or an
// error that sticks. The device of the spec is the result of inner scopes.
// ReplicaDeviceSetter (replica_device_setter.h) creates the usual function.
using DeviceFunction =
    std::function<absl::StatusOr<std::string>(const NodeSpec&)>;

// TensorFlow's collection names.
namespace collection {
inline constexpr absl::string_view kGlobalVariables = "variables";
inline constexpr absl::string_view kLocalVariables = "local_variables";
inline constexpr absl::string_view kTrainableVariables = "trainable_variables";
inline constexpr absl::string_view kModelVariables = "model_variables";
inline constexpr absl::string_view kLosses = "losses";
inline constexpr absl::string_view kRegularizationLosses =
    "regularization_losses";
inline constexpr absl::string_view kSummaries = "summaries";
inline constexpr absl::string_view kUpdateOps = "update_ops";
inline constexpr absl::string_view kTrainOp = "train_op";
inline constexpr absl::string_view kGlobalStep = "global_step";
inline constexpr absl::string_view kTableInitializers = "table_initializer";
// Handles of iterators whose positions Savers save (ops::Iterator). The name is
// Weft's own, because TensorFlow does not export "saveable_objects".
inline constexpr absl::string_view kSaveableIterators = "saveable_iterators";
inline constexpr absl::string_view kQueueRunners = "queue_runners";
inline constexpr absl::string_view kSavers = "savers";
inline constexpr absl::string_view kCondContext = "cond_context";
inline constexpr absl::string_view kWhileContext = "while_context";
}  // namespace collection

class VariableStore;  // libs/ops/state/variable_scope.h

// An item of a collection: a value, or an operation that is run for its side
// effects.
using CollectionItem = std::variant<Output, Operation>;

class OuterGraph;

// The state shared by all scopes of one graph.
struct GraphState {
  explicit GraphState(std::shared_ptr<const OpRegistry> registry)
      : graph(std::move(registry)) {}

  // The first error of building. Concurrent use by two threads takes
  // precedence.
  const absl::Status& error() const {
    return graph.writer().has_refused() ? graph.writer().error() : status;
  }

  Graph graph;
  absl::Status status;                     // see error()
  std::map<std::string, int> name_counts;  // lower case -> times requested
  std::map<std::string, std::vector<CollectionItem>, std::less<>> collections;
  // Collections of an imported MetaGraphDef that Weft does not interpret, kept
  // for export: serialized CollectionDefs, by the collection's name.
  std::map<std::string, std::string, std::less<>> foreign_collections;
  std::optional<int64_t> seed;  // the graph's seed
  std::shared_ptr<VariableStore> variables;
  // The outer graph, if this is the body of a function that is being built;
  // otherwise null or expired.
  std::weak_ptr<OuterGraph> outer;
  // Names of functions that are being built or were built.
  std::set<std::string, std::less<>> function_names;
};

class Scope {
 public:
  // A new graph over the standard ops.
  static Scope Root();
  // A new graph over other ops.
  static Scope Root(std::shared_ptr<const OpRegistry> registry);

  Graph& graph() const { return state_->graph; }
  GraphState& state() const { return *state_; }
  const std::shared_ptr<GraphState>& shared_state() const { return state_; }
  const absl::Status& status() const { return state_->error(); }
  bool ok() const { return status().ok(); }
  // Keeps the first error.
  void UpdateStatus(absl::Status status) const;

  // The name of the next node, instead of its op's.
  Scope WithName(absl::string_view name) const;
  // Prefixes the names of further nodes with `name/`, made unique as by
  // TensorFlow's name_scope ("x", "x_1").
  Scope SubScope(absl::string_view name) const;
  // Re-enters an existing scope; "" is the root.
  Scope ReenterScope(absl::string_view full_prefix) const;
  // Merges the device into the present one, field by field, as nested tf.device
  // does. A malformed device sticks as an error.
  Scope WithDevice(absl::string_view device) const;
  // Removes all outer devices and device functions, like tf.device(None).
  Scope WithoutDevice() const;
  // Passes the devices of new nodes through `function`, after those of inner
  // scopes. An error sticks; a null function changes nothing.
  Scope WithDeviceFunction(absl::StatusOr<DeviceFunction> function) const;
  // Gives new stateful ops the attr `container`.
  Scope WithContainer(absl::string_view container) const;
  // Makes new nodes run after these operations.
  Scope WithControlDependencies(absl::Span<const Operation> operations) const;
  Scope WithControlDependencies(
      std::initializer_list<Operation> operations) const {
    return WithControlDependencies(
        absl::Span<const Operation>(operations.begin(), operations.size()));
  }
  // Also leaves the loops and branches of the scope, like
  // tf.control_dependencies(None): new nodes exist outside them.
  Scope WithoutControlDependencies() const;
  // Enters a loop or a branch, without control dependencies from outside.
  Scope WithControlFlowContext(
      std::shared_ptr<ControlFlowContext> context) const;
  // Null outside loops and branches.
  const std::shared_ptr<ControlFlowContext>& control_flow_context() const {
    return control_flow_context_;
  }
  // Marks new nodes as part of the call of AddGradients with the name `source`.
  // The outermost name wins: a nested call, for the gradient of a called
  // function, is part of the outer one and adds to the same arrays.
  Scope WithGradientSource(absl::string_view source) const;
  // "" outside AddGradients.
  const std::string& gradient_source() const { return gradient_source_; }
  // Colocates new nodes with `operation`: attr _class "loc:@NAME", and its
  // device.
  Scope ColocateWith(const Operation& operation) const;
  // Like ColocateWith, for a node that is not created yet.
  Scope ColocateWithName(absl::string_view node_name) const;

  void SetGraphSeed(int64_t seed) const;
  // Returns TensorFlow's pair (graph seed, op seed) for the next random op; (0,
  // 0) if neither is set.
  std::pair<int64_t, int64_t> GetSeeds(std::optional<int64_t> op_seed) const;

  void AddToCollection(absl::string_view collection, Output item) const;
  void AddToCollection(absl::string_view collection, Operation item) const;
  // The values of a collection, without its operations.
  std::vector<Output> GetCollection(absl::string_view collection) const;
  // All items of a collection as operations; for a value, its node.
  std::vector<Operation> GetOperations(absl::string_view collection) const;

  // Returns an unused name, as TensorFlow would: prefix + own name or `op`,
  // with "_1", "_2", ... if taken.
  std::string UniqueName(absl::string_view op) const;
  const std::string& prefix() const { return prefix_; }  // "" or "a/b/"
  // The name given by WithName, or "".
  const std::string& own_name() const { return own_name_; }
  // The scope of a builder that creates several nodes: SubScope of the own
  // name, or of `default_name`.
  Scope CompositeScope(absl::string_view default_name) const {
    return SubScope(own_name_.empty() ? default_name : own_name_);
  }
  const std::string& device() const { return device_; }
  const std::string& container() const { return container_; }

  // The scope of objects that outlive a call of the function being built, such
  // as variables: the outer graph, with this scope's name. Outside functions,
  // this scope itself.
  Scope OutsideFunctions() const;
  // Returns `value` for use by nodes in this scope; a function captures outer
  // values. INVALID_ARGUMENT for a value of another graph.
  absl::StatusOr<Output> Inside(const Output& value) const;
  bool IsOfThisGraph(const Node& node) const;

  // ---- for builders ----

  // Adds one node; returns null after an error, which sticks. Input values
  // become Const nodes with TensorFlow's names ("Add/y"); scalars adapt to the
  // type attr that they share with another input.
  const Node* AddNode(absl::string_view op, const InputList& inputs,
                      AttrMap attrs = {}) const;
  // Like AddNode; returns the first output.
  Output AddOutput(absl::string_view op, const InputList& inputs,
                   AttrMap attrs = {}) const {
    const Node* node = AddNode(op, inputs, std::move(attrs));
    return node == nullptr ? Output() : Output(node, 0);
  }
  // Returns a Const node for an input that is a value, or the input's output.
  Output ToOutput(const Input& input, absl::string_view name = "Const") const;

  // The variable scope state of this scope; see variable_scope.h.
  struct VariableScopeState;
  const std::shared_ptr<const VariableScopeState>& variable_scope() const {
    return variable_scope_;
  }
  Scope WithVariableScope(
      std::shared_ptr<const VariableScopeState> state) const;

 private:
  explicit Scope(std::shared_ptr<GraphState> state);

  std::string PlainUniqueName(absl::string_view full_name) const;
  const Node* Add(NodeSpec spec) const;
  const Node* AddConst(absl::string_view name, Tensor value) const;
  absl::StatusOr<std::string> DeviceOf(const NodeSpec& spec) const;
  absl::Status Decorate(const OpDef& op, NodeSpec& spec) const;
  absl::Status PrepareSpec(NodeSpec& spec) const;
  absl::Status EnterContext(NodeSpec& spec) const;
  absl::StatusOr<std::vector<OutputTensor>> ConvertInputs(
      const OpDef& op, absl::string_view node_name, const InputList& inputs,
      const AttrMap& attrs) const;

  std::shared_ptr<GraphState> state_;
  std::string prefix_;
  std::string own_name_;
  std::string device_;
  // Device functions, with device strings as functions once there is one;
  // outermost first.
  std::vector<DeviceFunction> device_functions_;
  std::string container_;
  std::string gradient_source_;
  std::vector<const Node*> control_dependencies_;
  std::shared_ptr<ControlFlowContext> control_flow_context_;
  // Entries of attr _class for the nodes to colocate with, and the device of
  // the innermost.
  std::vector<std::string> colocation_groups_;
  std::string colocation_device_;
  std::shared_ptr<const VariableScopeState> variable_scope_;
};

// OuterGraph gives the graph of a function's body access to the outer graph.
// Its only implementation is in libs/ops/control/function.h.
class OuterGraph {
 public:
  virtual ~OuterGraph() = default;
  // The scope in which the function is built.
  virtual const Scope& scope() const = 0;
  // Returns the argument that stands for `value` of an outer graph.
  virtual absl::StatusOr<Output> Capture(const Output& value) = 0;
  // Makes calls of the function run after `node` of an outer graph.
  virtual absl::Status CaptureControl(const Node* node) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_SCOPE_H_
