#include "libs/ops/state/partitioned_variable.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"

namespace weft::ops {
namespace {

// The parts of a shape along its partitioned dimension.
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
                     " cannot be divided into ", partitions[axis], " parts"));
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

absl::Status CheckSameCut(const VariableRequest& request,
                          const TensorShape& shape,
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
                                                const VariableRequest& request,
                                                const TensorShape& shape,
                                                const Cut& cut) {
  std::vector<Variable> parts;
  std::optional<Input> value = request.initial_value;
  if (value) {
    value = CreationScope(scope, "").ToOutput(*value, "initial_value");
  }
  for (size_t i = 0; i < cut.shapes.size(); ++i) {
    VariableRequest part = request;
    part.name = absl::StrCat(request.name, "/part_", i);
    part.shape = cut.shapes[i];
    if (value) {
      part.initial_value =
          SliceValue(scope, part.name, *value, cut.offsets[i], cut.shapes[i]);
    }
    const PartitionInfo info = {shape, cut.offsets[i]};
    ASSIGN_OR_RETURN(Variable variable, FindOrCreate(scope, part, &info));
    VariableStore::Of(scope).slices[variable.handle().node()] = {
        request.name, shape, cut.offsets[i]};
    parts.push_back(std::move(variable));
  }
  return parts;
}

absl::StatusOr<std::vector<Variable>> FindOrMakeParts(
    const Scope& scope, const VariableRequest& request,
    const TensorShape& shape, const Cut& cut) {
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return scope.graph().writer().error();
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
                       " already exists. Did you mean to set reuse=True "
                       "(ops::Reuse::kTrue) or reuse=tf.AUTO_REUSE "
                       "(ops::kAutoReuse) in VarScope?"));
    }
    RETURN_IF_ERROR(
        CheckSameCut(request, shape, cut.partitions, found->second));
    return found->second.parts;
  }
  if (request.reuse == Reuse::kTrue) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PartitionedVariable ", request.name,
        " does not exist, or was not created with tf.get_variable() "
        "(ops::GetVariable). Did you mean to set reuse=False "
        "(ops::Reuse::kFalse) or reuse=tf.AUTO_REUSE (ops::kAutoReuse) in "
        "VarScope?"));
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

PartitionedVariable GetPartitionedVariable(const Scope& given,
                                           absl::string_view name,
                                           const TensorShape& shape,
                                           const GetVariableOptions& options) {
  const Scope scope = given.OutsideFunctions();
  if (!scope.ok()) return PartitionedVariable();
  VariableRequest request(scope, name, shape, options);
  if (!request.partitioner || shape.rank() == 0) {
    // A given value determines the shape.
    return GetVariable(
        scope, name,
        options.initial_value ? PartialShape() : PartialShape(shape), options);
  }
  request.TakeTypeOfValue();
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

}  // namespace weft::ops
