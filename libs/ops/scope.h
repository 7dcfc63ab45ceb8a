// Scope: where new nodes go and how they are named and placed. A value: each
// With...() returns a changed copy, and all copies add to the same Graph.
//
//   Scope root = Scope::Root();
//   auto x = ops::Placeholder(root.WithName("x"), DT_FLOAT);
//   Scope ps = root.WithDevice("/job:ps").SubScope("layer");
//   auto y = ops::Add(ps, x, 1.0f);      // node "layer/Add" on /job:ps
//
// Errors stick: the first error of building is kept in the scope, later calls
// do nothing, and Session::Connect and Run refuse the graph with it.
//
// Threads: one thread at a time for all scopes of one graph. A second one is
// refused, which sticks as the error.
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

// Called once for each node before it is added; returns its device, or an error
// that sticks. Gets the spec, whose device is what the scopes inside have made
// of it. ReplicaDeviceSetter (replica_device_setter.h) makes the usual one.
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
// Handles of iterators whose positions Savers save (ops::Iterator); a name of
// our own, for what TensorFlow has in "saveable_objects" is not exported.
inline constexpr absl::string_view kSaveableIterators = "saveable_iterators";
inline constexpr absl::string_view kQueueRunners = "queue_runners";
inline constexpr absl::string_view kSavers = "savers";
inline constexpr absl::string_view kCondContext = "cond_context";
inline constexpr absl::string_view kWhileContext = "while_context";
}  // namespace collection

class VariableStore;  // libs/ops/state/variable_scope.h: what get_variable has
                      // made

// What a collection holds: a value, or an operation that is run for what it
// does.
using CollectionItem = std::variant<Output, Operation>;

class OuterGraph;

// What all scopes of one graph share.
struct GraphState {
  explicit GraphState(std::shared_ptr<const OpRegistry> registry)
      : graph(std::move(registry)) {}

  // The first error of building; that two threads did it at once goes before.
  const absl::Status& error() const {
    return graph.writer().has_refused() ? graph.writer().error() : status;
  }

  Graph graph;
  absl::Status status;                     // see error()
  std::map<std::string, int> name_counts;  // lower case -> how often asked for
  std::map<std::string, std::vector<CollectionItem>, std::less<>> collections;
  // What a MetaGraphDef brought of collections and nobody here understands, to
  // go out again: serialised CollectionDefs, by the collection's name.
  std::map<std::string, std::string, std::less<>> foreign_collections;
  std::optional<int64_t> seed;  // the graph's seed
  std::shared_ptr<VariableStore> variables;
  // Of the body of a function, while it is being built; null or gone for
  // others.
  std::weak_ptr<OuterGraph> outer;
  // Of functions that are being built, and of those that were.
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

  // The next node's own name, instead of its op's.
  Scope WithName(absl::string_view name) const;
  // Names of further nodes begin with this one's prefix and `name/`, made
  // unique as TensorFlow's name_scope does ("x", "x_1").
  Scope SubScope(absl::string_view name) const;
  // A scope that was there before, entered again; "" is the root.
  Scope ReenterScope(absl::string_view full_prefix) const;
  // Merged into the device so far, part by part, as nested tf.device does. A
  // wrong name sticks as an error.
  Scope WithDevice(absl::string_view device) const;
  // Forgets all devices and device functions outside, as tf.device(None).
  Scope WithoutDevice() const;
  // Devices of nodes made here pass through `function`, those of inner scopes
  // first. An error sticks; a null function changes nothing.
  Scope WithDeviceFunction(absl::StatusOr<DeviceFunction> function) const;
  // Stateful ops made here get attr `container`.
  Scope WithContainer(absl::string_view container) const;
  // Nodes made here run after these.
  Scope WithControlDependencies(absl::Span<const Operation> operations) const;
  Scope WithControlDependencies(
      std::initializer_list<Operation> operations) const {
    return WithControlDependencies(
        absl::Span<const Operation>(operations.begin(), operations.size()));
  }
  // Also leaves the loops and branches that the scope is in, as
  // tf.control_dependencies(None): what is made here exists outside.
  Scope WithoutControlDependencies() const;
  // Inside a loop or a branch, with no control dependency from outside.
  Scope WithControlFlowContext(
      std::shared_ptr<ControlFlowContext> context) const;
  // Null outside loops and branches.
  const std::shared_ptr<ControlFlowContext>& control_flow_context() const {
    return control_flow_context_;
  }
  // Nodes made here are of the call of AddGradients that `source` names. The
  // first name stays: a call for the gradient of another's function is a part
  // of that one, and the arrays that it adds to are the same.
  Scope WithGradientSource(absl::string_view source) const;
  // "" outside AddGradients.
  const std::string& gradient_source() const { return gradient_source_; }
  // Nodes made here go where `operation` goes: attr _class "loc:@NAME", and its
  // device.
  Scope ColocateWith(const Operation& operation) const;
  // The same for a node that is about to be made.
  Scope ColocateWithName(absl::string_view node_name) const;

