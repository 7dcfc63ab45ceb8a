// Ops that call client functions, with TensorFlow's names.
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"

namespace weft {
namespace {

OpDefBuilder ClientCall(const char* name) {
  return OpDefBuilder(name)
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("token: string")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Shape(shapes::Unknown);
}

}  // namespace

void RegisterClientFunctionOps(OpRegistry& registry) {
  registry.Add(ClientCall("PyFunc").Stateful().Doc(
      "Calls the program's stateful function with that name."));
  registry.Add(ClientCall("PyFuncStateless")
                   .Doc("Calls the program's function with that name."));
  registry.Add(ClientCall("EagerPyFunc")
                   .Attr("is_async: bool = false")
                   .Stateful()
                   .Doc("The same as PyFunc."));
}

}  // namespace weft
