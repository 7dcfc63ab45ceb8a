#include "libs/ops/resource/tensor_array_ops.h"

namespace weft::ops {
TensorArrayOutputs TensorArray(const Scope& scope, const Input& size,
                               DataType dtype, const TensorArrayAttrs& attrs) {
  const Node* node = scope.AddNode(
      "TensorArrayV3", {size},
      {{"dtype", dtype},
       {"element_shape", attrs.element_shape},
       {"dynamic_size", attrs.dynamic_size},
       {"clear_after_read", attrs.clear_after_read},
       {"identical_element_shapes", attrs.identical_element_shapes},
       {"tensor_array_name", attrs.tensor_array_name}});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

TensorArrayOutputs TensorArrayGrad(const Scope& scope, const Input& handle,
                                   const Input& flow_in,
                                   const std::string& source) {
  const Node* node = scope.AddNode("TensorArrayGradV3", {handle, flow_in},
                                   {{"source", source}});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

Output TensorArrayRead(const Scope& scope, const Input& handle,
                       const Input& index, const Input& flow_in,
                       DataType dtype) {
  return scope.AddOutput("TensorArrayReadV3", {handle, index, flow_in},
                         {{"dtype", dtype}});
}

Output TensorArrayWrite(const Scope& scope, const Input& handle,
                        const Input& index, const Input& value,
                        const Input& flow_in) {
  return scope.AddOutput("TensorArrayWriteV3", {handle, index, value, flow_in});
}

Output TensorArrayScatter(const Scope& scope, const Input& handle,
                          const Input& indices, const Input& value,
                          const Input& flow_in) {
  return scope.AddOutput("TensorArrayScatterV3",
                         {handle, indices, value, flow_in});
}

Output TensorArraySplit(const Scope& scope, const Input& handle,
                        const Input& value, const Input& lengths,
                        const Input& flow_in) {
  return scope.AddOutput("TensorArraySplitV3",
                         {handle, value, lengths, flow_in});
}

Output TensorArrayGather(const Scope& scope, const Input& handle,
                         const Input& indices, const Input& flow_in,
                         DataType dtype, const PartialShape& element_shape) {
  return scope.AddOutput("TensorArrayGatherV3", {handle, indices, flow_in},
                         {{"dtype", dtype}, {"element_shape", element_shape}});
}

TensorArrayConcatOutputs TensorArrayConcat(
    const Scope& scope, const Input& handle, const Input& flow_in,
    DataType dtype, const PartialShape& element_shape_except0) {
  const Node* node = scope.AddNode(
      "TensorArrayConcatV3", {handle, flow_in},
      {{"dtype", dtype}, {"element_shape_except0", element_shape_except0}});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

Output TensorArraySize(const Scope& scope, const Input& handle,
                       const Input& flow_in) {
  return scope.AddOutput("TensorArraySizeV3", {handle, flow_in});
}

Operation TensorArrayClose(const Scope& scope, const Input& handle) {
  return scope.AddNode("TensorArrayCloseV3", {handle});
}

Output Stack(const Scope& scope, const Input& max_size, DataType elem_type,
             const std::string& stack_name) {
  return scope.AddOutput(
      "StackV2", {max_size},
      {{"elem_type", elem_type}, {"stack_name", stack_name}});
}

Output StackPush(const Scope& scope, const Input& handle, const Input& elem,
                 bool swap_memory) {
  return scope.AddOutput("StackPushV2", {handle, elem},
                         {{"swap_memory", swap_memory}});
}

Output StackPop(const Scope& scope, const Input& handle, DataType elem_type) {
  return scope.AddOutput("StackPopV2", {handle}, {{"elem_type", elem_type}});
}

Operation StackClose(const Scope& scope, const Input& handle) {
  return scope.AddNode("StackCloseV2", {handle});
}

}  // namespace weft::ops
