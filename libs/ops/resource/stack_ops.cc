// Ops on stacks, which live as long as a step, for both kinds of handles:
// resources (StackV2, ...) and references to two strings (Stack, ... in old
// graphs).
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/handle_family.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

absl::Status PushShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

void AddStack(const HandleFamily& family) {
  OpDefBuilder stack = family.Maker({"Stack", "StackV2"});
  if (family.is_resource()) stack.Input("max_size: int32");
  family.Add(stack.Attr("elem_type: type")
                 .Attr("stack_name: string = ''")
                 .Doc("A stack of tensors that lives as long as the step."));
}

}  // namespace

void RegisterStackOps(OpRegistry& registry) {
  for (const HandleFamily& family :
       HandleFamily::ReferencesAndResources(registry)) {
    AddStack(family);
    family.Add(family.User({"StackPush", "StackPushV2"})
                   .Input("elem: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("swap_memory: bool = false")
                   .Doc("Pushes a tensor on a stack and forwards it.")
                   .Shape(PushShape));
    family.Add(family.User({"StackPop", "StackPopV2"})
                   .Output("elem: elem_type")
                   .Attr("elem_type: type")
                   .Doc("Pops a tensor from a stack.")
                   .Shape(shapes::Unknown));
    family.Add(family.User({"StackClose", "StackCloseV2"})
                   .Doc("Deletes the contents of a stack.")
                   .Shape(shapes::NoOutputs));
  }
}

}  // namespace weft
