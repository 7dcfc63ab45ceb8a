#include "libs/ops/variable_scope.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"

namespace weft {

struct Scope::VariableScopeState {
  std::string name;  // full; "" at the root
  ops::Reuse reuse = ops::Reuse::kFalse;
  ops::Initializer initializer;
  ops::Regularizer regularizer;
  ops::Partitioner partitioner;
  DataType dtype = DT_FLOAT;
  bool use_resource = true;
};

namespace ops {
namespace {

using State = Scope::VariableScopeState;

const State& StateOf(const Scope& scope) {
  static const auto& root = *new State;
  return scope.variable_scope() ? *scope.variable_scope() : root;
}

std::string Join(const std::string& outer, absl::string_view name) {
  return outer.empty() ? std::string(name) : absl::StrCat(outer, "/", name);
}

State Inside(const State& outer, std::string name,
             const VariableScopeOptions& options) {
  State state = outer;
  state.name = std::move(name);
  // kTrue outside can't be taken back.
  if (options.reuse && state.reuse != Reuse::kTrue) {
    state.reuse = *options.reuse;
  }
  if (options.initializer) state.initializer = options.initializer;
  if (options.regularizer) state.regularizer = options.regularizer;
  if (options.partitioner) state.partitioner = options.partitioner;
  if (options.dtype != DT_INVALID) state.dtype = options.dtype;
  if (options.use_resource) state.use_resource = *options.use_resource;
  return state;
}

// Counts the opening of a scope, and forgets how often scopes inside it have
// been opened.
void CountOpening(const Scope& scope, const std::string& name) {
  auto& counts = VariableStore::Of(scope).scope_counts;
  ++counts[name];
  for (auto& [other, count] : counts) {
    if (absl::StartsWith(other, absl::StrCat(name, "/"))) count = 0;
  }
}

std::string UnusedScopeName(const Scope& scope, const std::string& prefix) {
  const auto& counts = VariableStore::Of(scope).scope_counts;
  const auto is_used = [&](const std::string& name) {
    auto it = counts.find(name);
    return it != counts.end() && it->second > 0;
  };
  std::string name = prefix;
  for (int i = 1; is_used(name); ++i) name = absl::StrCat(prefix, "_", i);
  return name;
}

Scope Open(const Scope& scope, absl::string_view name,
           const VariableScopeOptions& options) {
  const State& outer = StateOf(scope);
  State state = Inside(outer, Join(outer.name, name), options);
  CountOpening(scope, state.name);
  return scope.SubScope(name).WithVariableScope(
      std::make_shared<const State>(std::move(state)));
}

}  // namespace

Scope VariableScope(const Scope& scope, absl::string_view name,
                    const VariableScopeOptions& options) {
  if (!name.empty()) return Open(scope, name, options);
  scope.UpdateStatus(absl::InvalidArgumentError("variable_scope needs a name"));
  return scope;
}

Scope UniqueVariableScope(const Scope& scope, absl::string_view default_name,
                          const VariableScopeOptions& options) {
  const std::string& outer = StateOf(scope).name;
  if (options.reuse == Reuse::kTrue) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        "reuse=True cannot be used without a name_or_scope"));
  }
  const std::string full = UnusedScopeName(scope, Join(outer, default_name));
  const size_t skip = outer.empty() ? 0 : outer.size() + 1;
  return VariableScope(scope, absl::string_view(full).substr(skip), options);
}

Scope ReenterVariableScope(const Scope& scope, const Scope& of,
                           const VariableScopeOptions& options) {
  const State& old = StateOf(of);
  State state = Inside(old, old.name, options);
  CountOpening(scope, state.name);
  const size_t slash = old.name.rfind('/');
  const std::string last =
      slash == std::string::npos ? old.name : old.name.substr(slash + 1);
  return (last.empty() ? scope : scope.SubScope(last))
      .WithVariableScope(std::make_shared<const State>(std::move(state)));
}

std::string VariableScopeName(const Scope& scope) {
  return StateOf(scope).name;
}

Reuse VariableScopeReuse(const Scope& scope) { return StateOf(scope).reuse; }

namespace {

absl::Status AlreadyExists(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Variable ", name,
      " already exists, disallowed. Did you mean to set reuse=True or "
      "reuse=tf.AUTO_REUSE in VarScope?"));
}

