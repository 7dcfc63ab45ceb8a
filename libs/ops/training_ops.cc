// Ops that train: each applies one optimizer's rule to a variable and its
// slots, where they are. A rule makes up to four ops: ApplyX on references,
// ResourceApplyX on handles, and SparseApplyX and ResourceSparseApplyX on the
// rows that `indices` names.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"
#include "libs/ops/variable_shapes.h"

namespace weft {
namespace {

struct Rule {
  const char* name;
  std::vector<std::string> slots;
  // In TensorFlow's order, which differs from rule to rule. "grad" and "delta"
  // have the variable's shape; the others are scalars.
  std::vector<std::string> inputs;
  const char* attr = nullptr;  // besides T and use_locking
  bool has_sparse = true;
};

std::vector<Rule> Rules() {
  return {
      {"GradientDescent", {}, {"alpha", "delta"}, nullptr, false},
      {"Momentum",
       {"accum"},
       {"lr", "grad", "momentum"},
       "use_nesterov: bool = false"},
      {"Adagrad", {"accum"}, {"lr", "grad"}, "update_slots: bool = true"},
      {"AdagradV2",
       {"accum"},
       {"lr", "epsilon", "grad"},
       "update_slots: bool = true"},
      {"Adam",
       {"m", "v"},
       {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon",
        "grad"},
       "use_nesterov: bool = false",
       false},
      {"AdaMax",
       {"m", "v"},
       {"beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
       nullptr,
       false},
      {"Adadelta", {"accum", "accum_update"}, {"lr", "rho", "epsilon", "grad"}},
      {"AdagradDA",
       {"gradient_accumulator", "gradient_squared_accumulator"},
       {"grad", "lr", "l1", "l2", "global_step"}},
      {"RMSProp", {"ms", "mom"}, {"lr", "rho", "momentum", "epsilon", "grad"}},
      {"CenteredRMSProp",
       {"mg", "ms", "mom"},
       {"lr", "rho", "momentum", "epsilon", "grad"}},
      {"Ftrl",
       {"accum", "linear"},
       {"grad", "lr", "l1", "l2", "lr_power"},
       "multiply_linear_by_lr: bool = false"},
      {"FtrlV2",
       {"accum", "linear"},
       {"grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
       "multiply_linear_by_lr: bool = false"},
      {"ProximalGradientDescent", {}, {"alpha", "l1", "l2", "delta"}},
      {"ProximalAdagrad", {"accum"}, {"lr", "l1", "l2", "grad"}},
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

// The variable, its slots and a dense gradient have one shape.
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

void AddRule(OpRegistry& registry, const Rule& rule, bool is_resource,
             bool is_sparse) {
  OpDefBuilder builder(absl::StrCat(is_resource ? "Resource" : "",
                                    is_sparse ? "Sparse" : "", "Apply",
                                    rule.name));
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
    for (const bool is_resource : {false, true}) {
      AddRule(registry, rule, is_resource, /*is_sparse=*/false);
      if (rule.has_sparse) {
        AddRule(registry, rule, is_resource, /*is_sparse=*/true);
      }
    }
  }
}

}  // namespace weft
