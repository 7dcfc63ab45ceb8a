// Propagates the outputs of a node that ran along its edges, into its
// consumers' slots. Internal to this module.
#ifndef WEFT_LIBS_EXECUTOR_PROPAGATE_H_
#define WEFT_LIBS_EXECUTOR_PROPAGATE_H_

#include <utility>

#include "libs/executor/step_state.h"

namespace weft {

// Propagates the outputs of `ran` (they are empty afterwards) and adds to
// `ready` the nodes that have become ready. `outputs` is not accessed if
// `is_dead`.
void Propagate(const Ready& ran, bool is_dead, const Outputs& outputs,
               ReadyList& ready);

// Activates one edge of a Merge. Its counter and slots show which input has
// arrived.
void ActivateMerge(Iteration& to, const NodeItem& source, const Edge& edge,
                   Slot* output, bool is_dead, bool move, ReadyList& ready);

// Empties the slots of a node that has run; constants stay. `outputs` still
// belong to it: no other node has seen them.
void ClearInputs(const NodeItem& item, Iteration& iteration,
                 const Outputs& outputs);

inline void ClearOutputs(const Outputs& outputs) {
  for (int i = 0; i < outputs.size; ++i) outputs.slots[i].Clear();
}

// Returns the value for the edge, or null on a control edge and for a dead
// value.
inline Slot* OutputFor(const Edge& edge, bool is_dead, const Outputs& outputs) {
  if (is_dead || edge.is_control()) return nullptr;
  if (outputs.live < 0) return &outputs.slots[edge.output];
  return edge.output == outputs.live ? outputs.slots : nullptr;
}

// Moves the value into the slot, or copies it.
inline void Put(Slot& slot, Slot& value, bool move) {
  if (value.variable != nullptr || slot.variable != nullptr) {
    slot.variable = value.variable;
    if (move) value.variable.reset();
  }
  if (move) {
    MakeAnew(slot.tensor, std::move(value.tensor));
  } else {
    MakeAnew(slot.tensor, value.tensor);
  }
  slot.is_dead = value.is_dead;
}

// A counter holds the number of pending edges and, in the bits above, how many
// of the arrived ones were dead.
inline constexpr int64_t kOneDead = int64_t{1} << 32;
inline int64_t EdgesToCome(int64_t counter) { return counter & (kOneDead - 1); }
inline int64_t DeadEdges(int64_t counter) { return counter >> 32; }

// Returns whether no other thread changes the counters of the iteration now. In
// a loop, edges are processed under the lock of LoopFrames.
inline bool CountsAlone(const Iteration& iteration) {
  return iteration.frame != nullptr || iteration.state.WorksAlone();
}

// Changes a counter and returns its new value.
inline int64_t Count(Iteration& iteration, int32_t index, int64_t change) {
  std::atomic<int64_t>& counter = iteration.counters[index];
  if (!CountsAlone(iteration)) {
    return counter.fetch_add(change, std::memory_order_acq_rel) + change;
  }
  const int64_t value = counter.load(std::memory_order_relaxed) + change;
  counter.store(value, std::memory_order_relaxed);
  return value;
}

// Activates one edge, in a plan with dead values. `output` is null on a control
// edge and if the value is dead.
inline void ActivateMaybeDead(Iteration& to, const NodeItem& source,
                              const Edge& edge, Slot* output,
                              bool source_is_dead, bool may_move,
                              ReadyList& ready) {
  const bool is_dead =
      source_is_dead ||
      (!edge.is_control() && (output == nullptr || output->is_dead));
  const bool move = may_move && edge.is_last;
  if (edge.to_merge) {
    ActivateMerge(to, source, edge, output, is_dead, move, ready);
    return;
  }
  if (!edge.is_control()) {
    if (is_dead) {
      to.slots[edge.slot].is_dead = true;
    } else if (edge.slot != source.direct_slot) {
      Put(to.slots[edge.slot], *output, move);
    }
  }
  bool node_is_dead = is_dead;
  if (edge.counter >= 0) {
    const int64_t change = is_dead ? kOneDead - 1 : -1;
    const int64_t counter = Count(to, edge.counter, change);
    if (EdgesToCome(counter) != 0) return;
    node_is_dead = DeadEdges(counter) != 0;
  }
  ready.emplace_back(&to, edge.node, node_is_dead);
}

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_PROPAGATE_H_
