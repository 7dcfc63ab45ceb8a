// Along edges: from the outputs of a node that ran into its consumers' slots.
// Internal to this room.
#ifndef WEFT_LIBS_EXECUTOR_PROPAGATE_H_
#define WEFT_LIBS_EXECUTOR_PROPAGATE_H_

#include "libs/executor/step_state.h"

namespace weft {

// Hands the outputs of `ran` on (they are empty afterwards) and adds to `ready`
// what waited for nothing else. `outputs` is not looked at when `is_dead`.
void Propagate(const Ready& ran, bool is_dead, Slot* outputs, ReadyList& ready);

// One edge, in a plan where values may be dead. `output` is null on a control
// edge or when the whole source is dead.
void ActivateMaybeDead(Iteration& to, const NodeItem& source, const Edge& edge,
                       Slot* output, bool source_is_dead, bool may_move,
                       ReadyList& ready);

void ClearOutputs(const NodeItem& item, Slot* outputs);

// Empties the slots of a node that has run; constants stay.
void ClearInputs(const NodeItem& item, Iteration& iteration);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_PROPAGATE_H_
