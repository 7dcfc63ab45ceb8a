// Optimizers, AssignAdd and AssignSub, and changes of rows, on GPUs; for both
// kinds of variables.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/device_context.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/cuda/row_changes.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/resource/update_checks.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/kernels/state/nd_slices.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using cuda::Change;
using cuda::TrainingRule;
using Types = std::vector<DataType>;
constexpr int kMostVariables = cuda::kMostVariables;

// Copies `from` to `to` unless they are the same tensor.
absl::Status CopyIfElsewhere(OpKernelContext& context, const Tensor& from,
                             const Tensor& to) {
  if (from.data() == to.data()) return absl::OkStatus();
  return context.device().context()->CopyOnDevice(from, to);
}

cuda::Rows RowsOf(const TensorShape& variable, const Tensor& indices) {
  cuda::Rows rows;
  rows.indices = indices.data();
  rows.is_int64 = indices.dtype() == DT_INT64;
  rows.count = indices.num_elements();
  rows.rows = variable.dim(0);
  rows.row = rows.rows == 0 ? 0 : variable.num_elements() / rows.rows;
  return rows;
}

bool ChangesNothing(const cuda::Rows& rows) {
  return rows.count == 0 || rows.rows == 0 || rows.row == 0;
}

// Checks a rule's scalars, which are then in host memory, in the order of the
// check.
using ScalarCheck = absl::Status (*)(const double* values, bool flag);

absl::Status CheckNothing(const double*, bool) { return absl::OkStatus(); }
absl::Status CheckFtrl(const double* s, bool multiply_linear_by_lr) {
  return CheckFtrlScalars(s[0], s[1], s[2], 0, s[3], multiply_linear_by_lr);
}
absl::Status CheckFtrlV2(const double* s, bool multiply_linear_by_lr) {
  return CheckFtrlScalars(s[0], s[1], s[2], s[3], s[4], multiply_linear_by_lr);
}
absl::Status CheckRate(const double* s, bool) {
  return CheckPositiveRate(s[0]);
}

// The mapping of an op's inputs to those of a rule.
struct RuleOp {
  TrainingRule rule;
  int variables;
  std::vector<std::string> scalars;
  std::string flag;  // attribute for Training::flag; may be empty
  bool default_flag = false;
  ScalarCheck check = nullptr;  // null: the scalars are in GPU memory
};

// A scalar in host memory.
double ValueOf(const Tensor& scalar) {
  switch (scalar.dtype()) {
    case DT_INT64:
      return static_cast<double>(scalar.scalar<int64_t>());
    case DT_HALF:
      return static_cast<double>(static_cast<float>(scalar.scalar<half>()));
    case DT_BFLOAT16:
      return static_cast<double>(static_cast<float>(scalar.scalar<bfloat16>()));
    case DT_FLOAT:
      return static_cast<double>(scalar.scalar<float>());
    default:
      return scalar.scalar<double>();
  }
}

class TrainingKernel : public OpKernel {
 public:
  TrainingKernel(const OpKernelConstruction& construction, const RuleOp& op)
      : OpKernel(construction), variables_(op.variables), check_(op.check) {
    for (const ArgDef& input : construction.node().op().inputs) {
      const int i = static_cast<int>(names_.size());
      names_.push_back(input.name);
      if (input.name == "grad" || input.name == "delta") gradient_ = i;
      if (input.name == "indices") indices_ = i;
      const bool is_scalar = std::find(op.scalars.begin(), op.scalars.end(),
                                       input.name) != op.scalars.end();
      if (is_scalar) scalars_.push_back(i);
    }
    const DataType type =
        construction.GetAttr<DataType>("T").value_or(DT_FLOAT);
    type_ = type;
    training_.rule = op.rule;
    training_.type = ElementTypeOf(type);
    training_.flag =
        op.flag.empty()
            ? false
            : construction.GetAttr<bool>(op.flag).value_or(op.default_flag);
  }

