// Builders of control flow ops, one for each op, with TensorFlow's names. A
// loop is closed with Graph::SetBackEdge; while_loop.h builds whole loops.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
// NoOp is in group.h.
#ifndef WEFT_LIBS_OPS_CONTROL_CONTROL_FLOW_OPS_H_
#define WEFT_LIBS_OPS_CONTROL_CONTROL_FLOW_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

struct SwitchOutputs {
  Output output_false;
  Output output_true;
};
SwitchOutputs Switch(const Scope& scope, const Input& data, const Input& pred);
SwitchOutputs RefSwitch(const Scope& scope, const Input& ref,
                        const Input& pred);

struct MergeOutputs {
  Output output;
  Output value_index;
};
MergeOutputs Merge(const Scope& scope, const InputList& inputs);
MergeOutputs RefMerge(const Scope& scope, const InputList& refs);

// Adds the Merge at the head of a loop. Its second input is a back edge, which
// is set later.
MergeOutputs LoopMerge(const Scope& scope, const Output& enter);

struct EnterAttrs {
  bool is_constant = false;
  int parallel_iterations = 10;
};
Output Enter(const Scope& scope, const Input& data,
             const std::string& frame_name, const EnterAttrs& attrs = {});
Output RefEnter(const Scope& scope, const Input& ref,
                const std::string& frame_name, const EnterAttrs& attrs = {});
Output Exit(const Scope& scope, const Input& data);
Output RefExit(const Scope& scope, const Input& ref);
Output NextIteration(const Scope& scope, const Input& data);
Output RefNextIteration(const Scope& scope, const Input& ref);
Output LoopCond(const Scope& scope, const Input& input);

Operation ControlTrigger(const Scope& scope);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_CONTROL_FLOW_OPS_H_
