#include "libs/gradients/gradients.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/gradients/aggregate.h"
#include "libs/gradients/call_gradient.h"
#include "libs/gradients/function_gradient.h"
#include "libs/gradients/loops/flow.h"
#include "libs/gradients/loops/frames.h"
#include "libs/gradients/loops/gradient_loop.h"
#include "libs/graph/unknown_op.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

std::string Describe(const Node& node) {
  return absl::StrCat("'", node.name(), "' (op type: ", node.type(), ")");
}

bool IsPush(const Node& node) {
  return node.type() == "StackPushV2" || node.type() == "StackPush";
}
bool IsPop(const Node& node) {
  return node.type() == "StackPopV2" || node.type() == "StackPop";
}

// The node that created the stack of a push or pop, or null if another stack
// keeps the handle, as for inner loops.
const Node* StackOf(const Node& node) {
  const Node* maker = node.input(0).node;
  while (IsEnter(*maker) || IsSwitch(*maker) || maker->type() == "Identity") {
    maker = maker->input(0).node;
  }
  return maker->type() == "Stack" || maker->type() == "StackV2" ? maker
                                                                : nullptr;
}

// Returns the variable if `x` is the read that was created with it, so that the
// gradient covers all reads of the variable; otherwise `x`.
Output VariableOrSelf(const Scope& scope, const Output& x) {
  const ops::Variable variable = ops::FindVariableRead(scope, x);
  // A function captures a reference variable by its value.
  if (!variable ||
      (!variable.is_resource() && !scope.IsOfThisGraph(*x.node()))) {
    return x;
  }
  return variable.handle();
}

// One call of AddGradients. It visits the nodes outside loops in reverse order.
// A loop is one step of this walk; its body is then visited in the same way
// (loops/gradient_loop.h).
class Walk {
 public:
  Walk(const Scope& scope, absl::Span<const Output> ys,
       absl::Span<const Output> xs, const GradientOptions& options)
      : scope_(Named(scope.CompositeScope("gradients"))),
        ys_(ys.begin(), ys.end()),
        xs_(xs.begin(), xs.end()),
        options_(options),
        stops_(options.stop_gradients),
        registry_(options.registry == nullptr ? StandardGradients()
                                              : *options.registry),
        frames_(scope_.graph()) {}

  absl::StatusOr<std::vector<Gradient>> Run() {
    RETURN_IF_ERROR(CheckArguments());
    RETURN_IF_ERROR(FindArguments());
    // Nodes added below are not visited.
    const int end = scope_.graph().num_nodes();
    RETURN_IF_ERROR(frames_.Update());
    RETURN_IF_ERROR(FindBase());
    flow_.emplace(scope_.graph(), ys_, xs_,
                  [this](const Node& node) { return Stops(node); });
    RETURN_IF_ERROR(CheckStacks());
    RETURN_IF_ERROR(SeedGradients());
    RETURN_IF_ERROR(VisitUnits(
        [this](int frame) { return frames_.IsWithin(base_, frame); }));
    std::vector<Gradient> result;
    for (const Output& x : xs_) result.push_back(Sum(x.output_tensor()));
    RETURN_IF_ERROR(scope_.status());
    RETURN_IF_ERROR(CheckLoops(end));
    return result;
  }

 private:
  // Uses the unique name of this call, which also names arrays of gradients.
  static Scope Named(const Scope& scope) {
    return scope.WithGradientSource(absl::StripSuffix(scope.prefix(), "/"));
  }