  absl::Status Compute(OpKernelContext& context) override {
    std::array<std::shared_ptr<Variable>, kMostVariables> variables;
    std::array<Variable*, kMostVariables> pointers;
    for (int i = 0; i < variables_; ++i) {
      ASSIGN_OR_RETURN(variables[i], lookups_[i].FromInput(context, i));
      RETURN_IF_ERROR(CheckVariableType(*variables[i], type_));
      pointers[i] = variables[i].get();
    }
    cuda::Training training = training_;
    RETURN_IF_ERROR(SetInputs(context, training));
    RETURN_IF_ERROR(Variable::UpdateAll(
        context.cancellation(), context.allocator(),
        absl::MakeSpan(pointers.data(), variables_),
        [&](absl::Span<const Variable::FromTo> values) {
          return Train(context, values, training);
        },
        context.when_locked()));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  absl::Status SetInputs(const OpKernelContext& context,
                         cuda::Training& training) const {
    for (size_t i = 0; i < scalars_.size(); ++i) {
      const Tensor& scalar = context.input(scalars_[i]);
      RETURN_IF_ERROR(CheckScalar(names_[scalars_[i]], scalar.shape()));
      if (check_ == nullptr) {
        training.scalars[i] = scalar.data();
      } else {
        training.values[i] = ValueOf(scalar);
      }
    }
    if (check_ != nullptr) {
      RETURN_IF_ERROR(check_(training.values, training.flag));
    }
    training.gradient = context.input(gradient_).data();
    return absl::OkStatus();
  }

  absl::Status Train(OpKernelContext& context,
                     absl::Span<const Variable::FromTo> values,
                     cuda::Training& training) const {
    const TensorShape& shape = values[0].from->shape();
    for (int i = 0; i < variables_; ++i) {
      RETURN_IF_ERROR(
          CheckSameShape(names_[i], shape, values[i].from->shape()));
      training.from[i] = values[i].from->data();
      training.to[i] = values[i].to->mutable_data();
    }
    if (indices_ >= 0) return TrainRows(context, values, training);
    RETURN_IF_ERROR(CheckSameShape(names_[gradient_], shape,
                                   context.input(gradient_).shape()));
    if (shape.num_elements() == 0) return absl::OkStatus();
    LaunchTraining(training, shape.num_elements(), StreamOf(context));
    return LaunchStatus();
  }

  absl::Status TrainRows(OpKernelContext& context,
                         absl::Span<const Variable::FromTo> values,
                         const cuda::Training& training) const {
    const TensorShape& shape = values[0].from->shape();
    const Tensor& indices = context.input(indices_);
    RETURN_IF_ERROR(CheckGradientOfRows(shape, context.input(gradient_).shape(),
                                        indices.shape()));
    for (const Variable::FromTo& value : values) {
      RETURN_IF_ERROR(CopyIfElsewhere(context, *value.from, *value.to));
    }
    const cuda::Rows rows = RowsOf(shape, indices);
    if (ChangesNothing(rows)) return absl::OkStatus();
    Tensor scratch;
    ASSIGN_OR_RETURN(const cuda::RowOrder order,
                     OrderRows(context, rows, scratch));
    LaunchTrainingOfRows(training, order, StreamOf(context));
    return LaunchStatus();
  }

  const int variables_;
  const ScalarCheck check_;
  std::vector<std::string> names_;
  std::vector<int> scalars_;  // positions of scalar inputs
  int gradient_ = -1;
  int indices_ = -1;  // -1: dense gradient
  DataType type_ = DT_INVALID;
  cuda::Training training_;  // the same in all runs
  std::array<VariableLookup, kMostVariables> lookups_;
};

// Changes the variable of input 0, which has the type of input `by`.
class ChangeKernel : public OpKernel {
 public:
  ChangeKernel(const OpKernelConstruction& construction, int by)
      : OpKernel(construction), by_(by) {}

  absl::Status Compute(OpKernelContext& context) final {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable,
                     lookup_.FromInput(context, 0));
    RETURN_IF_ERROR(CheckVariableType(*variable, context.input(by_).dtype()));
    RETURN_IF_ERROR(variable->Update(
        context.cancellation(), context.allocator(),
        [&](const Tensor& from, Tensor& to) {
          return Apply(context, from, context.input(by_), to);
        },
        context.when_locked()));
    ForwardReference(context);
    return absl::OkStatus();
  }

 private:
  virtual absl::Status Apply(OpKernelContext& context, const Tensor& from,
                             const Tensor& by, Tensor& to) const = 0;

  const int by_;
  VariableLookup lookup_;
};

// AssignAdd and AssignSub.
class AssignKernel : public ChangeKernel {
 public:
  AssignKernel(const OpKernelConstruction& construction, Change change)
      : ChangeKernel(construction, 1), change_(change) {}

