#include "libs/ops/control/cond.h"

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/graph/frame_analysis.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft::ops {
namespace {

// The context of a branch. Each outer value enters through one Switch.
class CondContext : public ControlFlowContext {
 public:
  // `pivot` runs if `branch` (0 or 1) is taken.
  CondContext(const Scope& outer, const Output& pred, const Output& pivot,
              int branch)
      : outer_(outer), pred_(pred), pivot_(pivot), branch_(branch) {
    NoteInside(pivot.node());
  }

  Output AddValue(const Output& value) override {
    if (IsInside(value.node()) || IsPassedUnchanged(value)) return value;
    const auto it = values_.find(value.output_tensor());
    if (it != values_.end()) return it->second;
    // A handle or reference stays colocated with its resource.
    const bool is_ref = IsRefType(value.dtype());
    const Scope scope = is_ref || value.dtype() == DT_RESOURCE
                            ? outer_.WithoutDevice().WithDevice(
                                  value.node()->requested_device())
                            : outer_;
    const SwitchOutputs outputs =
        is_ref ? RefSwitch(scope, value, pred_) : Switch(scope, value, pred_);
    const Output inside =
        branch_ == 1 ? outputs.output_true : outputs.output_false;
    if (!inside) return inside;
    values_[value.output_tensor()] = inside;
    NoteInside(inside.node());
    return inside;
  }

  // The branch runs only after the cond's control inputs.
  const Node* AddControl(const Node* node) override {
    const auto& outside = outer_.control_flow_context();
    if (IsInside(node) || outside == nullptr) return node;
    return outside->AddControl(node);
  }

  const Node* pivot() const override { return pivot_.node(); }

 protected:
  // Outer control inputs run whichever branch is taken.
  bool IsTiedBy(const Node& node) const override {
    return IsInside(&node) && ControlFlowContext::IsTiedBy(node);
  }

 private:
  const Scope outer_;
  const Output pred_;
  const Output pivot_;
  const int branch_;
  absl::flat_hash_map<OutputTensor, Output> values_;
};

class CondBuilder {
 public:
  explicit CondBuilder(const Scope& scope)
      : outer_(scope.CompositeScope("cond")) {}

  std::vector<Output> Build(const Input& given, const BranchFunction& true_fn,
                            const BranchFunction& false_fn) {
    const Output pred = outer_.ToOutput(given, "pred");
    if (!pred || !Check(CheckPred(pred))) return {};
    const SwitchOutputs pivots = Switch(outer_, pred, pred);
    const Output on_true =
        Identity(outer_.WithName("switch_t"), pivots.output_true);
    const Output on_false =
        Identity(outer_.WithName("switch_f"), pivots.output_false);
    pred_id_ = Identity(outer_.WithName("pred_id"), pred);
    if (!outer_.ok()) return {};
    const std::vector<Output> if_true = RunBranch(true_fn, on_true, 1);
    const std::vector<Output> if_false = RunBranch(false_fn, on_false, 0);
    if (!outer_.ok() || !Check(CheckResults(if_true, if_false))) return {};
    return MergeAll(if_false, if_true);
  }

 private:
  std::string name() const {
    return std::string(absl::StripSuffix(outer_.prefix(), "/"));
  }

  bool Check(absl::Status status) const {
    const bool ok = status.ok();
    if (!ok) outer_.UpdateStatus(std::move(status));
    return ok;
  }

  absl::Status CheckPred(const Output& pred) const {
    if (RemoveRefType(pred.dtype()) == DT_BOOL &&
        pred.shape().IsCompatibleWith(TensorShape())) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("Cond '", name(), "': pred must be a bool scalar, but '",
                     pred.name(), "' is ", DataTypeName(pred.dtype()),
                     " of shape ", pred.shape().ToString()));
  }

  std::vector<Output> RunBranch(const BranchFunction& fn, const Output& pivot,
                                int branch) const {
    if (!outer_.ok()) return {};
    const Scope inside = outer_.WithControlFlowContext(
        std::make_shared<CondContext>(outer_, pred_id_, pivot, branch));
    std::vector<Output> results;
    // An Identity makes an outer value, or a constant, part of the branch.
    for (const Output& result : fn(inside)) {
      results.push_back(result ? Identity(inside, result) : Output());
    }
    return results;
  }

  absl::Status CheckResults(const std::vector<Output>& if_true,
                            const std::vector<Output>& if_false) const {
    if (if_true.empty() || if_true.size() != if_false.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Cond '", name(),
          "': true_fn and false_fn must return the same number of values, at "
          "least one, but they return ",
          if_true.size(), " and ", if_false.size()));
    }
    for (size_t i = 0; i < if_true.size(); ++i) {
      if (!if_true[i] || !if_false[i]) {
        return absl::InvalidArgumentError(
            absl::StrCat("Cond '", name(), "': value ", i, " of ",
                         if_true[i] ? "false_fn" : "true_fn", " is missing"));
      }
      if (if_true[i].dtype() == if_false[i].dtype()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Cond '", name(),
          "': Outputs of true_fn and false_fn must have the same type, but "
          "value ",
          i, " is ", DataTypeName(if_true[i].dtype()), " and ",
          DataTypeName(if_false[i].dtype())));
    }
    return absl::OkStatus();
  }

  // The inputs belong to the branches; the Merge is outside of them.
  std::vector<Output> MergeAll(const std::vector<Output>& if_false,
                               const std::vector<Output>& if_true) const {
    const Scope free = outer_.WithoutControlDependencies();
    std::vector<Output> results;
    for (size_t i = 0; i < if_true.size(); ++i) {
      const Output merged = Merge(free, {if_false[i], if_true[i]}).output;
      if (!merged) return {};
      if (outer_.control_flow_context() != nullptr) {
        outer_.control_flow_context()->NoteInside(merged.node());
      }
      results.push_back(merged);
    }
    return results;
  }

  const Scope outer_;
  Output pred_id_;
};

