// Variable is a variable of the graph: the node that holds it, the one that
// initializes it, and the one that reads it. It is a resource variable
// (VarHandleOp), or on request a reference variable (VariableV2). Nodes have
// TensorFlow's names.
//
//   ops::Variable w(root.WithName("w"), Tensor(DT_FLOAT, {784, 10}));
//   Output y = ops::MatMul(root, x, w);               // reads w
//   Output step = ops::AssignAdd(root, counter, 1);
//
// A small value that refers to the graph; null after an error, which sticks to
// the scope. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_STATE_VARIABLE_H_
#define WEFT_LIBS_OPS_STATE_VARIABLE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"

namespace weft::ops {

struct VariableOptions {
  // DT_INVALID: the type of the initial value.
  DataType dtype = DT_INVALID;
  bool trainable = true;  // also in collection "trainable_variables"
  // Empty: "variables".
  std::vector<std::string> collections;
  bool use_resource = true;
  // False: an assignment may change the shape.
  bool validate_shape = true;
};

struct SparseReadOptions {
  // The indices are distinct, so an optimizer need not sum repeated rows. Sets
  // attr kDistinctIndices.
  bool distinct_indices = false;
};
inline constexpr absl::string_view kDistinctIndices = "_distinct_indices";

class Variable {
 public:
  Variable() = default;
  // The name is the scope's, or "Variable".
  Variable(const Scope& scope, const Input& initial_value,
           const VariableOptions& options = {});
  // The initializer's nodes are created under "NAME/Initializer/". REQUIRES:
  // options.dtype is set.
  Variable(const Scope& scope, const Initializer& initializer,
           const TensorShape& shape, const VariableOptions& options,
           const PartitionInfo* partition = nullptr);

  // A variable whose nodes already exist in an imported graph.
  // INVALID_ARGUMENT, naming the node, if they are not those of a variable.
  struct Imported {
    Output handle;
    Operation initializer;
    Output value;
    Output initial_value;  // may be null
    bool trainable = false;
  };
  static absl::StatusOr<Variable> FromNodes(const Imported& imported);

  explicit operator bool() const { return nodes_ != nullptr; }
  // For a null variable the name is "<none>", the dtype DT_INVALID and the
  // shape unknown; the scope has the error.
  const std::string& name() const { return Operation(handle()).name(); }
  DataType dtype() const { return nodes_ ? nodes_->dtype : DT_INVALID; }
  const PartialShape& shape() const {
    return nodes_ ? nodes_->shape : UnknownShape();
  }
  bool is_resource() const { return nodes_ && nodes_->is_resource; }
  bool trainable() const { return nodes_ && nodes_->trainable; }

  // The reference or the resource; null if the variable is null.
  Output handle() const { return nodes_ ? nodes_->handle : Output(); }
  // Sets the initial value; null if the variable is null.
  Operation initializer() const {
    return nodes_ ? nodes_->initializer : Operation();
  }
  // Null if it is unknown in an imported graph.
  Output initial_value() const {
    return nodes_ ? nodes_->initial_value : Output();
  }
  // The value, read by the variable's own node; null if the variable is null.
  Output value() const { return nodes_ ? nodes_->value : Output(); }
  operator Output() const { return value(); }  // NOLINT: reading it is meant
  // The value, read by a new node after the control dependencies of `scope`.
  Output Read(const Scope& scope) const;
  // The rows `indices` of the value, [indices..., shape[1:]...]. They are
  // gathered on the variable's device, so that only these rows cross to another
  // task. The name is the scope's, or "ResourceGather" or "GatherV2".
  Output SparseRead(const Scope& scope, const Input& indices,
                    const SparseReadOptions& options = {}) const;
  // A bool: whether the variable has been initialized.
  Output IsInitialized(const Scope& scope) const;

  friend bool operator==(const Variable& a, const Variable& b) {
    return a.handle() == b.handle();
  }

 private:
  struct Nodes {
    Output handle;
    Output initial_value;
    Operation initializer;
    Output value;
    DataType dtype = DT_INVALID;
    PartialShape shape;
    bool is_resource = true;
    bool trainable = true;
  };
  class Builder;

  std::shared_ptr<const Nodes> nodes_;
};

// Changes the variable and returns its new value. A step that reads or adds to
// a variable without a value fails with FAILED_PRECONDITION, which names the
// variable.
Output Assign(const Scope& scope, const Variable& variable, const Input& value);
Output AssignAdd(const Scope& scope, const Variable& variable,
                 const Input& value);
Output AssignSub(const Scope& scope, const Variable& variable,
                 const Input& value);

// Like Gather of a tensor (libs/ops/array/array_ops.h), but on the variable's
// device: see SparseRead. For reference variables and other axes than 0,
// gathers from the value, which needs no copy on its device.
Output Gather(const Scope& scope, const Variable& params, const Input& indices);
Output GatherV2(const Scope& scope, const Variable& params,
                const Input& indices, const Input& axis);

// Returns the variable with this handle; null if there is none.
Variable FindVariable(const Scope& scope, const Output& handle);
// Returns the variable whose own node reads `value`; null if there is none.
Variable FindVariableRead(const Scope& scope, const Output& value);
// The variables of a collection, in order of creation.
std::vector<Variable> GetVariables(const Scope& scope,
                                   absl::string_view collection);
std::vector<Variable> GlobalVariables(const Scope& scope);
std::vector<Variable> LocalVariables(const Scope& scope);
std::vector<Variable> TrainableVariables(const Scope& scope);

// Returns one operation, named "init" unless the scope names it, that runs the
// initializers.
Operation VariablesInitializer(const Scope& scope,
                               absl::Span<const Variable> variables);
Operation GlobalVariablesInitializer(const Scope& scope);
Operation LocalVariablesInitializer(const Scope& scope);

// The position of a variable within the tensor that checkpoints store.
struct SaveSliceInfo {
  std::string full_name;
  TensorShape full_shape;
  Dims offset;
};

}  // namespace weft::ops

namespace weft {

// VariableStore holds information about the variables of a graph, shared by all
// its scopes.
class VariableStore {
 public:
  // Creates the store on first use.
  static VariableStore& Of(const Scope& scope);

  absl::flat_hash_map<const Node*, ops::Variable> by_node;
  // The slices of parts of partitioned variables and their slots, by node.
  absl::flat_hash_map<const Node*, ops::SaveSliceInfo> slices;
  // The variable that each slot belongs to and changes with.
  absl::flat_hash_map<const Node*, const Node*> primaries;
  // Serialized VariableDefs of imported variables, which hold more than Weft
  // interprets.
  absl::flat_hash_map<const Node*, std::string> imported_defs;
  // Variables of get_variable, by full name; a partitioned one as its parts, in
  // order.
  struct Shared {
    std::vector<ops::Variable> parts;
    bool is_partitioned = false;
    std::vector<int> partitions;  // parts along each dimension
    TensorShape full_shape;       // of a partitioned variable
  };
  std::map<std::string, Shared> shared;
  // The number of times that each variable scope was opened.
  std::map<std::string, int> scope_counts;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STATE_VARIABLE_H_
