#include "libs/ops/state/variable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/adapt_value.h"
#include "libs/ops/group.h"

namespace weft::ops {

// Adds the nodes of one variable.
class Variable::Builder {
 public:
  Builder(const Scope& scope, const VariableOptions& options)
      : outer_(scope.OutsideFunctions().WithoutControlDependencies()),
        inner_(outer_.CompositeScope("Variable")),
        name_(inner_.prefix().substr(0, inner_.prefix().size() - 1)),
        options_(options) {
    nodes_.is_resource = options.use_resource;
    nodes_.trainable = options.trainable;
  }

  std::shared_ptr<const Nodes> FromValue(const Input& value) {
    absl::StatusOr<Input> adapted = Adapt(value);
    if (!adapted.ok()) return Fail(adapted.status());
    // For a resource variable, the value is created on the variable's device.
    const Scope scope = options_.use_resource ? InitializerScope() : inner_;
    colocated_ = options_.use_resource;
    return Finish(scope.ToOutput(*adapted, "initial_value"));
  }

  std::shared_ptr<const Nodes> FromInitializer(const Initializer& initializer,
                                               const TensorShape& shape,
                                               const PartitionInfo* partition) {
    colocated_ = true;
    return Finish(
        initializer(InitializerScope(), shape, options_.dtype, partition));
  }

 private:
  Scope InitializerScope() {
    return inner_.SubScope("Initializer").ColocateWithName(name_);
  }

  absl::StatusOr<Input> Adapt(const Input& value) {
    const DataType dtype = options_.dtype;
    if (dtype == DT_INVALID || !value.value() || !value.adapts()) return value;
    ASSIGN_OR_RETURN(Tensor tensor, AdaptValue(*value.value(), dtype));
    return Input(std::move(tensor));
  }

  std::shared_ptr<const Nodes> Fail(const absl::Status& status) {
    outer_.UpdateStatus(
        Annotate(status, absl::StrCat("Variable '", name_, "'")));
    return nullptr;
  }

  absl::Status Check(const Output& value) {
    const DataType dtype = RemoveRefType(value.dtype());
    if (options_.dtype != DT_INVALID && options_.dtype != dtype) {
      return absl::InvalidArgumentError(absl::StrCat(
          "initial value '", value.name(), "' is ", DataTypeName(dtype),
          ", not ", DataTypeName(options_.dtype)));
    }
    if (options_.validate_shape && !options_.use_resource &&
        !value.shape().IsFullyDefined()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "initial_value must have a shape specified: ", value.name()));
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const Nodes> Finish(const Output& value) {
    if (!value) return nullptr;
    if (absl::Status status = Check(value); !status.ok()) return Fail(status);
    nodes_.initial_value = value;
    nodes_.dtype = RemoveRefType(value.dtype());
    nodes_.shape = options_.validate_shape ? value.shape() : PartialShape();
    nodes_.is_resource ? AddResource() : AddReference();
    if (!nodes_.value || !nodes_.initializer) return nullptr;
    return std::make_shared<const Nodes>(std::move(nodes_));
  }

  // The node that holds the variable, named exactly `name_`.
  void AddHandle(absl::string_view op, AttrMap attrs) {
    attrs["dtype"] = nodes_.dtype;
    attrs["shape"] = nodes_.shape;
    if (colocated_) {
      attrs["_class"] = std::vector<std::string>{absl::StrCat("loc:@", name_)};
    }
    nodes_.handle =
        outer_.WithName(inner_.prefix()).AddOutput(op, {}, std::move(attrs));
  }

  void AddReference() {
    AddHandle("VariableV2", {});
    if (!nodes_.handle) return;
    const Scope beside = inner_.ColocateWith(nodes_.handle);
    nodes_.initializer =
        beside.AddNode("Assign", {nodes_.handle, nodes_.initial_value},
                       {{"validate_shape", options_.validate_shape}});
    nodes_.value =
        beside.WithName("read").AddOutput("Identity", {nodes_.handle});
  }

