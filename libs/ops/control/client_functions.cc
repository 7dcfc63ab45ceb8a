#include "libs/ops/control/client_functions.h"

namespace weft::ops {

std::vector<Output> PyFunc(const Scope& scope, const std::string& token,
                           const InputList& input, const DataTypeVector& types,
                           const PyFuncAttrs& attrs) {
  const Node* node =
      scope.AddNode(attrs.stateful ? "PyFunc" : "PyFuncStateless", input,
                    {{"token", token}, {"Tout", types}});
  std::vector<Output> outputs;
  for (int i = 0; node != nullptr && i < node->num_outputs(); ++i) {
    outputs.emplace_back(node, i);
  }
  return outputs;
}

}  // namespace weft::ops
