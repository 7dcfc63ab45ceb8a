// Optimizer ops: each applies one optimizer's rule to a variable and its slots,
// on their device. A rule has up to four ops: for references and for handles,
// with a dense gradient and with a gradient of the rows in `indices`.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"
#include "libs/ops/state/variable_shapes.h"

namespace weft {
namespace {

// The names of the ops of a rule; null for a missing op.
struct OpNames {
  const char* on_reference;
  const char* on_resource;
  const char* sparse_on_reference = nullptr;
  const char* sparse_on_resource = nullptr;
};

struct Rule {
  OpNames ops;
  std::vector<std::string> slots;
  // In TensorFlow's order, which differs between rules. "grad" and "delta" have
  // the variable's shape; the others are scalars.
  std::vector<std::string> inputs;
  const char* attr = nullptr;  // besides T and use_locking
};

std::vector<Rule> Rules() {
  return {
      {{"ApplyGradientDescent", "ResourceApplyGradientDescent"},
       {},
       {"alpha", "delta"}},
      {{"ApplyMomentum", "ResourceApplyMomentum", "SparseApplyMomentum",
        "ResourceSparseApplyMomentum"},
       {"accum"},
       {"lr", "grad", "momentum"},
       "use_nesterov: bool = false"},
      {{"ApplyAdagrad", "ResourceApplyAdagrad", "SparseApplyAdagrad",
        "ResourceSparseApplyAdagrad"},
       {"accum"},
       {"lr", "grad"},
       "update_slots: bool = true"},
      {{"ApplyAdagradV2", "ResourceApplyAdagradV2", "SparseApplyAdagradV2",
        "ResourceSparseApplyAdagradV2"},
       {"accum"},
       {"lr", "epsilon", "grad"},
       "update_slots: bool = true"},
      {{"ApplyAdam", "ResourceApplyAdam"},
       {"m", "v"},
       {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon",
        "grad"},
       "use_nesterov: bool = false"},
      {{"ApplyAdaMax", "ResourceApplyAdaMax"},
       {"m", "v"},
       {"beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"}},
      {{"ApplyAdadelta", "ResourceApplyAdadelta", "SparseApplyAdadelta",
        "ResourceSparseApplyAdadelta"},
       {"accum", "accum_update"},
       {"lr", "rho", "epsilon", "grad"}},
      {{"ApplyAdagradDA", "ResourceApplyAdagradDA", "SparseApplyAdagradDA",
        "ResourceSparseApplyAdagradDA"},
       {"gradient_accumulator", "gradient_squared_accumulator"},
       {"grad", "lr", "l1", "l2", "global_step"}},
      {{"ApplyRMSProp", "ResourceApplyRMSProp", "SparseApplyRMSProp",
        "ResourceSparseApplyRMSProp"},
       {"ms", "mom"},
       {"lr", "rho", "momentum", "epsilon", "grad"}},
      {{"ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp",
        "SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"},
       {"mg", "ms", "mom"},
       {"lr", "rho", "momentum", "epsilon", "grad"}},
      {{"ApplyFtrl", "ResourceApplyFtrl", "SparseApplyFtrl",
        "ResourceSparseApplyFtrl"},
       {"accum", "linear"},
       {"grad", "lr", "l1", "l2", "lr_power"},
       "multiply_linear_by_lr: bool = false"},
      {{"ApplyFtrlV2", "ResourceApplyFtrlV2", "SparseApplyFtrlV2",
        "ResourceSparseApplyFtrlV2"},
       {"accum", "linear"},
       {"grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
       "multiply_linear_by_lr: bool = false"},
      {{"ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent",
        "SparseApplyProximalGradientDescent",
        "ResourceSparseApplyProximalGradientDescent"},
       {},
       {"alpha", "l1", "l2", "delta"}},
      {{"ApplyProximalAdagrad", "ResourceApplyProximalAdagrad",
        "SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"},
       {"accum"},
       {"lr", "l1", "l2", "grad"}},
      {{nullptr, "ResourceApplyKerasMomentum", nullptr,
        "ResourceSparseApplyKerasMomentum"},
       {"accum"},
       {"lr", "grad", "momentum"},
       "use_nesterov: bool = false"},
      {{nullptr, "ResourceApplyAdamWithAmsgrad"},
       {"m", "v", "vhat"},
       {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon",
        "grad"}},
      {{"ApplyAddSign", "ResourceApplyAddSign"},
       {"m"},
       {"lr", "alpha", "sign_decay", "beta", "grad"}},
      {{"ApplyPowerSign", "ResourceApplyPowerSign"},
       {"m"},
       {"lr", "logbase", "sign_decay", "beta", "grad"}},
  };
}

bool IsGradient(absl::string_view input) {
  return input == "grad" || input == "delta";
}

// A sparse gradient has one row for each index.
absl::StatusOr<PartialShape> MergeSparseGradient(const PartialShape& variable,
                                                 const PartialShape& gradient,
                                                 int input) {
  if (!variable.has_rank() || !gradient.has_rank()) return variable;
  PartialShape rows = variable;
  if (rows.rank() > 0) rows.set_dim(0, PartialShape::kUnknown);
  RETURN_IF_ERROR(MergeInputShapes(rows, 0, gradient, input).status());
  return variable;
}

// The variable, its slots and a dense gradient have the same shape.
absl::Status ApplyShape(InferenceContext& c) {
  const bool is_sparse = absl::StrContains(c.op().name, "Sparse");
  PartialShape shape = DeclaredShape(c, 0);
  bool is_slot = true;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const std::string& name = c.op().inputs[i].name;
    const bool is_variable =
        c.op().inputs[i].is_ref || c.input_type(i) == DT_RESOURCE;
    is_slot = is_slot && is_variable;
    if (is_slot || (IsGradient(name) && !is_sparse)) {
      ASSIGN_OR_RETURN(shape,
                       MergeInputShapes(shape, 0, DeclaredShape(c, i), i));
    } else if (IsGradient(name)) {
      ASSIGN_OR_RETURN(shape, MergeSparseGradient(shape, c.input(i), i));
    } else {
      RETURN_IF_ERROR(c.InputWithRank(i, name == "indices" ? 1 : 0).status());
    }
  }
  if (c.num_outputs() > 0) c.set_output(0, shape);
  return absl::OkStatus();
}

void AddInputs(const Rule& rule, bool is_resource, bool is_sparse,
               OpDefBuilder& builder) {
  const char* variable = is_resource ? ": resource" : ": Ref(T)";
  builder.Input(absl::StrCat("var", variable));
  for (const std::string& slot : rule.slots) {
    builder.Input(absl::StrCat(slot, variable));
  }
  for (const std::string& input : rule.inputs) {
    // TensorFlow's names: a sparse gradient is never called delta.
    const bool is_gradient = IsGradient(input);
    builder.Input(absl::StrCat(is_gradient && is_sparse ? "grad" : input,
                               input == "global_step" ? ": int64" : ": T"));
    if (is_gradient && is_sparse) builder.Input("indices: Tindices");
  }
}

void AddOp(OpRegistry& registry, const char* name, const Rule& rule,
           bool is_resource, bool is_sparse) {
  if (name == nullptr) return;
  OpDefBuilder builder(name);
  AddInputs(rule, is_resource, is_sparse, builder);
  if (!is_resource) builder.Output("out: Ref(T)");
  builder.Attr("T: numbertype");
  if (is_sparse) builder.Attr("Tindices: {int32, int64}");
  builder.Attr("use_locking: bool = false");
  if (rule.attr != nullptr) builder.Attr(rule.attr);
  if (is_resource) builder.Stateful();
  builder.Doc("One step of an optimizer, in place.").Shape(ApplyShape);
  registry.Add(builder);
}

}  // namespace

void RegisterTrainingOps(OpRegistry& registry) {
  for (const Rule& rule : Rules()) {
    constexpr bool kResource = true;
    constexpr bool kSparse = true;
    const OpNames& ops = rule.ops;
    AddOp(registry, ops.on_reference, rule, !kResource, !kSparse);
    AddOp(registry, ops.on_resource, rule, kResource, !kSparse);
    AddOp(registry, ops.sparse_on_reference, rule, !kResource, kSparse);
    AddOp(registry, ops.sparse_on_resource, rule, kResource, kSparse);
  }
}

}  // namespace weft
