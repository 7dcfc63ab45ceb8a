// The work before and after the run of a node's kernel. Internal to this
// module.
#ifndef WEFT_LIBS_EXECUTOR_NODE_RUN_H_
#define WEFT_LIBS_EXECUTOR_NODE_RUN_H_

#include "absl/status/status.h"
#include "libs/executor/step_state.h"

namespace weft {

// Replaces references by values where the node takes values, and checks that
// the variables that the node changes are initialized. If a lock is taken, it
// may give up (IsGivenUp); then it can be called again.
absl::Status ReadRefs(const PlanImpl& plan, const NodeItem& item, Slot* inputs,
                      WhenLocked when);

// Returns whether the kernel has not set an output that has no consumer.
inline bool IsLeftOut(const NodeItem& item, int i, const Slot& output) {
  return !item.view.output_required(i) && !output.tensor.IsInitialized() &&
         !output.is_ref();
}

// Returns whether the kernel has set each required output as declared by the
// op.
inline bool AreAsPromised(const NodeItem& item, const Slot* outputs) {
  for (int i = 0; i < item.num_outputs; ++i) {
    const DataType type = item.view.output_types[i];
    const Slot& output = outputs[i];
    if (output.tensor.dtype() == type || output.is_dead) continue;
    if (IsLeftOut(item, i, output)) continue;
    if (!IsRefType(type) || !output.is_ref()) return false;
  }
  return true;
}

// Returns INTERNAL unless the kernel has set its outputs as declared.
absl::Status CheckOutputs(const NodeItem& item, const Slot* outputs);

size_t InputBytes(const NodeItem& item, const Slot* inputs);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_NODE_RUN_H_