absl::Status DoesNotExist(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Variable ", name,
      " does not exist, or was not created with tf.get_variable(). Did you "
      "mean to set reuse=tf.AUTO_REUSE in VarScope?"));
}

// What one call of get_variable comes to, scope and options taken together.
struct Request {
  std::string name;  // full
  PartialShape shape;
  DataType dtype = DT_FLOAT;
  Reuse reuse = Reuse::kFalse;
  Initializer initializer;
  std::optional<Input> initial_value;
  Regularizer regularizer;
  Partitioner partitioner;
  VariableOptions variable;
};

Request MakeRequest(const Scope& scope, absl::string_view name,
                    const PartialShape& shape,
                    const GetVariableOptions& options) {
  const State& state = StateOf(scope);
  Request request;
  request.name = Join(state.name, name);
  request.shape = shape;
  request.dtype = options.dtype == DT_INVALID ? state.dtype : options.dtype;
  request.reuse = state.reuse;
  request.initializer =
      options.initializer ? options.initializer : state.initializer;
  request.initial_value = options.initial_value;
  request.regularizer =
      options.regularizer ? options.regularizer : state.regularizer;
  request.partitioner =
      options.partitioner ? options.partitioner : state.partitioner;
  request.variable = {
      .dtype = request.dtype,
      .trainable = options.trainable,
      .collections = options.collections,
      .use_resource = options.use_resource.value_or(state.use_resource),
      .validate_shape = options.validate_shape};
  return request;
}

// A value that is no C++ scalar keeps its dtype.
void TakeTypeOfValue(Request& request, bool dtype_given) {
  if (!request.initial_value || dtype_given) return;
  const Input& value = *request.initial_value;
  if (value.value() && !value.adapts()) {
    request.dtype = value.value()->dtype();
  } else if (value.output()) {
    request.dtype = RemoveRefType(value.output().dtype());
  }
  request.variable.dtype = request.dtype;
}

absl::StatusOr<Initializer> InitializerFor(const Request& request) {
  if (request.initializer) return request.initializer;
  if (IsFloatingType(request.dtype)) return initializers::GlorotUniform();
  if (IsIntegerType(request.dtype) || request.dtype == DT_BOOL) {
    return initializers::Zeros();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("An initializer for variable ", request.name, " of ",
                   DataTypeName(request.dtype), " is required"));
}

absl::Status CheckShared(const Request& request, const Variable& found) {
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

// A scope where a variable of that full name is made: no name scope and no
// control dependency of the caller's counts.
Scope CreationScope(const Scope& scope, const std::string& full_name) {
  return scope.ReenterScope("").WithoutControlDependencies().WithName(
      full_name);
}

absl::StatusOr<Variable> Create(const Scope& scope, const Request& request,
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

void Regularize(const Scope& scope, const Request& request,
                const Variable& variable) {
  if (!request.regularizer) return;
  const Scope at =
      scope.WithoutControlDependencies()
          .ColocateWith(variable.handle())
          .ReenterScope(absl::StrCat(request.name, "/Regularizer"));
  scope.AddToCollection(collection::kRegularizationLosses,
                        request.regularizer(at, variable.value()));
}

absl::StatusOr<Variable> FindOrCreate(const Scope& scope,
                                      const Request& request,
                                      const PartitionInfo* partition) {
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

absl::StatusOr<Variable> GetWhole(const Scope& scope, Request request,
                                  bool dtype_given) {
  RETURN_IF_ERROR(scope.status());
  if (request.initial_value && request.shape.has_rank()) {
    return absl::InvalidArgumentError(
        "If initializer is a constant, do not specify shape.");
  }
  TakeTypeOfValue(request, dtype_given);
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
  absl::StatusOr<Variable> variable =
      GetWhole(scope, MakeRequest(scope, name, shape, options),
               options.dtype != DT_INVALID);
  if (variable.ok()) return *variable;
  scope.UpdateStatus(variable.status());
  return Variable();
}

Variable GetVariable(const Scope& scope, absl::string_view name,
                     const GetVariableOptions& options) {
  return GetVariable(scope, name, PartialShape::UnknownRank(), options);
}

namespace {

// The parts of a shape along its one cut dimension.
struct Cut {
  std::vector<int> partitions;
  int axis = 0;
  std::vector<TensorShape> shapes;
  std::vector<Dims> offsets;
};

absl::StatusOr<int> CutAxis(const std::vector<int>& partitions,
                            const TensorShape& shape, const std::string& name) {
  if (static_cast<int>(partitions.size()) != shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Partitioner returned a partition list that does not match the "
        "variable's rank: [",
        absl::StrJoin(partitions, ", "), "] vs. ", shape.ToString(), " for ",
        name));
  }
  int axis = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (partitions[i] < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Partitioner returned zero partitions for some axes: [",
                       absl::StrJoin(partitions, ", "), "] for ", name));
    }
    if (partitions[i] == 1) continue;
    if (axis >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Can only slice a variable along one dimension: shape: ",
                       shape.ToString(), ", partitioning: [",
                       absl::StrJoin(partitions, ", "), "] for ", name));
    }
    axis = i;
  }
  axis = std::max(axis, 0);
  if (partitions[axis] > std::max<int64_t>(1, shape.dim(axis))) {
    return absl::InvalidArgumentError(
        absl::StrCat("Variable ", name, " of shape ", shape.ToString(),
                     " can't be cut into ", partitions[axis], " parts"));
  }
  return axis;
}

