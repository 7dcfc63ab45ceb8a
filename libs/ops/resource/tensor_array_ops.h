// Builders of ops on objects that live as long as a step, tensor arrays and
// stacks, with TensorFlow's names.
//
// `flow` is a float without meaning that orders the ops on an array: writes
// return a new flow, which later ops take.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_RESOURCE_TENSOR_ARRAY_OPS_H_
#define WEFT_LIBS_OPS_RESOURCE_TENSOR_ARRAY_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

struct TensorArrayAttrs {
  PartialShape element_shape;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  std::string tensor_array_name;
};
struct TensorArrayOutputs {
  Output handle;
  Output flow;
};
TensorArrayOutputs TensorArray(const Scope& scope, const Input& size,
                               DataType dtype,
                               const TensorArrayAttrs& attrs = {});
// One array for each `source`, the name of a call of AddGradients.
TensorArrayOutputs TensorArrayGrad(const Scope& scope, const Input& handle,
                                   const Input& flow_in,
                                   const std::string& source);

Output TensorArrayRead(const Scope& scope, const Input& handle,
                       const Input& index, const Input& flow_in,
                       DataType dtype);
// These return the flow.
Output TensorArrayWrite(const Scope& scope, const Input& handle,
                        const Input& index, const Input& value,
                        const Input& flow_in);
Output TensorArrayScatter(const Scope& scope, const Input& handle,
                          const Input& indices, const Input& value,
                          const Input& flow_in);
Output TensorArraySplit(const Scope& scope, const Input& handle,
                        const Input& value, const Input& lengths,
                        const Input& flow_in);

Output TensorArrayGather(const Scope& scope, const Input& handle,
                         const Input& indices, const Input& flow_in,
                         DataType dtype,
                         const PartialShape& element_shape = {});
struct TensorArrayConcatOutputs {
  Output value;
  Output lengths;
};
TensorArrayConcatOutputs TensorArrayConcat(
    const Scope& scope, const Input& handle, const Input& flow_in,
    DataType dtype, const PartialShape& element_shape_except0 = {});
Output TensorArraySize(const Scope& scope, const Input& handle,
                       const Input& flow_in);
Operation TensorArrayClose(const Scope& scope, const Input& handle);

// ---- stacks ----
Output Stack(const Scope& scope, const Input& max_size, DataType elem_type,
             const std::string& stack_name = "");
Output StackPush(const Scope& scope, const Input& handle, const Input& elem,
                 bool swap_memory = false);
Output StackPop(const Scope& scope, const Input& handle, DataType elem_type);
Operation StackClose(const Scope& scope, const Input& handle);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RESOURCE_TENSOR_ARRAY_OPS_H_
