// Along edges: from the outputs of a node that ran into its consumers' slots.
// Internal to this room.
#ifndef WEFT_LIBS_EXECUTOR_PROPAGATE_H_
#define WEFT_LIBS_EXECUTOR_PROPAGATE_H_

#include "libs/executor/step_state.h"

namespace weft {

// Hands the outputs of `ran` on (they are empty afterwards) and adds to `ready`
// what waited for nothing else. They may lie in slots of its inputs; those that
// nothing is to be made of may be left out at the end. `outputs` is not looked
// at when `is_dead`.
void Propagate(const Ready& ran, bool is_dead, absl::Span<Slot> outputs,
               ReadyList& ready);

// One edge, in a plan where values may be dead. `output` is null on a control
// edge or when the whole source is dead.
void ActivateMaybeDead(Iteration& to, const NodeItem& source, const Edge& edge,
                       Slot* output, bool source_is_dead, bool may_move,
                       ReadyList& ready);

void ClearOutputs(absl::Span<Slot> outputs);

// Moves a value, or copies it.
void Put(Slot& slot, Slot& value, bool move);

// Empties the slots of a node that has run; constants stay.
void ClearInputs(const NodeItem& item, Iteration& iteration);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_PROPAGATE_H_