absl::StatusOr<Cut> MakeCut(std::vector<int> partitions,
                            const TensorShape& shape, const std::string& name) {
  Cut cut;
  ASSIGN_OR_RETURN(cut.axis, CutAxis(partitions, shape, name));
  const int parts = partitions[cut.axis];
  const int64_t size = shape.dim(cut.axis);
  int64_t offset = 0;
  for (int i = 0; i < parts; ++i) {
    const int64_t rows = size / parts + (i < size % parts ? 1 : 0);
    TensorShape part = shape;
    part.set_dim(cut.axis, rows);
    cut.shapes.push_back(std::move(part));
    Dims offsets(shape.rank(), 0);
    offsets[cut.axis] = offset;
    cut.offsets.push_back(std::move(offsets));
    offset += rows;
  }
  cut.partitions = std::move(partitions);
  return cut;
}

// The part of a given initial value: a Slice under "PartitionedInitializer".
Input SliceValue(const Scope& scope, const std::string& part_name,
                 const Input& value, const Dims& offset,
                 const TensorShape& shape) {
  const Scope at =
      scope.ReenterScope(absl::StrCat(part_name, "/PartitionedInitializer"));
  const std::vector<int64_t> begin(offset.begin(), offset.end());
  const std::vector<int64_t> size(shape.dims().begin(), shape.dims().end());
  return at.AddOutput("Slice",
                      {value, Tensor::Vector(absl::Span<const int64_t>(begin)),
                       Tensor::Vector(absl::Span<const int64_t>(size))});
}

absl::Status CheckSameCut(const Request& request, const TensorShape& shape,
                          const std::vector<int>& partitions,
                          const VariableStore::Shared& found) {
  if (found.full_shape != shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to reuse partitioned variable ", request.name,
                     ", but specified shape ", shape.ToString(),
                     " and found shape ", found.full_shape.ToString(), "."));
  }
  if (found.parts[0].dtype() != request.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Trying to reuse partitioned variable ", request.name,
        ", but specified dtype ", DataTypeName(request.dtype),
        " and found dtype ", DataTypeName(found.parts[0].dtype()), "."));
  }
  if (found.partitions != partitions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Partitioner returned a different partitioning than what was already "
        "found.  Partitioner returned [",
        absl::StrJoin(partitions, ", "), "] for shape ", shape.ToString(),
        ", and found [", absl::StrJoin(found.partitions, ", "), "] for ",
        request.name, "."));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Variable>> MakeParts(const Scope& scope,
                                                const Request& request,
                                                const TensorShape& shape,
                                                const Cut& cut) {
  std::vector<Variable> parts;
  std::optional<Input> value = request.initial_value;
  if (value) {
    value = CreationScope(scope, "").ToOutput(*value, "initial_value");
  }
  for (size_t i = 0; i < cut.shapes.size(); ++i) {
    Request part = request;
    part.name = absl::StrCat(request.name, "/part_", i);
    part.shape = cut.shapes[i];
    if (value) {
      part.initial_value =
          SliceValue(scope, part.name, *value, cut.offsets[i], cut.shapes[i]);
    }
    const PartitionInfo info = {shape, cut.offsets[i]};
    ASSIGN_OR_RETURN(Variable variable, FindOrCreate(scope, part, &info));
    parts.push_back(std::move(variable));
  }
  return parts;
}

