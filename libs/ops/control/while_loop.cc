#include "libs/ops/control/while_loop.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/graph/frame_analysis.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/known_shape.h"
#include "libs/ops/math/math_ops.h"

namespace weft::ops {
namespace {

using Values = std::vector<Output>;

// The context of a loop. Each outer value enters through one Enter.
class WhileContext : public ControlFlowContext {
 public:
  WhileContext(const Scope& outer, std::string frame_name,
               int parallel_iterations)
      : outer_(outer),
        frame_name_(std::move(frame_name)),
        parallel_iterations_(parallel_iterations) {}

  // Enters a value as a loop variable.
  Output EnterVariable(const Output& value) {
    return NotedEnter(value, /*is_constant=*/false);
  }

  Output AddValue(const Output& value) override {
    if (IsInside(value.node()) || IsPassedUnchanged(value)) return value;
    Output& inside = values_[value.output_tensor()];
    if (!inside) inside = NotedEnter(value, /*is_constant=*/true);
    return inside;
  }

  // A constant waits for the outer node, and enters the loop.
  const Node* AddControl(const Node* node) override {
    if (IsInside(node)) return node;
    if (IsFreeConstant(*node)) return nullptr;
    const Output after = outer_.WithName("wait")
                             .WithControlDependencies({Operation(node)})
                             .ToOutput(Tensor::Scalar(0), "wait");
    return after ? AddValue(after).node() : nullptr;
  }

  const Node* pivot() const override { return pivot_; }
  void set_pivot(const Output& pivot) { pivot_ = pivot.node(); }

 private:
  Output NotedEnter(const Output& outside, bool is_constant) {
    const EnterAttrs attrs = {.is_constant = is_constant,
                              .parallel_iterations = parallel_iterations_};
    // A handle or reference stays colocated with its resource.
    const bool is_ref = is_constant && IsRefType(outside.dtype());
    const bool stays = is_ref || outside.dtype() == DT_RESOURCE;
    const Scope scope = stays ? outer_.WithoutDevice().WithDevice(
                                    outside.node()->requested_device())
                              : outer_;
    const Output inside = is_ref ? RefEnter(scope, outside, frame_name_, attrs)
                                 : Enter(scope, outside, frame_name_, attrs);
    if (inside) NoteInside(inside.node());
    return inside;
  }

  const Scope outer_;
  const std::string frame_name_;
  const int parallel_iterations_;
  const Node* pivot_ = nullptr;
  absl::flat_hash_map<OutputTensor, Output> values_;
};

class WhileBuilder {
 public:
  WhileBuilder(const Scope& scope, const WhileLoopOptions& options)
      : outer_(scope.CompositeScope("while")),
        options_(options),
        context_(std::make_shared<WhileContext>(
            outer_, absl::StrCat(outer_.prefix(), "while_context"),
            options.parallel_iterations)),
        inside_(outer_.WithControlFlowContext(context_)) {}

  Values Build(const InputList& loop_vars, const LoopCondition& cond,
               const LoopBody& body) {
    if (!Keep(CheckArguments(loop_vars)) || !Keep(EnterAll(loop_vars))) {
      return {};
    }
    context_->set_pivot(merges_[0]);
    const Output goes_on = LoopCond(inside_, cond(inside_, merges_));
    if (!goes_on) return {};
    const Values begun = SwitchAll(goes_on);
    if (!outer_.ok()) return {};
    context_->set_pivot(begun[0]);
    const Values next = body(inside_, begun);
    if (!outer_.ok() || !Keep(CheckTypes(next)) || !Keep(Close(next))) {
      return {};
    }
    return ExitAll();
  }

