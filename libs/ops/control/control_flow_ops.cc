// Control flow ops: branches, loops, and nodes that only order others.
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"
#include "libs/ops/known_shape.h"

namespace weft {
namespace {

absl::Status SwitchShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(0));
  return absl::OkStatus();
}

absl::Status MergeShape(InferenceContext& c) {
  PartialShape shape = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i)
    shape = CommonShape(shape, c.input(i));
  c.set_output(0, std::move(shape));
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

// A loop variable may change its shape in the loop.
absl::Status EnterShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(bool is_constant, c.GetAttr<bool>("is_constant"));
  if (is_constant) c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::Status LoopCondShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(0, 0));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

OpDefBuilder Enter(absl::string_view name, absl::string_view input,
                   absl::string_view output) {
  return OpDefBuilder(name)
      .Input(input)
      .Output(output)
      .Attr("T: type")
      .Attr("frame_name: string")
      .Attr("is_constant: bool = false")
      .Attr("parallel_iterations: int = 10")
      .Doc("Makes its input available inside a loop.")
      .Shape(EnterShape);
}

void RegisterBranches(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Switch")
                   .Input("data: T")
                   .Input("pred: bool")
                   .Output("output_false: T")
                   .Output("output_true: T")
                   .Attr("T: type")
                   .Doc("Forwards data to the output selected by pred.")
                   .Shape(SwitchShape));
  registry.Add(OpDefBuilder("RefSwitch")
                   .Input("data: Ref(T)")
                   .Input("pred: bool")
                   .Output("output_false: Ref(T)")
                   .Output("output_true: Ref(T)")
                   .Attr("T: type")
                   .AllowsUninitializedInput()
                   .Doc("Forwards a reference to the output selected by pred.")
                   .Shape(SwitchShape));
  registry.Add(OpDefBuilder("Merge")
                   .Input("inputs: N * T")
                   .Output("output: T")
                   .Output("value_index: int32")
                   .Attr("T: type")
                   .Attr("N: int >= 1")
                   .Doc("Forwards the first available input.")
                   .Shape(MergeShape));
  registry.Add(OpDefBuilder("RefMerge")
                   .Input("inputs: Ref(N * T)")
                   .Output("output: Ref(T)")
                   .Output("value_index: int32")
                   .Attr("T: type")
                   .Attr("N: int >= 1")
                   .Doc("Forwards the first available reference.")
                   .Shape(MergeShape));
}

void RegisterLoops(OpRegistry& registry) {
  registry.Add(Enter("Enter", "data: T", "output: T"));
  registry.Add(Enter("RefEnter", "data: Ref(T)", "output: Ref(T)"));
  registry.Add(OpDefBuilder("Exit")
                   .Input("data: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Doc("Makes its input available outside the loop.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("RefExit")
                   .Input("data: Ref(T)")
                   .Output("output: Ref(T)")
                   .Attr("T: type")
                   .Doc("Makes its reference available outside the loop.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("NextIteration")
                   .Input("data: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Doc("Makes its input available in the next iteration.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("RefNextIteration")
                   .Input("data: Ref(T)")
                   .Output("output: Ref(T)")
                   .Attr("T: type")
                   .Doc("Makes its reference available in the next iteration.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("LoopCond")
                   .Input("input: bool")
                   .Output("output: bool")
                   .Doc("Returns whether the loop continues.")
                   .Shape(LoopCondShape));
}

}  // namespace

void RegisterControlFlowOps(OpRegistry& registry) {
  RegisterBranches(registry);
  RegisterLoops(registry);
  registry.Add(OpDefBuilder("NoOp")
                   .Doc("Does nothing; orders other nodes.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("ControlTrigger")
                   .Doc("Does nothing, but is never dead.")
                   .Shape(shapes::NoOutputs));
}

}  // namespace weft
