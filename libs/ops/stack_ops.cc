// Ops on stacks that live as long as a step, with handles of both kinds:
// resources (StackV2, ...) and references to two strings (Stack, ... of old
// graphs).
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/tensor_array_op_groups.h"

namespace weft {
namespace {

absl::Status HandleShape(InferenceContext& c) {
  const bool is_reference = IsRefType(c.output_type(0));
  c.set_output(0,
               is_reference ? PartialShape::Vector(2) : PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status PushShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

void AddStack(OpRegistry& registry, bool is_reference) {
  OpDefBuilder builder(is_reference ? "Stack" : "StackV2");
  if (!is_reference) builder.Input("max_size: int32");
  registry.Add(
      builder.Output(is_reference ? "handle: Ref(string)" : "handle: resource")
          .Attr("elem_type: type")
          .Attr("stack_name: string = ''")
          .Stateful()
          .Doc("A stack of tensors that lives as long as the step.")
          .Shape(HandleShape));
}

// Takes a stack.
OpDefBuilder Use(const char* name, bool is_reference) {
  OpDefBuilder builder(absl::StrCat(name, is_reference ? "" : "V2"));
  builder.Input(is_reference ? "handle: Ref(string)" : "handle: resource");
  if (!is_reference) builder.Stateful();
  return builder;
}

}  // namespace

void RegisterStackOps(OpRegistry& registry) {
  for (const bool is_reference : {true, false}) {
    AddStack(registry, is_reference);
    registry.Add(Use("StackPush", is_reference)
                     .Input("elem: T")
                     .Output("output: T")
                     .Attr("T: type")
                     .Attr("swap_memory: bool = false")
                     .Doc("Puts a tensor on a stack and passes it on.")
                     .Shape(PushShape));
    registry.Add(Use("StackPop", is_reference)
                     .Output("elem: elem_type")
                     .Attr("elem_type: type")
                     .Doc("Takes the last tensor from a stack.")
                     .Shape(shapes::Unknown));
    registry.Add(Use("StackClose", is_reference)
                     .Doc("Forgets what a stack holds.")
                     .Shape(shapes::NoOutputs));
  }
}

}  // namespace weft