  // Errors of building name the loop.
  absl::Status Error(absl::string_view text) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "WhileLoop '", absl::StripSuffix(outer_.prefix(), "/"), "': ", text));
  }

 private:
  bool Keep(absl::Status status) const {
    const bool ok = status.ok();
    if (!ok) outer_.UpdateStatus(std::move(status));
    return ok && outer_.ok();
  }

  absl::Status CheckArguments(const InputList& loop_vars) const {
    if (loop_vars.empty()) return Error("No loop variables provided");
    if (options_.parallel_iterations < 1) {
      return Error(absl::StrCat("parallel_iterations must be positive, but is ",
                                options_.parallel_iterations));
    }
    if (!options_.shape_invariants.empty() &&
        options_.shape_invariants.size() != loop_vars.size()) {
      return Error(absl::StrCat(options_.shape_invariants.size(),
                                " shape_invariants for ", loop_vars.size(),
                                " loop variables"));
    }
    return absl::OkStatus();
  }

  absl::Status EnterAll(const InputList& loop_vars) {
    for (size_t i = 0; i < loop_vars.size(); ++i) {
      const Output value = outer_.ToOutput(loop_vars[i]);
      if (!value) {
        return Error(absl::StrCat("loop variable ", i, " is missing"));
      }
      PartialShape invariant = value.shape();
      if (!options_.shape_invariants.empty()) {
        invariant = options_.shape_invariants[i];
      }
      RETURN_IF_ERROR(CheckBegin(value, invariant));
      RETURN_IF_ERROR(EnterOne(value, invariant));
    }
    return absl::OkStatus();
  }

  absl::Status CheckBegin(const Output& value,
                          const PartialShape& invariant) const {
    if (KeepsInvariant(value.shape(), invariant)) return absl::OkStatus();
    return Error(absl::StrCat(
        "The shape invariant specified for ", value.name(),
        " is not compatible with the initial shape of the loop variable. It "
        "enters the loop with shape ",
        value.shape().ToString(), ", but the specified shape invariant is ",
        invariant.ToString(), "."));
  }

  absl::Status EnterOne(const Output& value, const PartialShape& invariant) {
    const Output enter = context_->EnterVariable(value);
    if (!enter) return outer_.status();
    const Scope beside =
        inside_.WithoutDevice().WithDevice(enter.node()->requested_device());
    const Output merge = LoopMerge(beside, enter).output;
    if (!merge) return outer_.status();
    Graph& graph = outer_.graph();
    RETURN_IF_ERROR(graph.RefineShape(enter.output_tensor(), invariant));
    RETURN_IF_ERROR(graph.RefineShape(merge.output_tensor(), invariant));
    begin_.push_back(value);
    invariants_.push_back(invariant);
    merges_.push_back(merge);
    return absl::OkStatus();
  }

  Values SwitchAll(const Output& goes_on) {
    Values begun;
    for (const Output& merge : merges_) {
      const SwitchOutputs outputs = Switch(inside_, merge, goes_on);
      done_.push_back(outputs.output_false);
      begun.push_back(Identity(inside_, outputs.output_true));
    }
    return begun;
  }

  absl::Status CheckTypes(const Values& next) const {
    if (next.size() != merges_.size()) {
      return Error(absl::StrCat("the body returns ", next.size(),
                                " values for ", merges_.size(),
                                " loop variables"));
    }
    for (size_t i = 0; i < next.size(); ++i) {
      if (!next[i]) {
        return Error(absl::StrCat("value ", i, " of the body is missing"));
      }
      const DataType dtype = RemoveRefType(next[i].dtype());
      if (dtype == merges_[i].dtype()) continue;
      return Error(absl::StrCat("loop variable ", i, " ('", begin_[i].name(),
                                "') is ", DataTypeName(merges_[i].dtype()),
                                ", but the body returns '", next[i].name(),
                                "', ", DataTypeName(dtype)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckShape(size_t i, const PartialShape& shape) const {
    if (KeepsInvariant(shape, invariants_[i])) return absl::OkStatus();
    return Error(absl::StrCat(
        "Input tensor '", begin_[i].name(), "' enters the loop with shape ",
        invariants_[i].ToString(), ", but has shape ", shape.ToString(),
        " after one iteration. To allow the shape to vary across iterations, "
        "use `shape_invariants` to specify a less-specific shape."));
  }

  absl::Status Close(const Values& next) {
    for (size_t i = 0; i < next.size(); ++i) {
      RETURN_IF_ERROR(CheckShape(i, next[i].shape()));
      const Output back = NextIteration(inside_, next[i]);
      if (!back) return outer_.status();
      RETURN_IF_ERROR(outer_.graph().SetBackEdge(merges_[i].node(), 1,
                                                 back.output_tensor()));
    }
    return absl::OkStatus();
  }

  // Exits: their inputs belong to the loop, their outputs are outside.
  Values ExitAll() const {
    const Scope free = outer_.WithoutControlDependencies();
    Values exits;
    for (const Output& done : done_) {
      exits.push_back(Exit(free, done));
      if (!exits.back()) return {};
      if (outer_.control_flow_context() != nullptr) {
        outer_.control_flow_context()->NoteInside(exits.back().node());
      }
    }
    return exits;
  }

  const Scope outer_;
  const WhileLoopOptions& options_;
  const std::shared_ptr<WhileContext> context_;
  const Scope inside_;
  // One entry for each loop variable.
  Values begin_, merges_, done_;
  std::vector<PartialShape> invariants_;
};

// Builds the loop with a counter as its first variable.
Values CountedLoop(const Scope& scope, const InputList& loop_vars,
                   const LoopCondition& cond, const LoopBody& body,
                   const WhileLoopOptions& options) {
  InputList vars = {Tensor::Scalar(0)};
  vars.insert(vars.end(), loop_vars.begin(), loop_vars.end());
  WhileLoopOptions counted = options;
  counted.maximum_iterations.reset();
  if (!options.shape_invariants.empty()) {
    counted.shape_invariants.insert(counted.shape_invariants.begin(),
                                    PartialShape::Scalar());
  }
  const Output most = scope.WithName("maximum_iterations")
                          .ToOutput(*options.maximum_iterations);
  Values result =
      WhileBuilder(scope, counted)
          .Build(
              vars,
              [&](const Scope& s, const Values& v) {
                const Output own = cond(s, {v.begin() + 1, v.end()});
                return LogicalAnd(s, Less(s, v[0], most), own);
              },
              [&](const Scope& s, const Values& v) {
                Values next = body(s, {v.begin() + 1, v.end()});
                next.insert(next.begin(), Add(s, v[0], 1));
                return next;
              });
  if (!result.empty()) result.erase(result.begin());
  return result;
}

}  // namespace

std::vector<Output> WhileLoop(const Scope& scope, const InputList& loop_vars,
                              const LoopCondition& cond, const LoopBody& body,
                              const WhileLoopOptions& options) {
  if (!scope.ok()) return {};
  if (options.maximum_iterations && !loop_vars.empty()) {
    return CountedLoop(scope, loop_vars, cond, body, options);
  }
  return WhileBuilder(scope, options).Build(loop_vars, cond, body);
}

}  // namespace weft::ops
