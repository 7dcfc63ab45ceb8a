#include "libs/executor/ready_loop.h"

#include <algorithm>
#include <utility>

#include "libs/base/clock.h"
#include "libs/executor/node_run.h"
#include "libs/executor/propagate.h"

namespace weft {
namespace {

// A hand-over to another thread costs about this much.
constexpr uint32_t kHandOverNanoseconds = 10'000;
// Inputs with which a cheap kernel takes about as long.
constexpr size_t kHandOverBytes = 64 << 10;

constexpr size_t kReaderBytes = 4 << 10;
constexpr absl::Duration kReaderBudget = absl::Microseconds(20);
constexpr int kNodesBetweenClocks = 16;

thread_local ReadyLoop* current_loop = nullptr;

const NodeItem& ItemOf(const Ready& ready) {
  return ready.iteration->state.plan.nodes[ready.node];
}

Slot* InputsOf(const Ready& ready) {
  return ready.iteration->slots.get() + ItemOf(ready).first_input;
}

void NoteCost(const NodeItem& item, absl::Duration took) {
  const int64_t sample =
      std::clamp<int64_t>(absl::ToInt64Nanoseconds(took), 1, int64_t{1} << 30);
  const int64_t old = item.cost->load(std::memory_order_relaxed);
  const int64_t cost = old == 0 ? sample : (3 * old + sample) / 4;
  item.cost->store(static_cast<uint32_t>(cost), std::memory_order_relaxed);
}

// What the kernel of Switch does, where the inputs lie: the slot of the value
// and that of the predicate become the two outputs. False, and nothing is done,
// when the kernel has an error to say.
bool SwitchInPlace(Slot* slots) {
  const Tensor& predicate = slots[1].tensor;
  if (!predicate.shape().IsScalar()) return false;
  const bool is_taken = predicate.scalar<bool>();
  slots[1].Clear();
  if (is_taken) {
    Put(slots[1], slots[0], /*move=*/true);
    slots[0].Clear();
  }
  slots[is_taken ? 0 : 1].is_dead = true;
  return true;
}

// The input of a Merge that has a value; null: none has.
Slot* FindCome(Slot* inputs, int num_inputs) {
  for (Slot* input = inputs; input != inputs + num_inputs; ++input) {
    if (input->is_ref() || input->tensor.IsInitialized()) return input;
  }
  return nullptr;
}

// An asynchronous kernel has ended, on whatever thread, perhaps inside
// ComputeAsync. Takes over its token.
void EndAsync(AsyncEntry& entry, const absl::Status& status) {
  entry.waits.store(false, std::memory_order_relaxed);
  const Ready ran = entry.ready;
  StepState& state = ran.iteration->state;
  const NodeItem& item = ItemOf(ran);
  ReadyList ready;
  absl::Status result =
      status.ok() ? CheckOutputs(item, entry.outputs.get()) : status;
  if (result.ok()) {
    const bool is_dead =
        ran.is_dead || (item.is_recv && entry.outputs[0].is_dead);
    if (state.trace != nullptr) {
      state.trace->NodeRan(item, entry.begin, 0, entry.outputs.get(), is_dead);
    }
    ClearInputs(item, *ran.iteration);
    const absl::Span<Slot> outputs =
        absl::MakeSpan(entry.outputs.get(), item.num_outputs);
    if (is_dead) ClearOutputs(outputs);
    Propagate(ran, is_dead, outputs, ready);
  } else {
    state.Fail(item, result);
  }
  ReadyLoop* current = ReadyLoop::Current();
  if (current != nullptr && &current->state() == &state) {
    current->Add(ready);
    state.ReleaseToken();
  } else if (ready.empty()) {
    state.ReleaseToken();
  } else if (current != nullptr) {
    ContinueOnPool(state, ready);
  } else {
    ReadyLoop loop(state, RunWhere::kReader);
    loop.Add(ready);
    loop.Run();
  }
}

}  // namespace

ReadyLoop::ReadyLoop(StepState& state, RunWhere where)
    : state_(state),
      where_(where),
      outer_(std::exchange(current_loop, this)),
      outputs_(state.TakeOutputs()) {}

ReadyLoop::~ReadyLoop() {
  if (current_loop == this) current_loop = outer_;
}

ReadyLoop* ReadyLoop::Current() { return current_loop; }

void ContinueOnPool(StepState& state, const ReadyList& nodes) {
  if (nodes.size() == 1) {
    // Small enough for the closure to need no memory.
    state.context.scheduler->Schedule(Pool::kCompute, [node = nodes[0]] {
      ReadyLoop loop(node.iteration->state, RunWhere::kPool);
      loop.Add({node});
      loop.Run();
    });
    return;
  }
  state.context.scheduler->Schedule(
      Pool::kCompute, [&state, list = std::make_unique<ReadyList>(nodes)] {
        ReadyLoop loop(state, RunWhere::kPool);
        loop.Add(*list);
        loop.Run();
      });
}

void ReadyLoop::Add(const ReadyList& nodes) {
  // Nothing else to do: run it here whatever it costs.
  if (nodes.size() == 1 && ready_.empty() && !has_kept_) {
    kept_ = nodes[0];
    has_kept_ = true;
    return;
  }
  for (const Ready& node : nodes) {
    if (where_ == RunWhere::kReader || !IsWorthHandingOver(node)) {
      ready_.push_back(node);
    } else if (!has_kept_) {
      kept_ = node;
      has_kept_ = true;
    } else {
      state_.AddToken();
      ContinueOnPool(state_, {node});
    }
  }
}

bool ReadyLoop::IsWorthHandingOver(const Ready& ready) const {
  const NodeItem& item = ItemOf(ready);
  if (ready.is_dead || item.kind == NodeKind::kAsync) return false;
  if (item.kind != NodeKind::kKernel || item.moves_input) return false;
  if (item.is_cheap) return InputBytes(item, InputsOf(ready)) > kHandOverBytes;
  const uint32_t cost = item.cost->load(std::memory_order_relaxed);
  return cost == 0 || cost > kHandOverNanoseconds;
}

bool ReadyLoop::MayRunOnReader(const Ready& ready) {
  const NodeItem& item = ItemOf(ready);
  const bool runs_kernel = !ready.is_dead && (item.kind == NodeKind::kKernel ||
                                              item.kind == NodeKind::kAsync);
  if (runs_kernel && !item.is_cheap) return false;
  // An asynchronous kernel that is cheap moves its inputs, and so does _Send,
  // but for texts.
  if (runs_kernel && item.kind == NodeKind::kKernel && !item.moves_input &&
      InputBytes(item, InputsOf(ready)) > kReaderBytes) {
    return false;
  }
  if (--nodes_until_clock_ > 0) return true;
  nodes_until_clock_ = kNodesBetweenClocks;
  const absl::Time now = state_.context.scheduler->clock().Now();
  if (give_up_at_ == absl::InfinitePast()) give_up_at_ = now + kReaderBudget;
  return now < give_up_at_;
}

bool ReadyLoop::Next(Ready& ready) {
  if (!ready_.empty()) {
    ready = ready_.back();
    ready_.pop_back();
    return true;
  }
  ready = kept_;
  return std::exchange(has_kept_, false);
}

void ReadyLoop::Drop() {
  state_.NoteDropped();
  ready_.clear();
  has_kept_ = false;
}

template <bool kTraced>
void ReadyLoop::RunNode(const Ready& ready) {
  const NodeItem& item = ItemOf(ready);
  Slot* inputs = InputsOf(ready);
  if constexpr (kTraced) begin_ = state_.trace->Now();
  const bool is_dead = ready.is_dead && !item.revives;
  if (is_dead && !item.runs_when_dead) {
    return Complete<kTraced>(ready, item, true);
  }
  if (item.num_refs > 0) {
    absl::Status status = ReadRefs(state_.plan, item, inputs, WhenLockedHere());
    if (!status.ok()) return End(ready, item, status);
  }
  if constexpr (kTraced) sent_bytes_ = InputBytes(item, inputs);
  switch (item.kind) {
    case NodeKind::kKernel:
      return RunKernel<kTraced>(ready, item);
    case NodeKind::kAsync:
      return RunAsync<kTraced>(ready, item);
    case NodeKind::kForward:
      if (item.num_consts == 0) {
        return CompleteInPlace<kTraced>(ready, item, absl::MakeSpan(inputs, 1));
      }
      outputs_[0] = inputs[0];
      break;
    case NodeKind::kSwitch:
      if (!SwitchInPlace(inputs)) return RunKernel<kTraced>(ready, item);
      return CompleteInPlace<kTraced>(ready, item, absl::MakeSpan(inputs, 2));
    case NodeKind::kMerge: {
      // Whoever asks for a trace is told of both outputs.
      Slot* came = kTraced ? nullptr : FindCome(inputs, item.num_inputs);
      if (came == nullptr) return RunKernel<kTraced>(ready, item);
      return CompleteInPlace<kTraced>(ready, item, absl::MakeSpan(came, 1));
    }
    case NodeKind::kArg:
      outputs_[0].tensor = state_.args[item.index];
      break;
    case NodeKind::kRetval:
      if (item.num_consts == 0) {
        state_.retvals[item.index] = std::move(inputs[0].tensor);
      } else {
        state_.retvals[item.index] = inputs[0].tensor;
      }
      break;
  }
  Complete<kTraced>(ready, item, false);
}

bool ReadyLoop::MayTakeLong(const Ready& ready, const NodeItem& item) const {
  return !item.is_cheap || InputBytes(item, InputsOf(ready)) > kHandOverBytes;
}

template <bool kTraced>
void ReadyLoop::RunKernel(const Ready& ready, const NodeItem& item) {
  if (state_.outbox != nullptr && !item.is_send &&
      (MayTakeLong(ready, item) || state_.outbox->IsUrgent())) {
    state_.outbox->Flush();
  }
  OpKernelContext context(state_.context, item.view,
                          absl::MakeSpan(InputsOf(ready), item.num_inputs),
                          OutputsOf(item), ready.iteration->position(),
                          WhenLockedHere());
  absl::Status status;
  if (item.cost == nullptr) {
    status = item.kernel->Compute(context);
  } else {
    const Clock& clock = state_.context.scheduler->clock();
    const absl::Time begin = clock.Now();
    status = item.kernel->Compute(context);
    NoteCost(item, clock.Now() - begin);
  }
  if (status.ok()) status = CheckOutputs(item, outputs_.get());
  if (status.ok()) {
    state_.NoteLaunch(item);
    return Complete<kTraced>(ready, item, ready.is_dead && !item.revives);
  }
  ClearOutputs(OutputsOf(item));
  End(ready, item, status);
}

void ReadyLoop::End(const Ready& ready, const NodeItem& item,
                    const absl::Status& status) {
  if (!IsGivenUp(status)) return state_.Fail(item, status);
  state_.AddToken();
  ContinueOnPool(state_, {ready});
}

WhenLocked ReadyLoop::WhenLockedHere() const {
  return where_ == RunWhere::kReader ? WhenLocked::kGiveUp : WhenLocked::kWait;
}

template <bool kTraced>
void ReadyLoop::RunAsync(const Ready& ready, const NodeItem& item) {
  // One that is not cheap may do much before it waits: run a function's body.
  if (state_.outbox != nullptr && !item.is_cheap) state_.outbox->Flush();
  AsyncEntry& entry = ready.iteration->async_entries[item.async_index];
  entry.ready = ready;
  entry.context.emplace(state_.context, item.view,
                        absl::MakeSpan(InputsOf(ready), item.num_inputs),
                        absl::MakeSpan(entry.outputs.get(), item.num_outputs),
                        ready.iteration->position());
  state_.AddToken();
  entry.waits.store(true, std::memory_order_relaxed);
  if constexpr (kTraced) entry.begin = begin_;
  item.async->ComputeAsync(*entry.context, [&entry](absl::Status status) {
    EndAsync(entry, status);
  });
}

template <bool kTraced>
void ReadyLoop::Complete(const Ready& ready, const NodeItem& item,
                         bool is_dead) {
  if constexpr (kTraced) {
    // As in TensorFlow, what was not run is not told; a dead value is sent.
    if (!is_dead || item.runs_when_dead) {
      state_.trace->NodeRan(item, begin_, sent_bytes_, outputs_.get(), is_dead);
    }
  }
  ClearInputs(item, *ready.iteration);
  HandOn(ready, is_dead, OutputsOf(item));
}

template <bool kTraced>
void ReadyLoop::CompleteInPlace(const Ready& ready, const NodeItem& item,
                                absl::Span<Slot> outputs) {
  if constexpr (kTraced) {
    state_.trace->NodeRan(item, begin_, sent_bytes_, outputs.data(),
                          /*is_dead=*/false);
  }
  HandOn(ready, /*is_dead=*/false, outputs);
}

void ReadyLoop::HandOn(const Ready& ready, bool is_dead,
                       absl::Span<Slot> outputs) {
  fresh_.clear();
  Propagate(ready, is_dead, outputs, fresh_);
  Add(fresh_);
}

void ReadyLoop::Run() {
  Ready ready;
  ReadyList for_pool;
  while (Next(ready)) {
    if (state_.IsStopped()) {
      Drop();
      for_pool.clear();
    } else if (where_ == RunWhere::kReader && !MayRunOnReader(ready)) {
      for_pool.push_back(ready);
    } else if (state_.trace == nullptr) {
      RunNode<false>(ready);
    } else {
      RunNode<true>(ready);
    }
  }
  current_loop = outer_;
  state_.GiveBack(std::move(outputs_));
  if (state_.outbox != nullptr && !(for_pool.empty() && state_.IsLastToken())) {
    state_.outbox->Flush();
  }
  if (for_pool.empty()) {
    state_.ReleaseToken();
  } else {
    ContinueOnPool(state_, for_pool);
  }
}

}  // namespace weft
