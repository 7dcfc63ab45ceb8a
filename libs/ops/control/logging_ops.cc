// Ops that speak to people.
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"

namespace weft {

void RegisterLoggingOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("Assert")
          .Input("condition: bool")
          .Input("data: T")
          .Attr("T: list(type) >= 1")
          .Attr("summarize: int = 3")
          .Stateful()
          .Doc("Fails, with the data in its text, unless the condition "
               "holds.")
          .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("Print")
                   .Input("input: T")
                   .Input("data: U")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("U: list(type) >= 0")
                   .Attr("message: string = ''")
                   .Attr("first_n: int = -1")
                   .Attr("summarize: int = 3")
                   .Stateful()
                   .Doc("Its input; prints the data where it runs.")
                   .Shape(shapes::Unchanged));
}

}  // namespace weft