  void SetGraphSeed(int64_t seed) const;
  // TensorFlow's pair (graph seed, op seed) for a random op made next; (0, 0)
  // when neither is set.
  std::pair<int64_t, int64_t> GetSeeds(std::optional<int64_t> op_seed) const;

  void AddToCollection(absl::string_view collection, Output item) const;
  void AddToCollection(absl::string_view collection, Operation item) const;
  // Its values, without its operations.
  std::vector<Output> GetCollection(absl::string_view collection) const;
  // All of it, to be run: of a value, the operation that makes it.
  std::vector<Operation> GetOperations(absl::string_view collection) const;

  // A name no node has, as TensorFlow makes it: prefix + own name or `op`,
  // then "_1", "_2", ... when taken.
  std::string UniqueName(absl::string_view op) const;
  const std::string& prefix() const { return prefix_; }  // "" or "a/b/"
  // The name given by WithName, or "".
  const std::string& own_name() const { return own_name_; }
  // The scope of a builder that makes several nodes: SubScope of the own name,
  // or of `default_name`.
  Scope CompositeScope(absl::string_view default_name) const {
    return SubScope(own_name_.empty() ? default_name : own_name_);
  }
  const std::string& device() const { return device_; }
  const std::string& container() const { return container_; }

  // Where what outlives a call of the function that is being built here is
  // made, such as variables: the graph outside of it, with this scope's name;
  // this scope itself outside functions.
  Scope OutsideFunctions() const;
  // `value` as nodes made here take it: what is made outside of a function is
  // captured by it. INVALID_ARGUMENT for a value of another graph.
  absl::StatusOr<Output> Inside(const Output& value) const;
  bool IsOfThisGraph(const Node& node) const;

  // ---- what builders are made of ----

  // Adds one node; null after an error, which sticks. Inputs that are values
  // become Const nodes named like TensorFlow's ("Add/y"); scalars adapt to the
  // type attr they share with another input.
  const Node* AddNode(absl::string_view op, const InputList& inputs,
                      AttrMap attrs = {}) const;
  // The same, its first output.
  Output AddOutput(absl::string_view op, const InputList& inputs,
                   AttrMap attrs = {}) const {
    const Node* node = AddNode(op, inputs, std::move(attrs));
    return node == nullptr ? Output() : Output(node, 0);
  }
  // A Const node for an input that is a value; its output otherwise.
  Output ToOutput(const Input& input, absl::string_view name = "Const") const;

  // get_variable's state of this scope; see variable_scope.h.
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
  absl::Status BringInside(NodeSpec& spec) const;
  absl::StatusOr<std::vector<OutputTensor>> ConvertInputs(
      const OpDef& op, absl::string_view node_name, const InputList& inputs,
      const AttrMap& attrs) const;

  std::shared_ptr<GraphState> state_;
  std::string prefix_;
  std::string own_name_;
  std::string device_;
  // Functions and, once there is one, device strings; outermost first.
  std::vector<DeviceFunction> device_functions_;
  std::string container_;
  std::string gradient_source_;
  std::vector<const Node*> control_dependencies_;
  std::shared_ptr<ControlFlowContext> control_flow_context_;
  // Of the nodes to colocate with: entries of attr _class, and the device of
  // the innermost.
  std::vector<std::string> colocation_groups_;
  std::string colocation_device_;
  std::shared_ptr<const VariableScopeState> variable_scope_;
};

// What the graph of a function's body takes of the graph outside; see
// libs/ops/control/function.h, which has the only one.
class OuterGraph {
 public:
  virtual ~OuterGraph() = default;
  // The scope that the function is made in.
  virtual const Scope& scope() const = 0;
  // The argument that stands for `value`, of a graph outside.
  virtual absl::StatusOr<Output> Capture(const Output& value) = 0;
  // Calls of the function run after `node`, of a graph outside.
  virtual absl::Status CaptureControl(const Node* node) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_SCOPE_H_
