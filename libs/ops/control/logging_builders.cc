#include "libs/ops/control/logging_ops.h"

namespace weft::ops {
namespace {

InputList WithFirst(const Input& first, const InputList& others) {
  InputList inputs = {first};
  inputs.insert(inputs.end(), others.begin(), others.end());
  return inputs;
}

}  // namespace

Operation Assert(const Scope& scope, const Input& condition,
                 const InputList& data, int64_t summarize) {
  return scope.AddNode("Assert", WithFirst(condition, data),
                       {{"summarize", summarize}});
}

Output Print(const Scope& scope, const Input& input, const InputList& data,
             const PrintAttrs& attrs) {
  return scope.AddOutput("Print", WithFirst(input, data),
                         {{"message", attrs.message},
                          {"first_n", attrs.first_n},
                          {"summarize", attrs.summarize}});
}

}  // namespace weft::ops