  absl::Status CheckArguments() {
    RETURN_IF_ERROR(scope_.status());
    const auto is_null = [](const Output& output) { return !output; };
    if (std::any_of(ys_.begin(), ys_.end(), is_null) ||
        std::any_of(xs_.begin(), xs_.end(), is_null)) {
      return absl::InvalidArgumentError(
          "gradients: a y or x is null; pass only valid outputs");
    }
    if (!options_.grad_ys.empty() && options_.grad_ys.size() != ys_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Passed ", options_.grad_ys.size(), " grad_ys for ",
                       ys_.size(), " ys"));
    }
    return absl::OkStatus();
  }

  // Finds the arguments in this graph. A variable in stop_gradients stands for
  // its handle, too: a stop at its read would block the gradient to it as an x.
  absl::Status FindArguments() {
    for (std::vector<Output>* const outputs : {&xs_, &stops_}) {
      for (Output& output : *outputs) output = VariableOrSelf(scope_, output);
    }
    // In a function, the arguments are replaced by their captured values.
    for (std::vector<Output>* const outputs : {&ys_, &xs_, &stops_}) {
      for (Output& output : *outputs) {
        ASSIGN_OR_RETURN(output, scope_.Inside(output));
      }
    }
    return absl::OkStatus();
  }

  // Gradients are added outside loops, or to the body of the scope's loop. The
  // ys and xs must be there or outside that loop.
  absl::Status FindBase() {
    if (scope_.control_flow_context() != nullptr) {
      base_ = frames_.OutputsTo(*scope_.control_flow_context()->pivot());
    }
    for (const Output& y : ys_) RETURN_IF_ERROR(CheckOutside("y", y));
    for (const Output& x : xs_) RETURN_IF_ERROR(CheckOutside("x", x));
    return absl::OkStatus();
  }

  absl::Status CheckOutside(absl::string_view what, const Output& output) {
    const int frame = frames_.OutputsTo(*output.node());
    if (frames_.IsWithin(base_, frame)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "gradients: ", what, " '", output.name(), "' is inside loop '",
        frames_.Name(frame), "', where it has a value in each iteration"));
  }

  // Values pushed on a stack for a gradient return from it without an edge, so
  // gradients of gradients through stacks are rejected.
  absl::Status CheckStacks() {
    absl::flat_hash_set<const Node*> reached;
    for (int id = 0; id < flow_->num_nodes(); ++id) {
      const Node& node = *scope_.graph().node(id);
      if (IsPush(node) && flow_->IsReached(node.input(1))) {
        reached.insert(StackOf(node));
      }
    }
    for (int id = 0; id < flow_->num_nodes() && !reached.empty(); ++id) {
      const Node& node = *scope_.graph().node(id);
      if (!IsPop(node) || !flow_->IsWanted(node) ||
          !IsTrainable(node.output_type(0)) ||
          !reached.contains(StackOf(node))) {
        continue;
      }
      return absl::UnimplementedError(
          absl::StrCat("Second-order gradient for while loops not supported: "
                       "node ",
                       Describe(node), " is of the gradient of a loop"));
    }
    return absl::OkStatus();
  }

  // Loops that were added take their inputs from where those are.
  absl::Status CheckLoops(int begin) {
    if (!has_loops_) return absl::OkStatus();
    RETURN_IF_ERROR(frames_.Update());
    for (int id = begin; id < scope_.graph().num_nodes(); ++id) {
      RETURN_IF_ERROR(frames_.CheckInputs(*scope_.graph().node(id)));
    }
    return absl::OkStatus();
  }

  // Returns whether no gradient flows through the node, by nature or by
  // request.
  bool Stops(const Node& node) const {
    const GradientRegistry::Entry* entry = registry_.Find(node.type());
    return IsStopped(node) || (entry != nullptr && !entry->fn &&
                               !CallsFunctions(scope_.graph(), node));
  }

  Scope ScopeFor(const Node& node) {
    return options_.colocate_gradients_with_ops ? region_.ColocateWith(&node)
                                                : region_;
  }

  absl::Status SeedGradients() {
    for (size_t i = 0; i < ys_.size(); ++i) {
      const Output& y = ys_[i];
      const Output given =
          options_.grad_ys.empty() ? Output() : options_.grad_ys[i];
      const std::string name = absl::StrCat("grad_ys_", i);
      const Scope scope = ScopeFor(*y.node());
      Output grad;
      if (given) {
        RETURN_IF_ERROR(CheckGradY(y, given));
        grad = scope.WithName(name).AddOutput("Identity", {given});
      } else {
        ASSIGN_OR_RETURN(grad, OnesLike(scope, y, name));
      }
      RETURN_IF_ERROR(scope_.status());
      grads_[y.output_tensor()].push_back(grad);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckGradY(const Output& y, const Output& grad) {
    if (RemoveRefType(grad.dtype()) == RemoveRefType(y.dtype()) &&
        grad.shape().IsCompatibleWith(y.shape())) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Gradient '", grad.name(), "' (", DataTypeName(grad.dtype()), ", ",
        grad.shape().ToString(), ") does not fit '", y.name(), "' (",
        DataTypeName(y.dtype()), ", ", y.shape().ToString(), ")"));
  }

  absl::StatusOr<Output> OnesLike(const Scope& scope, const Output& y,
                                  const std::string& name) {
    const DataType dtype = RemoveRefType(y.dtype());
    if (IsComplexType(dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Gradients of complex tensors must set grad_ys (y = '",
                       y.name(), "', dtype ", DataTypeName(dtype), ")"));
    }
    if (!IsFloatingType(dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Gradients need floating-point ys, but '", y.name(),
                       "' is ", DataTypeName(dtype)));
    }
    const Output shape = ShapeOf(scope, y);
    const Scope inner = scope.SubScope(name);
    absl::StatusOr<Output> one = One(inner, dtype);
    RETURN_IF_ERROR(one.status());
    return scope.WithName(inner.prefix()).AddOutput("Fill", {shape, *one});
  }

  // A Const if the shape is known.
  static Output ShapeOf(const Scope& scope, const Output& y) {
    const Scope named = scope.WithName("Shape");
    if (!y.shape().IsFullyDefined()) return named.AddOutput("Shape", {y});
    std::vector<int32_t> dims;
    for (int64_t size : y.shape().dims()) {
      if (size > INT32_MAX) {
        return named.AddOutput("Shape", {y}, {{"out_type", DT_INT64}});
      }
      dims.push_back(static_cast<int32_t>(size));
    }
    return named.ToOutput(Tensor::Vector(absl::Span<const int32_t>(dims)));
  }

  static absl::StatusOr<Output> One(const Scope& scope, DataType dtype) {
    Tensor one = Tensor::Scalar(1.0f);
    if (dtype == DT_DOUBLE) one = Tensor::Scalar(1.0);
    if (dtype == DT_HALF) one = Tensor::Scalar(half(1.0f));
    if (dtype == DT_BFLOAT16) one = Tensor::Scalar(bfloat16(1.0f));
    const Output result = scope.ToOutput(one);
    RETURN_IF_ERROR(scope.status());
    return result;
  }

  // The gradient of an output. It is kept for an x that other xs depend on.
  Gradient Sum(const OutputTensor& output) {
    auto it = grads_.find(output);
    if (it == grads_.end()) return Gradient();
    if (it->second.size() > 1) {
      it->second = {Aggregate(ScopeFor(*output.node), it->second)};
    }
    return it->second[0];
  }

  bool IsStopped(const Node& node) const {
    return std::any_of(stops_.begin(), stops_.end(), [&](const Output& output) {
      return output.node() == &node;
    });
  }

  absl::Status VisitUnits(const std::function<bool(int)>& is_of_region) {
    for (const Unit& unit :
         UnitsFromLastToFirst(scope_.graph(), frames_, *flow_, is_of_region)) {
      RETURN_IF_ERROR(unit.node != nullptr ? Visit(*unit.node)
                                           : VisitLoop(unit.loop));
    }
    return absl::OkStatus();
  }

  absl::Status Visit(const Node& node) {
    const bool flows_on =
        std::any_of(node.inputs().begin(), node.inputs().end(),
                    [this](const OutputTensor& input) {
                      return input.node != nullptr && flow_->IsReached(input);
                    });
    if (!flows_on || IsStopped(node)) return absl::OkStatus();
    // The points where gradients enter and leave the current loop body.
    if (loop_ != nullptr && frames_.LoopOf(node) == loop_->frame &&
        (IsEnter(node) || IsExit(node) || IsLoopMerge(node))) {
      return absl::OkStatus();
    }
    std::vector<Gradient> outputs;
    bool any = false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      outputs.push_back(Sum({&node, i}));
      any = any || !outputs.back().IsNone();
    }
    RETURN_IF_ERROR(scope_.status());
    if (!any) return absl::OkStatus();
    if (loop_ != nullptr && IsNextIteration(node)) return Take(node, outputs);
    if (loop_ != nullptr && IsLoopSwitch(node)) {
      return Take(node, {outputs[1], Gradient()});
    }
    // A value from outside the body that the gradients are added to.
    if (loop_ == nullptr && IsConstantEnter(node)) return Take(node, outputs);
    return Differentiate(node, std::move(outputs));
  }

  absl::Status VisitLoop(int frame) {
    ASSIGN_OR_RETURN(const LoopParts loop, frames_.PartsOf(frame));
    const std::vector<Gradient> exits = ExitGradients(loop);
    const std::vector<size_t> active = ActiveVariables(loop, exits);
    RETURN_IF_ERROR(scope_.status());
    if (active.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckLoop(loop, active));
    has_loops_ = true;
    // Nodes around the forward loop belong to the loop being visited.
    const Scope forward =
        loop_ != nullptr
            ? region_.WithoutControlDependencies()
            : region_.WithControlFlowContext(region_.control_flow_context());
    const auto backward =
        std::make_shared<GradientLoop>(frames_, loop, region_, forward);
    RETURN_IF_ERROR(scope_.status());
    for (size_t i : active) {
      const LoopVariable& variable = loop.variables[i];
      const Output begin =
          exits[i].IsNone() ? backward->ZerosFor(variable) : exits[i].dense;
      const Output in_body = backward->AddVariable(variable, begin);
      RETURN_IF_ERROR(scope_.status());
      grads_[{variable.next_iteration, 0}].push_back(in_body);
    }
    return WalkThroughBody(loop, active, backward);
  }

  absl::Status WalkThroughBody(const LoopParts& loop,
                               const std::vector<size_t>& active,
                               const std::shared_ptr<GradientLoop>& backward) {
    const Scope outside =
        std::exchange(region_, region_.WithControlFlowContext(backward));
    const LoopParts* outer = std::exchange(loop_, &loop);
    const absl::Status status =
        VisitUnits([&loop](int inside) { return inside == loop.frame; });
    std::vector<std::pair<const Node*, Gradient>> results;
    if (status.ok()) results = CloseLoop(loop, active, *backward);
    region_ = outside;
    loop_ = outer;
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(scope_.status());
    for (const auto& [enter, gradient] : results) {
      RETURN_IF_ERROR(Take(*enter, {gradient}));
    }
    return absl::OkStatus();
  }

  // Returns the gradients of the loop's inputs, by their Enters.
  std::vector<std::pair<const Node*, Gradient>> CloseLoop(
      const LoopParts& loop, const std::vector<size_t>& active,
      GradientLoop& backward) {
    std::vector<std::pair<const Node*, Gradient>> results;
    for (size_t i = 0; i < active.size() && scope_.ok(); ++i) {
      const LoopVariable& variable = loop.variables[active[i]];
      const Gradient next = Sum({variable.merge, 0});
      const Output dense = next.IsNone() ? Output() : ToDense(region_, next);
      results.emplace_back(variable.enter,
                           backward.CloseVariable(region_, i, dense));
    }
    for (const Node* enter : loop.invariants) {
      if (!flow_->Includes(*enter) || !scope_.ok()) continue;
      const Gradient part = Sum({enter, 0});
      if (part.IsNone()) continue;
      results.emplace_back(enter, backward.Accumulate(region_, *enter, part));
    }
    backward.Close();
    return results;
  }

  // The gradient of each variable, dense.
  std::vector<Gradient> ExitGradients(const LoopParts& loop) {
    std::vector<Gradient> gradients;
    for (const LoopVariable& variable : loop.variables) {
      std::vector<Gradient> parts;
      for (const Node* exit : variable.exits) {
        const Gradient part = Sum({exit, 0});
        if (!part.IsNone()) parts.push_back(part);
      }
      Gradient sum = Aggregate(region_, parts);
      if (sum.IsSparse()) sum = ToDense(region_, sum);
      gradients.push_back(sum);
    }
    return gradients;
  }

  // The variables that the loop returns or that affect a returned one, and that
  // depend on an x.
  std::vector<size_t> ActiveVariables(const LoopParts& loop,
                                      const std::vector<Gradient>& exits) {
    absl::flat_hash_map<const Node*, size_t> by_merge;
    std::vector<const Node*> left;
    std::vector<bool> seen(flow_->num_nodes(), false);
    const auto look_at = [&](const Node* node) {
      const bool inside = node != nullptr && flow_->Includes(*node) &&
                          frames_.IsWithin(frames_.LoopOf(*node), loop.frame);
      if (!inside || seen[node->id()]) return;
      seen[node->id()] = true;
      left.push_back(node);
    };
    for (size_t i = 0; i < exits.size(); ++i) {
      by_merge[loop.variables[i].merge] = i;
      if (!exits[i].IsNone()) look_at(loop.variables[i].merge);
    }
    std::vector<size_t> active;
    while (!left.empty()) {
      const Node* node = left.back();
      left.pop_back();
      const auto it = by_merge.find(node);
      if (it != by_merge.end()) active.push_back(it->second);
      if (Stops(*node)) continue;
      for (const OutputTensor& input : node->inputs()) look_at(input.node);
    }
    std::sort(active.begin(), active.end());
    return active;
  }

  absl::Status CheckLoop(const LoopParts& loop,
                         const std::vector<size_t>& active) {
    if (frames_.Parent(loop.frame) != base_ && loop_ == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          "gradients inside the body of loop '", frames_.Name(base_),
          "' through loop '", loop.name, "', which is outside of it"));
    }
    for (size_t i : active) {
      const LoopVariable& variable = loop.variables[i];
      const DataType dtype = RemoveRefType(variable.merge->output_type(0));
      if (variable.to_body != nullptr && dtype != DT_RESOURCE) continue;
      return absl::UnimplementedError(absl::StrCat(
          "Gradients through loop variables of type ", DataTypeName(dtype),
          " are not supported: node ", Describe(*variable.merge)));
    }
    return absl::OkStatus();
  }

  absl::Status Differentiate(const Node& node, std::vector<Gradient> outputs) {
    if (IsUnknown(node)) {
      return absl::NotFoundError(
          absl::StrCat("No gradient defined for operation ", Describe(node),
                       ": it cannot run, since its op is not registered, its "
                       "function is not defined, or the like"));
    }
    const bool is_call = CallsFunctions(scope_.graph(), node);
    const GradientRegistry::Entry* entry = registry_.Find(node.type());
    if (entry == nullptr && !is_call) {
      return absl::NotFoundError(
          absl::StrCat("No gradient defined for operation ", Describe(node)));
    }
    if (!is_call && !entry->fn) return absl::OkStatus();  // none by nature
    const Scope scope = ScopeFor(node);
    if (is_call || !entry->takes_sparse) {
      for (Gradient& output : outputs) {
        if (output.IsSparse()) output = ToDense(scope, output);
      }
      RETURN_IF_ERROR(scope.status());
    }
    const Scope named = scope.SubScope(absl::StrCat(node.name(), "_grad"));
    absl::StatusOr<std::vector<Gradient>> inputs =
        is_call ? DifferentiateCall(named, node, outputs)
                : entry->fn(named, node, outputs);
    RETURN_IF_ERROR(Annotate(inputs.ok() ? scope.status() : inputs.status(),
                             absl::StrCat("Gradient of ", Describe(node))));
    return Take(node, *inputs);
  }

  absl::StatusOr<std::vector<Gradient>> DifferentiateCall(
      const Scope& scope, const Node& node,
      const std::vector<Gradient>& outputs) const {
    const auto add_gradients = [this](const Scope& inner,
                                      absl::Span<const Output> ys,
                                      absl::Span<const Output> xs,
                                      const std::vector<Output>& grad_ys) {
      GradientOptions options;
      options.grad_ys = grad_ys;
      options.registry = options_.registry;
      options.colocate_gradients_with_ops =
          options_.colocate_gradients_with_ops;
      return AddGradients(inner, ys, xs, options);
    };
    return CallGradient(scope, node, outputs, GradientFunction, add_gradients);
  }

  absl::Status Take(const Node& node, const std::vector<Gradient>& inputs) {
    if (static_cast<int>(inputs.size()) != node.num_inputs()) {
      return absl::InternalError(absl::StrCat(
          "Num gradients ", inputs.size(), " generated for op ", Describe(node),
          " do not match num inputs ", node.num_inputs()));
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const OutputTensor& input = node.input(i);
      if (inputs[i].IsNone() || !flow_->IsReached(input)) continue;
      RETURN_IF_ERROR(CheckFits(node, i, inputs[i]));
      grads_[input].push_back(inputs[i]);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckFits(const Node& node, int i,
                                const Gradient& gradient) {
    const OutputTensor& input = node.input(i);
    const DataType dtype = RemoveRefType(input.node->output_type(input.index));
    // A resource handle does not know the type of its tensor.
    if (dtype == DT_RESOURCE || dtype == DT_VARIANT) return absl::OkStatus();
    const Output& value =
        gradient.IsSparse() ? gradient.values : gradient.dense;
    if (RemoveRefType(value.dtype()) != dtype) {
      return absl::InternalError(absl::StrCat(
          "Gradient of ", Describe(node), " for input ", i, " is ",
          DataTypeName(value.dtype()), ", not ", DataTypeName(dtype)));
    }
    const PartialShape& shape = input.node->output_shape(input.index);
    if (gradient.IsSparse() || value.shape().IsCompatibleWith(shape)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Incompatible shapes between op input and calculated input gradient. "
        "Forward operation: ",
        node.name(), ". Input index: ", i,
        ". Original input shape: ", shape.ToString(),
        ". Calculated input gradient shape: ", value.shape().ToString()));
  }

  const Scope scope_;
  std::vector<Output> ys_;
  std::vector<Output> xs_;
  const GradientOptions& options_;
  std::vector<Output> stops_;
  const GradientRegistry& registry_;
  Frames frames_;
  int base_ = 0;  // the frame that gradients are added to
  std::optional<Flow> flow_;
  bool has_loops_ = false;
  // The scope for gradients of the current region, and the loop whose body it
  // is; null outside loops.
  Scope region_ = scope_;
  const LoopParts* loop_ = nullptr;
  // The parts known so far of each output's gradient.
  absl::flat_hash_map<OutputTensor, std::vector<Gradient>> grads_;
};

}  // namespace

absl::StatusOr<std::vector<Gradient>> AddGradients(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const GradientOptions& options) {
  // Removing the nodes after an error must not remove nodes of other threads.
  const GraphWriter::Turn turn(scope.graph().writer());
  if (!turn) return scope.graph().writer().error();
  RETURN_IF_ERROR(scope.status());
  const int end = scope.graph().num_nodes();
  auto gradients = Walk(scope, ys, xs, options).Run();
  if (gradients.ok()) return gradients;
  // A loop that is not closed would be rejected in every run.
  if (scope.control_flow_context() == nullptr) {
    scope.graph().TruncateTo(end);
  } else {
    scope.UpdateStatus(gradients.status());
  }
  return gradients;
}

absl::StatusOr<FunctionPtr> GradientFunction(const std::string& name,
                                             const FunctionDef& function,
                                             const AttrMap& attrs,
                                             const Graph& graph) {
  return BuildGradientFunction(
      name, function, attrs, graph,
      [](const Scope& scope, absl::Span<const Output> ys,
         absl::Span<const Output> xs, const std::vector<Output>& grad_ys) {
        return AddGradients(scope, ys, xs, {.grad_ys = grad_ys});
      });
}

}  // namespace weft