using PredFunctions = std::vector<std::pair<Output, BranchFunction>>;

Output CountTrue(const Scope& scope, const PredFunctions& pairs) {
  InputList preds;
  for (const auto& [pred, fn] : pairs) preds.emplace_back(pred);
  return Sum(scope, Cast(scope, Stack(scope, preds), DT_INT32), {0});
}

std::vector<Output> FirstTrue(const Scope& scope, const PredFunctions& pairs,
                              size_t from, const BranchFunction& default_fn) {
  if (from == pairs.size()) return default_fn(scope);
  return Cond(scope, pairs[from].first, pairs[from].second,
              [&](const Scope& otherwise) {
                return FirstTrue(otherwise, pairs, from + 1, default_fn);
              });
}

}  // namespace

std::vector<Output> Cond(const Scope& scope, const Input& pred,
                         const BranchFunction& true_fn,
                         const BranchFunction& false_fn) {
  if (!scope.ok()) return {};
  return CondBuilder(scope).Build(pred, true_fn, false_fn);
}

std::vector<Output> Case(
    const Scope& scope,
    const std::vector<std::pair<Input, BranchFunction>>& pred_fn_pairs,
    const BranchFunction& default_fn, const CaseOptions& options) {
  const Scope inner = scope.CompositeScope("case");
  PredFunctions pairs;
  for (const auto& [pred, fn] : pred_fn_pairs) {
    pairs.emplace_back(inner.ToOutput(pred, "pred"), fn);
  }
  if (!inner.ok()) return {};
  if (pairs.empty()) {
    inner.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Case '", absl::StripSuffix(inner.prefix(), "/"),
                     "': preds must not be empty")));
    return {};
  }
  std::vector<Operation> checks;
  if (options.exclusive) {
    const Output count = CountTrue(inner, pairs);
    checks.emplace_back(Assert(
        inner, LessEqual(inner, count, 1),
        {Input(
            "More than one condition evaluated as True but exclusive=True.")}));
  }
  BranchFunction last = default_fn;
  if (last == nullptr) {
    checks.emplace_back(
        Assert(inner, Greater(inner, CountTrue(inner, pairs), 0),
               {Input("None of the conditions evaluated as True.")}));
    last = pairs.back().second;
    if (pairs.size() > 1) pairs.pop_back();
  }
  if (!inner.ok()) return {};
  return FirstTrue(inner.WithControlDependencies(checks), pairs, 0, last);
}

}  // namespace weft::ops
