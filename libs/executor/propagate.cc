#include "libs/executor/propagate.h"

#include <utility>

namespace weft {
namespace {

// Propagates outputs in a plan in which no value can be dead. A value that was
// created in the node's direct slot is already in place.
void PropagateLive(Iteration& iteration, const NodeItem& item, const Edge* edge,
                   const Edge* end, Slot* outputs, ReadyList& ready) {
  for (; edge != end; ++edge) {
    if (!edge->is_control() && edge->slot != item.direct_slot) {
      Put(iteration.slots[edge->slot], outputs[edge->output], edge->is_last);
    }
    if (edge->counter < 0 || Count(iteration, edge->counter, -1) == 0) {
      ready.emplace_back(&iteration, edge->node, false);
    }
  }
}

void PropagateMaybeDead(Iteration& iteration, const NodeItem& item,
                        const Edge* edge, const Edge* end, bool is_dead,
                        const Outputs& outputs, ReadyList& ready) {
  for (; edge != end; ++edge) {
    ActivateMaybeDead(iteration, item, *edge,
                      OutputFor(*edge, is_dead, outputs), is_dead,
                      /*may_move=*/true, ready);
  }
}

// Clears an input. An input whose memory became the output's can be released
// faster.
void ClearInput(Slot& input, const Outputs& outputs) {
  if (outputs.size == 1 &&
      input.tensor.SharesBufferWith(outputs.slots[0].tensor)) {
    input.tensor.ReleaseTo(outputs.slots[0].tensor);
  }
  input.Clear();
}

}  // namespace

// A Merge runs at its first live input, or dead when all inputs were dead. Bit
// 0 of its counter is set until a live input arrives; control edges count 2.
// The rules are TensorFlow's; so is a dead Enter killing the Merge at once.
void ActivateMerge(Iteration& to, const NodeItem& source, const Edge& edge,
                   Slot* output, bool is_dead, bool move, ReadyList& ready) {
  absl::MutexLockMaybe lock(CountsAlone(to) ? nullptr : &to.state.merge_mutex);
  std::atomic<int64_t>& atomic = to.counters[edge.counter];
  int64_t counter = atomic.load(std::memory_order_relaxed);
  const int num_inputs = to.state.plan.nodes[edge.node].num_inputs;
  bool merge_is_dead = false;
  bool runs = false;
  if (edge.is_control()) {
    counter -= 2;
    merge_is_dead = DeadEdges(counter) == num_inputs;
    runs = EdgesToCome(counter) == 0 ||
           (EdgesToCome(counter) == 1 && merge_is_dead);
  } else if (is_dead) {
    counter += kOneDead;
    merge_is_dead = DeadEdges(counter) == num_inputs || source.child >= 0;
    runs = EdgesToCome(counter) == 1 && merge_is_dead;
  } else {
    runs = EdgesToCome(counter) == 1;
    if ((counter & 1) != 0) Put(to.slots[edge.slot], *output, move);
    counter &= ~int64_t{1};
  }
  atomic.store(counter, std::memory_order_relaxed);
  if (runs) ready.emplace_back(&to, edge.node, merge_is_dead);
}

void Propagate(const Ready& ran, bool is_dead, const Outputs& outputs,
               ReadyList& ready) {
  Iteration& iteration = *ran.iteration;
  StepState& state = iteration.state;
  const NodeItem& item = state.plan.nodes[ran.node];
  if (iteration.frame != nullptr || item.child >= 0) {
    // Must be last, because the iteration may be reused afterwards.
    return state.loops.Propagate(ran, item, is_dead, outputs, ready);
  }
  const Edge* edge = state.plan.edges.data() + item.first_edge;
  const Edge* end = state.plan.edges.data() + item.end_edge;
  if (state.plan.may_be_dead) {
    PropagateMaybeDead(iteration, item, edge, end, is_dead, outputs, ready);
  } else {
    PropagateLive(iteration, item, edge, end, outputs.slots, ready);
  }
  if (!is_dead && item.direct_slot < 0) ClearOutputs(outputs);
}

void ClearInputs(const NodeItem& item, Iteration& iteration,
                 const Outputs& outputs) {
  Slot* inputs = iteration.slots.get() + item.first_input;
  if (item.num_consts == 0) {
    for (int i = 0; i < item.num_inputs; ++i) ClearInput(inputs[i], outputs);
    return;
  }
  const ConstInput* next =
      iteration.info.const_inputs.data() + item.first_const;
  const ConstInput* end = next + item.num_consts;
  for (int i = 0; i < item.num_inputs; ++i) {
    if (next == end || next->slot != item.first_input + i) {
      ClearInput(inputs[i], outputs);
      continue;
    }
    // A kernel may have moved the value out.
    if (!inputs[i].tensor.buffer()) inputs[i].tensor = next->value;
    ++next;
  }
}

}  // namespace weft
