// Graph consists of nodes and the edges between them. It is pure data and
// executes nothing.
//
// Nodes can only be added: a node keeps its id, its inputs and its position, so
// the nodes added since some time are a range of ids. Rewrites make new Graphs.
// Every node is checked when it is added (op known, attrs complete and allowed,
// input types right, shapes possible), so a Graph is always well formed; a loop
// is closed by SetBackEdge. The exception are unknown nodes (unknown_op.h),
// which an import keeps although they cannot run.
//
// Threads: one writer at a time; readers only while there is no writer. A
// second writer is refused (GraphWriter).
#ifndef WEFT_LIBS_GRAPH_GRAPH_H_
#define WEFT_LIBS_GRAPH_GRAPH_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/graph/attr_value.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph_writer.h"
#include "libs/graph/op_def.h"

namespace weft {

class Node;
struct NodeSignature;  // libs/graph/node_signature.h

// Output `index` of `node`: the source of an edge.
struct OutputTensor {
  const Node* node = nullptr;
  int index = 0;
  friend bool operator==(const OutputTensor&, const OutputTensor&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const OutputTensor& e) {
    return H::combine(std::move(h), e.node, e.index);
  }
};

// The specification of a new node. Type and number attrs that follow from the
// inputs may be left out, and so may attrs with a default.
struct NodeSpec {
  std::string name;
  std::string op;
  // In the order of the op's inputs, lists flattened. An input with a null node
  // is a back edge to be set by SetBackEdge (Merge only).
  std::vector<OutputTensor> inputs;
  std::vector<const Node*> control_inputs;
  AttrMap attrs;
  std::string device;  // requested; may be partial or empty
};

class Node {
 public:
  int id() const { return id_; }
  const std::string& name() const { return name_; }
  const OpDef& op() const { return *op_; }
  const std::string& type() const { return op_->name; }  // TensorFlow's term
  // Complete: defaults and inferred attrs are filled in.
  const AttrMap& attrs() const { return *attrs_; }
  template <typename T>
  const T* attr(absl::string_view name) const {
    auto it = attrs_->find(name);
    return it == attrs_->end() ? nullptr : it->second.template Get<T>();
  }
  const std::string& requested_device() const { return requested_device_; }
  // Full device name; empty until placed.
  const std::string& assigned_device() const { return assigned_device_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const OutputTensor& input(int i) const { return inputs_[i]; }
  absl::Span<const OutputTensor> inputs() const { return inputs_; }
  absl::Span<const Node* const> control_inputs() const {
    return control_inputs_;
  }
  // The required type of each input; a ref type if the op takes a reference.
  DataType input_type(int i) const { return input_types_[i]; }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  DataType output_type(int i) const { return output_types_[i]; }
  absl::Span<const DataType> input_types() const { return input_types_; }
  absl::Span<const DataType> output_types() const { return output_types_; }
  const PartialShape& output_shape(int i) const { return output_shapes_[i]; }

  // The first and one past the last input of argument `arg` of the op.
  std::pair<int, int> InputRange(int arg) const;
  std::pair<int, int> OutputRange(int arg) const;

 private:
  friend class Graph;
  Node() = default;

  int id_ = -1;
  std::string name_;
  const OpDef* op_ = nullptr;
  std::shared_ptr<const AttrMap> attrs_;
  std::string requested_device_;
  std::string assigned_device_;
  std::vector<OutputTensor> inputs_;
  std::vector<const Node*> control_inputs_;
  DataTypeVector input_types_;
  DataTypeVector output_types_;
  std::vector<PartialShape> output_shapes_;
};

class Graph {
 public:
  // `functions` may be null: none yet.
  explicit Graph(std::shared_ptr<const OpRegistry> registry,
                 std::shared_ptr<const FunctionLibrary> functions = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const std::shared_ptr<const OpRegistry>& registry() const {
    return registry_;
  }

  // The functions that its nodes may call. May be shared with another graph.
  const FunctionLibrary& functions() const { return *functions_; }
  const std::shared_ptr<const FunctionLibrary>& shared_functions() const {
    return functions_;
  }
  // Adds functions, all or none. INVALID_ARGUMENT for the name of a different
  // function or of an op.
  absl::Status AddFunctions(
      absl::Span<const FunctionPtr> functions,
      const std::map<std::string, std::string, std::less<>>& gradients = {});
  // Restores an earlier shared_functions(): undoes a failed import, when the
  // nodes that call the others are removed.
  void RestoreFunctions(std::shared_ptr<const FunctionLibrary> functions);

  // An op of the registry, or a function as an op; null if neither.
  const OpDef* FindOp(absl::string_view name) const;

  // Adds a node; an error names it and leaves the graph unchanged.
  absl::StatusOr<Node*> AddNode(NodeSpec spec);

  // Returns what AddNode would infer for the node except its shapes, without
  // adding it; or the error.
  absl::StatusOr<NodeSignature> Resolve(const NodeSpec& spec) const;

  // Closes a loop: sets input `index` of `node`, a Merge added without it, to
  // `from`, a NextIteration.
  absl::Status SetBackEdge(const Node* node, int index, OutputTensor from);

  // TensorFlow's set_shape: what the program knows of the shape of an output
  // beyond what follows from its op, such as the invariants of a loop. It is
  // used by later additions here, and is not part of the GraphDef.
  // INVALID_ARGUMENT, naming the tensor, if it contradicts the known shape.
  absl::Status RefineShape(OutputTensor output, const PartialShape& shape);

  // Drops the newest nodes until `num_nodes` are left: undoes a failed import.
  // Pointers to dropped nodes become invalid; a back edge from one is open
  // again.
  void TruncateTo(int num_nodes);

  void set_assigned_device(const Node* node, std::string device);
  void set_requested_device(const Node* node, std::string device);

  // In order of id, an order in which every input except a back edge comes
  // before its consumer.
  absl::Span<const Node* const> nodes() const { return view_; }
  int num_nodes() const { return static_cast<int>(view_.size()); }
  const Node* node(int id) const { return view_[id]; }
  const Node* FindNode(absl::string_view name) const;  // null when absent

  // "name:index" or "name" (index 0). NOT_FOUND, INVALID_ARGUMENT.
  absl::StatusOr<OutputTensor> FindOutputTensor(
      absl::string_view tensor_name) const;

  // The constant value of an output if it follows from constants, for shape
  // functions and for the gradients that depend on shapes.
  std::optional<Tensor> ConstantValue(const OutputTensor& output) const;
  // The same for a vector of sizes, some of which may be unknown.
  std::optional<PartialShape> ConstantValueAsShape(
      const OutputTensor& output) const;
  // The same for one integer, which may be an element of a known shape.
  std::optional<int64_t> ConstantScalar(const OutputTensor& output) const;

  // TensorFlow's versions of the graph that this was imported from; 0 if built
  // here. Kept for export.
  int producer() const { return producer_; }
  void set_producer(int producer) { producer_ = producer; }

  // Must be held for changes of the graph in several calls, or of state that
  // belongs to it.
  GraphWriter& writer() const { return writer_; }

 private:
  mutable GraphWriter writer_;
  std::shared_ptr<const OpRegistry> registry_;
  std::shared_ptr<const FunctionLibrary> functions_;  // never null
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<const Node*> view_;
  absl::flat_hash_map<absl::string_view, Node*> by_name_;
  int producer_ = 0;
};

// "x:0"
std::string TensorName(const OutputTensor& output);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_GRAPH_H_