  void AddResource() {
    AddHandle("VarHandleOp", {{"shared_name", name_}});
    if (!nodes_.handle) return;
    inner_.SubScope("IsInitialized")
        .AddNode("VarIsInitializedOp", {nodes_.handle});
    const Scope there = inner_.WithoutDevice().WithDevice(
        nodes_.handle.node()->requested_device());
    nodes_.initializer = there.WithName("Assign").AddNode(
        "AssignVariableOp", {nodes_.handle, nodes_.initial_value});
    nodes_.value = there.SubScope("Read").AddOutput(
        "ReadVariableOp", {nodes_.handle}, {{"dtype", nodes_.dtype}});
  }

  const Scope outer_;
  const Scope inner_;
  const std::string name_;
  const VariableOptions& options_;
  bool colocated_ = false;  // names itself in attr _class
  Nodes nodes_;
};

namespace {

void Register(const Scope& scope, const Variable& variable,
              const VariableOptions& options) {
  if (!variable) return;
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return;
  const Output handle = variable.handle();
  VariableStore::Of(scope).by_node.emplace(handle.node(), variable);
  std::vector<std::string> collections = options.collections;
  if (collections.empty()) {
    collections.emplace_back(collection::kGlobalVariables);
  }
  if (options.trainable) {
    collections.emplace_back(collection::kTrainableVariables);
  }
  for (const std::string& name : collections) {
    scope.OutsideFunctions().AddToCollection(name, handle);
  }
}

}  // namespace

Variable::Variable(const Scope& scope, const Input& initial_value,
                   const VariableOptions& options) {
  if (!scope.ok()) return;
  nodes_ = Builder(scope, options).FromValue(initial_value);
  Register(scope, *this, options);
}

Variable::Variable(const Scope& scope, const Initializer& initializer,
                   const TensorShape& shape, const VariableOptions& options,
                   const PartitionInfo* partition) {
  if (!scope.ok()) return;
  nodes_ =
      Builder(scope, options).FromInitializer(initializer, shape, partition);
  Register(scope, *this, options);
}

absl::StatusOr<Variable> Variable::FromNodes(const Imported& imported) {
  const Output& handle = imported.handle;
  Nodes nodes = {handle, imported.initial_value, imported.initializer,
                 imported.value};
  nodes.trainable = imported.trainable;
  nodes.is_resource = handle.dtype() == DT_RESOURCE;
  if (nodes.is_resource) {
    const DataType* dtype = handle.node()->attr<DataType>("dtype");
    const PartialShape* shape = handle.node()->attr<PartialShape>("shape");
    if (dtype != nullptr) nodes.dtype = *dtype;
    if (shape != nullptr) nodes.shape = *shape;
  } else if (IsRefType(handle.dtype())) {
    nodes.dtype = RemoveRefType(handle.dtype());
    nodes.shape = handle.shape();
  }
  if (nodes.dtype == DT_INVALID ||
      RemoveRefType(imported.value.dtype()) != nodes.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", handle.name(), "' (op: '", handle.node()->type(), "'), read as '",
        imported.value.name(), "', is not a variable"));
  }
  Variable variable;
  variable.nodes_ = std::make_shared<const Nodes>(std::move(nodes));
  return variable;
}

Output Variable::Read(const Scope& scope) const {
  if (!nodes_) return Output();
  if (!nodes_->is_resource) {
    return scope.AddOutput("Identity", {nodes_->handle});
  }
  return scope.AddOutput("ReadVariableOp", {nodes_->handle},
                         {{"dtype", nodes_->dtype}});
}

Output Variable::SparseRead(const Scope& scope, const Input& indices,
                            const SparseReadOptions& options) const {
  if (!nodes_) return Output();
  AttrMap attrs;
  if (options.distinct_indices) attrs[std::string(kDistinctIndices)] = true;
  const Scope beside = scope.ColocateWith(nodes_->handle);
  if (!nodes_->is_resource) {
    return beside.AddOutput("GatherV2", {nodes_->value, indices, 0},
                            std::move(attrs));
  }
  attrs["dtype"] = nodes_->dtype;
  return beside.AddOutput("ResourceGather", {nodes_->handle, indices},
                          std::move(attrs));
}

Output Variable::IsInitialized(const Scope& scope) const {
  if (!nodes_) return Output();
  return scope.AddOutput(
      nodes_->is_resource ? "VarIsInitializedOp" : "IsVariableInitialized",
      {nodes_->handle});
}

