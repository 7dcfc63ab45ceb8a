#include "libs/executor/propagate.h"

#include <utility>

namespace weft {
namespace {

constexpr int64_t kOneDead = int64_t{1} << 32;

int64_t EdgesToCome(int64_t counter) { return counter & (kOneDead - 1); }
int64_t DeadEdges(int64_t counter) { return counter >> 32; }

// Whether nobody else counts there now: in a loop, all that goes along edges
// goes under the lock of LoopFrames.
bool IsAlone(const Iteration& iteration) {
  return iteration.frame != nullptr || iteration.state.WorksAlone();
}

// The counter's new value.
int64_t Count(Iteration& iteration, int32_t index, int64_t change) {
  std::atomic<int64_t>& counter = iteration.counters[index];
  if (!IsAlone(iteration)) {
    return counter.fetch_add(change, std::memory_order_acq_rel) + change;
  }
  const int64_t value = counter.load(std::memory_order_relaxed) + change;
  counter.store(value, std::memory_order_relaxed);
  return value;
}

// A plan in which nothing is ever dead.
void PropagateLive(Iteration& iteration, const Edge* edge, const Edge* end,
                   absl::Span<Slot> outputs, ReadyList& ready) {
  for (; edge != end; ++edge) {
    if (!edge->is_control()) {
      Put(iteration.slots[edge->slot], outputs[edge->output], edge->is_last);
    }
    if (edge->counter < 0 || Count(iteration, edge->counter, -1) == 0) {
      ready.emplace_back(&iteration, edge->node, false);
    }
  }
}

void PropagateMaybeDead(Iteration& iteration, const NodeItem& item,
                        const Edge* edge, const Edge* end, bool is_dead,
                        absl::Span<Slot> outputs, ReadyList& ready) {
  for (; edge != end; ++edge) {
    Slot* output =
        edge->is_control() || is_dead ? nullptr : &outputs[edge->output];
    ActivateMaybeDead(iteration, item, *edge, output, is_dead,
                      /*may_move=*/true, ready);
  }
}

// A Merge runs at its first live input, or dead when all inputs were dead.
// Bit 0 of its counter says that no live input has come; control edges count 2.
// The rules are TensorFlow's; so is a dead Enter killing the Merge at once.
void ActivateMerge(Iteration& to, const NodeItem& source, const Edge& edge,
                   Slot* output, bool is_dead, bool move, ReadyList& ready) {
  absl::MutexLockMaybe lock(IsAlone(to) ? nullptr : &to.state.merge_mutex);
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

}  // namespace

void Put(Slot& slot, Slot& value, bool move) {
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

void ActivateMaybeDead(Iteration& to, const NodeItem& source, const Edge& edge,
                       Slot* output, bool source_is_dead, bool may_move,
                       ReadyList& ready) {
  const bool is_dead =
      source_is_dead || (!edge.is_control() && output->is_dead);
  const bool move = may_move && edge.is_last;
  if (edge.to_merge) {
    ActivateMerge(to, source, edge, output, is_dead, move, ready);
    return;
  }
  if (!edge.is_control()) {
    if (is_dead) {
      to.slots[edge.slot].is_dead = true;
    } else {
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

void Propagate(const Ready& ran, bool is_dead, absl::Span<Slot> outputs,
               ReadyList& ready) {
  Iteration& iteration = *ran.iteration;
  const PlanImpl& plan = iteration.state.plan;
  const NodeItem& item = plan.nodes[ran.node];
  const Edge* edge = plan.edges.data() + item.first_edge;
  const Edge* end = plan.edges.data() + item.end_edge;
  const bool in_loop = iteration.frame != nullptr || item.child >= 0;
  if (in_loop) {
    // The iteration may be used again from here on.
    return iteration.state.loops.Propagate(ran, item, is_dead, outputs, ready);
  }
  if (plan.may_be_dead) {
    PropagateMaybeDead(iteration, item, edge, end, is_dead, outputs, ready);
  } else {
    PropagateLive(iteration, edge, end, outputs, ready);
  }
  if (!is_dead) ClearOutputs(outputs);
}

void ClearOutputs(absl::Span<Slot> outputs) {
  for (Slot& output : outputs) output.Clear();
}

void ClearInputs(const NodeItem& item, Iteration& iteration) {
  Slot* inputs = iteration.slots.get() + item.first_input;
  if (item.num_consts == 0) {
    for (int i = 0; i < item.num_inputs; ++i) inputs[i].Clear();
    return;
  }
  const ConstInput* next =
      iteration.info.const_inputs.data() + item.first_const;
  const ConstInput* end = next + item.num_consts;
  for (int i = 0; i < item.num_inputs; ++i) {
    if (next == end || next->slot != item.first_input + i) {
      inputs[i].Clear();
      continue;
    }
    // A kernel may have taken the value out.
    if (!inputs[i].tensor.buffer()) inputs[i].tensor = next->value;
    ++next;
  }
}

}  // namespace weft