 private:
  absl::Status Apply(OpKernelContext& context, const Tensor& from,
                     const Tensor& by, Tensor& to) const override {
    RETURN_IF_ERROR(CheckAddedShape(from.shape(), by.shape()));
    if (from.num_elements() == 0) return absl::OkStatus();
    LaunchChange(change_, ElementTypeOf(from.dtype()), from.num_elements(),
                 from.data(), by.data(), to.mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

  const Change change_;
};

enum class RowChange { kAdd, kSub, kUpdate };

// Changes rows by the rows of `by`, or by the scalar `by`.
absl::Status ChangeRows(OpKernelContext& context, RowChange kind,
                        const cuda::Rows& rows, const Tensor& by, Tensor& to) {
  const bool is_scalar = by.shape().IsScalar();
  if (kind == RowChange::kUpdate) {
    return ReplaceRows(context, rows, by, is_scalar, to);
  }
  const Change change = kind == RowChange::kAdd ? Change::kAdd : Change::kSub;
  return SumRows(context, change, rows, by, is_scalar, to);
}

// ScatterAdd, ScatterSub and ScatterUpdate. An index out of range is ignored.
class ScatterKernel : public ChangeKernel {
 public:
  using Kind = RowChange;

  ScatterKernel(const OpKernelConstruction& construction, Kind kind)
      : ChangeKernel(construction, 2), kind_(kind) {}

 private:
  absl::Status Apply(OpKernelContext& context, const Tensor& from,
                     const Tensor& by, Tensor& to) const override {
    const Tensor& indices = context.input(1);
    RETURN_IF_ERROR(
        CheckUpdateShape(from.shape(), indices.shape(), by.shape()));
    RETURN_IF_ERROR(CopyIfElsewhere(context, from, to));
    const cuda::Rows rows = RowsOf(from.shape(), indices);
    if (ChangesNothing(rows)) return absl::OkStatus();
    return ChangeRows(context, kind_, rows, by, to);
  }

  const Kind kind_;
};

// ScatterNdAdd, ScatterNdSub and ScatterNdUpdate, with indices in host memory.
class ScatterNdKernel : public ChangeKernel {
 public:
  using Kind = RowChange;

  ScatterNdKernel(const OpKernelConstruction& construction, Kind kind)
      : ChangeKernel(construction, 2), kind_(kind) {}

 private:
  absl::Status Apply(OpKernelContext& context, const Tensor& from,
                     const Tensor& by, Tensor& to) const override {
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(
        const VariableSlices found,
        FindVariableSlices(charge, from.shape(), context.input(1), by.shape()));
    RETURN_IF_ERROR(CopyIfElsewhere(context, from, to));
    if (by.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor slices, Upload(context, found.slices));
    cuda::Rows rows;
    rows.indices = slices.data();
    rows.is_int64 = true;
    rows.count = slices.num_elements();
    rows.rows = from.num_elements() / found.size;
    rows.row = found.size;
    return ChangeRows(context, kind_, rows, by, to);
  }

  const Kind kind_;
};

template <typename Kernel, typename... Args>
void Register(KernelRegistry& registry, absl::string_view op,
              const char* type_attr, Types types,
              std::vector<std::string> host_memory, Args... args) {
  KernelDef def{std::string(op)};
  def.types[type_attr] = std::move(types);
  def.host_memory = std::move(host_memory);
  RegisterForGpu<Kernel>(registry, std::move(def), args...);
}

const char* const kVariableNames[][kMostVariables] = {
    {"var"},
    {"var", "accum"},
    {"var", "accum"},
    {"var", "accum"},
    {"var", "m", "v"},
    {"var", "m", "v"},
    {"var", "accum", "accum_update"},
    {"var", "ms", "mom"},
    {"var", "mg", "ms", "mom"},
    {"var", "accum", "linear"},
    {"var", "accum", "linear"},
    {"var", "gradient_accumulator", "gradient_squared_accumulator"},
    {"var"},
    {"var", "accum"},
};

// Registers the op's kernels for references and resources.
void RegisterRuleOp(KernelRegistry& registry, const std::string& prefix,
                    const std::string& name, const RuleOp& op) {
  const Types floats = CudaFloats();
  const char* const* names = kVariableNames[static_cast<int>(op.rule)];
  std::vector<std::string> on_host;
  if (op.check != nullptr) on_host = op.scalars;
  Register<TrainingKernel>(registry, prefix + name, "T", floats, on_host, op);
  on_host.insert(on_host.end(), names, names + op.variables);
  Register<TrainingKernel>(registry, "Resource" + prefix + name, "T", floats,
                           on_host, op);
}

void RegisterRule(KernelRegistry& registry, const std::string& name,
                  const RuleOp& op) {
  RegisterRuleOp(registry, "Apply", name, op);
}

// Includes sparse ops, which may check their scalars.
void RegisterBoth(KernelRegistry& registry, const std::string& name, RuleOp op,
                  ScalarCheck sparse_check = nullptr) {
  RegisterRule(registry, name, op);
  if (sparse_check != nullptr) op.check = sparse_check;
  RegisterRuleOp(registry, "SparseApply", name, op);
}

}  // namespace

void RegisterCudaTrainingKernels(KernelRegistry& registry) {
  using Rule = TrainingRule;
  RegisterRule(registry, "GradientDescent",
               {Rule::kGradientDescent, 1, {"alpha"}, ""});
  RegisterBoth(registry, "Momentum",
               {Rule::kMomentum, 2, {"lr", "momentum"}, "use_nesterov"});
  RegisterBoth(registry, "Adagrad",
               {Rule::kAdagrad, 2, {"lr"}, "update_slots", true});
  RegisterBoth(registry, "AdagradV2",
               {Rule::kAdagradV2, 2, {"lr", "epsilon"}, "update_slots", true});
  RegisterRule(
      registry, "Adam",
      {Rule::kAdam,
       3,
       {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"},
       "use_nesterov"});
  RegisterRule(registry, "AdaMax",
               {Rule::kAdaMax,
                3,
                {"beta1_power", "lr", "beta1", "beta2", "epsilon"},
                ""});
  RegisterBoth(registry, "Adadelta",
               {Rule::kAdadelta, 3, {"lr", "rho", "epsilon"}, ""});
  RegisterBoth(registry, "RMSProp",
               {Rule::kRMSProp, 3, {"lr", "rho", "momentum", "epsilon"}, ""});
  RegisterBoth(
      registry, "CenteredRMSProp",
      {Rule::kCenteredRMSProp, 4, {"lr", "rho", "momentum", "epsilon"}, ""});
  RegisterBoth(
      registry, "Ftrl",
      {Rule::kFtrl, 3, {"lr", "l1", "l2", "lr_power"}, "multiply_linear_by_lr"},
      CheckFtrl);
  RegisterBoth(registry, "FtrlV2",
               {Rule::kFtrlV2,
                3,
                {"lr", "l1", "l2", "l2_shrinkage", "lr_power"},
                "multiply_linear_by_lr"},
               CheckFtrlV2);
  // The step number is not a float, so it is read on the host.
  RegisterBoth(registry, "AdagradDA",
               {Rule::kAdagradDA,
                3,
                {"lr", "l1", "l2", "global_step"},
                "",
                false,
                CheckNothing});
  RegisterBoth(registry, "ProximalGradientDescent",
               {Rule::kProximalGradientDescent, 1, {"alpha", "l1", "l2"}, ""});
  RegisterBoth(
      registry, "ProximalAdagrad",
      {Rule::kProximalAdagrad, 2, {"lr", "l1", "l2"}, "", false, CheckRate});
}

void RegisterCudaStateKernels(KernelRegistry& registry) {
  const Types types = CudaNumbers();
  const auto scatter = [&](const std::string& op, RowChange kind) {
    Register<ScatterKernel>(registry, "Scatter" + op, "T", types, {}, kind);
    Register<ScatterKernel>(registry, "ResourceScatter" + op, "dtype", types,
                            {"resource"}, kind);
    Register<ScatterNdKernel>(registry, "ScatterNd" + op, "T", types,
                              {"indices"}, kind);
    Register<ScatterNdKernel>(registry, "ResourceScatterNd" + op, "T", types,
                              {"ref", "indices"}, kind);
  };
  const auto assign = [&](const std::string& op, Change change) {
    Register<AssignKernel>(registry, op, "T", types, {}, change);
    Register<AssignKernel>(registry, op + "VariableOp", "dtype", types,
                           {"resource"}, change);
  };
  assign("AssignAdd", Change::kAdd);
  assign("AssignSub", Change::kSub);
  scatter("Add", RowChange::kAdd);
  scatter("Sub", RowChange::kSub);
  scatter("Update", RowChange::kUpdate);
}

}  // namespace weft