namespace {

// The op for either kind of variable; a resource variable is read after the
// change.
Output Change(const Scope& scope, const Variable& variable, const Input& value,
              absl::string_view by_reference, absl::string_view by_resource) {
  if (!variable || !scope.ok()) return Output();
  Input adapted = value;
  if (value.value() && value.adapts()) {
    absl::StatusOr<Tensor> tensor =
        AdaptValue(*value.value(), variable.dtype());
    if (!tensor.ok()) {
      scope.UpdateStatus(Annotate(
          tensor.status(), absl::StrCat("Variable '", variable.name(), "'")));
      return Output();
    }
    adapted = Input(*std::move(tensor));
  }
  if (!variable.is_resource()) {
    return scope.AddOutput(by_reference, {variable.handle(), adapted});
  }
  const Node* changed =
      scope.AddNode(by_resource, {variable.handle(), adapted});
  if (changed == nullptr) return Output();
  const Scope after =
      scope.WithName("").WithControlDependencies({Operation(changed)});
  return variable.Read(after);
}

}  // namespace

Output Assign(const Scope& scope, const Variable& variable,
              const Input& value) {
  return Change(scope, variable, value, "Assign", "AssignVariableOp");
}

Output AssignAdd(const Scope& scope, const Variable& variable,
                 const Input& value) {
  return Change(scope, variable, value, "AssignAdd", "AssignAddVariableOp");
}

Output AssignSub(const Scope& scope, const Variable& variable,
                 const Input& value) {
  return Change(scope, variable, value, "AssignSub", "AssignSubVariableOp");
}

Output Gather(const Scope& scope, const Variable& params,
              const Input& indices) {
  return params.SparseRead(scope, indices);
}

Output GatherV2(const Scope& scope, const Variable& params,
                const Input& indices, const Input& axis) {
  if (!params) return Output();
  const bool by_rows = axis.value() && axis.value()->num_elements() == 1 &&
                       ((axis.value()->dtype() == DT_INT32 &&
                         axis.value()->flat<int32_t>()[0] == 0) ||
                        (axis.value()->dtype() == DT_INT64 &&
                         axis.value()->flat<int64_t>()[0] == 0));
  if (by_rows) return params.SparseRead(scope, indices);
  return scope.ColocateWith(params.handle())
      .AddOutput("GatherV2", {params.value(), indices, axis});
}

Variable FindVariable(const Scope& scope, const Output& handle) {
  const auto& by_node = VariableStore::Of(scope).by_node;
  auto it = by_node.find(handle.node());
  return it == by_node.end() ? Variable() : it->second;
}

Variable FindVariableRead(const Scope& scope, const Output& value) {
  if (!value || value.node()->num_inputs() != 1) return Variable();
  const Variable variable = FindVariable(scope, value.node()->input(0));
  return variable && variable.value() == value ? variable : Variable();
}

std::vector<Variable> GetVariables(const Scope& scope,
                                   absl::string_view collection) {
  std::vector<Variable> result;
  for (const Output& item : scope.GetCollection(collection)) {
    if (Variable variable = FindVariable(scope, item)) {
      result.push_back(std::move(variable));
    }
  }
  return result;
}

std::vector<Variable> GlobalVariables(const Scope& scope) {
  return GetVariables(scope, collection::kGlobalVariables);
}

std::vector<Variable> LocalVariables(const Scope& scope) {
  return GetVariables(scope, collection::kLocalVariables);
}

std::vector<Variable> TrainableVariables(const Scope& scope) {
  return GetVariables(scope, collection::kTrainableVariables);
}

Operation VariablesInitializer(const Scope& scope,
                               absl::Span<const Variable> variables) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) {
    initializers.push_back(variable.initializer());
  }
  return Group(scope, initializers, "init");
}

Operation GlobalVariablesInitializer(const Scope& scope) {
  return VariablesInitializer(scope, GlobalVariables(scope));
}

Operation LocalVariablesInitializer(const Scope& scope) {
  return VariablesInitializer(scope, LocalVariables(scope));
}

}  // namespace weft::ops

namespace weft {

VariableStore& VariableStore::Of(const Scope& scope) {
  std::shared_ptr<VariableStore>& store = scope.state().variables;
  if (store == nullptr) store = std::make_shared<VariableStore>();
  return *store;
}

}  // namespace weft
