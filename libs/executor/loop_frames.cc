#include "libs/executor/loop_frames.h"

#include <algorithm>
#include <utility>

#include "libs/base/fnv1a.h"
#include "libs/executor/propagate.h"
#include "libs/executor/step_state.h"

namespace weft {
namespace {

// Returns the number of a frame, never 0. It is an FNV-1a hash, so that all
// tasks of a step compute the same number.
uint64_t FrameId(uint64_t parent, int64_t iteration, const std::string& name) {
  uint64_t hash = ExtendFnv1aWithNumber(kFnv1aOffset, parent);
  hash = ExtendFnv1aWithNumber(hash, static_cast<uint64_t>(iteration));
  hash = ExtendFnv1a(hash, name);
  return hash == 0 ? 1 : hash;
}

}  // namespace

LoopFrames::LoopFrames(StepState& state)
    : state_(state), spare_(state.plan.frames.size()) {}

LoopFrames::~LoopFrames() = default;

void LoopFrames::DescribeWaits(std::vector<std::string>& waits) const {
  absl::MutexLock lock(&waits_mutex_);
  for (const Iteration* iteration : with_waits_) {
    iteration->DescribeWaits(waits);
  }
}

void LoopFrames::CountWaits(std::map<std::string, int64_t>& waits) const {
  absl::MutexLock lock(&waits_mutex_);
  for (const Iteration* iteration : with_waits_) {
    iteration->CountWaits(waits);
  }
}

void LoopFrames::Clear() {
  {
    absl::MutexLock lock(&waits_mutex_);
    with_waits_.clear();
  }
  absl::MutexLock lock(&mutex_);
  state_.root.children.clear();  // frames that the step did not finish
  frames_.clear();
  for (auto& spare : spare_) spare.clear();
}

void LoopFrames::Propagate(const Ready& ran, const NodeItem& item, bool is_dead,
                           const Outputs& outputs, ReadyList& ready) {
  absl::MutexLockMaybe lock(state_.WorksAlone() ? nullptr : &mutex_);
  Iteration& from = *ran.iteration;
  switch (item.loop_role) {
    case LoopRole::kNone:
      Activate(from, item, is_dead, outputs, /*may_move=*/true, ready);
      break;
    case LoopRole::kEnter:
    case LoopRole::kConstantEnter:
      Enter(from, item, is_dead, outputs, ready);
      break;
    case LoopRole::kExit:
      if (is_dead) {
        HoldBack(from, item);
      } else {
        Exit(from, item, outputs, ready);
      }
      break;
    case LoopRole::kNextIteration:
      if (!is_dead) Next(from, item, outputs, ready);
      break;
  }
  // The outputs may be slots of the iteration, which EndFinished may free for
  // reuse.
  if (!is_dead && item.direct_slot < 0) ClearOutputs(outputs);
  if (from.frame == nullptr) return;
  // While another node is ready or running, the iteration cannot be over.
  if (--from.outstanding == 0) EndFinished(*from.frame, ready);
}

void LoopFrames::Activate(Iteration& to, const NodeItem& source, bool is_dead,
                          const Outputs& outputs, bool may_move,
                          ReadyList& ready) {
  const size_t before = ready.size();
  for (int e = source.first_edge; e < source.end_edge; ++e) {
    const Edge& edge = state_.plan.edges[e];
    Slot* output = OutputFor(edge, is_dead, outputs);
    // Each iteration but the last has dead exits: they need not be run.
    if (edge.to_exit && (output == nullptr || output->is_dead)) {
      HoldBack(to, state_.plan.nodes[edge.node]);
      continue;
    }
    ActivateMaybeDead(to, source, edge, output, is_dead, may_move, ready);
  }
  if (to.frame != nullptr) {
    to.outstanding += static_cast<int>(ready.size() - before);
  }
}

void LoopFrames::ActivateWaiting(Iteration& to, WaitingValue& waiting,
                                 ReadyList& ready) {
  Activate(to, *waiting.source, waiting.value.is_dead, {&waiting.value, 1},
           /*may_move=*/false, ready);
}

void LoopFrames::Enter(Iteration& from, const NodeItem& item, bool is_dead,
                       const Outputs& outputs, ReadyList& ready) {
  LoopFrame& frame = FindOrCreate(from, item.child);
  if (item.loop_role == LoopRole::kConstantEnter) {
    WaitingValue& invariant = frame.invariants.emplace_back();
    invariant.source = &item;
    if (!is_dead) invariant.value = std::move(outputs.slots[0]);
    invariant.value.is_dead = is_dead;
    for (auto& iteration : frame.iterations) {
      ActivateWaiting(*iteration, invariant, ready);
    }
  } else {
    // Iteration 0 runs at least until the last Enter has arrived.
    Activate(*frame.iterations.front(), item, is_dead, outputs,
             /*may_move=*/true, ready);
  }
  --frame.pending_enters;
  EndFinished(frame, ready);
}

void LoopFrames::Exit(Iteration& from, const NodeItem& item,
                      const Outputs& outputs, ReadyList& ready) {
  Activate(*from.frame->parent, item, false, outputs, /*may_move=*/true, ready);
}

void LoopFrames::HoldBack(Iteration& from, const NodeItem& dead_exit) {
  LoopFrame& frame = *from.frame;
  if (from.number == frame.newest) frame.dead_exits.push_back(&dead_exit);
}

void LoopFrames::Next(Iteration& from, const NodeItem& item,
                      const Outputs& outputs, ReadyList& ready) {
  LoopFrame& frame = *from.frame;
  Iteration* to = nullptr;
  if (from.number < frame.newest) {
    const int64_t oldest = frame.iterations.front()->number;
    to = frame.iterations[from.number + 1 - oldest].get();
  } else if (static_cast<int>(frame.iterations.size()) <
             frame.parallel_iterations) {
    to = &StartNext(frame, ready);
  } else {
    frame.waiting.push_back({&item, std::move(outputs.slots[0])});
    return;
  }
  Activate(*to, item, false, outputs, /*may_move=*/true, ready);
}

LoopFrame& LoopFrames::FindOrCreate(Iteration& parent, int info_index) {
  for (LoopFrame* child : parent.children) {
    if (child->info_index == info_index) return *child;
  }
  const FrameInfo& info = state_.plan.frames[info_index];
  LoopFrame& frame = *frames_.emplace_back(std::make_unique<LoopFrame>());
  frame.info_index = info_index;
  frame.parent = &parent;
  frame.id = FrameId(parent.frame == nullptr ? 0 : parent.frame->id,
                     parent.number, info.name);
  frame.pending_enters = info.num_enters;
  frame.parallel_iterations = info.parallel_iterations;
  AddIteration(frame).number = 0;
  parent.children.push_back(&frame);
  return frame;
}

std::unique_ptr<Iteration> LoopFrames::NewIteration(int info_index) {
  const FrameInfo& info = state_.plan.frames[info_index];
  auto iteration = std::make_unique<Iteration>(state_, info);
  if (!info.async_outputs.empty()) {
    absl::MutexLock lock(&waits_mutex_);
    with_waits_.push_back(iteration.get());
  }
  return iteration;
}

Iteration& LoopFrames::AddIteration(LoopFrame& frame) {
  auto& spare = spare_[frame.info_index];
  if (spare.empty()) spare.push_back(NewIteration(frame.info_index));
  frame.iterations.push_back(std::move(spare.back()));
  spare.pop_back();
  Iteration& iteration = *frame.iterations.back();
  iteration.ResetCounters();
  iteration.frame = &frame;
  return iteration;
}

Iteration& LoopFrames::StartNext(LoopFrame& frame, ReadyList& ready) {
  Iteration& iteration = AddIteration(frame);
  iteration.number = ++frame.newest;
  // The loop goes on: the exits of this iteration decide now.
  frame.dead_exits.clear();
  // Activating adds to `ready` only: no node runs, so `waiting` does not grow.
  for (WaitingValue& value : frame.waiting) {
    ActivateWaiting(iteration, value, ready);
  }
  frame.waiting.clear();
  for (WaitingValue& value : frame.invariants) {
    ActivateWaiting(iteration, value, ready);
  }
  return iteration;
}

void LoopFrames::EndFinished(LoopFrame& frame, ReadyList& ready) {
  while (!frame.iterations.empty()) {
    Iteration& oldest = *frame.iterations.front();
    if (oldest.outstanding > 0 || !oldest.children.empty()) return;
    if (oldest.number == 0 && frame.pending_enters > 0) return;
    spare_[frame.info_index].push_back(std::move(frame.iterations.front()));
    frame.iterations.pop_front();
    if (!frame.waiting.empty()) StartNext(frame, ready);
  }
  EndFrame(frame, ready);
}

// Ends a frame. The exits that were held back can no longer become live, so
// they are dead now.
void LoopFrames::EndFrame(LoopFrame& frame, ReadyList& ready) {
  Iteration& parent = *frame.parent;
  for (const NodeItem* item : frame.dead_exits) {
    Activate(parent, *item, /*is_dead=*/true, {}, false, ready);
  }
  auto child =
      std::find(parent.children.begin(), parent.children.end(), &frame);
  parent.children.erase(child);
  auto owner = std::find_if(frames_.begin(), frames_.end(),
                            [&](const auto& f) { return f.get() == &frame; });
  std::swap(*owner, frames_.back());
  frames_.pop_back();
  if (parent.frame != nullptr) EndFinished(*parent.frame, ready);
}

}  // namespace weft
