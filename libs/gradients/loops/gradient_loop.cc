#include "libs/gradients/loops/gradient_loop.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/control_flow_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/tensor_array_ops.h"

namespace weft {
namespace {

// Constants up to this many elements are created again instead of kept.
constexpr int64_t kMaxConstantElements = 1024;

Scope On(const Scope& scope, const Node& node) {
  return scope.WithoutDevice().WithDevice(node.requested_device());
}

// The Merge at the head of a loop for this Enter.
Output MergeOf(const Scope& scope, const Output& enter) {
  return enter ? ops::LoopMerge(On(scope, *enter.node()), enter).output
               : Output();
}

// Keeps the name, the device and the colocation of the node.
void Replace(NodeSpec& spec, absl::string_view op,
             const std::vector<Output>& inputs, AttrMap attrs) {
  const auto beside = spec.attrs.find("_class");
  if (beside != spec.attrs.end()) attrs["_class"] = beside->second;
  spec.op = std::string(op);
  spec.attrs = std::move(attrs);
  spec.inputs.clear();
  for (const Output& input : inputs) {
    spec.inputs.push_back(input.output_tensor());
  }
}

bool IsPlain(DataType dtype) {
  return dtype != DT_RESOURCE && dtype != DT_VARIANT && !IsRefType(dtype);
}

}  // namespace

GradientLoop::GradientLoop(Frames& frames, LoopParts loop, const Scope& outside,
                           const Scope& forward)
    : frames_(frames),
      loop_(std::move(loop)),
      outside_(outside),
      forward_(forward),
      free_(outside.WithoutControlDependencies()),
      frame_name_(absl::StrCat(outside.prefix(), loop_.name)) {
  const auto& conditions = frames_.ConditionsOfLoop(loop_.frame);
  may_not_be_entered_ =
      frames_.Parent(loop_.frame) != 0 || !conditions || !conditions->empty();
  AddForwardCounter();
  AddBackwardCounter();
}

// Operations that run where the loop is entered, and only there.
std::vector<Operation> GradientLoop::WhereEntered() {
  if (!may_not_be_entered_ || !where_entered_.empty()) return where_entered_;
  const Node& enter = *loop_.variables[0].enter;
  const OutputTensor input = enter.input(0);
  if (!IsFreeConstant(*input.node)) {
    where_entered_.emplace_back(ops::Identity(
        On(forward_, enter).WithName("f_entered"), Output(input)));
  } else {
    for (const Node* control : enter.control_inputs()) {
      where_entered_.emplace_back(control);
    }
  }
  return where_entered_;
}

// Adds a variable to the forward loop that counts the runs of its body.
void GradientLoop::AddForwardCounter() {
  const Scope before =
      On(forward_, *loop_.loop_cond).WithControlDependencies(WhereEntered());
  const Output enter =
      ops::Enter(before.WithName("f_count"), Tensor::Scalar(0), loop_.name,
                 {.parallel_iterations = loop_.parallel_iterations});
  const Scope there = On(free_, *loop_.loop_cond).WithName("f_count");
  forward_counter_.merge = MergeOf(there, enter);
  const auto [done, next] =
      ops::Switch(there, forward_counter_.merge, Output(loop_.loop_cond));
  forward_turn_ = ops::Add(there, next, 1);
  forward_counter_.next = forward_turn_;
  count_ = ops::Exit(there, done);
  if (count_ && forward_.control_flow_context() != nullptr) {
    forward_.control_flow_context()->NoteInside(count_.node());
  }
}

void GradientLoop::AddBackwardCounter() {
  const Output enter =
      ops::Enter(outside_.WithName("b_count"), count_, frame_name_,
                 {.parallel_iterations = loop_.parallel_iterations});
  const Scope there = free_.WithName("b_count");
  counter_.merge = MergeOf(there, enter);
  goes_on_ = ops::LoopCond(there, ops::GreaterEqual(there, counter_.merge, 1));
  const auto [done, next] = ops::Switch(there, counter_.merge, goes_on_);
  pivot_ = ops::Identity(there, next);
  index_ = ops::Sub(there, pivot_, 1);
  counter_.next = index_;
}

GradientLoop::Variable GradientLoop::Begin(const Output& value,
                                           const PartialShape& shape) {
  Variable variable;
  const Output enter =
      ops::Enter(outside_.WithName("b_enter"), value, frame_name_,
                 {.parallel_iterations = loop_.parallel_iterations});
  variable.merge = MergeOf(free_, enter);
  if (!variable.merge) return variable;
  free_.UpdateStatus(
      free_.graph().RefineShape(variable.merge.output_tensor(), shape));
  const auto [done, next] =
      ops::Switch(free_.WithName("b_switch"), variable.merge, goes_on_);
  variable.in_body = next;
  variable.exit = ops::Exit(free_.WithName("b_exit"), done);
  if (variable.exit && outside_.control_flow_context() != nullptr) {
    outside_.control_flow_context()->NoteInside(variable.exit.node());
  }
  return variable;
}

void GradientLoop::Back(const Variable& variable, const Output& next) {
  const Output back = ops::NextIteration(free_, next);
  if (!back) return;
  free_.UpdateStatus(free_.graph().SetBackEdge(variable.merge.node(), 1,
                                               back.output_tensor()));
}

Output GradientLoop::AddVariable(const LoopVariable& variable,
                                 const Output& begin) {
  variables_.push_back(Begin(begin, variable.merge->output_shape(0)));
  return variables_.back().in_body;
}

Output GradientLoop::ZerosFor(const LoopVariable& variable) {
  const Node& merge = *variable.merge;
  Output last = variable.exits.empty() ? Output() : Output(variable.exits[0]);
  if (!last) {
    last = ops::Exit(On(free_, merge), Output(variable.to_body, 0));
    if (last && forward_.control_flow_context() != nullptr) {
      forward_.control_flow_context()->NoteInside(last.node());
    }
  }
  return last ? ZerosLike(last, RemoveRefType(merge.output_type(0))) : Output();
}

Output GradientLoop::CloseVariable(const Scope& inside, size_t i,
                                   const Output& next) {
  const Variable& variable = variables_[i];
  if (!variable.in_body) return Output();
  Back(variable, next ? next : ops::ZerosLike(inside, variable.in_body));
  return variable.exit;
}

// Its nodes are dead if the loop was not entered, like all inputs of the
// backward loop.
Scope GradientLoop::WhereEnteredOutside() const {
  const auto& context = outside_.control_flow_context();
  const Output count =
      context == nullptr || !count_ ? count_ : context->AddValue(count_);
  if (!count || !may_not_be_entered_) return outside_;
  return outside_.WithControlDependencies({Operation(count)});
}

Output GradientLoop::ZerosLike(const Output& value, DataType dtype) {
  const Scope scope = WhereEnteredOutside();
  if (dtype == DT_VARIANT) return ops::ZerosLike(scope, value);
  const bool is_resource = RemoveRefType(value.dtype()) == DT_RESOURCE;
  const Output shape = is_resource ? scope.AddOutput("VariableShape", {value},
                                                     {{"out_type", DT_INT32}})
                                   : ShapeOf(scope, value);
  return scope.AddOutput("Fill", {shape, 0}, {{"T", dtype}});
}

Gradient GradientLoop::Accumulate(const Scope& inside, const Node& enter,
                                  const Gradient& part) {
  const Output value = Output(enter.input(0));
  if (part.IsSparse()) {
    const Gradient rows = AccumulateRows(inside, value, part);
    if (!rows.IsNone() || !inside.ok()) return rows;
  }
  const Output dense = ToDense(inside, part);
  if (!dense) return Gradient();
  const Variable sum =
      Begin(ZerosLike(value, RemoveRefType(dense.dtype())), dense.shape());
  const Scope there = inside.WithName("b_acc");
  Back(sum, dense.dtype() == DT_VARIANT
                ? ops::AddN(there, {sum.in_body, dense})
                : ops::AddV2(there, sum.in_body, dense));
  return sum.exit;
}

// None if the size of a row is unknown, because an array without writes needs
// it.
Gradient GradientLoop::AccumulateRows(const Scope& inside, const Output& value,
                                      const Gradient& part) {
  const PartialShape& shape = part.values.shape();
  if (!shape.has_rank() || shape.rank() == 0) return Gradient();
  const PartialShape row(Dims(shape.dims().begin() + 1, shape.dims().end()));
  if (!row.IsFullyDefined()) return Gradient();
  Gradient all;
  all.values = JoinParts(inside, part.values);
  all.indices = JoinParts(inside, part.indices);
  const DataType out_type = part.dense_shape.dtype();
  const char* op =
      RemoveRefType(value.dtype()) == DT_RESOURCE ? "VariableShape" : "Shape";
  all.dense_shape = outside_.AddOutput(op, {value}, {{"out_type", out_type}});
  return all;
}

// Joins the values of all iterations along the first dimension.
Output GradientLoop::JoinParts(const Scope& inside, const Output& part) {
  const PartialShape& shape = part.shape();
  PartialShape row;
  if (shape.has_rank() && shape.rank() > 0) {
    row = PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
  } else {
    row = PartialShape::Scalar();  // indices are a vector
  }
  const auto array =
      ops::TensorArray(outside_.WithName("b_parts"), count_, part.dtype());
  const Variable flow = Begin(array.flow, PartialShape::Scalar());
  Back(flow,
       ops::TensorArrayWrite(inside, array.handle, index_, part, flow.in_body));
  return ops::TensorArrayConcat(outside_, array.handle, flow.exit, part.dtype(),
                                row)
      .value;
}

void GradientLoop::Close() {
  CloseCounter(On(free_, *loop_.loop_cond), forward_counter_);
  CloseCounter(free_, counter_);
}

// Orders the pushes, and the pops, of one iteration before those of the next.
void GradientLoop::CloseCounter(const Scope& scope,
                                const Counter& counter) const {
  if (!scope.ok()) return;
  std::vector<Operation> waits_for = counter.waits_for;
  if (counter.waits_for_branches) {
    // A ControlTrigger is never dead, unlike its control inputs.
    waits_for = {ops::ControlTrigger(scope.WithControlDependencies(waits_for))};
  }
  const Output back = ops::NextIteration(
      scope.WithControlDependencies(waits_for), counter.next);
  if (!back) return;
  scope.UpdateStatus(
      scope.graph().SetBackEdge(counter.merge.node(), 1, back.output_tensor()));
}

Output GradientLoop::AddValue(const Output& value) {
  if (IsFreeConstant(*value.node())) return value;
  const auto it = values_.find(value.output_tensor());
  if (it != values_.end()) return it->second;
  if (absl::Status status = frames_.Update(); !status.ok()) {
    outside_.UpdateStatus(std::move(status));
    return Output();
  }
  const int frame = frames_.OutputsTo(*value.node());
  if (goes_on_ && frame == frames_.RunsIn(*goes_on_.node())) return value;
  const Output inside =
      frame == loop_.frame ? FromForward(value) : EnterConstant(value);
  if (inside) values_[value.output_tensor()] = inside;
  return inside;
}

Output GradientLoop::EnterConstant(const Output& value) {
  // A handle stays colocated with its resource.
  const Scope scope = RemoveRefType(value.dtype()) == DT_RESOURCE
                          ? On(outside_, *value.node())
                          : outside_;
  return ops::Enter(
      scope, value, frame_name_,
      {.is_constant = true, .parallel_iterations = loop_.parallel_iterations});
}

const Node* GradientLoop::AddControl(const Node* node) {
  if (IsFreeConstant(*node)) return nullptr;
  if (absl::Status status = frames_.Update(); !status.ok()) {
    outside_.UpdateStatus(std::move(status));
    return nullptr;
  }
  const int frame = frames_.OutputsTo(*node);
  if (goes_on_ && frame == frames_.RunsIn(*goes_on_.node())) return node;
  if (frame == loop_.frame) return nullptr;  // all of it has run
  const Output after = outside_.WithName("wait")
                           .WithControlDependencies({Operation(node)})
                           .ToOutput(Tensor::Scalar(0), "wait");
  return after ? AddValue(after).node() : nullptr;
}

// The value outside the loop, if it is constant in the loop.
Output GradientLoop::Invariant(const Output& value) const {
  const Node* node = value.node();
  while (node->type() == "Identity" || node->type() == "RefIdentity" ||
         (IsSwitch(*node) && !IsLoopSwitch(*node))) {
    node = node->input(0).node;
  }
  const bool is_invariant =
      IsConstantEnter(*node) && frames_.OutputsTo(*node) == loop_.frame;
  return is_invariant ? Output(node->input(0)) : Output();
}

Output GradientLoop::FromForward(const Output& value) {
  const std::optional<Tensor> constant =
      free_.graph().ConstantValue(value.output_tensor());
  if (constant && constant->num_elements() <= kMaxConstantElements) {
    return free_.ToOutput(*constant);
  }
  const Output outside = Invariant(value);
  return outside ? AddValue(outside) : ThroughStack(value);
}

Output GradientLoop::ThroughStack(const Output& value) {
  const std::optional<Conditions> conditions =
      frames_.ConditionsOf(value.output_tensor());
  if (!conditions) {
    outside_.UpdateStatus(absl::UnimplementedError(absl::StrCat(
        "Gradients through branches that do not have the form of tf.cond "
        "(ops::Cond) are not supported: cannot tell when '",
        value.name(), "' has a value in loop '", loop_.name, "'")));
    return Output();
  }
  const Output handle = Push(value, !conditions->empty());
  return handle ? Pop(value, handle, *conditions) : Output();
}

// Returns the stack.
Output GradientLoop::Push(const Output& value, bool is_conditional) {
  const Scope before = On(forward_, *value.node())
                           .WithControlDependencies(WhereEntered())
                           .WithName("f_acc");
  const Output handle =
      ops::Stack(before, -1, RemoveRefType(value.dtype()), "");
  const Scope there = On(free_, *value.node())
                          .WithControlDependencies({Operation(forward_turn_)});
  const Output enter = ops::Enter(
      On(forward_, *value.node()).WithName("f_acc"), handle, loop_.name,
      {.is_constant = true, .parallel_iterations = loop_.parallel_iterations});
  const Output push = ops::StackPush(there, enter, value);
  if (!push) return Output();
  forward_counter_.waits_for.emplace_back(push);
  forward_counter_.waits_for_branches |= is_conditional;
  return handle;
}

Output GradientLoop::Pop(const Output& value, const Output& handle,
                         const Conditions& conditions) {
  const Scope there = On(free_, *value.node());
  Output stack = EnterConstant(handle);
  for (const Branch& branch : conditions) {
    const Output pred = AddValue(Output(branch.pred));
    if (!pred || !stack) return Output();
    const auto [on_false, on_true] = ops::Switch(there, stack, pred);
    stack = branch.taken == 1 ? on_true : on_false;
  }
  const Output pop =
      ops::StackPop(there.WithControlDependencies({Operation(pivot_)}), stack,
                    RemoveRefType(value.dtype()));
  if (!pop) return Output();
  there.UpdateStatus(
      there.graph().RefineShape(pop.output_tensor(), value.shape()));
  counter_.waits_for.emplace_back(pop);
  counter_.waits_for_branches |= !conditions.empty();
  return pop;
}

absl::Status GradientLoop::AddOp(NodeSpec& spec) {
  RETURN_IF_ERROR(StackShapeOnly(spec));
  return ControlFlowContext::AddOp(spec);
}

// Returns whether the value would be kept on a stack.
bool GradientLoop::IsKept(const Output& value) {
  if (IsFreeConstant(*value.node()) ||
      values_.contains(value.output_tensor())) {
    return false;
  }
  return frames_.OutputsTo(*value.node()) == loop_.frame && !Invariant(value);
}

// The node belongs to the forward loop, and its result is kept on the stack.
absl::Status GradientLoop::StackShapeOnly(NodeSpec& spec) {
  // A list that is kept could no longer be modified in place.
  const bool asks_for_list =
      spec.op == "TensorListLength" || spec.op == "TensorListElementShape";
  const bool asks_for_shape = asks_for_list || spec.op == "Shape" ||
                              spec.op == "Size" || spec.op == "Rank";
  if (!asks_for_shape && spec.op != "ZerosLike") return absl::OkStatus();
  if (spec.inputs.size() != 1 || spec.inputs[0].node == nullptr) {
    return absl::OkStatus();  // refused where it is added
  }
  RETURN_IF_ERROR(frames_.Update());
  const Output value = Output(spec.inputs[0]);
  const bool is_of_kind =
      asks_for_list ? value.dtype() == DT_VARIANT : IsPlain(value.dtype());
  if (!is_of_kind || !IsKept(value)) return absl::OkStatus();
  const Output kept = ForwardShape(asks_for_shape ? spec.op : "Shape", value,
                                   asks_for_shape ? spec.attrs : AttrMap());
  if (!kept) return outside_.status();
  if (asks_for_shape) {
    Replace(spec, "Identity", {kept}, {{"T", kept.dtype()}});
    return absl::OkStatus();
  }
  const Output zero = free_.ToOutput(Tensor(value.dtype(), TensorShape()));
  if (!zero) return outside_.status();
  Replace(spec, "Fill", {kept, zero},
          {{"T", value.dtype()}, {"index_type", DT_INT32}});
  return absl::OkStatus();
}

Output GradientLoop::ForwardShape(const std::string& op, const Output& value,
                                  const AttrMap& attrs) {
  const auto out_type = attrs.find("out_type");
  const bool is_wide = out_type != attrs.end() &&
                       out_type->second.Get<DataType>() != nullptr &&
                       *out_type->second.Get<DataType>() == DT_INT64;
  Output& shape = shapes_[{value.output_tensor(), absl::StrCat(op, is_wide)}];
  if (!shape) {
    AttrMap own;
    if (is_wide) own["out_type"] = DT_INT64;
    if (op == "TensorListElementShape") own["shape_type"] = DT_INT32;
    shape = On(free_, *value.node()).AddOutput(op, {value}, own);
  }
  return shape;
}

}  // namespace weft
