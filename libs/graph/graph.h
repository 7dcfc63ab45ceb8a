// Graph consists of nodes and the edges between them. It is pure data and
// executes nothing.
//
// Nodes can only be added: a node keeps its id, its inputs and its position, so
// recently added nodes are a range of ids. Rewrites make new Graphs. Every node
// is checked when it is added (op known, attrs complete and allowed, input
// types right, shapes possible), so a Graph is always well formed, except for
// unknown nodes (unknown_op.h), which an import keeps although they cannot run.
// A loop is closed by SetBackEdge.
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

// NodeSpec is the specification of a new node. Attrs may be left out if they
// have a default, or if they are type or number attrs that follow from the
// inputs.
struct NodeSpec {
  std::string name;
  std::string op;
  // The inputs in the order of the op's arguments, with lists flattened. An
  // input with a null node is a back edge, allowed only at a Merge, and must be
  // set by SetBackEdge.
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
  // Returns the full device name; empty until the node is placed.
  const std::string& assigned_device() const { return assigned_device_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const OutputTensor& input(int i) const { return inputs_[i]; }
  absl::Span<const OutputTensor> inputs() const { return inputs_; }
  absl::Span<const Node* const> control_inputs() const {
    return control_inputs_;
  }
  // Returns the type that the op requires for input `i`. It is a ref type if
  // the op takes a reference.
  DataType input_type(int i) const { return input_types_[i]; }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  DataType output_type(int i) const { return output_types_[i]; }
  absl::Span<const DataType> input_types() const { return input_types_; }
  absl::Span<const DataType> output_types() const { return output_types_; }
  const PartialShape& output_shape(int i) const { return output_shapes_[i]; }

  // Return the range [first, last + 1) of the inputs or outputs that belong to
  // argument `arg` of the op.
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
  // A null `functions` stands for an empty library.
  explicit Graph(std::shared_ptr<const OpRegistry> registry,
                 std::shared_ptr<const FunctionLibrary> functions = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const std::shared_ptr<const OpRegistry>& registry() const {
    return registry_;
  }

  // Returns the functions that nodes of this graph may call. Graphs may share
  // one library.
  const FunctionLibrary& functions() const { return *functions_; }
  const std::shared_ptr<const FunctionLibrary>& shared_functions() const {
    return functions_;
  }
  // Adds all of the functions or, on error, none. INVALID_ARGUMENT if an op or
  // a different function has the name of one of them.
  absl::Status AddFunctions(
      absl::Span<const FunctionPtr> functions,
      const std::map<std::string, std::string, std::less<>>& gradients = {});
  // Restores an earlier result of shared_functions(), to undo a failed import.
  // The nodes that call the other functions must be removed.
  void RestoreFunctions(std::shared_ptr<const FunctionLibrary> functions);

  // Returns the op with that name from the registry, or the signature of the
  // function with that name. Returns null if there is neither.
  const OpDef* FindOp(absl::string_view name) const;

  // Adds a node; an error names it and leaves the graph unchanged.
  absl::StatusOr<Node*> AddNode(NodeSpec spec);

  // Returns the attrs and types that AddNode would infer for the node, or its
  // error, without adding the node. Shapes are not inferred.
  absl::StatusOr<NodeSignature> Resolve(const NodeSpec& spec) const;

  // Closes a loop: sets input `index` of `node` to `from`, an output of a
  // NextIteration. `node` must be a Merge that was added without this input.
  absl::Status SetBackEdge(const Node* node, int index, OutputTensor from);

  // Adds to the known shape of an output what only the program knows, such as
  // the invariants of a loop. Corresponds to TensorFlow's set_shape. Nodes
  // added later use the shape, but it is not part of the GraphDef.
  // INVALID_ARGUMENT, naming the tensor, if the shape contradicts the known
  // one.
  absl::Status RefineShape(OutputTensor output, const PartialShape& shape);

  // Removes the newest nodes until `num_nodes` are left, to undo a failed
  // import. Pointers to removed nodes become invalid. An input of a Merge that
  // a removed node had set by SetBackEdge is unset again.
  void TruncateTo(int num_nodes);

  void set_assigned_device(const Node* node, std::string device);
  void set_requested_device(const Node* node, std::string device);

  // Returns the nodes in order of id. In this order every input except a back
  // edge comes before its consumer.
  absl::Span<const Node* const> nodes() const { return view_; }
  int num_nodes() const { return static_cast<int>(view_.size()); }
  const Node* node(int id) const { return view_[id]; }
  const Node* FindNode(absl::string_view name) const;  // null when absent

  // Returns the output with that name: "name:index", or "name" for index 0.
  // NOT_FOUND if the graph does not have the node, INVALID_ARGUMENT for a
  // malformed name or an index out of range.
  absl::StatusOr<OutputTensor> FindOutputTensor(
      absl::string_view tensor_name) const;

  // Returns the value of an output if it follows from constants. Shape
  // functions use it, and gradients that depend on shapes.
  std::optional<Tensor> ConstantValue(const OutputTensor& output) const;
  // Returns ConstantValue as a shape, for a vector of sizes. Some of the sizes
  // may be unknown.
  std::optional<PartialShape> ConstantValueAsShape(
      const OutputTensor& output) const;
  // Returns ConstantValue as one integer. The scalar may also be an element of
  // a known shape.
  std::optional<int64_t> ConstantScalar(const OutputTensor& output) const;

  // The producer version of the GraphDef that this graph was imported from, or
  // 0 for a graph that was built in this program. It is kept for export.
  int producer() const { return producer_; }
  void set_producer(int producer) { producer_ = producer; }

  // Returns the GraphWriter, whose Turn a thread must hold while it changes the
  // graph in several calls, or changes state that belongs to the graph.
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

// Returns the name of the tensor, such as "x:0".
std::string TensorName(const OutputTensor& output);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_GRAPH_H_
