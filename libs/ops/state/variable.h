// Variable: a variable of the graph: the node that holds it, the one that
// initialises it, and the one that reads it; of either family. By resource
// (VarHandleOp) unless asked for by reference (VariableV2). Nodes have
// TensorFlow's names.
//
//   ops::Variable w(root.WithName("w"), Tensor(DT_FLOAT, {784, 10}));
//   Output y = ops::MatMul(root, x, w);               // reads w
//   Output step = ops::AssignAdd(root, counter, 1);
//
// A small value that refers to the graph; null after an error, which sticks to
// the scope. Threads: as the scope's.
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
  // DT_INVALID: that of the initial value.
  DataType dtype = DT_INVALID;
  bool trainable = true;  // also in collection "trainable_variables"
  // Empty: "variables".
  std::vector<std::string> collections;
  bool use_resource = true;
  // False: an assignment may change the shape.
  bool validate_shape = true;
};

struct SparseReadOptions {
  // The caller knows that no index occurs twice. An optimizer need not look for
  // rows to be summed then; it is told by attr kDistinctIndices.
  bool distinct_indices = false;
};
inline constexpr absl::string_view kDistinctIndices = "_distinct_indices";

class Variable {
 public:
  Variable() = default;
  // Named by the scope, "Variable" otherwise.
  Variable(const Scope& scope, const Input& initial_value,
           const VariableOptions& options = {});
  // The initialiser's nodes are made under "NAME/Initializer/".
  // REQUIRES: options.dtype is set.
  Variable(const Scope& scope, const Initializer& initializer,
           const TensorShape& shape, const VariableOptions& options,
           const PartitionInfo* partition = nullptr);

  // A variable whose nodes are there already, in a graph that was imported.
  // INVALID_ARGUMENT, naming the node, where they are not those of a variable.
  struct Imported {
    Output handle;
    Operation initializer;
    Output value;
    Output initial_value;  // may be null
    bool trainable = false;
  };
  static absl::StatusOr<Variable> FromNodes(const Imported& imported);

  explicit operator bool() const { return nodes_ != nullptr; }
  // A variable that could not be built is null; the scope has the error. Its
  // name is "<none>", its dtype DT_INVALID, its shape unknown.
  const std::string& name() const { return Operation(handle()).name(); }
  DataType dtype() const { return nodes_ ? nodes_->dtype : DT_INVALID; }
  const PartialShape& shape() const {
    return nodes_ ? nodes_->shape : UnknownShape();
  }
  bool is_resource() const { return nodes_ && nodes_->is_resource; }
  bool trainable() const { return nodes_ && nodes_->trainable; }

  // The reference or the resource; null when the variable is.
  Output handle() const { return nodes_ ? nodes_->handle : Output(); }
  // What sets the initial value; null when the variable is.
  Operation initializer() const {
    return nodes_ ? nodes_->initializer : Operation();
  }
  // Null where an imported graph does not tell.
  Output initial_value() const {
    return nodes_ ? nodes_->initial_value : Output();
  }
  // The value, read by the variable's own node; null when the variable is.
  Output value() const { return nodes_ ? nodes_->value : Output(); }
  operator Output() const { return value(); }  // NOLINT: reading it is meant
  // The value, read by a new node: after the control dependencies of `scope`.
  Output Read(const Scope& scope) const;
  // The rows `indices` of the value, [indices..., shape[1:]...]: gathered where
  // the variable is, so that no more than these cross to another task. Named by
  // the scope, "ResourceGather" or "GatherV2" otherwise.
  Output SparseRead(const Scope& scope, const Input& indices,
                    const SparseReadOptions& options = {}) const;
  // A bool: whether it has been initialised.
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

// Sets the variable and returns its value afterwards. A step that reads or adds
// to one without a value is FAILED_PRECONDITION, which names it.
Output Assign(const Scope& scope, const Variable& variable, const Input& value);
Output AssignAdd(const Scope& scope, const Variable& variable,
                 const Input& value);
Output AssignSub(const Scope& scope, const Variable& variable,
                 const Input& value);

// As of a tensor (libs/ops/array/array_ops.h), but beside the variable: see
// SparseRead. By reference and along other axes than 0 the value is gathered
// from, which costs no copy there.
Output Gather(const Scope& scope, const Variable& params, const Input& indices);
Output GatherV2(const Scope& scope, const Variable& params,
                const Input& indices, const Input& axis);

// The variable that `handle` is the handle of; null when there is none.
Variable FindVariable(const Scope& scope, const Output& handle);
// The variable whose own node reads `value`; null when there is none.
Variable FindVariableRead(const Scope& scope, const Output& value);
// The variables of a collection, in order of creation.
std::vector<Variable> GetVariables(const Scope& scope,
                                   absl::string_view collection);
std::vector<Variable> GlobalVariables(const Scope& scope);
std::vector<Variable> LocalVariables(const Scope& scope);
std::vector<Variable> TrainableVariables(const Scope& scope);

// One operation, named "init" unless the scope names it, that runs the
// initialisers.
Operation VariablesInitializer(const Scope& scope,
                               absl::Span<const Variable> variables);
Operation GlobalVariablesInitializer(const Scope& scope);
Operation LocalVariablesInitializer(const Scope& scope);

// Which part of a tensor a variable is: what checkpoints hold it as.
struct SaveSliceInfo {
  std::string full_name;
  TensorShape full_shape;
  Dims offset;
};

}  // namespace weft::ops

namespace weft {

// What the scopes of one graph know of its variables.
class VariableStore {
 public:
  // Made when first asked for.
  static VariableStore& Of(const Scope& scope);

  absl::flat_hash_map<const Node*, ops::Variable> by_node;
  // Of variables that are parts of one, and their slots, by their nodes.
  absl::flat_hash_map<const Node*, ops::SaveSliceInfo> slices;
  // Of slots: the variable that each is beside, and changes with.
  absl::flat_hash_map<const Node*, const Node*> primaries;
  // Of imported variables, their serialised VariableDefs: those say more than
  // is understood here.
  absl::flat_hash_map<const Node*, std::string> imported_defs;
  // get_variable's, by full name; a partitioned one as its parts, in order.
  struct Shared {
    std::vector<ops::Variable> parts;
    bool is_partitioned = false;
    std::vector<int> partitions;  // parts along each dimension
    TensorShape full_shape;       // of a partitioned one
  };
  std::map<std::string, Shared> shared;
  // How often each variable scope has been opened.
  std::map<std::string, int> scope_counts;
};

}  // namespace weft

#endif  // WEFT_LIBS_OPS_STATE_VARIABLE_H_