absl::StatusOr<std::vector<Variable>> FindOrMakeParts(const Scope& scope,
                                                      const Request& request,
                                                      const TensorShape& shape,
                                                      const Cut& cut) {
  auto& shared = VariableStore::Of(scope).shared;
  auto found = shared.find(request.name);
  if (found != shared.end() && !found->second.is_partitioned) {
    return absl::InvalidArgumentError(absl::StrCat(
        "A partitioner was provided, but an unpartitioned version of the "
        "variable was found: ",
        request.name,
        ".  Perhaps a variable of the same name was already "
        "created without partitioning?"));
  }
  if (found != shared.end()) {
    if (request.reuse == Reuse::kFalse) {
      return absl::InvalidArgumentError(
          absl::StrCat("Partitioned variable with name ", request.name,
                       " already exists. Did you mean to set reuse=True or "
                       "reuse=tf.AUTO_REUSE in VarScope?"));
    }
    RETURN_IF_ERROR(
        CheckSameCut(request, shape, cut.partitions, found->second));
    return found->second.parts;
  }
  if (request.reuse == Reuse::kTrue) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PartitionedVariable ", request.name,
        " does not exist, or was not created with tf.get_variable(). Did you "
        "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"));
  }
  ASSIGN_OR_RETURN(std::vector<Variable> parts,
                   MakeParts(scope, request, shape, cut));
  shared[request.name] = {parts, true, cut.partitions, shape};
  return parts;
}

}  // namespace

PartitionedVariable::PartitionedVariable(const Variable& whole) {
  if (!whole) return;
  name_ = whole.name();
  if (whole.shape().IsFullyDefined()) shape_ = whole.shape().ToShape();
  parts_ = {whole};
  offsets_ = {Dims(shape_.rank(), 0)};
}

Output PartitionedVariable::AsTensor(const Scope& scope) const {
  if (parts_.empty()) return Output();
  if (!is_partitioned_) return parts_[0].value();
  const Scope at = scope.ReenterScope(absl::StrCat(name_, "/ConcatPartitions"));
  InputList inputs(parts_.begin(), parts_.end());
  if (inputs.size() == 1)
    return at.WithName("concat").AddOutput("Identity", inputs);
  inputs.emplace_back(axis_);
  return at.WithName("concat").AddOutput("ConcatV2", inputs);
}

PartitionedVariable GetPartitionedVariable(const Scope& scope,
                                           absl::string_view name,
                                           const TensorShape& shape,
                                           const GetVariableOptions& options) {
  if (!scope.ok()) return PartitionedVariable();
  Request request = MakeRequest(scope, name, shape, options);
  if (!request.partitioner || shape.rank() == 0) {
    // A given value brings its own shape.
    return GetVariable(
        scope, name,
        options.initial_value ? PartialShape() : PartialShape(shape), options);
  }
  TakeTypeOfValue(request, options.dtype != DT_INVALID);
  const auto make = [&]() -> absl::StatusOr<PartitionedVariable> {
    ASSIGN_OR_RETURN(std::vector<int> partitions,
                     request.partitioner(shape, request.dtype));
    ASSIGN_OR_RETURN(Cut cut,
                     MakeCut(std::move(partitions), shape, request.name));
    PartitionedVariable result;
    ASSIGN_OR_RETURN(result.parts_,
                     FindOrMakeParts(scope, request, shape, cut));
    result.name_ = request.name;
    result.shape_ = shape;
    result.axis_ = cut.axis;
    result.is_partitioned_ = true;
    result.offsets_ = std::move(cut.offsets);
    return result;
  };
  absl::StatusOr<PartitionedVariable> result = make();
  if (result.ok()) return *std::move(result);
  scope.UpdateStatus(result.status());
  return PartitionedVariable();
}

}  // namespace ops
}  // namespace weft
