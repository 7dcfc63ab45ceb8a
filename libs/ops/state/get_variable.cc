#include "libs/ops/state/get_variable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft::ops {
namespace {

absl::Status AlreadyExists(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Variable ", name,
      " already exists, disallowed. Did you mean to set reuse=True "
      "(ops::Reuse::kTrue) or reuse=tf.AUTO_REUSE (ops::kAutoReuse) in "
      "VarScope?"));
}

absl::Status DoesNotExist(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Variable ", name,
      " does not exist, or was not created with tf.get_variable() "
      "(ops::GetVariable). Did you mean to set reuse=tf.AUTO_REUSE "
      "(ops::kAutoReuse) in VarScope?"));
}

absl::StatusOr<Initializer> InitializerFor(const VariableRequest& request) {
  if (request.initializer) return request.initializer;
  if (IsFloatingType(request.dtype)) return initializers::GlorotUniform();
  if (IsIntegerType(request.dtype) || request.dtype == DT_BOOL) {
    return initializers::Zeros();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("An initializer for variable ", request.name, " of ",
                   DataTypeName(request.dtype), " is required"));
}

absl::Status CheckShared(const VariableRequest& request,
                         const Variable& found) {
  if (!request.shape.IsCompatibleWith(found.shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to share variable ", request.name,
                     ", but specified shape ", request.shape.ToString(),
                     " and found shape ", found.shape().ToString(), "."));
  }
  if (request.dtype != found.dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to share variable ", request.name,
                     ", but specified dtype ", DataTypeName(request.dtype),
                     " and found dtype ", DataTypeName(found.dtype()), "."));
  }
  return absl::OkStatus();
}

absl::StatusOr<Variable> Create(const Scope& scope,
                                const VariableRequest& request,
                                const PartitionInfo* partition) {
  const Scope at = CreationScope(scope, request.name);
  Variable made;
  if (request.initial_value) {
    made = Variable(at, *request.initial_value, request.variable);
  } else {
    if (!request.shape.IsFullyDefined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape of a new variable (", request.name,
                       ") must be fully defined, but instead was ",
                       request.shape.ToString(), "."));
    }
    ASSIGN_OR_RETURN(Initializer initializer, InitializerFor(request));
    made = Variable(at, initializer, request.shape.ToShape(), request.variable,
                    partition);
  }
  if (!made) return scope.status();
  return made;
}

void Regularize(const Scope& scope, const VariableRequest& request,
                const Variable& variable) {
  if (!request.regularizer) return;
  const Scope at =
      scope.WithoutControlDependencies()
          .ColocateWith(variable.handle())
          .ReenterScope(absl::StrCat(request.name, "/Regularizer"));
  scope.AddToCollection(collection::kRegularizationLosses,
                        request.regularizer(at, variable.value()));
}

}  // namespace

VariableRequest::VariableRequest(const Scope& scope,
                                 absl::string_view base_name,
                                 const PartialShape& wanted_shape,
                                 const GetVariableOptions& options)
    : shape(wanted_shape), initial_value(options.initial_value) {
  const auto& state = Scope::VariableScopeState::Of(scope);
  name = state.FullName(base_name);
  dtype_given = options.dtype != DT_INVALID;
  dtype = dtype_given ? options.dtype : state.dtype;
  reuse = state.reuse;
  initializer = options.initializer ? options.initializer : state.initializer;
  regularizer = options.regularizer ? options.regularizer : state.regularizer;
  partitioner = options.partitioner ? options.partitioner : state.partitioner;
  variable = {.dtype = dtype,
              .trainable = options.trainable,
              .collections = options.collections,
              .use_resource = options.use_resource.value_or(state.use_resource),
              .validate_shape = options.validate_shape};
}

void VariableRequest::TakeTypeOfValue() {
  if (!initial_value || dtype_given) return;
  if (initial_value->value() && !initial_value->adapts()) {
    dtype = initial_value->value()->dtype();
  } else if (initial_value->output()) {
    dtype = RemoveRefType(initial_value->output().dtype());
  }
  variable.dtype = dtype;
}

Scope CreationScope(const Scope& scope, const std::string& full_name) {
  return scope.ReenterScope("").WithoutControlDependencies().WithName(
      full_name);
}

absl::StatusOr<Variable> FindOrCreate(const Scope& scope,
                                      const VariableRequest& request,
                                      const PartitionInfo* partition) {
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return scope.graph().writer().error();
  auto& shared = VariableStore::Of(scope).shared;
  auto found = shared.find(request.name);
  if (found != shared.end() && !found->second.is_partitioned) {
    if (request.reuse == Reuse::kFalse) return AlreadyExists(request.name);
    const Variable& variable = found->second.parts[0];
    RETURN_IF_ERROR(CheckShared(request, variable));
    return variable;
  }
  if (found != shared.end() || shared.contains(request.name + "/part_0")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "No partitioner was provided, but a partitioned version of the "
        "variable was found: ",
        request.name,
        "/part_0. Perhaps a variable of the same name was "
        "already created with partitioning?"));
  }
  if (request.reuse == Reuse::kTrue) return DoesNotExist(request.name);
  ASSIGN_OR_RETURN(Variable variable, Create(scope, request, partition));
  shared[request.name].parts = {variable};
  Regularize(scope, request, variable);
  return variable;
}

namespace {

absl::StatusOr<Variable> GetWhole(const Scope& scope, VariableRequest request) {
  RETURN_IF_ERROR(scope.status());
  if (request.initial_value && request.shape.has_rank()) {
    return absl::InvalidArgumentError(
        "If initializer is a constant, do not specify shape.");
  }
  request.TakeTypeOfValue();
  const bool scalar = request.shape.has_rank() && request.shape.rank() == 0;
  if (request.partitioner && !scalar) {
    return absl::InvalidArgumentError(
        absl::StrCat("Variable ", request.name,
                     " has a partitioner: use GetPartitionedVariable"));
  }
  return FindOrCreate(scope, request, nullptr);
}

}  // namespace

Variable GetVariable(const Scope& scope, absl::string_view name,
                     const PartialShape& shape,
                     const GetVariableOptions& options) {
  const Scope outside = scope.OutsideFunctions();
  absl::StatusOr<Variable> variable =
      GetWhole(outside, VariableRequest(outside, name, shape, options));
  if (variable.ok()) return *variable;
  scope.UpdateStatus(variable.status());
  return Variable();
}

Variable GetVariable(const Scope& scope, absl::string_view name,
                     const GetVariableOptions& options) {
  return GetVariable(scope, name, PartialShape::UnknownRank(), options);
}

}  // namespace weft::ops
